"""Sensitivities, against enumeration of all data sets on tiny domains and against the O(n^2) definition."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.statistics import Custom, Median, Quantile, Statistic, TrimmedMean, Variance
from dalenius.core.adjacency import Adjacency
from dalenius.errors import InvalidParameter
from tests.adaptive.smooth.small_sets import Data, all_sets, neighbours
from tests.sample import paired

POINTS = (0.0, 1.0, 2.0, 4.0)
LARGEST = 7
DISTANCES = 3
ADJACENCIES = (dp.ADD_REMOVE, dp.REPLACE_ONE)

KINDS: dict[str, Callable[..., Statistic[Any]]] = {
    "median": Median,
    "quantile 0.25": lambda **known: Quantile(level=0.25, **known),
    "quantile 0.5": lambda **known: Quantile(level=0.5, **known),
    "quantile 0.9": lambda **known: Quantile(level=0.9, **known),
    "trim 0": lambda **known: TrimmedMean(trim=0, **known),
    "trim 0.2": lambda **known: TrimmedMean(trim=0.2, **known),
    "trim 0.4": lambda **known: TrimmedMean(trim=0.4, **known),
    "variance": Variance,
}
EXACT = {
    ("median", dp.ADD_REMOVE),
    *((kind, dp.REPLACE_ONE) for kind in KINDS if kind != "variance"),
}
"""Where A_k is the largest local sensitivity at distance k, not just a bound on it."""


def build(kind: str, adjacency: Adjacency) -> Statistic[Any]:
    """Steps of 2^-10, so that the floor of one step does not hide anything."""
    return KINDS[kind](bounds=(0, 4), granularity=2**-10, adjacency=adjacency)


def enumerated(statistic: Statistic[Any]) -> list[dict[Data, float]]:
    """For every distance, the largest local sensitivity within it, of all data sets whose neighbours are listed."""
    everything = all_sets(POINTS, LARGEST)
    value = {data: statistic.value(data) for data in all_sets(POINTS, LARGEST + 1)}
    near = {data: neighbours(data, POINTS, statistic.adjacency) for data in everything}
    local = [
        {data: max((abs(value[data] - value[x]) for x in near[data]), default=0.0) for data in everything}
    ]
    for _ in range(DISTANCES):
        last = local[-1]
        local.append(
            {
                data: max(last[x] for x in (data, *near[data]))
                for data in everything
                if data in last and all(x in last for x in near[data])
            }
        )
    return local


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("kind", KINDS)
def test_sensitivity_at_a_distance_by_enumeration(kind: str, adjacency: Adjacency) -> None:
    statistic = build(kind, adjacency)
    exact = (kind, adjacency) in EXACT
    for k, truths in enumerate(enumerated(statistic)):
        assert len(truths) > 30
        for data, truth in truths.items():
            if not data and adjacency is dp.REPLACE_ONE:
                continue  # it has no neighbours
            bound = statistic.local_sensitivity(data, k)
            assert bound >= truth - 1e-9, (data, k)
            assert not exact or bound <= truth + 1e-9, (data, k)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "adjacency", "beta"), paired(list(KINDS), ADJACENCIES, [0.05, 0.4, 1.5]))
def test_smooth_between_all_neighbours(kind: str, adjacency: Adjacency, beta: float) -> None:
    statistic = build(kind, adjacency)
    everything = all_sets(POINTS, LARGEST)
    smooth = {data: statistic.smooth_sensitivity(data, beta) for data in everything}
    worst = max(
        smooth[data] / smooth[other]
        for data in everything
        for other in neighbours(data, POINTS, adjacency)
        if other in smooth
    )
    assert worst <= math.exp(beta) * (1 + 1e-9)
    assert kind == "variance" or worst > math.exp(beta) * 0.9 or beta > 1
    assert all(smooth[data] >= statistic.local_sensitivity(data) - 1e-9 for data in everything)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("kind", KINDS)
def test_fast_is_the_definition(kind: str, adjacency: Adjacency) -> None:
    """max over all k of exp(-beta k) A_k, one k after the other."""
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 10, 61, 100):
        for data in (rng.normal(2, 0.3, n), 4 * rng.beta(0.3, 0.3, n), np.full(n, 1.25)):
            for beta in (0.02, 0.3):
                statistic = build(kind, adjacency)
                slow = max(
                    float(statistic.answers.granularity),
                    *(math.exp(-beta * k) * statistic.local_sensitivity(data, k) for k in range(n + 3)),
                )
                assert statistic.smooth_sensitivity(data, beta) == pytest.approx(slow, rel=1e-9)


def test_smooth_between_large_neighbours() -> None:
    """Where the search by halving works on thousands of rows, ties and huge gaps included."""
    rng = np.random.default_rng(7)
    for adjacency in ADJACENCIES:
        for statistic in (
            Median(bounds=(0, 1), adjacency=adjacency),
            Quantile(level=0.8, bounds=(0, 1), adjacency=adjacency),
        ):
            for beta in (0.001, 0.02):
                data = np.concatenate((rng.beta(5, 5, 4000), np.full(800, 0.5), rng.uniform(0, 1e-6, 700)))
                before = statistic.smooth_sensitivity(data, beta)
                for x in (0.0, 0.5, 1.0):
                    moved = np.append(data, x) if adjacency is dp.ADD_REMOVE else np.append(data[1:], x)
                    after = statistic.smooth_sensitivity(moved, beta)
                    assert abs(math.log(after / before)) <= beta + 1e-9


def test_median_of_a_million_in_less_than_a_second() -> None:
    data = np.random.default_rng(3).standard_cauchy(1_000_001)
    for adjacency in ADJACENCIES:
        for size in (1_000_000, 1_000_001):
            start = time.process_time()
            Median(bounds=(-50, 50), adjacency=adjacency).measured(data[:size], 1e-4)
            assert time.process_time() - start < 1


# -- windows that are printed, or come to mind, and are wrong --------------------------------------


def odd_windows(data: Data, k: int) -> float:
    """The windows for odd n and replacement, rank ceil(n/2), taken for an even n as they stand."""
    n, m = len(data), (len(data) + 1) // 2
    x = [0.0] * (k + 2) + sorted(data) + [4.0] * (k + 2)
    at = {i: x[i + k + 1] for i in range(-k - 1, n + k + 3)}
    return max(at[m + t] - at[m + t - k - 1] for t in range(k + 2)) / 2


def test_windows_for_odd_n_are_too_small_for_even_n() -> None:
    """The mean of the two middle numbers moves by half a window of k + 2 steps; k + 1 steps are too few."""
    truth = enumerated(Median(bounds=(0, 4), granularity=1, adjacency=dp.REPLACE_ONE))[0]
    assert any(odd_windows(data, 0) < value - 1e-9 for data, value in truth.items() if len(data) in (2, 4, 6))


def test_centred_windows_are_not_smooth_under_replacement() -> None:
    """Windows around the middle alone, right under add/remove, miss data sets that one replacement leads to."""
    statistic = Median(bounds=(0, 4), granularity=1, adjacency=dp.REPLACE_ONE)
    centred = Median(bounds=(0, 4), granularity=1)
    truth = enumerated(statistic)[2]
    assert any(
        2 * centred.local_sensitivity(data, 2) < value for data, value in truth.items() if len(data) % 2
    )


def test_sensitivity_without_padding_is_too_small() -> None:
    """A record may go to the ends of the bounds, where no other record is."""
    data = (1.0, 2.0, 3.0)
    statistic = Median(bounds=(0, 4), granularity=1, adjacency=dp.REPLACE_ONE)
    assert statistic.local_sensitivity(data, 2) == 3.0 > max(data) - min(data)


# -- a statistic of one's own -----------------------------------------------------------------------


def test_custom_statistic_is_what_it_is_told() -> None:
    median = Median(bounds=(0, 4), granularity=1 / 4)
    own = Custom(
        function=median.value,
        sensitivity=median.local_sensitivity,
        bounds=(0, 4),
        granularity=1 / 4,
        pair=([0, 4], [0, 4, 4]),
    )
    for data in all_sets(POINTS, 4):
        assert own.smooth_sensitivity(data, 0.3) == pytest.approx(median.smooth_sensitivity(data, 0.3))
    assert own.value([1, 2]) == 1.5


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_custom_statistic_is_total(wrong: float) -> None:
    own = Custom(function=lambda x: wrong, sensitivity=lambda x, k: wrong, bounds=(0, 1), pair=([0], [1]))
    assert own.value([0.5]) == 0
    assert own.smooth_sensitivity([0.5], 1.0) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_refuses_bad_input(kind: str) -> None:
    statistic = build(kind, dp.ADD_REMOVE)
    for values in ([math.nan], [1, math.inf], "ab", None, [None], [[1.0]]):
        with pytest.raises(InvalidParameter):
            statistic.value(values)
    for beta in (0, -1, math.nan, 1e-5, 1e3, "1"):
        with pytest.raises(InvalidParameter, match="beta"):
            statistic.smooth_sensitivity([1.0], beta)
    for bounds in ((1, 0), (0, math.inf), None):
        with pytest.raises(InvalidParameter, match="bounds"):
            KINDS[kind](bounds=bounds)
