"""Permute and flip."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax
from tests.mechanisms.choices import flipped, softmax, spread
from tests.mechanisms.contract import Case
from tests.mechanisms.test_exponential import SelectionContract


class TestPermuteAndFlip(SelectionContract):
    kind = PermuteAndFlip
    cases = (
        Case("epsilon 1", lambda change: PermuteAndFlip(sensitivity=1, epsilon=1 / change)),
        Case("epsilon 4", lambda change: PermuteAndFlip(sensitivity=0.1, epsilon=4 / change)),
        Case("monotone", lambda change: PermuteAndFlip(sensitivity=2, epsilon=0.5 / change, monotone=True)),
    )

    def law(self, scores: Any, scale: float) -> np.ndarray:
        return flipped(scores, 1 / scale)

    def test_loss_is_that_of_laplace_noise(self) -> None:
        m = PermuteAndFlip(sensitivity=1, epsilon=1.0)
        assert m.loss == dp.losses.laplace(scale=1.0)
        assert m.loss == ReportNoisyMax(sensitivity=1, epsilon=1.0, noise="exponential").loss
        assert m.loss.epsilon(0.0) == 1.0
        assert m.loss.delta(0.3) < dp.losses.pure(1.0).delta(0.3)

    def test_range_is_more_than_epsilon(self) -> None:
        """Two tied candidates, one of which falls behind by twice the sensitivity: not bounded range."""
        p, q = flipped([0, 0], 0.5), flipped([1, -1], 0.5)
        assert spread(p, q) == pytest.approx((1.0, 1.0 + math.log(2 - math.exp(-1))))
        assert (p - q).max() > dp.losses.bounded_range(1.0).delta(0.0)

    def test_never_worse_than_the_exponential_mechanism(self) -> None:
        rng = np.random.default_rng(11)
        for _ in range(200):
            scores = rng.normal(size=4) * rng.choice([1.0, 4.0])
            assert flipped(scores, 0.5) @ scores >= softmax(scores, 0.5) @ scores - 1e-12
        for k in (2, 5, 100, 10**6):
            m, e = (kind(sensitivity=1, epsilon=1.0) for kind in (PermuteAndFlip, Exponential))
            assert m.expected_gap(k) <= e.expected_gap(k)
            assert m.accuracy(0.95, k) <= e.accuracy(0.95, k)

    def test_expected_gap_is_attained(self) -> None:
        m = PermuteAndFlip(sensitivity=1, epsilon=1.0)
        for k in (2, 3, 4):
            gaps = np.linspace(0.01, 10, 1000)
            seen = max(float(flipped([0.0] + [-g] * (k - 1), 0.5)[1:].sum() * g) for g in gaps)
            assert m.expected_gap(k) == pytest.approx(seen, rel=1e-4)
