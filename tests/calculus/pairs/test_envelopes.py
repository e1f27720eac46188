"""Bounds on characteristic functions, against a plain fine quadrature that shares no code with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.mixture import transform
from dalenius.calculus.pairs.pair import Pair


def modulus(mu: float, rate: float, added: bool, c: float, t: np.ndarray) -> np.ndarray:
    """|M(c+it)|/M(c) of a sampled Gaussian pair: a midpoint sum of 100 001 terms over the whole bulk."""
    power = -c if added else 1.0 + c
    low, high = min(0.0, power * mu) - 12.0, max(0.0, power * mu) + 12.0
    x = np.linspace(low, high, 100_001)
    loss = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2)
    exponent = power * loss - x * x / 2
    weight = np.exp(exponent - exponent.max())
    weight /= weight.sum()
    return np.array([abs(np.sum(weight * np.exp(1j * u * loss))) for u in t])


CASES = [
    (mu, rate, added, c, times)
    for mu, rate, c, times in [
        (1.0, 0.01, 6.6, 1000),
        (0.5, 0.01, 25.0, 1000),
        (1.0, 1e-4, 17.0, 1000),
        (1.0, 1e-6, 20.9, 10**9),
        (3.0, 0.2, 2.0, 10),
        (0.1, 0.5, 40.0, 100),
        (1.0, 0.9, 0.3, 30),
    ]
    for added in (False, True)
]


@pytest.mark.parametrize(("mu", "rate", "added", "c", "times"), CASES)
def test_the_envelope_of_a_sampled_gaussian_is_above_its_transform(
    mu: float, rate: float, added: bool, c: float, times: int
) -> None:
    pair = GaussianPair(mu).sampled(rate, added)
    edges = np.geomspace(1e-3, 3e3, 120)
    bound = pair.envelope(c, edges, times)
    inside = np.sqrt(edges[:-1] * edges[1:])
    true = modulus(mu, rate, added, c, inside)
    assert (true <= bound[:-1] + 1e-12).all()
    assert (bound >= 0).all()


def test_the_envelope_says_something() -> None:
    """Raised to the 1000th power it cuts the line where the transform itself has become negligible."""
    pair = GaussianPair(1.0).sampled(0.01, False)
    edges = np.geomspace(1.0, 1e4, 200)
    bound = pair.envelope(6.6, edges, 1000)
    true = modulus(1.0, 0.01, False, 6.6, edges)
    first_true = edges[np.argmax(true**1000 < 1e-12)]
    last_bound = edges[np.flatnonzero(bound**1000 >= 1e-12)[-1]]
    assert last_bound < 4 * first_true


def test_the_envelope_of_a_subset_is_above_its_transform() -> None:
    for mu, rate, c, times in ((1.0, 0.01, 5.0, 1000), (2.0, 0.3, 1.0, 20)):
        pair = GaussianPair(mu).sampled(rate, False).mirrored()
        edges = np.geomspace(1e-2, 3e2, 80)
        bound = pair.envelope(c, edges, times)
        inside = np.sqrt(edges[:-1] * edges[1:])
        tilted = pair.tilted(c, np.concatenate(([0.0], inside)))
        assert tilted is not None
        true = np.abs(tilted.values[1:]) - tilted.error[1:]
        assert (true <= bound[:-1]).all()


@pytest.mark.parametrize(("shift", "c"), [(1e-7, 8.0), (0.01, 30.0), (0.5, 3.0), (2.0, 0.2), (8.0, 1.0)])
def test_the_envelope_of_laplace_noise_is_above_its_transform(shift: float, c: float) -> None:
    """Where nearly all is in two atoms, 1 - |M|/M(c) is tiny, and it is what counts for many releases."""
    edges = np.geomspace(1e-3 / shift, 30.0 / shift, 300)
    loss = np.concatenate(([-shift, shift], shift * (np.arange(20_001) / 10_000.5 - 1)[1:]))
    density = np.exp((c + 0.5) * loss[2:] - shift / 2) / 4 * shift / 10_000.5
    weight = np.concatenate(([0.5 * math.exp(-(c + 1) * shift), 0.5 * math.exp(c * shift)], density))
    weight /= weight.sum()
    inside = np.sqrt(edges[:-1] * edges[1:])
    lost = np.array([1 - abs(np.sum(weight * np.exp(1j * u * loss))) for u in inside])
    allowed = 1 - LaplacePair(shift).envelope(c, edges)[:-1]
    assert (allowed <= lost * (1 + 1e-4) + 1e-15).all()
    if shift < 1:
        assert (allowed[inside * shift < 1.5] > 0).all()


def test_a_trillion_tiny_releases_are_a_gaussian_one() -> None:
    low, high = (dp.losses.laplace(1e7) * 10**12).epsilon_bounds(1e-5)
    assert low < dp.losses.gaussian(10.0).epsilon(1e-5) < high
    assert high - low < 1e-3


def test_products_of_exponentials_are_the_exponentials() -> None:
    rng = np.random.default_rng(5)
    loss, weights = rng.normal(size=700), rng.dirichlet(np.ones(700))
    t = np.arange(997) * 0.37
    direct = np.exp(1j * np.multiply.outer(t, loss)) @ weights
    assert np.max(np.abs(transform(t, loss, weights) - direct)) < 16 * 2.0**-53 * t[-1] * np.abs(loss).max()


@pytest.mark.parametrize(
    ("rate", "steps", "width"),
    [
        (1e-6, 10**9, 1e-3),
        (1e-5, 10**6, 1e-4),
        (1e-3, 1000, 1e-6),
        (0.01, 10, 1e-6),
        (0.01, 30, 1e-6),
        (0.1, 3, 1e-6),
    ],
)
def test_rare_samples_and_short_runs_are_narrow(rate: float, steps: int, width: float) -> None:
    run = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), rate) * steps
    lower, upper = run.epsilon_bounds(1e-5)
    assert 0 < upper - lower < width


@pytest.mark.parametrize(("rate", "steps"), [(1e-3, 1000), (0.01, 30), (0.1, 3), (1e-2, 5000)])
def test_line_and_grid_agree_on_rare_samples(rate: float, steps: int) -> None:
    run = dp.losses.poisson_sampled(dp.losses.gaussian(1.0), rate) * steps
    epsilon = run.epsilon(1e-5)
    for at in (epsilon / 2, epsilon):
        line, grid = run.delta_bounds(at), run.delta_bounds(at, engine="grid")
        assert line.lower <= grid.upper
        assert grid.lower <= line.upper


def test_pairs_without_a_transform_say_nothing() -> None:
    assert Pair.envelope(GaussianPair(1.0), 1.0, np.ones(3)).tolist() == [1.0, 1.0, 1.0]
