"""Sums of different runs in which one term's scale is not another's: narrow, found in few steps, and true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from dalenius import losses
from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.engines.layer_lines import NoisyLayerLine, NoisyLine
from dalenius.calculus.engines.layers import MOST_FAILURES, Layers
from dalenius.calculus.engines.search import crossings
from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.mixture import Law
from dalenius.calculus.pairs.pair import Bounds, Reals, Terms
from tests.calculus.contract import overlap
from tests.calculus.engines.test_layers import pair

Run = tuple[str, float, float, int]
"""A mechanism, its rate, its noise, how often."""

HARD: dict[str, tuple[list[Run], float]] = {
    "rare jumps beside a run that has none, no lattice is fine enough": (
        [("gaussian", 6.856e-05, 1.2809, 30), ("gaussian", 0.1658, 10.108, 2)],
        3.4e-28,
    ),
    "jumps that end on different scales": (
        [("gaussian", 2.68e-3, 12.86, 2), ("gaussian", 1.97e-7, 1.777, 652_846)],
        2.9e-29,
    ),
    "the end of the line is set by a term of little weight": (
        [("laplace", 6.45e-4, 23.35, 1_505_017), ("laplace", 0.947, 0.423, 31)],
        4.2e-7,
    ),
    "the noise ends the line after the other terms": (
        [("laplace", 0.132, 19.09, 84), ("laplace", 1e-7, 0.854, 530_919), ("laplace", 4.5e-6, 11.5, 6388)],
        1.6e-11,
    ),
    "close to the largest loss of one term": (
        [("laplace", 0.856, 0.7, 69), ("gaussian", 6.27e-4, 12.72, 2), ("gaussian", 6.6e-7, 24.0, 1679)],
        2.3e-30,
    ),
    "atoms that nothing but many rare steps blurs": (
        [("gaussian", 6.66e-7, 24.44, 88_421), ("laplace", 0.61, 0.8114, 9), ("laplace", 0.0341, 12.2, 68)],
        3e-21,
    ),
    "one rate left and another right of epsilon": (
        [("laplace", 0.786, 5.28, 1), ("gaussian", 3.96e-6, 4.901, 101_651)],
        4.4e-15,
    ),
    "jumps that no tilt lifts, beside many atoms": (
        [
            ("gaussian", 1.200937715742276e-07, 4.148210774993801, 116),
            ("laplace", 0.020671939739581143, 47.007635196964976, 444),
        ],
        9.58e-30,
    ),
    "jumps that hardly ever happen, beside few atoms, no lattice is fine enough": (
        [
            ("gaussian", 8.51e-7, 1.785, 4260),
            ("laplace", 0.00197, 12.59, 22),
            ("laplace", 0.00126, 48.34, 56),
        ],
        1.6e-27,
    ),
    "between the largest loss of atoms and jumps, no lattice is fine enough": (
        [("gaussian", 4.24e-6, 12.84, 203), ("gaussian", 3.84e-7, 1.111, 2), ("laplace", 0.151, 35.38, 51)],
        4.9e-23,
    ),
    "one jump above the largest loss of atoms, no lattice is fine enough": (
        [("gaussian", 1.04e-7, 0.5295, 776), ("laplace", 0.206, 26.94, 9)],
        4.1e-13,
    ),
    "as near the largest loss as floats tell, no lattice is fine enough": (
        [("laplace", 1.24e-6, 36.87, 4), ("laplace", 0.0252, 23.96, 8)],
        5.3e-26,
    ),
}


def terms_of(runs: list[Run], added: bool = False) -> Terms:
    return tuple(
        ((GaussianPair(1 / noise) if kind == "gaussian" else LaplacePair(1 / noise)).sampled(rate, added), n)
        for kind, rate, noise, n in runs
    )


@pytest.mark.parametrize("name", HARD)
def test_hard_sums_are_narrow_and_agree_with_the_lattice(name: str) -> None:
    runs, delta = HARD[name]
    side = Direction(terms_of(runs))
    low, high = side.epsilon(delta)
    assert high - low <= 1e-6 * high
    assert len(side._answers) <= 16
    # The lattice rounds the terms themselves: no transform, no cut and no search is shared.
    assert "no lattice" in name or overlap(side.delta(low), side.delta(low, "grid"))


def of_one_step(rate: float, mu: float, epsilon: Reals) -> Reals:
    """delta of one sampled Gaussian step at each epsilon: g (Q(x - mu) - Q(x)) - (exp(e) - 1) Q(x), by Mills' ratio R.

    exp(mu x - mu^2/2) = 1 + (exp(e) - 1)/g, so far out it is phi(x) (g + exp(e) - 1) (R(x - mu) - R(x)).
    """
    growth = np.expm1(epsilon)
    x = np.log(np.maximum(growth / rate + 1, 1e-300)) / mu + mu / 2
    near = rate * (ndtr(mu - x) - ndtr(-x)) - growth * ndtr(-x)
    mills = math.sqrt(math.pi / 2) * (erfcx((x - mu) / math.sqrt(2)) - erfcx(x / math.sqrt(2)))
    far = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (rate + growth) * mills
    return np.where(growth <= -rate, -growth, np.where(x > 4.0, far, near))


def one_of_each(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> float:
    """The mean over the first step of delta of the second; panels close up where that falls off."""
    (g, sigma), (h, tau) = first, second
    mu = 1 / sigma
    edge = (math.log1p(math.expm1(epsilon) / g) + mu * mu / 2) / mu
    close = 2.0 ** -np.arange(40.0)
    ends = np.sort(
        np.concatenate((np.arange(edge - 40, edge + 16, 0.25), edge - close, edge + close, [edge]))
    )
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(ends)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes)
    w = 1 - g + g * np.exp(mu * x - mu * mu / 2)
    density = w * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    with np.errstate(all="ignore"):
        return float(np.sum(half * weights * density * of_one_step(h, 1 / tau, epsilon - np.log(w))))


def gaussian_and_laplace(
    gaussian: tuple[float, float], laplace: tuple[float, float], epsilon: float
) -> float:
    """The mean over the Gaussian step of delta of the Laplace one, which has a form with kinks: panels end there."""
    (g, sigma), (h, scale) = gaussian, laplace
    mu, other = 1 / sigma, LaplacePair(1 / scale).sampled(h, False)
    kinks = [np.expm1(epsilon - loss) / g + 1 for loss in other.atomic.loss]
    inside = [math.log(kink) / mu + mu / 2 for kink in kinks if kink > 0]
    ends = np.sort(np.concatenate((np.arange(-12.0, 40.0, 0.25), inside)))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes)
    w = 1 - g + g * np.exp(mu * x - mu * mu / 2)
    share = half * weights * w * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    deltas = [other.delta(float(y)) for y in (epsilon - np.log(w)).ravel()]
    assert all(delta is not None for delta in deltas)
    return float(sum(s * delta.upper for s, delta in zip(share.ravel(), deltas, strict=True) if delta))


@pytest.mark.parametrize("rate", [30.0, 1000.0])
@pytest.mark.parametrize(
    ("gaussian", "laplace", "epsilon"),
    [((1e-6, 0.8), (0.02, 40.0), 1e-3), ((1e-5, 1.2), (0.3, 10.0), 0.05)],
)
def test_layers_with_noise_by_quadrature(
    gaussian: tuple[float, float], laplace: tuple[float, float], epsilon: float, rate: float
) -> None:
    """Whatever rate they are laid for: jumps that it lifts, and that it does not."""
    truth = gaussian_and_laplace(gaussian, laplace, epsilon)
    (g, sigma), (h, scale) = gaussian, laplace
    terms: Terms = ((pair(g, sigma), 1), (LaplacePair(1 / scale).sampled(h, False), 1))
    found = Layers(terms, epsilon, rate=rate, noisy=True)
    bounds = found._redrawn(epsilon)
    assert any(isinstance(piece.line, NoisyLayerLine | NoisyLine) for piece in found.pieces)
    assert bounds.lower * (1 - 1e-10) <= truth <= bounds.upper * (1 + 1e-10)
    assert bounds.upper - bounds.lower < 1e-2 * bounds.lower
    assert overlap(Direction(terms).delta(epsilon), bounds)


def test_a_line_that_cannot_be_drawn_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that fail are tried so often in all their ways, and then taken as they are."""
    terms = terms_of([("gaussian", 1e-6, 0.8, 3), ("laplace", 0.02, 40.0, 7)])
    found = Layers(terms, 1e-3, rate=1000.0)
    tries: list[float] = []

    def wide(epsilon: float) -> Bounds:
        tries.append(epsilon)
        return Bounds(1e-9, 2e-9)

    monkeypatch.setattr(found, "_redrawn", wide)
    monkeypatch.setattr(found, "_fit", lambda epsilon: None)
    for k in range(12):
        found.centre = math.nan
        found.delta(1e-3 * (1 + k / 1000))
    assert len(tries) <= 12 + 6 * MOST_FAILURES  # three ways, with levels far apart and close


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [((2e-3, 12.0), (2e-7, 1.7), 4e-3), ((0.15, 10.0), (7e-5, 1.3), 0.3), ((0.15, 10.0), (7e-5, 1.3), 0.9)],
)
def test_one_step_of_each_by_quadrature(
    first: tuple[float, float], second: tuple[float, float], epsilon: float, keep: bool
) -> None:
    """Terms cut where their own jumps end, or not at all."""
    truth = one_of_each(first, second, epsilon)
    terms: Terms = ((pair(*first), 1), (pair(*second), 1))
    bounds = Layers(terms, epsilon, rate=20.0 / epsilon, keep=keep).delta(epsilon)
    assert bounds.lower * (1 - 1e-10) <= truth <= bounds.upper * (1 + 1e-10)
    assert bounds.upper - bounds.lower < 1e-6 * bounds.lower


@pytest.mark.parametrize("slopes", [(700.0, 60.0), (60.0, 700.0), (5.0, 4e4)])
def test_the_search_settles_between_two_regimes(slopes: tuple[float, float]) -> None:
    """log delta falls at one rate left of 1, at another right of it, and the guess knows neither."""
    asked = []

    def bounds(x: float) -> Bounds:
        asked.append(x)
        smooth = np.logaddexp(0.0, (x - 1.0) * 2e3) / 2e3  # (x - 1)_+, rounded off
        value = math.exp(-slopes[0] * (x - 1.0) - (slopes[1] - slopes[0]) * smooth - 25.0)
        return Bounds(value * (1 - 1e-9), value * (1 + 1e-9))

    for target in (-24.0, -25.5, -32.0):
        asked.clear()
        found = crossings(bounds, math.exp(target), (0.98, slopes[0]), math.inf)
        assert found is not None
        assert bounds(found.upper).upper <= math.exp(target) <= bounds(found.lower).lower
        assert found.upper - found.lower < 1e-8
        assert len(asked) <= 18


def test_bounds_on_even_cells_hold_between_their_middles() -> None:
    rng = np.random.default_rng(5)
    loss = np.concatenate((rng.normal(0.0, 1.0, 400), [0.3, 0.3]))
    law = Law(loss, np.full(402, 1 / 402), 0.0)
    for edges in (np.linspace(2.0, 9.0, 41), 2.0 * 1.07 ** np.arange(20)):
        bound = law.on_cells(edges)
        t = rng.uniform(edges[:-1], edges[1:], (50, len(edges) - 1))
        value = np.abs(np.exp(1j * np.multiply.outer(t, loss)).mean(axis=-1))
        assert (value <= bound).all()
        assert (bound - value.max(axis=0)).max() < 0.5


def test_bounds_on_cells_hold_where_light_outcomes_are_left_out() -> None:
    rng = np.random.default_rng(6)
    loss = np.concatenate((rng.normal(0.0, 1.0, 3000), rng.normal(0.0, 1e4, 3000)))
    weights = np.concatenate((np.full(3000, 1.0), 10.0 ** rng.uniform(-14.0, -4.0, 3000)))
    law = Law(loss, weights / weights.sum(), 0.0)
    edges = 0.05 * 1.2 ** np.arange(21)
    bound = law.on_cells(edges)
    t = rng.uniform(edges[:-1], edges[1:], (40, len(edges) - 1))
    value = np.abs(np.exp(1j * np.multiply.outer(t, law.loss)) @ law.weights)
    assert (value <= bound).all()
    assert (bound - value.max(axis=0)).max() < 0.5
    assert (law.on_cells(edges, 0.0) == 1.0).all()
    assert (law.on_cells(edges, 1.0) == bound).all()


def test_few_exponentials_at_once_are_the_same_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    loss, weights, t = rng.normal(size=300), rng.dirichlet(np.ones(300)), np.arange(1000) * 0.37
    direct = np.exp(1j * np.multiply.outer(t, loss)) @ weights
    for chunk in (40, 5_000, mixture.CHUNK):
        monkeypatch.setattr(mixture, "CHUNK", chunk)
        assert np.abs(mixture.transform(t, loss, weights) - direct).max() < 1e-12
        assert np.abs(mixture.transform(t[1:], loss, weights) - direct[1:]).max() < 1e-12


def test_the_order_of_terms_does_not_matter() -> None:
    runs, delta = HARD["the end of the line is set by a term of little weight"]
    forth, back = (
        losses.total(
            [losses.poisson_sampled(losses.laplace(scale=noise), rate) * n for _, rate, noise, n in x]
        )
        for x in (runs, runs[::-1])
    )
    assert forth.epsilon_bounds(delta) == back.epsilon_bounds(delta)
