"""Huber's location after a private test: the distance is one, by exhaustion; the printed release is rejected."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dalenius.adaptive.ptr import ProposeTestRelease, Refusal
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.infer.influence.huber_location import LocalHuberLocation

PLACES = (0.0, 2.0, 3.0, 5.0, 8.0)


def huber(sensitivity: float, adjacency: Adjacency, c: float = 2.0) -> LocalHuberLocation:
    return LocalHuberLocation(
        sensitivity=sensitivity, scale=sensitivity, bounds=(0.0, 8.0), c=c, adjacency=adjacency
    )


def neighbours(data: tuple[float, ...], adjacency: Adjacency) -> list[tuple[float, ...]]:
    fewer = [tuple(np.delete(data, i)) for i in range(len(data))]
    if adjacency is ADD_REMOVE:
        return [*fewer, *(tuple(sorted((*data, x))) for x in PLACES)]
    return [tuple(sorted((*rest, x))) for rest in fewer for x in PLACES]


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("sensitivity", [0.6, 1.5, 3.1])
def test_over_all_small_data_sets_the_distance_is_one(sensitivity: float, adjacency: Adjacency) -> None:
    mechanism = huber(sensitivity, adjacency)
    sizes = range(6) if adjacency is ADD_REMOVE else (5,)
    sets = [d for n in sizes for d in itertools.combinations_with_replacement(PLACES, n)]
    distance = {d: mechanism.distance(d) for d in sets}
    place = {d: float(mechanism.statistic(d)) for d in sets}
    stable = 0
    for data in sets:
        for other in neighbours(data, adjacency):
            if other in distance:
                assert abs(distance[data] - distance[other]) <= 1
                if abs(place[data] - place[other]) > sensitivity:
                    assert distance[data] == distance[other] == 0
        stable += distance[data] > 0
    assert stable > 0 or sensitivity == 0.6


def test_the_distance_is_what_a_search_over_all_windows_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalenius.infer.influence.huber_location.FINER", 3)
    rng = np.random.default_rng(3)
    for _ in range(60):
        adjacency = ADD_REMOVE if rng.random() < 0.5 else REPLACE_ONE
        mechanism = huber(float(rng.uniform(0.5, 4)), adjacency, float(rng.uniform(0.5, 4)))
        data = rng.uniform(0, 8, rng.integers(0, 40))
        assert mechanism.distance(data) == brute_distance(mechanism, data)


def brute_distance(mechanism: LocalHuberLocation, data: Any) -> int:
    rows = np.rint(np.clip(data, 0, 8) / mechanism._step)
    c, window, width = mechanism._bend, mechanism._window, mechanism._width
    d, m = mechanism._reach, min(window, 2 * c)

    def pull(theta: int) -> float:
        return float(np.clip(rows - theta, -c, c).sum())

    costs = []
    for s in range(width - window + 1):
        high, low = pull(s), pull(s + window)
        costs.append(max(0, math.ceil(max(high, -low) / d) - 1, math.ceil((high - low - d) / m)))
    return min(costs, default=1 << 60)


def test_the_estimate_is_hubers() -> None:
    x = np.random.default_rng(5).standard_t(2, size=501)
    mechanism = LocalHuberLocation(sensitivity=0.001, scale=0.1, bounds=(-1e3, 1e3), c=1.3)
    theta = float(mechanism.statistic(x))
    assert abs(np.clip(x - theta, -1.3, 1.3).sum()) < 1e-2
    contaminated = np.concatenate([x, np.full(100, 900.0), [math.nan, math.inf]])
    assert abs(float(mechanism.statistic(contaminated)) - theta) < 1


def test_a_normal_sample_passes_and_two_clusters_do_not() -> None:
    x = np.random.default_rng(5).normal(size=2000)
    mechanism = LocalHuberLocation(sensitivity=2 * 1.345 / 2000, scale=0.01, bounds=(-1e6, 1e6), c=1.345)
    assert mechanism.distance(x) > 300  # of 1640 or so within c, half of which would do
    release = ProposeTestRelease.by_distance(mechanism, epsilon=0.5, wrong_pass=1e-6)
    assert abs(release.release(x)) < 1
    far = [-1e5] * 1000 + [0.0] + [1e5] * 1000
    assert mechanism.distance(far) == 0
    assert isinstance(release.release(far), Refusal)


def as_printed(x: Any, c: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Centre and noise of the release calibrated by the empirical influence function, as printed (the control)."""
    mechanism = LocalHuberLocation(sensitivity=c, scale=c, bounds=(-1e7, 1e7), c=c)
    theta, n = float(mechanism.statistic(x)), len(x)
    gamma = c / np.mean(np.abs(x - theta) <= c)
    return theta, gamma * 5 * math.sqrt(2 * math.log(n) * math.log(1 / delta)) / (epsilon * n)


@pytest.mark.parametrize("n", [101, 10_001])
def test_the_printed_release_is_not_private_for_any_n(n: int) -> None:
    a, epsilon, delta = 1e6, 1.0, 1e-6
    m = n // 2
    x = np.concatenate([np.full(m, -a), [0.0], np.full(m, a)])
    moved = np.where(x == 0, a, x)
    (centre, noise), (other, less) = (as_printed(d, 1.345, epsilon, delta) for d in (x, moved))
    # The event "above a/2" has a normal tail of no weight under x and all the weight under its neighbour.
    assert (a / 2 - centre) / noise > 1000
    assert (other - a / 2) / less > 1000
    assert centre == pytest.approx(0, abs=2)
    assert other == pytest.approx(a, abs=5)


def test_sensitivities_below_the_grid_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        LocalHuberLocation(sensitivity=1e-12, scale=1.0, bounds=(-1e6, 1e6), c=1.0)
    with pytest.raises(InvalidParameter):
        LocalHuberLocation(sensitivity=1.0, scale=1.0, bounds=(0, 1), c=2.0)
