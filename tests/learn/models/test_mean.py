"""Means by the exponential mechanism and by the K-norm gradient mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import ExponentialMean, GradientMean
from dalenius.learn.models.mean import draw_by_gradient
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

KINDS = (GradientMean, ExponentialMean)


@pytest.mark.parametrize(("slope", "level"), [(3, 10), (3, 0), (1, 7), (5, 100), (2, 17), (0, 0)])
def test_law_of_the_draw(slope: int, level: int) -> None:
    """Against the law written out; a scale off by 15 % is rejected (DKW at level 1e-10)."""
    k = np.arange(0, 21)

    def cdf(scale: float) -> Any:
        weight = np.exp(-np.abs(slope * k - level) / scale)
        steps = np.cumsum(weight) / weight.sum()
        return lambda x: np.concatenate(([0.0], steps))[np.searchsorted(k, x, side="right")]

    with seeded(slope * 1000 + level):
        drawn = np.array([draw_by_gradient(slope, level, 0, 20, 9.0) for _ in range(15_000)])
    assert follows(drawn, cdf(9.0))
    if slope in (2, 3) and level > 5:
        assert not follows(drawn, cdf(9.0 * 0.6))


@pytest.mark.parametrize("kind", KINDS)
class TestMeans:
    def test_keeps_its_promise(self, kind: Any) -> None:
        for promise in (dp.PureDP(0.5), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1)):
            found = kind(promise, bounds=(-2, 3)).fit([0.1, 0.2, 5.0])
            assert promise.holds(found.loss_)
            assert -2 <= found.value_ <= 3
            assert found.price() == found.loss_

    def test_bad_values_count_as_absent(self, kind: Any) -> None:
        values: list[Any] = [0.1, 0.5, 0.9] * 50
        with seeded(1):
            clean = kind(dp.PureDP(1.0)).fit(values).value_
        with seeded(1):
            assert kind(dp.PureDP(1.0)).fit([*values, float("nan"), float("inf")]).value_ == clean

    def test_no_data(self, kind: Any) -> None:
        assert 0 <= kind(dp.PureDP(1.0)).fit([]).value_ <= 1

    def test_audit_stays_within_the_claim(self, kind: Any) -> None:
        model = kind(dp.PureDP(1.0))
        pair = np.array([0.0] * 20), np.array([0.0] * 20 + [1.0])
        with seeded(4):
            found = dp.audit.lower_bound(
                lambda x: model.fit(x).value_,
                pair=pair,
                trials=2000 if kind is GradientMean else 400,
                confidence=1 - 1e-9,
            )
        assert found.epsilon <= 1.0

    def test_bounds_are_checked(self, kind: Any) -> None:
        for bad in ((1, 0), 3, (0, float("nan"))):
            with pytest.raises(InvalidParameter, match="bounds"):
                kind(dp.PureDP(1.0), bounds=bad).fit([1.0])
        with pytest.raises(InvalidParameter, match="dimensions"):
            kind(dp.PureDP(1.0)).fit([[1.0]])


def test_gradient_mean_is_closer() -> None:
    x = np.random.default_rng(0).uniform(size=20_000)
    errors = {}
    with seeded(2):
        for kind in KINDS:
            errors[kind] = np.mean([abs(kind(dp.PureDP(1.0)).fit(x).value_ - x.mean()) for _ in range(40)])
    assert errors[GradientMean] < errors[ExponentialMean] / 5
