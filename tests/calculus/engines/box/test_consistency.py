"""Over the box: epsilon falls with delta, rises with steps and rate, and no order or cache changes an answer.

The exact answers are monotone and the brackets hold them, so a lower end on the smaller side above an upper end on the
larger one is a fault whatever the widths; that the upper ends are in order, too, is asked where the gap between the
questions is much wider than the brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import pytest
from benchmarks import box_points
from benchmarks.box_points import Point
from benchmarks.ours import forget

from dalenius.calculus.pairs.pair import Bounds

SEED = 41
NARROW = 1e-6


def usable(point: Point) -> bool:
    """Quick, and not nothing: no run of rare samples whose losses are huge."""
    return (
        len(point.parts) <= 3
        and point.family != "without replacement, Laplace"
        and point.delta < 1e-4
        and all(part["noise"] > 1.0 and part["rate"] > 1e-4 for part in point.parts)
        and any(part["times"] * part["rate"] > 1 for part in point.parts)
    )


def drawn(sums: bool) -> Iterator[Point]:
    for point in box_points.points(SEED):
        if usable(point) and (len(point.parts) > 1) is sums:
            yield point


POINTS = [*islice(drawn(False), 16), *islice(drawn(True), 8)]


@cache
def answer(index: int) -> Bounds:
    return box_points.epsilon(POINTS[index])


def changed(point: Point, **part: Any) -> Point:
    """The point with its first part changed."""
    first, *others = point.parts
    return replace(point, parts=[{**first, **part}, *others])


def in_order(smaller: Bounds, larger: Bounds) -> bool:
    narrow = all(x.upper - x.lower <= NARROW * x.upper for x in (smaller, larger))
    return smaller.lower <= larger.upper and (not narrow or smaller.upper <= larger.upper)


@pytest.mark.parametrize("index", range(len(POINTS)))
def test_epsilon_falls_with_delta(index: int) -> None:
    point = POINTS[index]
    assert in_order(box_points.epsilon(replace(point, delta=min(0.5, 3 * point.delta))), answer(index))


@pytest.mark.parametrize("index", range(len(POINTS)))
def test_epsilon_rises_with_steps_and_rate(index: int) -> None:
    point = POINTS[index]
    part = point.parts[0]
    assert in_order(answer(index), box_points.epsilon(changed(point, times=2 * part["times"])))
    assert in_order(box_points.epsilon(changed(point, rate=part["rate"] / 2)), answer(index))


@pytest.mark.parametrize("index", range(len(POINTS)))
def test_delta_and_epsilon_are_inverse(index: int) -> None:
    """To the last bit on the safe side: both ends were evaluated."""
    point = POINTS[index]
    loss = box_points.loss(point)
    for side in loss.directions:
        lower, upper = side.epsilon(point.delta)
        assert side.delta(upper).upper <= point.delta
        assert lower == 0.0 or side.delta(lower).lower >= point.delta
    lower, upper = loss.epsilon_bounds(point.delta)
    assert loss.delta(upper) <= point.delta
    assert loss.delta_bounds(lower).upper >= point.delta * (1 - 1e-9) or lower == 0.0


@pytest.mark.parametrize("index", range(len(POINTS)))
def test_the_worse_direction_is_what_counts(index: int) -> None:
    """A direction that is skipped would not have changed the answer."""
    loss, delta = box_points.loss(POINTS[index]), POINTS[index].delta
    both = loss.epsilon_bounds(delta)
    sides = [side.epsilon(delta) for side in box_points.loss(POINTS[index]).directions]
    slack = 1e-9 * max(1e-3, both.upper)
    assert both.lower <= max(side.upper for side in sides)
    assert max(side.lower for side in sides) <= both.upper
    assert both.upper <= max(side.upper for side in sides) + slack


SUMS = [k for k, point in enumerate(POINTS) if len(point.parts) > 1]


@pytest.mark.parametrize("index", SUMS)
def test_the_order_of_a_sum_does_not_matter(index: int) -> None:
    """The same bracket, bit by bit."""
    point = POINTS[index]
    assert box_points.epsilon(replace(point, parts=point.parts[::-1])) == answer(index)


@pytest.mark.parametrize("index", range(0, len(POINTS), 3))
def test_caches_change_no_answer(index: int) -> None:
    """A fresh process gives one answer always; rules laid for a longer line before may move its last digits."""
    forget()
    alone = box_points.epsilon(POINTS[index])
    forget()
    assert box_points.epsilon(POINTS[index]) == alone
    warm = box_points.epsilon(POINTS[index])
    assert max(warm.lower, alone.lower) <= min(warm.upper, alone.upper)
    assert abs(warm.upper - alone.upper) <= 1e-9 * max(alone.upper, 1e-3)


@pytest.mark.parametrize("index", range(0, len(POINTS), 3))
def test_what_was_asked_before_changes_little(index: int) -> None:
    """A line that was drawn for another delta may serve this one, with a bracket of its own."""
    point = POINTS[index]
    loss = box_points.loss(point)
    loss.epsilon(min(0.5, 1.5 * point.delta))
    after, alone = loss.epsilon_bounds(point.delta), box_points.loss(point).epsilon_bounds(point.delta)
    assert after.lower <= alone.upper
    assert alone.lower <= after.upper
    assert abs(after.upper - alone.upper) <= 1e-6 * max(alone.upper, 1e-3)
