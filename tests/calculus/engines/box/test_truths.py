"""500 random points of the box: short runs against 50 digits computed independently, long runs against the grid.

`make_truths` wrote the file and says how. A point is a fault when the truth is outside the bracket.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from benchmarks import box_points
from benchmarks.box_points import FAMILIES, Point

from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.pairs.pair import Bounds

GROUPS = json.loads(Path(__file__).with_name("truths.json").read_text(encoding="utf-8"))["groups"]
LONG = GROUPS["long"]
TRUTHS = [x for name, group in GROUPS.items() if name != "long" for x in group]
SUBSETS = json.loads(Path(__file__).with_name("without_replacement.json").read_text(encoding="utf-8"))
"""Two steps each, by `make_without_replacement`."""


def quick(point: dict[str, Any]) -> bool:
    """Whether it takes no seconds today.

    Not asked: rare Gaussian noise beside Laplace noise that is not rare.
    """
    parts = point["parts"]
    rare = any(part["kind"] == "gaussian" and part["rate"] < 1e-3 for part in parts)
    often = any(part["kind"] == "laplace" and part["rate"] > 1e-3 for part in parts)
    return not (rare and often)


SHORT = [x for x in TRUTHS if quick(x["point"])] + SUBSETS
EVERY = [*FAMILIES, box_points.DISCRETE]


def direction(point: Point) -> Direction:
    found: Direction = getattr(box_points.loss(point), "add" if point.direction == "add" else "remove")
    return found


@cache
def answers(family: str) -> list[tuple[Fraction, Bounds, float, Bounds]]:
    """Of each short run: the true delta and our bracket at that epsilon; the epsilon and our bracket at that delta."""
    found = []
    for truth in SHORT:
        point = Point(**truth["point"])
        if point.family != family:
            continue
        side, epsilon = direction(point), truth["epsilon"]
        delta = Fraction(truth["delta"])
        found.append((delta, side.delta(epsilon), epsilon, side.epsilon(float(delta))))
    return found


def width(bounds: Bounds) -> float:
    return (bounds.upper - bounds.lower) / max(bounds.upper, 1e-3)


def faults(family: str, lower: float = 0.0, upper: float = 0.0) -> list[tuple[float, Bounds]]:
    """Brackets that miss the truth, after both ends were moved inwards by these shares."""
    found = []
    for delta, of_delta, epsilon, of_epsilon in answers(family):
        for truth, bounds in ((float(delta), of_delta), (epsilon, of_epsilon)):
            moved = Bounds(bounds.lower * (1 + lower), bounds.upper * (1 - upper))
            exact = delta if bounds is of_delta else Fraction(epsilon)
            if not Fraction(moved.lower) <= exact <= Fraction(moved.upper):
                found.append((truth, bounds))
    return found


def test_there_are_as_many_as_promised() -> None:
    """Every family, one to three steps, and 50 digits of each."""
    assert len(TRUTHS) + len(LONG) >= 500
    assert {x["point"]["family"] for x in TRUTHS} == set(EVERY)
    assert {name for name, group in GROUPS.items() if group} == {
        *("1 steps", "2 steps", "3 steps", "discrete pairs", "long")
    }
    assert all(len(x["delta"].split("e")[0].replace(".", "").lstrip("0")) >= 48 for x in TRUTHS)


@pytest.mark.parametrize("family", EVERY)
def test_the_truth_is_inside(family: str) -> None:
    assert faults(family) == []


@pytest.mark.parametrize("family", EVERY)
def test_a_bound_moved_by_a_billionth_is_seen(family: str) -> None:
    """Positive control: either end moved inwards by 1e-9 of itself is a fault at every point of a narrow bracket."""
    narrow = sum(
        0 < bounds.upper - bounds.lower < 9e-10 * bounds.lower
        for _, of_delta, _, of_epsilon in answers(family)
        for bounds in (of_delta, of_epsilon)
    )
    assert narrow >= 0.4 * len(answers(family))
    assert len(faults(family, lower=1e-9)) >= narrow
    assert len(faults(family, upper=1e-9)) >= narrow


@pytest.mark.parametrize("family", EVERY)
def test_short_runs_are_as_narrow_as_promised(family: str) -> None:
    assert [x for x in answers(family) if width(x[3]) > 1e-6] == []


@cache
def long_answers() -> list[tuple[dict[str, Any], Bounds]]:
    return [(x, direction(Point(**x["point"])).delta(x["epsilon"])) for x in LONG]


def test_long_runs_agree_with_the_grid() -> None:
    """The grid's brackets are stored: some take seconds."""
    apart = [
        (x["point"], bounds, x["grid"])
        for x, bounds in long_answers()
        if not (bounds.lower <= x["grid"][1] and x["grid"][0] <= bounds.upper)
    ]
    assert apart == []


def test_the_grid_says_what_is_stored() -> None:
    for x in LONG[::12]:
        point = Point(**x["point"])
        found = direction(point).delta(x["epsilon"], "grid")
        assert found.upper == pytest.approx(x["grid"][1], rel=1e-9)
        assert found.lower == pytest.approx(x["grid"][0], rel=1e-9, abs=1e-300)


def test_a_long_run_that_is_off_is_seen() -> None:
    """Positive control: delta off by the width of the grid's bracket is apart from it.

    The grid has no lower end above 0 at nearly three points in four: these check the upper end alone.
    """
    seen = 0
    for x, bounds in long_answers():
        lower, upper = x["grid"]
        moved = Bounds(bounds.lower * upper / lower * (1 + 1e-9), math.inf) if lower > 0 else bounds
        seen += moved.lower > upper
    assert seen >= 0.25 * len(LONG)
