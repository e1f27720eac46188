"""One private quantile."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Quantile
from dalenius.mechanisms._support import rank_draws
from dalenius.mechanisms._support.rank_draws import RankScores
from tests.mechanisms.choices import cumulative, softmax, spread, worst_delta
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, follows, frequency

DATA = (1, 1, 2, 4, 4, 4, 7)


def score(data: Any, t: float, level: float) -> float:
    """Minus the distance of level n from [records below t, records up to t], in exact arithmetic."""
    below, upto = sum(x < t for x in data), sum(x <= t for x in data)
    target = Fraction(level) * len(data)
    return -float(max(below - target, target - upto, 0))


def law(data: Any, level: float, scale: float, points: Any = range(9)) -> np.ndarray:
    return softmax([score(data, t, level) for t in points], 1 / scale)


def build(change: float = 1.0, **options: Any) -> Quantile:
    known: dict[str, Any] = {"level": 0.5, "bounds": (0, 8), "granularity": 1, **options}
    return Quantile(epsilon=known.pop("epsilon", 1.0) / change, **known)


class TestQuantile(MechanismContract):
    cases = (
        Case("median", lambda change: build(change)),
        Case("level 0.75", lambda change: build(change, level=0.75, epsilon=3.0)),
        Case("level 0.3, replace one", lambda c: build(c, level=0.3, epsilon=3.0, adjacency=dp.REPLACE_ONE)),
    )
    inputs = ()
    confidences = ()
    scales_back = False
    promises = (dp.PureDP(1.0), dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6))
    bad_parameters = (
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"level": x} for x in (0.0, 1.0, 1e-12, -0.5, 2, math.nan, "0.5", None)),
        *({"bounds": x} for x in (None, (1, 0), (0, math.inf))),
        *({"granularity": x} for x in (0, -1, math.nan)),
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
        return Quantile.calibrated(promise, bounds=(0, 1))

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, epsilon=mechanism.epsilon / factor)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        return mechanism.releases(DATA, n)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        m = case.mechanism
        sensitivity = 1 if m.adjacency is dp.REPLACE_ONE else max(m.level, 1 - m.level)
        return cumulative(law(DATA, m.level, 2 * sensitivity / m.epsilon))(x)

    def profile(self, case: Case, epsilon: float) -> float:
        return worst_delta(lambda h: softmax([0.0, h], 1.0), case.mechanism.epsilon, epsilon)


POINTS = range(4)


@pytest.mark.parametrize("level", [0.5, 0.25, 0.8])
def test_every_neighbour_of_every_small_table(level: float) -> None:
    """All tables of up to four records on four points: log ratios and their range are at most epsilon."""
    tables = [t for n in range(5) for t in itertools.combinations_with_replacement(POINTS, n)]
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        m = build(level=level, bounds=(0, 3), adjacency=adjacency)
        laws = {t: law(t, level, m.scale, POINTS) for t in tables}
        worst = 0.0
        for t in tables:
            if adjacency is dp.ADD_REMOVE:
                near = [tuple(sorted((*t, x))) for x in POINTS]
            else:
                near = [tuple(sorted((*t[:i], *t[i + 1 :], x))) for i in range(len(t)) for x in POINTS]
            for other in near:
                if other in laws:
                    top, apart = spread(laws[t], laws[other])
                    assert top <= apart <= m.epsilon + 1e-9
                    worst = max(worst, apart)
        assert worst > 0.6 * m.epsilon


def test_one_half_of_the_noise_under_add_remove() -> None:
    assert build().scale == pytest.approx(1.0)
    assert build(adjacency=dp.REPLACE_ONE).scale == pytest.approx(2.0)
    assert build(level=0.9).sensitivity == pytest.approx(0.9)
    # And no less: one record more, and the range is all of epsilon.
    points = np.arange(0.5, 100)
    apart = spread(
        *(softmax([score(x, t, 0.5) for t in points], 1.0) for x in ([50, 50, 50], [50, 50, 50, 99.9]))
    )
    assert apart[1] == pytest.approx(1.0)


def test_tiny_case_of_chapter_7() -> None:
    """Awan (2025), chapter 7: z = (1, 2, 3, 4) on [-5, 5], epsilon 1, replace one."""
    m = Quantile(level=0.5, bounds=(-5, 5), epsilon=1.0, adjacency=dp.REPLACE_ONE)
    chances = [0.4609809, 0.1266715, 0.2088460, 0.1266715, 0.0768301]
    with bits("chapter 7"):
        drawn = m.releases([4, 2, 1, 3], 60_000)
    heights = np.concatenate(([0.0], np.cumsum(chances)))
    assert follows(drawn, lambda x: np.interp(x, [-5, 1, 2, 3, 4, 5], heights))
    # Under add/remove a median has the double exponent.
    with bits("chapter 7, add/remove"):
        drawn = replace(m, adjacency=dp.ADD_REMOVE).releases([4, 2, 1, 3], 60_000)
    weights = np.array([6, 1, 1, 1, 1]) * np.exp(-np.abs(np.arange(5) - 2.0))
    heights = np.concatenate(([0.0], np.cumsum(weights / weights.sum())))
    assert follows(drawn, lambda x: np.interp(x, [-5, 1, 2, 3, 4, 5], heights))


def test_printed_weight_costs_twice_epsilon() -> None:
    """Algorithm 4 of chapter 8 forgets the 1/2: with ten records the log ratio goes up to 2."""
    points = np.linspace(0, 1, 100_001)
    first = np.concatenate((np.zeros(5), [0.99995] * 5))  # one of them goes from 0 to 1
    second = np.concatenate((np.zeros(4), [0.99995] * 5, [1.0]))
    ratios = {}
    for rate in (0.5, 1.0):
        p, q = (
            softmax(-np.abs(np.searchsorted(np.sort(x), points, side="right") - 5.0), rate)
            for x in (first, second)
        )
        ratios[rate] = spread(p, q)[0]
    assert 0.99 < ratios[0.5] <= 1.0
    assert 1.99 < ratios[1.0] <= 2.0


def test_equal_values_are_found() -> None:
    """With the utility as it is usually printed the answer would be uniform on the whole interval."""
    m = Quantile(level=0.5, bounds=(0, 100), epsilon=1.0)
    with bits("equal"):
        assert set(m.releases([37.0] * 200, 200)) == {37.0}
        assert len(set(m.releases([], 200))) > 190


@pytest.mark.parametrize("window", [1e-9, 0.5, 60.0])
def test_lumping_far_records_does_not_change_the_law(window: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_draws, "WINDOW", window)
    places = np.sort(np.random.default_rng(3).integers(0, 40, 60))
    target, scale = 20 * rank_draws.UNITS_PER_RANK, 6.0 * rank_draws.UNITS_PER_RANK
    line = RankScores(places, 0, 40, target, scale)
    assert (line._window == (0, 60)) == (window == 60.0)
    with bits("window", window):
        drawn = line.draws(4_000).astype(float)
        single = np.array([line.draw() for _ in range(200)], dtype=float)
    chances = law(places, 20 / 60, 6.0, range(41))
    assert follows(drawn, cumulative(chances))
    assert follows(single, cumulative(chances))
    assert not follows(drawn, cumulative(law(places, 20 / 60, 12.0, range(41))))


def test_distances_beyond_doubles_are_clamped() -> None:
    line = RankScores(np.zeros(0, dtype=np.int64), 0, 5, 0, 1.0)
    far = line._scores(np.array([1 << 31]), np.array([1 << 31]))
    assert far[0] == -(2.0**53)


def test_accuracy_is_attained_by_equal_records() -> None:
    m = build(epsilon=0.5)
    within = m.accuracy(0.9)
    assert within == pytest.approx(2.0 * math.log(8 * 9), rel=1e-12)
    n = 2 * math.ceil(within) + 2  # every other candidate is off by n/2 ranks
    with bits("quantile accuracy"):
        drawn = m.releases([3] * n, 20_000)
    assert frequency(int((drawn == 3).sum()), 20_000)[1] >= 0.9
    tight = build(epsilon=0.5).scale * math.log(8 * 9)
    assert frequency(int((m.releases([3] * math.floor(2 * tight * 0.8), 20_000) == 3).sum()), 20_000)[0] < 0.9
    back = Quantile.for_accuracy(within, 0.9, bounds=(0, 8), granularity=1)
    assert back.epsilon == pytest.approx(0.5, rel=1e-9)
    assert back.accuracy(0.9) <= within
    with pytest.raises(InvalidParameter, match="confidence"):
        m.accuracy(1.0)


def test_accuracy_holds_for_smooth_data() -> None:
    rng = np.random.default_rng(0)
    data = np.sort(rng.lognormal(size=2000))
    m = Quantile(level=0.25, bounds=(0, 50), epsilon=1.0)
    with bits("smooth"):
        found = m.releases(data, 2000)
    off = np.abs(np.searchsorted(data, found) - 500)
    assert off.max() <= m.accuracy(1 - 1e-9) + 1
    assert off.mean() < 6


def test_values_beyond_the_bounds_count_as_the_bounds() -> None:
    m = build(epsilon=40.0)
    with bits("clamped data"):
        assert set(m.releases([-1e300, -5, 1e300], 50)) == {0.0}
        assert set(m.releases([2**80, 8, -7], 50)) == {8.0}
        assert set(m.releases(np.array([2**63, 8, 2**63], dtype=np.uint64), 50)) == {8.0}


def test_a_million_records_in_a_second() -> None:
    data = np.random.default_rng(1).normal(size=1_000_000)
    m = Quantile(level=0.5, bounds=(-10, 10), epsilon=1.0)
    start = time.perf_counter()
    found = m.release(data)
    assert time.perf_counter() - start < 5
    assert abs(found - np.median(data)) < 1e-3


def test_worst_pair_is_nearly_attained() -> None:
    for level, adjacency in itertools.product((0.5, 0.9, 0.02), (dp.ADD_REMOVE, dp.REPLACE_ONE)):
        m = Quantile(level=level, bounds=(0, 1), epsilon=1.0, adjacency=adjacency)
        first, second = m.worst_pair
        assert len(second) - len(first) == (1 if adjacency is dp.ADD_REMOVE else 0)
        with bits("worst", level, adjacency):
            p, q = (m.releases(x, 40_000) for x in (first, second))
        cut = next(x for x in first if 0 < x < 1)
        rare = (lambda x: (x > cut).mean()) if level >= 0.5 else (lambda x: (x < cut).mean())  # noqa: B023
        assert 0.75 < math.log(rare(q) / rare(p)) < 1.1


def test_the_audit_stays_within_the_claim() -> None:
    m = Quantile(level=0.5, bounds=(0, 1), epsilon=1.0)
    with bits("audit quantile"):
        found = dp.audit.lower_bound(m, trials=60_000, confidence=1 - 1e-9, single=0)
        leak = dp.audit.lower_bound(replace(m, epsilon=2.0), trials=60_000, confidence=1 - 1e-9, single=0)
    assert not found.contradicts()
    assert found.epsilon > 0.6
    assert leak.contradicts(m.loss)
