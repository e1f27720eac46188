"""Bounds that spare the accountant most of its work, against plain quadratures that share no code with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammainc

from dalenius.calculus.pairs import mixture, sampled_laplace
from dalenius.calculus.pairs.soft_cut import SoftCuts
from dalenius.calculus.pairs.soft_halves import HalvesCuts

GAUSSIANS = [
    (mu, rate, added, c)
    for mu, rate, c in [(0.06, 4e-6, 1e6), (0.03, 0.02, 1.2e3), (0.5, 0.01, 25.0), (1.0, 0.9, 0.3)]
    for added in (False, True)
    if added or c * mu < 100
]


def transform_by_midpoints(x: np.ndarray, height: np.ndarray, loss: np.ndarray, t: np.ndarray) -> np.ndarray:
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    return np.array([abs(weight @ np.exp(1j * u * loss)) for u in t])


def held(uniform: mixture.Uniform, true: np.ndarray, t: np.ndarray) -> None:
    """The bound is above the transform, and far from 1 not long after the transform is."""
    bound = uniform.on(t)
    assert (true <= bound + 1e-12).all()
    assert (np.diff(bound) <= 1e-15).all()
    assert bound[-1] < 0.9
    assert uniform.on(np.zeros(1))[0] >= 1.0


@pytest.mark.parametrize(("mu", "rate", "added", "c"), GAUSSIANS)
def test_uniform_laws_in_a_sampled_gaussian(mu: float, rate: float, added: bool, c: float) -> None:
    power = -c if added else 1.0 + c
    x = np.linspace(-14.0, 14.0 + max(power * mu, 0.0), 8_001)
    loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    height = power * loss - x * x / 2
    weight = np.exp(height - height.max())
    spread = math.sqrt(mixture.variance_of(weight / weight.sum(), loss))
    t = np.geomspace(1e-3, 100.0, 30) / spread
    uniform = mixture.uniform_for(mu, rate, added, c)
    held(uniform, transform_by_midpoints(x, height, loss, t), t)
    assert uniform.serves(10**5, 0.01)
    assert not uniform.serves(1)


@pytest.mark.parametrize("added", [False, True])
def test_uniform_laws_in_a_part_below_a_level(added: bool) -> None:
    cuts = SoftCuts(1.0, 1e-4, added, 40.0)
    part, c = cuts.below(0.01), 800.0
    assert part.high is not None
    x = np.linspace(-12.0, 12.0, 8_001)
    loss = (-1 if added else 1) * np.log1p(1e-4 * np.expm1(x - 0.5))
    kept = 1.0 - gammainc(40.0, 40.0 * np.exp(np.minimum(x - part.high, 50.0)))
    with np.errstate(divide="ignore"):
        height = (c if added else 1.0 + c) * loss + np.log(kept) - x * x / 2
    t = np.geomspace(1.0, 1e6, 30)
    uniform = part.uniform(c)
    held(uniform, transform_by_midpoints(x, height, loss, t), t)


@pytest.mark.parametrize(("e", "rate", "c"), [(0.3, 1e-4, 90.0), (2.0, 0.1, 3.0), (1.0, 0.6, 0.5)])
@pytest.mark.parametrize("added", [False, True])
def test_uniform_laws_in_a_sampled_laplace(e: float, rate: float, c: float, added: bool) -> None:
    power = -c if added else 1.0 + c
    z = np.linspace(-e, e, 8_002)
    z = (z[1:] + z[:-1]) / 2
    gap = float(z[1] - z[0])
    places = np.concatenate(([-e, e], z))
    log_mass = np.concatenate(([math.log(0.5), math.log(0.5) - e], np.log(gap / 4) - (z + e) / 2))
    loss = np.log1p(rate * np.expm1(places))
    t = np.geomspace(1e-2, 1e3, 30) / float(loss.max())
    uniform = sampled_laplace.uniform_for(e, rate, added, c)
    bound = uniform.on(t)
    assert (transform_by_midpoints(places, power * loss + log_mass, loss, t) <= bound + 1e-9).all()
    assert bound[-1] < 0.95


@pytest.mark.parametrize(
    ("mu", "rate", "sharpness"), [(1.0, 1e-5, 40.0), (0.1, 1e-3, 400.0), (3.0, 0.2, 16.0)]
)
@pytest.mark.parametrize("level", [1e-3, 0.1, 2.0])
def test_the_mass_beyond_a_level(mu: float, rate: float, sharpness: float, level: float) -> None:
    """Above the mass, and by no more than what Markov's inequality usually costs."""
    x = np.linspace(-14.0, 30.0, 20_001)
    normal = np.exp(-x * x / 2) * float(x[1] - x[0]) / math.sqrt(2 * math.pi)
    w = 1.0 - rate + rate * np.exp(mu * x - mu * mu / 2)
    for added in (False, True):
        cuts = SoftCuts(mu, rate, added, sharpness)
        above = gammainc(sharpness, sharpness * np.exp(np.clip(mu * (x - cuts.place(level)), -300.0, 50.0)))
        mass = float((above * normal * (1.0 if added else w)).sum())
        bound = math.exp(cuts.log_beyond(level))
        assert mass * (1 - 1e-9) <= bound <= min(2.0, 40.0 * max(mass, 1e-300) ** 0.95)
    both = HalvesCuts(mu, rate, sharpness)
    above = gammainc(sharpness, sharpness * np.exp(np.clip(mu * (x - both.place(level)), -300.0, 50.0)))
    mass = float((above * normal * (w + 1.0))[x > mu / 2].sum())
    assert mass * (1 - 1e-9) <= math.exp(both.log_beyond(level))


@pytest.mark.parametrize(
    ("mu", "rate", "c", "reach"),
    [(0.06, 4e-6, 1.1e6, 0.0), (0.06, 4e-6, 1.1e6, 1e6), (0.3, 1e-4, 2e4, 0.0), (0.3, 1e-4, 2e4, 3e4)],
)
def test_few_nodes_for_steep_tilts_of_rare_samples(mu: float, rate: float, c: float, reach: float) -> None:
    """The rule says what one of many more nodes says, within its own error."""
    assert mixture.size_for(mu, rate, -c, reach) < 1_000
    rule = mixture.trapezoid(mu, rate, True, c, reach)
    t = np.linspace(0.0, reach, 5)
    found = rule.along(t)
    x = np.linspace(-14.0, 14.0, 20_001)
    loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    height = -c * loss - x * x / 2
    top = float(height.max())
    weight = np.exp(height - top) * float(x[1] - x[0]) / math.sqrt(2 * math.pi)
    true = np.array([weight @ np.exp(-1j * u * loss) for u in t]) * math.exp(top - rule.log_scale)
    assert (np.abs(found.values - true) <= found.error + 1e-11).all()
    assert found.error.max() < 1e-9
