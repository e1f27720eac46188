"""The most that one record moves each statistic, over all tiny data sets; and the release passes it on as claimed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.infer.hypotheses.kolmogorov_smirnov import GRID, apart, farthest
from dalenius.infer.hypotheses.parts import Part
from dalenius.infer.hypotheses.ranks import compared, group_signs, signed_ranks

VALUES = (-1.0, 0.0, 1.0, 2.0)


def tuples(most: int, values: Any = VALUES) -> Iterator[tuple[Any, ...]]:
    for n in range(most + 1):
        yield from itertools.product(values, repeat=n)


def neighbours(rows: tuple[Any, ...], values: Any, replace: bool) -> Iterator[tuple[Any, ...]]:
    """Replacing any row, or adding one (removing is the same the other way round)."""
    if replace:
        for k in range(len(rows)):
            yield from ((*rows[:k], value, *rows[k + 1 :]) for value in values)
    else:
        yield from ((*rows, value) for value in values)


@pytest.mark.parametrize("replace", [False, True], ids=["add", "replace"])
def test_distance_of_one_sample(replace: bool) -> None:
    places = (0, GRID // 3, GRID // 2, GRID)
    moved = max(
        abs(farthest(np.array(rows, dtype=np.int64)) - farthest(np.array(other, dtype=np.int64)))
        for rows in tuples(4, places)
        for other in neighbours(rows, places, replace)
    )
    assert moved == 1.0


@pytest.mark.parametrize("share", [GRID // 4, GRID // 2, 2 * GRID // 3])
@pytest.mark.parametrize("replace", [False, True], ids=["add", "replace"])
def test_distance_of_two_samples(replace: bool, share: int) -> None:
    most = 0.0
    for x, y in itertools.product(tuples(3, VALUES[:3]), repeat=2):
        here = apart(np.array(x), np.array(y), share)
        for other in neighbours(x, VALUES[:3], replace):
            most = max(most, abs(apart(np.array(other), np.array(y), share) - here))
        for other in neighbours(y, VALUES[:3], replace):
            most = max(most, abs(apart(np.array(x), np.array(other), share) - here))
    assert most == max(share, GRID - share) / GRID


def test_signs_of_two_samples() -> None:
    """2 max(n, m) for replacing; and max(n, m) for adding, which the limits make replacing at worst."""
    for n, m in itertools.product(range(1, 4), repeat=2):
        replaced = added = 0
        for x, y in itertools.product(
            itertools.product(VALUES[:3], repeat=n), itertools.product(VALUES[:3], repeat=m)
        ):
            here = compared(np.array(x), np.array(y))
            assert here == sum(np.sign(a - b) for a in x for b in y)
            for other in neighbours(x, VALUES[:3], True):
                replaced = max(replaced, abs(compared(np.array(other), np.array(y)) - here))
            for other in neighbours(y, VALUES[:3], True):
                replaced = max(replaced, abs(compared(np.array(x), np.array(other)) - here))
            for other in neighbours(x, VALUES[:3], False):
                added = max(added, abs(compared(np.array(other), np.array(y)) - here))
        assert replaced == 2 * max(n, m)
        assert added == m


def test_signed_ranks() -> None:
    for n in range(1, 5):
        most = 0
        for x in itertools.product((-2.0, -1.0, 0.0, 1.0), repeat=n):
            here = signed_ranks(np.array(x))
            assert here == sum(np.sign(a + b) for i, a in enumerate(x) for b in x[i:])
            for other in neighbours(x, (-2.0, -1.0, 0.0, 1.0), True):
                most = max(most, abs(signed_ranks(np.array(other)) - here))
        assert most == 2 * n


def test_signs_of_groups() -> None:
    rows = [(z, g) for z in (0.0, 1.0, 2.0) for g in (0, 1, 2)]
    for n in (2, 3, 4):
        replaced = added = 0
        for data in itertools.product(rows, repeat=n):
            if data == tuple(sorted(data)):
                here = _signs(data)
                replaced = max(replaced, *(abs(_signs(d) - here) for d in neighbours(data, rows, True)))
                added = max(added, *(abs(_signs(d) - here) for d in neighbours(data, rows, False)))
        assert (
            4 * (n - 2) <= replaced <= 4 * (n - 1)
        )  # of two alike, one goes from below all others to above them
        assert added == 2 * n


def _signs(data: Any) -> int:
    signs = group_signs(np.array([z for z, _ in data]), np.array([g for _, g in data]), 3)
    return int(np.abs(signs).sum())


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize("promise", [dp.PureDP(1.0), dp.GDP(1.0)], ids=str)
def test_sums_and_counts_move_no_more_than_their_mechanisms_say(
    adjacency: Any, promise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part of every release of sums, over rows at and beyond the bounds, absent, and in any group."""
    seen: list[tuple[float, Any]] = []

    def watched(self: Part, value: Any) -> Any:
        seen.append((self.mechanism.sensitivity, np.atleast_1d(np.asarray(value, dtype=np.float64))))
        return np.zeros(np.shape(value)) if np.ndim(value) else 0.0

    monkeypatch.setattr(Part, "release", watched)
    values = (-9.0, 0.0, 0.3, 1.0, np.nan)
    pairs = [(v, g) for v in values for g in ("a", "b", None)]
    infer = dp.infer
    tests: list[tuple[Any, Any, Any]] = [
        (infer.MeanTest(promise, bounds=(0, 1), mean=0.3, adjacency=adjacency), values, lambda d: (list(d),)),
        (
            infer.TwoSampleMeanTest(promise, bounds=(0, 1), adjacency=adjacency),
            values,
            lambda d: (list(d), [0.4]),
        ),
        (
            infer.AnovaTest(promise, bounds=(0, 1), levels=("a", "b"), adjacency=adjacency),
            pairs,
            lambda d: ([v for v, _ in d], [g for _, g in d]),
        ),
        (
            infer.IndependenceTest(promise, x_levels=(0.0, 1.0), y_levels=("a", "b"), adjacency=adjacency),
            pairs,
            lambda d: ([v for v, _ in d], [g for _, g in d]),
        ),
        (
            infer.GoodnessOfFitTest(promise, levels=(0.0, 1.0), adjacency=adjacency),
            values,
            lambda d: (list(d),),
        ),
    ]
    for test, rows, arranged in tests:
        used = 0.0
        for data in itertools.product(rows, repeat=2 if rows is values else 1):
            seen.clear()
            test.release(*arranged(data))
            here = list(seen)
            for other in neighbours(data, rows, adjacency is dp.REPLACE_ONE):
                seen.clear()
                test.release(*arranged(other))
                for (most, before), (_, after) in zip(here, seen, strict=True):
                    moved = np.abs(after - before)
                    size = moved.sum() if isinstance(promise, dp.PureDP) else np.sqrt((moved**2).sum())
                    assert size <= most * (1 + 1e-12)
                    used = max(used, size / most)
        assert used > 0.99
