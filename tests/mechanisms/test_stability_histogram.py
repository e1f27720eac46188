from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import StabilityHistogram
from dalenius.mechanisms._support.canonical_keys import canonical
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, frequency


def case(scale: float, threshold: int, adjacency: dp.Adjacency = dp.ADD_REMOVE) -> Case:
    return Case(
        f"scale {scale}, threshold {threshold}, {adjacency.value}",
        lambda change: StabilityHistogram(scale=scale * change, threshold=threshold, adjacency=adjacency),
        scale=scale,
        threshold=threshold,
        adjacency=adjacency,
    )


def law(scale: float, threshold: int, count: int) -> np.ndarray:
    """What is seen of one key: nothing (first), or a noisy count from the threshold on."""
    reach = threshold + count + math.ceil(45 * scale)
    if count == 0:
        return np.append(1.0, np.zeros(reach - threshold + 1))
    k = np.arange(-reach - 200, reach + 1)
    q = math.exp(-1 / scale)
    p = (1 - q) / (1 + q) * np.exp(-np.abs(k - count) / scale)
    return np.append(1 - p[k >= threshold].sum(), p[k >= threshold])


def padded(p: np.ndarray, n: int) -> np.ndarray:
    return np.append(p, np.zeros(n - len(p)))


class TestStabilityHistogram(MechanismContract):
    cases = (case(2.0, 12), case(1.0, 3), case(3.0, 30, dp.REPLACE_ONE))
    inputs = ()
    promises = (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.2, 1e-3))
    grain = 1.0
    bad_parameters = (
        *({"scale": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"threshold": x} for x in (0, -1, 1.5, "3", None)),
        {"scale": 0.001, "threshold": 1},
        {"adjacency": 1},
    )
    bad_values = (3, "text", None, {"a": -1}, {"a": 1.5}, {"a": True}, [None], [math.nan], [["a"]])
    revealing = ({"a": 12345.5}, ["12345", None], {12345: -1})

    def calibrated(self, promise: Any) -> Any:
        return StabilityHistogram.calibrated(promise)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, scale=mechanism.scale * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return StabilityHistogram.for_accuracy(within, confidence, delta=1e-6, size=size)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        """Many keys at once, all far above the threshold."""
        many = case.threshold + 100 * math.ceil(case.scale)
        released = mechanism.release(dict.fromkeys(range(n), many))
        assert len(released) == n
        return np.array(list(released.values()), dtype=float) - many

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        q, k = math.exp(-1 / case.scale), np.floor(x)
        return np.where(k < 0, q ** np.maximum(-k, 0) / (1 + q), 1 - q ** (np.maximum(k, -1) + 1) / (1 + q))

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        drawn = self.draws(case, mechanism, size * trials)
        with bits("shuffled"):
            return np.abs(np.random.default_rng(3).permutation(drawn)).reshape(trials, size).max(axis=1)

    def profile(self, case: Case, epsilon: float) -> float:
        """The worst of all pairs of counts of one key (or two keys), by writing out what is seen."""
        pairs = [(0, 1), (1, 2), (2, 3), (case.threshold, case.threshold + 1)]
        worst = 0.0
        sides = []
        for a, b in pairs:
            p, q = law(case.scale, case.threshold, a), law(case.scale, case.threshold, b)
            n = max(len(p), len(q))
            sides.append((padded(p, n), padded(q, n)))
        factor = math.exp(epsilon)
        for i, (p, q) in enumerate(sides):
            if case.adjacency is dp.ADD_REMOVE:
                worst = max(worst, np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum())
            else:
                for r, s in sides[: i + 1]:  # one key loses the record, another gains it
                    one, two = np.outer(p, s), np.outer(q, r)
                    worst = max(
                        worst,
                        np.maximum(one - factor * two, 0).sum(),
                        np.maximum(two - factor * one, 0).sum(),
                    )
        return worst

    tight = 0.05

    def test_loss_agrees_with_an_independent_computation(self, case: Case) -> None:
        """The sum of both losses dominates; it is attained at the largest epsilon, and nearly so below."""
        loss = case.mechanism.loss
        changes = 2 if case.adjacency is dp.REPLACE_ONE else 1
        largest = changes / case.scale
        for epsilon in (0.0, 0.3 * largest, 0.9 * largest, largest, 2 * largest):
            truth = self.profile(case, epsilon)
            assert loss.delta(epsilon) >= truth * (1 - 1e-9)
            assert loss.delta(epsilon) <= (truth + changes * case.mechanism.delta) * (1 + 1e-9)
        slack = 1e-6 if changes == 1 else 0.6
        assert loss.delta(largest) == pytest.approx(self.profile(case, largest), rel=slack)
        assert loss.delta_at_infinity() == pytest.approx(case.mechanism.delta, rel=1e-12)


def test_delta_is_the_chance_that_a_single_record_shows() -> None:
    m = StabilityHistogram(scale=1.0, threshold=3)
    q = math.exp(-1.0)
    assert m.delta == pytest.approx(q**2 / (1 + q), rel=1e-12)
    with bits("shows"):
        shown = len(m.release(dict.fromkeys(range(50000), 1)))
    low, high = frequency(shown, 50_000)
    assert low <= m.delta <= high
    # Off by one, as with q^threshold or a comparison by ">": both are far outside.
    assert not low <= q**3 / (1 + q) <= high
    assert not low <= q**2 <= high


def test_calibrated_spends_all_of_delta_and_epsilon() -> None:
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        for promise in (dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(0.1, 1e-9)):
            m = StabilityHistogram.calibrated(promise, adjacency=adjacency)
            assert promise.holds(m.loss)
            assert not promise.holds(replace(m, threshold=m.threshold - 1).loss)
    for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ZCDP(1.0), dp.ApproxDP(1.0, 0.0), dp.ApproxDP(0.0, 0.1)):
        with pytest.raises(CannotMeet, match="ApproxDP"):
            StabilityHistogram.calibrated(promise)


def test_order_of_the_data_does_not_show() -> None:
    m = StabilityHistogram(scale=0.2, threshold=2)
    first = [key for key in "abcdefgh" for _ in range(5)]
    with bits("order"):
        found = {tuple(m.release(first)) for _ in range(200)}
    assert len(found) > 150  # ties in random order
    with bits("order"):
        assert list(m.release(["a"] * 3 + ["b"] * 9)) == ["b", "a"]


def test_records_and_counts_are_the_same() -> None:
    m = StabilityHistogram(scale=1.0, threshold=2)
    records = ["x"] * 30 + ["y"] * 20 + [("z", 1)] * 4
    with bits("same"):
        a = m.release(records)
    with bits("same"):
        b = m.release(Counter(records))
    with bits("same"):
        c = m.release(iter(records))
    assert a == b == c
    assert m.release([]) == {}
    assert m.release({"a": 0}) == {}
    assert all(isinstance(n, int) for n in a.values())
    assert set(m.release(np.array([3, 3, 3] * 30))) == {3}


def test_rare_pair() -> None:
    assert StabilityHistogram(scale=1.0, threshold=2).rare_pair == ({"a": 1}, {})
    assert StabilityHistogram(scale=1.0, threshold=2, adjacency=dp.REPLACE_ONE).rare_pair == (
        {"a": 1},
        {"b": 1},
    )


def test_refuses_keys_that_are_missing() -> None:
    with pytest.raises(InvalidParameter, match="missing key"):
        StabilityHistogram(scale=1.0, threshold=2).release(["a", None])


def test_epsilon_at_its_own_delta_is_finite() -> None:
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        for scale, threshold in ((1.0, 3), (2.0, 12), (2.0, 45), (10.0, 200), (0.3, 40)):
            m = StabilityHistogram(scale=scale, threshold=threshold, adjacency=adjacency)
            changes = 1 if adjacency is dp.ADD_REMOVE else 2
            most = changes / scale - math.log1p(-m.delta)
            assert m.loss.epsilon(m.delta) <= most * (1 + 1e-6) + 1e-9
            assert m.loss.epsilon(m.delta * 0.99) == math.inf


PARIS, TOKYO = ZoneInfo("Europe/Paris"), ZoneInfo("Asia/Tokyo")


class Word(str):
    def __repr__(self) -> str:
        return "secret"


class Pair(NamedTuple):
    a: int
    b: int


EQUAL = [
    (0.0, -0.0),
    (1, True, 1.0, np.int64(1), np.float32(1), np.True_),
    (2**60, 2.0**60),
    ("a", Word("a"), np.str_("a")),
    (b"a", np.bytes_(b"a")),
    ((1, 0.0), (True, -0.0), Pair(1, 0)),
    (datetime(2020, 1, 1, 9, tzinfo=TOKYO), datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 1, tzinfo=PARIS)),
    (datetime(2020, 10, 25, 2, 30), datetime(2020, 10, 25, 2, 30, fold=1)),
    (UUID(int=7), UUID(int=7, is_safe=SafeUUID.unsafe)),
]  # fmt: skip


class TestKeys:
    """Of equal keys none shows: what comes out is the same to the letter whichever came first."""

    @staticmethod
    def shown(records: Any) -> str:
        with bits("keys"):
            found = StabilityHistogram(scale=1.0, threshold=2).release(records)
        return repr(list(found.items())) + repr([type(key) for key in found])

    @pytest.mark.parametrize("equal", EQUAL, ids=lambda keys: type(keys[0]).__name__)
    def test_equal_keys_look_alike(self, equal: tuple[Any, ...]) -> None:
        expected = self.shown([equal[0]] * 61)
        for one in equal:
            for other in equal:
                assert self.shown([one] + [other] * 60) == expected
                assert self.shown({one: 61}) == expected
                assert self.shown({("other",): 0, other: 61}) == self.shown({("other",): 0, equal[0]: 61})
        assert expected != "[][]"

    def test_different_keys_stay_apart(self) -> None:
        keys = [
            "1",
            b"1",
            1,
            1.5,
            (1,),
            date(2020, 1, 1),
            datetime(2020, 1, 1),
            timedelta(1),
            clock(1),
            UUID(int=1),
        ]
        assert len({canonical(key) for key in keys}) == len(keys)
        for key in keys:
            assert canonical(canonical(key)) == canonical(key)
            assert type(canonical(canonical(key))) is type(canonical(key))

    def test_the_ends_of_time(self) -> None:
        first = datetime(1, 1, 1, tzinfo=TOKYO)
        last = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
        assert canonical(first) == datetime.min.replace(tzinfo=UTC)
        assert canonical(last) == datetime.max.replace(tzinfo=UTC)

    @pytest.mark.parametrize(
        "key",
        [Decimal("1.00"), Fraction(1, 2), 1j, frozenset({1}), object(), pd.Timestamp("2020-01-01"), pd.NA, pd.NaT,
         np.datetime64("2020-01-01T00", "ns"), np.longdouble(1.5), math.nan, None, (1, None), (1, math.nan),
         clock(1, tzinfo=UTC), range(3), bytearray(b"a"), [1]],
        ids=lambda key: type(key).__name__,
    )  # fmt: skip
    def test_refused_by_type(self, key: Any) -> None:
        with pytest.raises(InvalidParameter) as caught:
            StabilityHistogram(scale=1.0, threshold=2).release([key] * 60)
        assert caught.value.__cause__ is None

    def test_arrays(self) -> None:
        m = StabilityHistogram(scale=1.0, threshold=2)
        assert list(m.release(np.array(["x"] * 60))) == ["x"]
        assert list(m.release(pd.Series(["x"] * 60))) == ["x"]
        for bad in (
            np.ma.array(["x"] * 60, mask=[True] + [False] * 59),
            np.array(["2020-01-01"] * 60, dtype="datetime64[ns]"),
            np.zeros((60, 2)),
        ):
            with pytest.raises(InvalidParameter):
                m.release(bad)
