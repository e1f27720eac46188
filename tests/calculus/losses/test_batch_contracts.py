"""Batches cut from a random order, and draws with replacement, under the contract of every loss.

Drawn are data sets that are near the worst, not the worst: Monte Carlo tests the upper end alone, and the tests of the
lower ends are in test_batches.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

import dalenius as dp
from dalenius import losses
from tests.calculus.contract import Case, LossContract

REPLACE = dp.REPLACE_ONE


class TestShuffledBatches(LossContract):
    """All others add -1: the sums of batches are N(0, 1), but one is moved by 2 mu (record 1) or not (record -1)."""

    cases = (Case("five batches", lambda x: losses.shuffled_batches(2.0 * x, 5), mechanism=(2.0, 5)),)
    attained_at = ()
    planted = (2.5,)
    exact_width = 1.0
    proved = False
    examples = 2
    epsilons = (0.0, 0.5)
    repeats = (2,)
    slow_sums = True
    cheap = False

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        sigma, batches = case.mechanism
        sums = rng.standard_normal((size, batches))
        sums[np.arange(size), rng.integers(batches, size=size)] += 2 / sigma * present
        return sums

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        sigma, batches = case.mechanism
        shift = 2 / sigma
        return np.asarray(logsumexp(shift * outcomes - shift**2 / 2, axis=1) - np.log(batches))


class TestReplacedInASample(LossContract):
    """Records at 1 and -1 with Laplace noise, each in the sample with probability .3."""

    cases = (
        Case(
            "Laplace noise",
            lambda x: losses.poisson_sampled(losses.laplace(1.0 * x), 0.3, REPLACE),
            mechanism=(1.0, 0.3),
        ),
    )
    proved = False
    examples = 2

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        scale, rate = case.mechanism
        return rng.laplace(0.0, scale, size) + (rng.random(size) < rate) * (1.0 if present else -1.0)

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        scale, rate = case.mechanism
        none, one, other = (np.exp(-np.abs(outcomes - mean) / scale) for mean in (0.0, 1.0, -1.0))
        return np.asarray(np.log(((1 - rate) * none + rate * one) / ((1 - rate) * none + rate * other)))


class TestSampledWithReplacement(LossContract):
    """Three draws from four records, the others alike: as many copies as there are move the sum."""

    cases = (
        Case(
            "three of four",
            lambda x: losses.sampled_with_replacement(losses.gaussian(2.0 * x, 1.0, REPLACE), 3, 4),
            mechanism=(2.0, 3, 4),
        ),
    )
    attained_at = ()
    planted = (1.6,)
    exact_width = 1.0
    proved = False
    examples = 2
    epsilons = (0.0, 0.3)
    repeats = (2,)
    slow_sums = True
    cheap = False

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        sigma, m, n = case.mechanism
        return rng.standard_normal(size) + rng.binomial(m, 1 / n, size) * present / sigma

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        sigma, m, n = case.mechanism
        k = np.arange(m + 1)
        chances = np.array([1.0, 3.0, 3.0, 1.0]) * (1 / n) ** k * (1 - 1 / n) ** (m - k)
        return np.asarray(
            logsumexp(np.outer(outcomes, k / sigma) - (k / sigma) ** 2 / 2 + np.log(chances), axis=1)
        )
