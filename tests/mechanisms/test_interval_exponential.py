"""The exponential mechanism on an interval."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import IntervalExponential
from dalenius.mechanisms._support.piecewise_draws import PiecewiseScores
from tests.mechanisms.choices import cumulative, softmax, spread, worst_delta
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, follows, frequency

BREAKS, SCORES = [2.0, 2.0, 7.0], [0.0, 9.0, 1.5, -1.5]  # the second piece is empty


def step(t: float) -> float:
    """u at a candidate, half a step of 1 further on."""
    return 0.0 if t + 0.5 <= 2 else 1.5 if t + 0.5 <= 7 else -1.5


def build(change: float = 1.0, **options: Any) -> IntervalExponential:
    known: dict[str, Any] = {"bounds": (0, 10), "sensitivity": 1, "granularity": 1, **options}
    return IntervalExponential(epsilon=known.pop("epsilon", 1.0) / change, **known)


class TestIntervalExponential(MechanismContract):
    cases = (
        Case("epsilon 1", lambda change: build(change)),
        Case("epsilon 2, monotone", lambda change: build(change, epsilon=2.0, monotone=True)),
        Case("replace one", lambda change: build(change, adjacency=dp.REPLACE_ONE)),
    )
    inputs = ()
    confidences = ()
    scales_back = False
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"granularity": x} for x in (0, -1.0, math.nan, math.inf, "1", True, 1e-20, Fraction(-1, 2))),
        *(
            {"bounds": x}
            for x in (None, 1, "01", (0,), (0, 1, 2), (1, 0), (0, 0), (0, math.inf), (math.nan, 1))
        ),
        {"bounds": (-1e308, 1e308)},
        {"bounds": (1e18, 1e18 + 4096), "granularity": 0.1},
        {"bounds": (0.1, 0.9), "granularity": 1},
        {"monotone": True, "adjacency": dp.REPLACE_ONE},
    )
    bad_values = (
        None,
        1.0,
        "ab",
        [[1.0], [0.0, 1.0]],
        ([1.0], [0.0]),
        ([1.0], [0.0, math.nan]),
        ([math.inf], [0.0, 1.0]),
        ([3.0, 2.0], [0.0, 1.0, 2.0]),
        ([], []),
        ([1.0], [0.0, 1.0], 3),
    )
    revealing = (([12345.678, 3.0], [0.0, 1.0, 2.0]), ([1.0], [12345.678, math.nan]))

    def calibrated(self, promise: Any) -> Any:
        return IntervalExponential.calibrated(promise, bounds=(0, 1), sensitivity=2.0)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        scale = case.mechanism.scale
        return mechanism.releases((BREAKS, [scale * u for u in SCORES]), n)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return cumulative(softmax([step(t) for t in range(11)], 1.0))(x)

    def profile(self, case: Case, epsilon: float) -> float:
        return worst_delta(lambda h: softmax([0.0, h], 1.0), case.mechanism.epsilon, epsilon)


def test_single_draws_have_the_law() -> None:
    m = build(granularity=None)
    with bits("single draws"):
        drawn = np.array([m.release((BREAKS, SCORES)) for _ in range(3000)])
    # Pieces of length 2, 5 and 3, uniform inside.
    weights = np.array([2.0, 5 * math.exp(0.75), 3 * math.exp(-0.75)])
    edges, heights = [0.0, 2.0, 7.0, 10.0], np.concatenate(([0.0], np.cumsum(weights) / weights.sum()))
    assert follows(drawn, lambda x: np.interp(x, edges, heights))
    assert not follows(drawn, lambda x: np.interp(x, edges, [0, 0.2, 0.7, 1]))


def test_candidates_are_the_multiples_inside() -> None:
    assert (build(bounds=(0.5, 3.5)).points.lowest, build(bounds=(0.5, 3.5)).points.highest) == (1, 3)
    m = build(bounds=(0, 1), granularity=Fraction(1, 3))
    with bits("thirds"):
        assert set(m.releases(([], [0.0]), 500)) == {0.0, 1 / 3, 2 / 3, 1.0}
    default = build(bounds=(-3, 17), granularity=None)
    assert 2**24 <= default.points.count <= 2**25
    assert default.granularity == Fraction(1, 2**20)


def test_breaks_beyond_the_bounds() -> None:
    m = build(epsilon=40.0)
    with bits("beyond"):
        assert set(m.releases(([-1e300, 1e300], [0.0, 1.0, 5.0]), 200)) == set(range(11))
        assert set(m.releases(([1e300], [0.0, 5.0]), 200)) == set(range(11))
        assert set(m.releases(([-5.0], [5.0, 0.0]), 200)) == set(range(11))
        assert set(m.releases(([10.0], [0.0, 5.0]), 200)) == {10.0}


def test_runs_longer_than_a_double_can_count() -> None:
    """2^60 + 1 candidates of one score against 2^60 - 1 of another: the odd ones are not lost in rounding."""
    long = PiecewiseScores(
        np.array([0, 2**60 + 1]), np.array([2**60 + 1, 2**60 - 1]), np.array([0.0, math.log(3)])
    )
    assert int(long.lengths.sum()) == 2**61
    assert all(int(float(n)) == n for n in long.lengths.tolist())
    with bits("long runs"):
        drawn = long.draws(1.0, 20_000)
        assert 0 <= long.draw(1.0) < 2**61
    low, high = frequency(int((drawn < 2**60 + 1).sum()), 20_000)
    assert low <= 0.25 <= high
    here = drawn[drawn < 2**60 + 1] / 2**60
    assert follows(here, lambda x: np.clip(x, 0, 1))


def test_neighbours_of_a_step_function() -> None:
    """A break that moves and scores that change, u by at most 1 anywhere: the range is at most epsilon."""
    m = build()
    candidates = [t + 0.5 for t in range(11)]
    first = [0.0 if t <= 3 else 1.0 for t in candidates]
    second = [1.0 if t <= 6 else 0.0 for t in candidates]
    top, apart = spread(softmax(first, 1 / m.scale), softmax(second, 1 / m.scale))
    assert top <= apart <= 1.0 + 1e-12
    assert apart == pytest.approx(1.0)


def test_accuracy_with_and_without_a_width() -> None:
    m = build(granularity=0.01)
    assert m.points.count == 1001
    assert m.accuracy(0.95) == pytest.approx(2 * math.log(1000 * 0.95 / 0.05), rel=1e-12)
    assert m.accuracy(0.95, width=1.0) == pytest.approx(2 * math.log(901 / 100 * 19), rel=1e-12)
    assert m.accuracy(0.95, width=100.0) == 0.0
    with bits("accuracy"):
        gap = m.accuracy(0.9, width=1.0)
        drawn = m.releases(([1.0], [0.0, -gap * (1 + 1e-9)]), 20_000)
    low, high = frequency(int((drawn < 1.0).sum()), 20_000)
    assert low <= 0.9 <= high
    back = IntervalExponential.for_accuracy(
        gap, 0.9, bounds=(0, 10), sensitivity=1, granularity=0.01, width=1.0
    )
    assert back.epsilon == pytest.approx(1.0, rel=1e-9)
    assert back.accuracy(0.9, width=1.0) <= gap
    with pytest.raises(CannotMeet):
        IntervalExponential.for_accuracy(1.0, 0.9, bounds=(0, 10), sensitivity=1, width=10.0)
    for bad in (0.0, 1.0, None, "0.9"):
        with pytest.raises(InvalidParameter, match="confidence"):
            m.accuracy(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="width"):
        m.accuracy(0.9, width=-1.0)


def test_quantile_sampler_of_chapter_8() -> None:
    """Awan (2025), Algorithms 3 and 4: z = (1, 2, 3, 4) on [-5, 5], weights 6 e^-1, e^-.5, 1, e^-.5, e^-1."""
    m = IntervalExponential(bounds=(-5, 5), sensitivity=1, epsilon=1.0)
    scores = [-abs(i - 2.0) for i in range(5)]
    law = np.array([6, 1, 1, 1, 1]) * softmax(scores, 0.5)
    assert law / law.sum() == pytest.approx([0.4609809, 0.1266715, 0.2088460, 0.1266715, 0.0768301], abs=5e-8)
    with bits("chapter 8"):
        drawn = m.releases(([1.0, 2.0, 3.0, 4.0], scores), 60_000)
    edges = [-5.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    heights = np.concatenate(([0.0], np.cumsum(law / law.sum())))
    assert follows(drawn, lambda x: np.interp(x, edges, heights))


def test_the_audit_stays_within_the_claim() -> None:
    m = IntervalExponential(bounds=(0, 1), sensitivity=1, epsilon=1.0)
    with bits("audit interval"):
        found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
        leak = dp.audit.lower_bound(replace(m, epsilon=2.0), trials=60_000, confidence=1 - 1e-9, single=0)
    assert not found.contradicts()
    assert found.epsilon > 0.6
    assert leak.contradicts(m.loss)
