"""On releases whose loss is known exactly: never above it, and not far below.

Confidence is 1 - 1e-9, so each bound is above the truth with probability below 1e-9 over the seed; the
factors by which it may fall short are those of seeded draws, with room to spare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dalenius as dp
from dalenius import losses
from dalenius.audit import lower_bound
from dalenius.noise import bernoulli, discrete_gaussian, discrete_laplace
from tests.noise.seeded import seeded

SURE = 1 - 1e-9


def flipped(epsilon: float) -> Callable[[int, int], np.ndarray]:
    return lambda x, n: np.where(bernoulli(1 / (1 + math.exp(epsilon)), n), 1 - x, x)


def two_sided(scale: float) -> Callable[[Any, int], np.ndarray]:
    return lambda x, n: np.asarray(x) + discrete_laplace(scale, (n, *np.shape(x)))


def bell(sigma: float) -> Callable[[Any, int], np.ndarray]:
    return lambda x, n: np.asarray(x) + discrete_gaussian(sigma, (n, *np.shape(x)))


@pytest.mark.parametrize(
    ("epsilon", "factor"), [(0.1, 0.8), (0.5, 0.95), (1.0, 0.97), (4.0, 0.97), (8.0, 0.9)]
)
def test_randomized_response(epsilon: float, factor: float) -> None:
    with seeded(1):
        found = lower_bound(flipped(epsilon), (0, 1), 1_000_000, confidence=SURE, batched=True)
    assert factor * epsilon <= found.epsilon <= epsilon
    assert not found.contradicts(losses.pure(epsilon))
    assert found.contradicts(losses.pure(factor * epsilon * 0.999))


@pytest.mark.parametrize(
    ("scale", "second", "trials", "factor"),
    [
        (10.0, 1, 1_000_000, 0.8),  # epsilon 0.1
        (1.0, 1, 400_000, 0.95),
        (2.0, 6, 400_000, 0.95),  # epsilon 3
        (2.0**15, 2**15, 400_000, 0.93),  # hardly anything repeats
        (2.0, [1, 1], 200_000, 0.85),
        (1.0, [0, 1, 0, 0, 0], 200_000, 0.9),
    ],
)
def test_laplace(scale: float, second: Any, trials: int, factor: float) -> None:
    first = np.zeros_like(second)
    epsilon = float(np.sum(second)) / scale
    with seeded(2):
        found = lower_bound(two_sided(scale), (first, second), trials, confidence=SURE, batched=True)
    assert factor * epsilon <= found.epsilon <= epsilon
    assert not found.contradicts(losses.pure(epsilon))
    assert found.contradicts(losses.pure(factor * epsilon * 0.999))
    if np.ndim(second) == 0:
        assert not found.contradicts(losses.geometric(scale, second))
        assert found.contradicts(losses.geometric(scale / factor, second))


def test_whole_numbers_are_not_dominated_by_real_ones() -> None:
    """Two-sided geometric noise of scale 1 has the epsilon of Laplace noise but another curve: it shows."""
    with seeded(2):
        found = lower_bound(two_sided(1.0), (0, 1), 400_000, confidence=SURE, batched=True)
    assert not found.contradicts(losses.geometric(1.0))
    assert found.contradicts(losses.laplace(1.0))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("size", [1, 4])
def test_gaussian(delta: float, size: int) -> None:
    """mu = 1. Far in the tail a sample sees little: factors for delta in the order listed."""
    factor = {0.0: 0.0, 1e-5: 0.4, 1e-3: 0.55, 0.1: 0.8}[delta]
    sigma = 2.0**20
    second = np.full(size, float(round(sigma / math.sqrt(size))))  # a type that differs would be found
    with seeded(3):
        found = lower_bound(bell(sigma), (np.zeros(size), second), 100_000, delta, SURE, batched=True)
    truth = losses.gaussian(sigma, float(np.linalg.norm(second)))
    assert found.epsilon <= truth.epsilon(delta)
    assert delta == 0.0 or found.epsilon >= factor * truth.epsilon(delta)
    assert 0.88 <= found.gdp <= 1.0
    assert not found.contradicts(truth)
    assert not found.contradicts(dp.GDP(1.0))
    assert not found.contradicts(dp.ZCDP(0.5))
    assert found.contradicts(dp.GDP(0.85))
    assert found.contradicts(losses.gaussian(sigma, 0.85 * sigma))


def test_tradeoff_is_above_the_true_curve_and_near_it() -> None:
    with seeded(4):
        found = lower_bound(bell(2.0**20), (0, 2**20), 1_000_000, confidence=SURE, batched=True)
    for alpha in np.linspace(0.0, 1.0, 101):
        truth = float(norm.cdf(norm.isf(alpha) - 1))
        assert truth <= found.tradeoff(float(alpha)) <= truth + 0.02
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = losses.gaussian(1.0).delta(epsilon)
        assert truth - 0.015 <= found.delta(epsilon) <= truth


def test_delta_of_a_rare_confession() -> None:
    """One answer in a hundred is the record itself: delta 0.01 at every epsilon."""

    def sometimes(x: int, n: int) -> np.ndarray:
        return np.where(bernoulli(0.01, n), x, -1)

    with seeded(5):
        found = lower_bound(sometimes, (0, 1), 200_000, 0.0, SURE, batched=True)
    assert 0.006 < found.delta(1.0) <= 0.01
    assert found.contradicts(dp.ApproxDP(1.0, 0.005))
    assert not found.contradicts(dp.ApproxDP(0.0, 0.01))


def test_nothing_is_found_where_nothing_is() -> None:
    """At the usual confidence 100 audits of a release that ignores its input: more than 20 false alarms have
    probability below 1e-9 (Binomial(100, 0.05))."""
    with seeded(6):
        alarms = sum(
            lower_bound(lambda x, n: discrete_laplace(3.0, n), (0, 1), 2000, batched=True).contradicts(0.0)
            for _ in range(100)
        )
    assert alarms <= 20


def test_false_alarms_are_as_rare_as_stated() -> None:
    """Randomized response at confidence 0.8: of 200 audits at most 40 in expectation are above the truth.

    More than 75 have probability below 1e-9. The bounds are not idle either: one that is never within 5 % of
    the truth would be too careful.
    """
    with seeded(7):
        found = [
            lower_bound(flipped(1.0), (0, 1), 4000, confidence=0.8, batched=True).epsilon for _ in range(200)
        ]
    assert sum(e > 1.0 for e in found) <= 75
    assert any(e > 0.95 for e in found)
