"""Quantiles by the exponential mechanism and by the K-norm gradient mechanism.

False alarms. Laws are compared by DKW at level 1e-10, audits run at confidence 1 - 1e-9; seeds are fixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import ExponentialQuantile, GradientQuantile
from dalenius.learn.models import quantile
from dalenius.learn.models.quantile import _risks
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

KINDS = (GradientQuantile, ExponentialQuantile)
DATA = np.array([0.0, 0.25, 0.25, 0.5, 1.0, 1.0, 0.75] * 3)
GRID = np.arange(9) / 8


def scores(kind: Any, x: np.ndarray, level: float) -> np.ndarray:
    """Written out: minus the shortest gradient, or minus the risk, in units of its sensitivity."""
    most = max(level, 1 - level)
    if kind is GradientQuantile:
        low = (x[None] < GRID[:, None]).sum(axis=1) - level * len(x)
        high = (x[None] <= GRID[:, None]).sum(axis=1) - level * len(x)
        return -np.maximum(np.maximum(low, -high), 0) / (2 * most)
    apart = x[None] - GRID[:, None]
    return -np.maximum(level * apart, (level - 1) * apart).sum(axis=1) / most


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.8])
def test_law(kind: Any, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of nine points; half the epsilon is rejected."""
    monkeypatch.setattr(quantile, "STEPS", 8)
    monkeypatch.setattr(quantile, "PLACES", range(9))
    monkeypatch.setattr("dalenius.learn.models.mean.STEPS", 8)
    monkeypatch.setattr("dalenius.learn.models.mean.PLACES", range(9))
    model = kind(dp.PureDP(1.0), level=level)
    with seeded(3):
        drawn = np.array([model.fit(DATA).value_ for _ in range(2000)])

    def cdf(epsilon: float) -> Any:
        weight = np.exp(epsilon * scores(kind, DATA, level))
        steps = np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))
        return lambda x: steps[np.searchsorted(GRID, x, side="right")]

    assert follows(drawn, cdf(1.0))
    assert not follows(drawn, cdf(0.3))


@pytest.mark.parametrize("kind", KINDS)
def test_cost_by_enumeration(kind: Any) -> None:
    """The log ratio of all probabilities varies by epsilon at most, and by more with twice the exponent."""
    rng, found = np.random.default_rng(0), 0.0
    for level in (0.5, 0.8):
        for k in range(40):
            x = rng.choice(GRID, size=k)
            for extra in (0.0, 0.5, 1.0):
                ratio = scores(kind, x, level) - scores(kind, np.append(x, extra), level)
                found = max(found, float(np.ptp(ratio)))
    assert 0.5 < found <= 1.0 + 1e-12


def test_risks_are_exact() -> None:
    rng = np.random.default_rng(1)
    units, places = np.sort(rng.integers(0, 1 << 20, 50)), np.arange(0, 1 << 20, 1 << 16)
    part = round(0.3 * UNITS_PER_RANK)
    for place, found in zip(places.tolist(), _risks(units, places, part), strict=True):
        apart = [int(u) - place for u in units]
        assert found == sum(part * a if a > 0 else (part - UNITS_PER_RANK) * a for a in apart)


@pytest.mark.parametrize("kind", KINDS)
class TestQuantiles:
    def test_keeps_its_promise(self, kind: Any) -> None:
        for promise in (dp.PureDP(0.5), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1)):
            found = kind(promise, bounds=(-2, 3), level=0.3).fit([0.1, 0.2, 5.0])
            assert promise.holds(found.loss_)
            assert -2 <= found.value_ <= 3
            assert found.price() == found.loss_

    def test_finds_quantiles(self, kind: Any) -> None:
        x = np.random.default_rng(0).uniform(size=20_000)
        with seeded(1):
            for level in (0.1, 0.5, 0.9):
                assert abs(kind(dp.PureDP(5.0), level=level).fit(x).value_ - level) < 0.03

    def test_bad_values_count_as_absent(self, kind: Any) -> None:
        values: list[Any] = [0.1, 0.5, 0.9] * 50
        with seeded(1):
            clean = kind(dp.PureDP(1.0)).fit(values).value_
        with seeded(1):
            odd = [*values, float("nan"), float("inf"), None, "many"]
            assert kind(dp.PureDP(1.0)).fit(odd).value_ == clean

    def test_values_beyond_the_bounds_are_clipped(self, kind: Any) -> None:
        with seeded(1):
            beyond = kind(dp.PureDP(1.0)).fit([0.5, 7.0, -1e300]).value_
        with seeded(1):
            assert kind(dp.PureDP(1.0)).fit([0.5, 1.0, 0.0]).value_ == beyond

    def test_no_data_and_equal_data(self, kind: Any) -> None:
        assert 0 <= kind(dp.PureDP(1.0)).fit([]).value_ <= 1
        with seeded(1):
            assert abs(kind(dp.PureDP(5.0)).fit([0.25] * 2000).value_ - 0.25) < 0.01

    def test_audit(self, kind: Any) -> None:
        """Within the claim as it is; beyond it when ten times as much is spent as is said."""
        pair = np.empty(0), np.ones(1)
        if kind is GradientQuantile:  # three zeros hold the median at 0; with a fourth number it may leave
            pair = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        for spent, caught in ((1.0, False), (10.0, True)):
            model = kind(dp.PureDP(spent))
            with seeded(4):
                found = dp.audit.lower_bound(
                    lambda x, model=model: model.fit(x).value_, pair=pair, trials=1000, confidence=1 - 1e-9
                )
            assert (found.epsilon > 1.0) is caught

    def test_parameters_are_checked(self, kind: Any) -> None:
        for bad in ((1, 0), 3, (0, float("nan"))):
            with pytest.raises(InvalidParameter, match="bounds"):
                kind(dp.PureDP(1.0), bounds=bad).fit([1.0])
        for bad_level in (0.0, 1.0, float("nan"), "half"):
            with pytest.raises(InvalidParameter, match="level"):
                kind(dp.PureDP(1.0), level=bad_level).fit([1.0])
        with pytest.raises(InvalidParameter, match="dimensions"):
            kind(dp.PureDP(1.0)).fit([[1.0]])
        with pytest.raises(InvalidParameter, match="promise"):
            kind(1.0).fit([1.0])


def test_gradient_is_closer() -> None:
    x = np.random.default_rng(0).uniform(size=20_000)
    errors = {}
    with seeded(2):
        for kind in KINDS:
            errors[kind] = np.mean(
                [abs(kind(dp.PureDP(1.0)).fit(x).value_ - np.median(x)) for _ in range(20)]
            )
    assert errors[GradientQuantile] < errors[ExponentialQuantile] / 5
