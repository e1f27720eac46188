"""Several quantiles at once."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Quantile, Quantiles, quantiles
from tests.mechanisms.choices import softmax
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.test_quantile import score

DECILES = tuple(k / 10 for k in range(1, 10))
LEVELS = (0.25, 0.5, 0.75)


def joint(data: Any, epsilon: float, points: int, replaced: bool = False) -> dict[tuple[int, ...], float]:
    """The law of three quartiles on points 0, 1, ... when records are not spread: first the median."""
    scale = 2 * 0.5 / (epsilon / 2) * (2 if replaced else 1)
    law: dict[tuple[int, ...], float] = {}
    for t, p in enumerate(softmax([score(data, t, 0.5) for t in range(points)], 1 / scale)):
        left, right = [x for x in data if x <= t], [x for x in data if x > t]
        low = softmax([score(left, a, 0.5) for a in range(t + 1)], 1 / scale)
        high = softmax([score(right, b, 0.5) for b in range(t, points)], 1 / scale)
        for a, b in itertools.product(range(t + 1), range(t, points)):
            law[a, t, b] = p * low[a] * high[b - t]
    return law


class TestQuantiles(MechanismContract):
    cases = (
        Case("quartiles", lambda c: Quantiles(levels=LEVELS, bounds=(0, 1), epsilon=1 / c)),
        Case(
            "deciles", lambda c: Quantiles(levels=DECILES, bounds=(-10, 10), epsilon=4 / c, granularity=0.01)
        ),
        Case(
            "one, replace one",
            lambda c: Quantiles(levels=(0.3,), bounds=(0, 1), epsilon=1 / c, adjacency=dp.REPLACE_ONE),
        ),
    )
    inputs = ()
    confidences = ()
    scales_back = False
    epsilons = ()
    planted = ()  # the law is tested below, exactly
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    bad_parameters = (
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"levels": x} for x in ((), None, 0.5, "0.5", (0.5, 0.5), (0.7, 0.3), (0.0, 0.5), (0.5, math.nan))),
        *({"bounds": x} for x in (None, (1, 0), (0, math.inf))),
        *({"granularity": x} for x in (0, -1, math.nan, 1e-12)),
        {"adjacency": None},
    )
    bad_values = (
        None,
        1.0,
        "ab",
        math.nan,
        [math.nan],
        [1.0, math.inf],
        [None],
        ["1"],
        [True],
        [[1.0]],
        [1j],
    )

    def calibrated(self, promise: Any) -> Any:
        return Quantiles.calibrated(promise, levels=DECILES, bounds=(0, 1))

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)


def test_rounds_and_what_they_cost() -> None:
    for count, rounds in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (9, 4), (99, 7)):
        m = Quantiles(levels=np.arange(1, count + 1) / (count + 1), bounds=(0, 1), epsilon=1.0)
        assert m.rounds == rounds
        assert m.loss == dp.losses.bounded_range(m.epsilon_per_round) * rounds
        assert m.loss.epsilon(0.0) == pytest.approx(1.0)
        assert m.loss.epsilon(0.0) <= 1.0 + 1e-12
        assert m.loss.zcdp() == pytest.approx(1 / (8 * rounds))


def test_no_path_is_longer_than_the_rounds() -> None:
    def depth(node: Any) -> int:
        return 0 if node is None else 1 + max(depth(node.below), depth(node.above))

    for count in range(1, 40):
        m = Quantiles(levels=np.arange(1, count + 1) / (count + 1), bounds=(0, 1), epsilon=1.0)
        assert depth(m._root) == m.rounds
        assert sorted(node.place for node in m._nodes) == list(range(count))


@pytest.mark.parametrize("replaced", [False, True])
def test_law_without_spreading(replaced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "TIE_BITS", 0)
    m = Quantiles(
        levels=LEVELS,
        bounds=(0, 3),
        granularity=1,
        epsilon=2.0,
        adjacency=dp.REPLACE_ONE if replaced else dp.ADD_REMOVE,
    )
    data, times = [0, 2, 2, 3], 60_000
    with bits("joint law", replaced):
        counts = Counter(tuple(int(x) for x in row) for row in m.releases(data, times))
        single = Counter(tuple(int(x) for x in m.release(data)) for _ in range(500))
    law = joint(data, 2.0, 4, replaced)
    assert sum(law.values()) == pytest.approx(1.0)
    assert set(counts) <= set(law)
    # Hoeffding at 1e-10 for each of 30 cells.
    slack = math.sqrt(math.log(60 / 1e-10) / (2 * times))
    assert max(abs(counts[cell] / times - p) for cell, p in law.items()) < slack
    assert max(abs(single[cell] / 500 - p) for cell, p in law.items()) < slack * math.sqrt(times / 500)
    wrong = joint(data, 2.0, 4, not replaced)
    assert max(abs(counts[cell] / times - p) for cell, p in wrong.items()) > slack


@pytest.mark.parametrize("replaced", [False, True])
def test_no_neighbour_of_a_small_table_tells_more(replaced: bool) -> None:
    """All tables of up to four records on three points: joint log ratios are at most epsilon."""
    tables = [t for n in range(5) for t in itertools.combinations_with_replacement(range(3), n)]
    laws = {t: joint(t, 1.0, 3, replaced) for t in tables}
    worst = 0.0
    for t in tables:
        if replaced:
            near = {tuple(sorted((*t[:i], *t[i + 1 :], x))) for i in range(len(t)) for x in range(3)}
        else:
            near = {tuple(sorted((*t, x))) for x in range(3)} & set(tables)
        for other in near:
            ratios = [math.log(laws[t][cell] / laws[other][cell]) for cell in laws[t]]
            assert max(map(abs, ratios)) <= 1.0 + 1e-12
            worst = max(worst, *map(abs, ratios))
    assert worst > 0.5


def test_equal_values_and_none() -> None:
    m = Quantiles(levels=DECILES, bounds=(0, 10), epsilon=2.0, granularity=0.5)
    with bits("ties"):
        assert m.release([3.5] * 2000).tolist() == [3.5] * 9
        half = m.release([2.0] * 2000 + [7.0] * 2000)
        empty = [m.release([]) for _ in range(50)]
    assert half[[0, 1, 2, 3]].tolist() == [2.0] * 4
    assert half[[5, 6, 7, 8]].tolist() == [7.0] * 4
    assert all((np.diff(x) >= 0).all() and x[0] >= 0 and x[-1] <= 10 for x in empty)
    assert len({tuple(x) for x in empty}) > 40


def test_one_level_is_a_quantile() -> None:
    m = Quantiles(levels=(0.3,), bounds=(0, 1), epsilon=1.0)
    q = Quantile(level=0.3, bounds=(0, 1), epsilon=1.0)
    assert m.loss == q.loss
    assert m._scale(m._root) == q._scale
    assert m.worst_pair.first.tolist() == q.worst_pair.first.tolist()


def test_accuracy_by_simulation() -> None:
    """Rank errors stay within the statement, which is for the worst data, and are much smaller for these."""
    data = np.sort(np.random.default_rng(2).normal(size=5000))
    m = Quantiles(levels=DECILES, bounds=(-20, 20), epsilon=1.0)
    with bits("deciles"):
        found = np.array([m.release(data) for _ in range(100)])
    off = np.abs(np.searchsorted(data, found) - 5000 * np.array(DECILES))
    assert off.max() <= m.accuracy(0.95, 5000)
    assert off.mean() < 20
    coarse = replace(m, granularity=0.5)
    assert coarse.accuracy(0.95) < m.accuracy(0.95)
    assert m.accuracy(0.9) < m.accuracy(0.99)
    assert m.accuracy(0.9, 1000) <= m.accuracy(0.9, 10**9)


def test_for_accuracy_goes_back() -> None:
    m = Quantiles(levels=DECILES, bounds=(0, 1), epsilon=0.7)
    within = m.accuracy(0.9, 1000)
    back = Quantiles.for_accuracy(within, 0.9, levels=DECILES, bounds=(0, 1), size=1000)
    assert back.accuracy(0.9, 1000) <= within
    assert back.epsilon == pytest.approx(0.7, rel=1e-9)
    with pytest.raises(InvalidParameter, match="within"):
        Quantiles.for_accuracy(3.0, 0.9, levels=DECILES, bounds=(0, 1))
    with pytest.raises(InvalidParameter, match="confidence"):
        m.accuracy(1.0)
    with pytest.raises(InvalidParameter, match="size"):
        m.accuracy(0.9, 0)


def test_most_records_in_one_place() -> None:
    """Birthdays: a million records in one grid step, 2^24 places."""
    most = quantiles._most_together(10**6, 1e-6)
    rng = np.random.default_rng(4)
    seen = [int(np.unique(rng.integers(0, 1 << 24, 10**6), return_counts=True)[1].max()) for _ in range(3)]
    assert max(seen) <= most <= 8
    assert quantiles._most_together(3, 1e-300) == 3
    assert quantiles._most_together(1, 0.5) == 1


def test_a_million_records_in_a_second() -> None:
    data = np.random.default_rng(1).normal(size=1_000_000)
    m = Quantiles(levels=DECILES, bounds=(-10, 10), epsilon=1.0)
    start = time.perf_counter()
    found = m.release(data)
    assert time.perf_counter() - start < 5
    assert np.abs(found - np.quantile(data, DECILES)).max() < 1e-3


def test_the_audit_stays_within_the_claim() -> None:
    m = Quantiles(levels=LEVELS, bounds=(0, 1), epsilon=2.0)
    with bits("audit quantiles"):
        found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
        leak = dp.audit.lower_bound(replace(m, epsilon=6.0), trials=60_000, confidence=1 - 1e-9, single=0)
    assert not found.contradicts()
    assert found.epsilon > 0.3
    assert leak.contradicts(m.loss)
