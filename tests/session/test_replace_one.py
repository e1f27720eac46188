"""Replace-one neighbours, on data: exchanging one unit's rows moves the exact integers no further than the plan says.

All pairs of a list of contributions, each table evaluated once by the engine; then any pair that hypothesis thinks of.
Nothing depends on noise: no false alarms. The sensitivities of add/remove neighbours are exceeded: forgetting the
adjacency is caught.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dp
from dalenius.tables import Query, Source, Table
from dalenius.tables.compute import exact
from dalenius.tables.measures.measure import Measure
from dalenius.tables.plan.plan import Plan, plan

Row = tuple[float, str]
"""x and the town of one row."""

TOWNS = ["a", "b", "c"]
LOW, HIGH = -2, 5
OTHERS: list[tuple[int, float, str]] = [
    (2, 1.0, "a"),
    (2, 4.5, "b"),
    (2, 0.0, "a"),
    (3, -1.0, "c"),
    (4, 5.0, "b"),
]
SCHEMA = dp.Schema({"x": {"bounds": (LOW, HIGH), "nulls": "drop"}}, nulls="never")


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


@cache
def source(own: tuple[Row, ...]) -> Source:
    """The others, and one unit with these rows."""
    rows = [*OTHERS, *((1, x, town) for x, town in own)]
    return Source.open(pd.DataFrame(rows, columns=["id", "x", "town"]), schema=SCHEMA)


def query(table: Table, grouped: bool) -> Query:
    asked = {"n": dp.count(), "total": dp.sum("x"), "mean": dp.mean("x"), "h": dp.histogram("x", bins=4)}
    return (table.group_by("town", keys=TOWNS) if grouped else table).agg(**asked, who=dp.count_distinct())


def planned(unit: dp.Unit, grouped: bool, adjacency: Any = dp.REPLACE_ONE) -> Plan:
    """What a session with these neighbours plans."""
    frame = pd.DataFrame(OTHERS, columns=["id", "x", "town"])
    asked = dp.Session(frame, unit=unit, budget=dp.ZCDP(1.0), schema=SCHEMA, adjacency=adjacency)
    made = asked.release(query(asked.table, grouped), dp.ZCDP(0.5)).plan
    assert made.adjacency is adjacency
    return made


def integers(own: tuple[Row, ...], unit: dp.Unit, grouped: bool) -> dict[Measure, np.ndarray]:
    table = exact.evaluate(source(own), query(source(own).table(), grouped), unit)
    return {measure: np.asarray(values, dtype=object) for measure, values in table.values.items()}


def moved(one: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    """l1, and l2 squared, in whole numbers."""
    change = np.ravel(one - other)
    return int(np.abs(change).sum()), int((change**2).sum())


CONTRIBUTIONS: list[tuple[Row, ...]] = [
    (),
    ((float("nan"), "a"),),
    *(((x, town),) * 4 for x in (LOW, HIGH) for town in ("a", "b")),
    ((1e9, "a"),),
    tuple((HIGH, town) for town in TOWNS),
    ((LOW, "a"), (HIGH, "b"), (HIGH, "c"), (LOW, "c")),
]
"""What pulls hardest: nothing, and more rows than are kept, at the ends and beyond, together and apart."""


@pytest.mark.parametrize("unit", [dp.Unit("id", max_rows=3), dp.Unit.rows()], ids=repr)
@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "by_town"])
def test_one_unit_moves_no_more_than_planned(grouped: bool, unit: dp.Unit) -> None:
    made, weaker = planned(unit, grouped), planned(unit, grouped, dp.ADD_REMOVE)
    # Where every row is a unit, neighbours differ in one.
    worlds = [own[:1] for own in CONTRIBUTIONS[1:]] if unit.is_row else CONTRIBUTIONS
    seen = [integers(own, unit, grouped) for own in dict.fromkeys(worlds)]
    kinds = set()
    for noise in made.noises:
        pairs = [moved(a[noise.measure], b[noise.measure]) for a, b in itertools.combinations(seen, 2)]
        l1, l2_squared = (max(column) for column in zip(*pairs, strict=True))
        stated = noise.sensitivity
        assert l1 <= stated.l1, noise.measure
        assert l2_squared <= stated.l2_squared, noise.measure
        if not unit.is_row:  # attained: the plan asks for no more noise than it must
            assert (l1, l2_squared) == (stated.l1, stated.l2_squared), noise.measure
        if l1 > weaker.of[noise.measure].sensitivity.l1:
            kinds.add(noise.measure.kind)
    # Noise for add/remove neighbours would not do.
    assert kinds >= ({"sum", "bins"} if not grouped else {"count", "sum", "bins"})


own_rows = st.lists(
    st.tuples(
        st.one_of(st.floats(-10, 10), st.sampled_from([LOW, HIGH, 1e300])), st.sampled_from([*TOWNS, "z"])
    ),
    max_size=6,
).map(tuple)


@settings(max_examples=8)
@given(own_rows, own_rows, st.integers(2, 4), st.integers(1, 3), st.booleans())
def test_any_exchange(one: Any, other: Any, rows: int, groups: int, grouped: bool) -> None:
    unit = dp.Unit("id", max_rows=rows, max_groups=groups)
    made = plan(query(source(()).table(), grouped), unit, dp.ZCDP(0.5), dp.REPLACE_ONE)
    before, after = (integers(own, unit, grouped) for own in (one, other))
    for noise in made.noises:
        l1, l2_squared = moved(before[noise.measure], after[noise.measure])
        assert l1 <= noise.sensitivity.l1
        assert l2_squared <= noise.sensitivity.l2_squared
