"""Distances to data that do not keep the budget, against a search through all data sets over a tiny domain."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.ptr import (
    LocalInterquartileRange,
    LocalMedian,
    LocalRegressionScale,
    NoisyMax,
    StableMode,
    StableScale,
)
from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.errors import InvalidParameter
from tests.adaptive.ptr.laws import Law, first_wins, hockey_stick
from tests.adaptive.ptr.small_data import Data, data_sets, distances, local_sensitivity, neighbours

BOTH = (dp.ADD_REMOVE, dp.REPLACE_ONE)
DOMAIN = (0, 1, 3, 4)


def groups(adjacency: dp.Adjacency, most: int, domain: Any = DOMAIN) -> list[list[Data]]:
    """Data sets that can be turned into one another; larger ones as well, where records may be added."""
    if adjacency is dp.ADD_REMOVE:
        return [data_sets(domain, range(2 * most + 1))]
    return [data_sets(domain, [n]) for n in range(1, most + 1)]


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("sensitivity", [0.4, 0.5, 1.0, 1.4, 1.5, 2.0, 4.0])
def test_median(adjacency: dp.Adjacency, sensitivity: float) -> None:
    m = LocalMedian(sensitivity=sensitivity, scale=1.0, bounds=(0.0, 4.0), adjacency=adjacency)
    statistic = lru_cache(None)(m.statistic)
    for sets in groups(adjacency, 6):
        true = distances(
            sets,
            lambda x: local_sensitivity(statistic, x, DOMAIN, adjacency) > sensitivity,
            DOMAIN,
            adjacency,
        )
        for x in sets:
            if len(x) <= 6:
                assert m.distance(x) == true.get(x, FAR), x


def test_median_is_the_median() -> None:
    m = LocalMedian(sensitivity=1.0, scale=1.0, bounds=(0.0, 10.0))
    assert m.statistic([]) == 5
    assert m.statistic([7]) == 7
    assert m.statistic([3, 1, 8]) == 3
    assert m.statistic([-5, 2, 3, 80]) == Fraction(5, 2)
    rng = np.random.default_rng(3)
    for n in (10, 11, 1000, 1001):
        x = rng.uniform(0, 10, n)
        assert float(m.statistic(x)) == pytest.approx(np.median(x), rel=1e-15)


@pytest.mark.parametrize("adjacency", BOTH)
def test_median_distance_is_exact_about_ties_with_the_sensitivity(adjacency: dp.Adjacency) -> None:
    """0.1 + 0.2 rounds up: a gap of just the sensitivity is not wider than it."""
    for step in (0.1, 0.3, 1 / 3):
        width = 2 * step if adjacency is dp.ADD_REMOVE else step
        m = LocalMedian(sensitivity=step, scale=1.0, bounds=(0.0, 1.0), adjacency=adjacency)
        at = [0.0] * 9 + [width] * 10
        beyond = [0.0] * 9 + [np.nextafter(width, 1.0)] * 10
        assert m.distance(at) > 0
        assert m.distance(beyond) == 0


@pytest.mark.parametrize("sensitivity", [0.9, 1.0, 1.4, 2.0])
def test_interquartile_range_replace_one(sensitivity: float) -> None:
    domain, adjacency = (0, 1, 3), dp.REPLACE_ONE
    m = LocalInterquartileRange(sensitivity=sensitivity, scale=1.0, bounds=(0.0, 3.0), adjacency=adjacency)
    statistic = lru_cache(None)(m.statistic)
    for sets in groups(adjacency, 9, domain):
        true = distances(
            sets,
            lambda x: local_sensitivity(statistic, x, domain, adjacency) > sensitivity,
            domain,
            adjacency,
        )
        for x in sets:
            assert m.distance(x) == true.get(x, FAR), x


@pytest.mark.parametrize("sensitivity", [0.9, 1.0, 2.0])
def test_interquartile_range_add_remove(sensitivity: float) -> None:
    """Never above the true distance, 1 apart at most between neighbours, and hardly ever below."""
    domain, adjacency = (0, 1, 3), dp.ADD_REMOVE
    m = LocalInterquartileRange(sensitivity=sensitivity, scale=1.0, bounds=(0.0, 3.0))
    statistic, distance = lru_cache(None)(m.statistic), lru_cache(None)(m.distance)
    (sets,) = groups(adjacency, 8, domain)
    true = distances(
        sets, lambda x: local_sensitivity(statistic, x, domain, adjacency) > sensitivity, domain, adjacency
    )
    small = [x for x in sets if len(x) <= 8]
    for x in small:
        assert distance(x) <= true[x], x
        assert all(abs(distance(y) - distance(x)) <= 1 for y in neighbours(x, domain, adjacency))
    assert sum(distance(x) < true[x] for x in small) <= 3


def crossed_gaps(n: int) -> set[int]:
    """After how many of n records the gaps are that a record more or less can move a quartile over."""
    found = set()
    for share in (1, 3):
        here, more, less = (-(-share * k // 4) for k in (n, n + 1, n - 1))
        found |= {here - 1 if more == here else here, here if less == here else here - 1}
    return found


def test_interquartile_range_add_remove_with_more_records() -> None:
    """Against all places a window could be brought to, for up to 60 records."""
    rng = np.random.default_rng(11)
    for n in (*range(12), 25, 40, 60):
        x = np.sort(np.round(rng.uniform(0, 20, n), 1))
        m = LocalInterquartileRange(sensitivity=1.5, scale=1.0, bounds=(0.0, 20.0))
        ends = np.concatenate(([0.0], x, [20.0]))
        best = FAR
        for i in range(n + 2):
            for j in range(i + 1, n + 2):
                if ends[j] - ends[i] > 1.5:
                    places = (
                        abs(left - i) + abs(size - left - (n + 1 - j))
                        for size in range(1, 2 * n + 12)
                        for left in crossed_gaps(size)
                    )
                    best = min(best, j - i - 1 + min(places))
                    break
        assert m.distance(x) == best, n


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(("least", "base"), [(1.0, 2.0), (1.0, 3.0), (1.5, 2.0), (0.9, 4.5)])
def test_stable_scale(adjacency: dp.Adjacency, least: float, base: float) -> None:
    m = StableScale(least=least, base=base, bounds=(0.0, 4.0), adjacency=adjacency)
    released = lru_cache(None)(m.release)
    domain = (0, 1, 2, 4)
    for sets in groups(adjacency, 7, domain):
        true = distances(
            sets,
            lambda x: any(released(y) != released(x) for y in neighbours(x, domain, adjacency)),
            domain,
            adjacency,
        )
        for x in sets:
            if len(x) <= 7:
                assert m.distance(x) == true.get(x, FAR), x


@pytest.mark.parametrize("adjacency", BOTH)
def test_mode(adjacency: dp.Adjacency) -> None:
    m = StableMode(adjacency=adjacency)

    def counts(x: Data) -> list[int]:
        return [x.count(v) for v in range(3)]

    for sets in groups(adjacency, 6, range(3)):
        true = distances(
            sets,
            lambda x: any(
                m.release(counts(y)) != m.release(counts(x)) for y in neighbours(x, range(3), adjacency)
            ),
            range(3),
            adjacency,
        )
        for x in sets:
            if len(x) <= 6:
                assert m.distance(counts(x)) == true[x], x


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(("scale", "limit", "delta"), [(0.1, 8.5, 1e-6), (0.5, 1.2, 0.01), (1.0, 0.3, 0.02)])
def test_noisy_max(adjacency: dp.Adjacency, scale: float, limit: float, delta: float) -> None:
    m = NoisyMax(scale=scale, limit=limit, delta=delta, adjacency=adjacency)

    def counts(x: Data) -> list[int]:
        return [x.count(0), x.count(1)]

    def coin(x: Data) -> Law:
        first = first_wins(x.count(0) - x.count(1), scale)
        return Law({0: first, 1: 1 - first})

    def kept(x: Data) -> bool:
        """By the two coins themselves; the neighbours of no data at all have a gap of 1 or -1, as others have."""
        return all(
            max(hockey_stick(coin(x), coin(y), np.exp(limit)), hockey_stick(coin(y), coin(x), np.exp(limit)))
            <= delta
            for y in neighbours(x, range(2), adjacency)
        )

    unstable = False
    for sets in groups(adjacency, 12, range(2)):
        true = distances(sets, lambda x: not kept(x), range(2), adjacency)
        for x in sets:
            if len(x) <= 12 - 4 * (adjacency is dp.ADD_REMOVE):
                found = m.distance(counts(x))
                assert found <= true.get(x, FAR)
                assert found == true.get(x, FAR) or adjacency is dp.REPLACE_ONE, x
                assert m.keeps_budget(counts(x)) <= kept(x)
                unstable |= found == 0
    assert unstable


def test_noisy_max_keeps_its_budget_at_small_and_at_large_gaps_but_not_between() -> None:
    m = NoisyMax(scale=0.1, limit=8.5, delta=1e-6)
    assert [m.keeps_budget([t, 0]) for t in range(6)] == [True, False, False, True, True, True]
    assert [m.distance([t, 0]) for t in range(6)] == [1, 0, 0, 1, 2, 3]


def test_regression_scale_is_a_median_of_errors() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    m = LocalRegressionScale(sensitivity=0.2, scale=1.0, coefficients=(0.5, -1.0), largest=4.0)
    errors = np.abs(y - x[:, 0] * 0.5 + x[:, 1])
    median = LocalMedian(sensitivity=0.2, scale=1.0, bounds=(0.0, 4.0))
    assert float(m.statistic((x, y))) == pytest.approx(float(median.statistic(errors)), rel=1e-14)
    assert m.distance((x, y)) == median.distance(errors)
    # A row's error does not depend on the rows around it, to the last bit.
    assert (m._errors((x, y))[3:7] == m._errors((x[3:7], y[3:7]))).all()
    assert np.isfinite(m._errors(([[1e308, -1e308]], [1e308]))).all()
    for bad in (x, (x, y[:-1]), (x[:, :1], y), (x, None), ([[np.nan, 1.0]], [1.0])):
        with pytest.raises(InvalidParameter):
            m.distance(bad)


def test_a_million_numbers_are_quick() -> None:
    x = np.random.default_rng(1).normal(size=1_000_000)
    for m in (
        LocalMedian(sensitivity=1e-4, scale=1.0, bounds=(-10.0, 10.0)),
        LocalMedian(sensitivity=1e-4, scale=1.0, bounds=(-10.0, 10.0), adjacency=dp.REPLACE_ONE),
    ):
        start = time.process_time()
        assert 10 < m.distance(x) < 1000
        assert time.process_time() - start < 5
