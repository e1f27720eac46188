"""Random tables and questions: DuckDB gives what a few lines of Python give."""

from __future__ import annotations

import builtins
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.tables import (
    Query,
    Schema,
    Source,
    Table,
    Unit,
    bounds,
    correlation,
    count,
    count_distinct,
    discover,
    histogram,
    impute,
    mean,
    proportion,
    quantiles,
    sum,
    variance,
)
from dalenius.tables.compute import exact
from dalenius.tables.facts.keys import Keys
from tests.tables import reference

TYPES = pa.schema(
    [
        *(
            ("id", pa.int64()),
            ("who", pa.string()),
            ("a", pa.float64()),
            ("w", pa.float64()),
            ("i", pa.int64()),
        ),
        *(("k", pa.string()), ("g", pa.int32()), ("flag", pa.bool_())),
    ]
)
ordinary = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
rows = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-3, 6),
        "who": st.none() | st.sampled_from(["", "é", "a", "A"]),
        "a": st.none() | st.just(math.nan) | ordinary,
        "w": st.none() | st.floats(),
        "i": st.none() | st.integers(-30, 30),
        "k": st.none() | st.sampled_from(["x", "y", "z"]),
        "g": st.none() | st.integers(0, 3),
        "flag": st.none() | st.booleans(),
    }
)
EXPRESSIONS = [
    *(
        "a",
        "w",
        "i",
        "a + i",
        "a - 2 * i",
        "a / i",
        "i % 4",
        "abs(a)",
        "floor(a / 7)",
        "coalesce(a, i, 1)",
        "sqrt(a)",
    ),
    *("case when a > i then a when flag then 1 else i end", "least(a, i)", "nullif(i, 3)", "-i", "ceil(a)"),
]
CONDITIONS = [
    *(
        "a >= 1",
        "i < 5 and flag",
        "not (a > i or flag)",
        "k = 'x'",
        "k in ('x', 'y')",
        "k <> 'z' or i is null",
    ),
    *("i between -3 and 9", "flag", "a is null", "if(flag, i > 0, a > 0)"),
]
limits = st.tuples(st.floats(-1000, 1000), st.floats(0.01, 1000)).map(lambda p: (p[0], p[0] + p[1]))
policies = st.sampled_from([None, "drop", "never", impute(2), impute(-1)])
units_ = st.sampled_from(
    [Unit.rows(), Unit("id", max_rows=3, max_groups=1), Unit("who", max_rows=4, max_groups=2)]
)


@st.composite
def aggregates(draw: st.DrawFn, kinds: int = 10) -> Any:
    x, y = draw(st.lists(st.sampled_from(EXPRESSIONS), min_size=2, max_size=2, unique=True))
    around, nulls = draw(limits), draw(policies)
    kind = draw(st.integers(0, kinds))
    if kind == 0:
        return count(draw(st.sampled_from([None, x])))
    if kind == 1:
        return count_distinct()
    if kind == 2:
        return proportion(draw(st.sampled_from(CONDITIONS)))
    if kind == 3:
        return histogram(x, draw(st.integers(1, 12)), around, nulls=nulls)
    if kind == 4:
        return quantiles(x, [0.5], around, nulls=nulls, bins=draw(st.sampled_from([2, 16, 1000])))
    if kind == 5:
        return correlation(x, y, around, draw(limits), nulls=nulls)
    if kind == 6:
        return histogram(
            x, edges=sorted(draw(st.sets(st.floats(-50, 50), min_size=2, max_size=6))), nulls=nulls
        )
    if kind == 7:
        return bounds(x, nulls=nulls)
    return draw(st.sampled_from([sum, mean, variance]))(x, around, nulls=nulls)


@st.composite
def questions(draw: st.DrawFn, table: Table) -> Query:
    for _ in range(draw(st.integers(0, 2))):
        table = table.filter(draw(st.sampled_from(CONDITIONS)))
    asked = {f"c{n}": draw(aggregates()) for n in range(draw(st.integers(1, 3)))}
    how = draw(st.integers(0, 4))
    if how == 0:
        return table.agg(**asked)
    if how == 1:
        return table.group_by("k", keys=discover()).agg(**asked)
    if how == 2:
        return table.group_by("g", "k", keys={"g": [3, 0], "k": ["x", "none"]}).agg(**asked)
    if how == 3:
        return table.with_columns(half="floor(i / 2)").group_by("half", keys=[-1, 0, 1]).agg(**asked)
    return table.group_by("k", keys=["z", "x"]).agg(**asked)


@settings(max_examples=15)
@given(st.data(), st.lists(rows, max_size=25), units_)
def test_engine_and_reference_agree(
    data: st.DataObject, given_rows: list[dict[str, Any]], unit: Unit
) -> None:
    source = Source.open(pa.Table.from_pylist(given_rows, schema=TYPES))
    schema = Schema({"flag": {"impute": True}, "g": {"nulls": "never"}}, nulls="drop")
    query = data.draw(questions(source.table(schema)))
    found = exact.evaluate(source, query, unit)
    keys, values = reference.evaluate(given_rows, query, unit)
    assert found.keys == keys
    assert {m: v.tolist() for m, v in found.values.items()} == values


@settings(max_examples=8)
@given(st.data(), st.lists(rows, max_size=25), st.randoms())
def test_the_order_of_rows_does_not_matter(
    data: st.DataObject, given_rows: list[dict[str, Any]], rnd: Any
) -> None:
    unit = Unit("id", max_rows=2, max_groups=1)
    shuffled = rnd.sample(given_rows, len(given_rows))
    first, second = (Source.open(pa.Table.from_pylist(r, schema=TYPES)) for r in (given_rows, shuffled))
    query = data.draw(questions(first.table(Schema(nulls="drop"))))
    a, b = exact.evaluate(first, query, unit), exact.evaluate(second, query, unit)
    assert a.keys == b.keys
    assert all((a[m] == b[m]).all() for m in a.values)


@settings(max_examples=12)
@given(st.data(), st.lists(rows, min_size=1, max_size=25), st.integers(1, 4), st.integers(1, 4))
def test_one_unit_changes_no_more_than_it_may(
    data: st.DataObject, given_rows: list[dict[str, Any]], max_rows: int, max_groups: int
) -> None:
    """The measures with and without one unit differ as [low, high], max_rows and max_groups say: no more."""
    unit = Unit("id", max_rows=max_rows, max_groups=max_groups)
    gone = data.draw(st.sampled_from([row["id"] for row in given_rows]))
    rest = [row for row in given_rows if row["id"] != gone]
    whole, less = (Source.open(pa.Table.from_pylist(r, schema=TYPES)) for r in (given_rows, rest))
    query = data.draw(questions(whole.table(Schema(nulls="drop"))))
    if not isinstance(query.keys, Keys | None):
        query = (
            whole.table(Schema(nulls="drop"))
            .group_by("k", keys=["x", "y"])
            .agg(n=count(), m=mean("a", (-1, 1)))
        )
    a, b = exact.evaluate(whole, query, unit), exact.evaluate(less, query, unit)
    for measure in query.measures:
        change = (a[measure].astype(object) - b[measure].astype(object)).reshape(len(a.keys), -1)
        per_group = [[c for c in group if c] for group in change.tolist()]
        assert len([group for group in per_group if group]) <= unit.max_groups
        if measure.kind == "units":
            assert all(c == 1 for group in per_group for c in group)
            continue
        low, high = min(0, unit.max_rows * measure.low), max(0, unit.max_rows * measure.high)
        changes = [c for group in per_group for c in group]
        assert all(low <= c <= high for c in changes)
        assert (
            low <= builtins.sum(changes) <= high
        )  # as whole numbers: a double could round to above the bound


def test_the_reference_would_notice() -> None:
    """A question whose grid is shifted by one step does not agree."""
    table = pa.Table.from_pylist([{"id": 1, "a": 0.5}, {"id": 2, "a": 0.25}], schema=TYPES)
    source = Source.open(table)
    query = source.table(Schema(nulls="drop")).agg(m=mean("a", (0, 1)))
    found = exact.evaluate(source, query, Unit.rows())
    (total,) = [m for m in query.measures if m.kind == "sum"]
    _, values = reference.evaluate(table.to_pylist(), query, Unit.rows())
    assert found[total].tolist() == values[total]
    assert found[total][0] + 1 != values[total][0]


@pytest.mark.parametrize(("nulls", "total"), [(None, 3), (impute(False), 1), ("drop", 1)])
def test_an_imputed_condition_counts_as_zero_or_one(nulls: Any, total: int) -> None:
    source = Source.open(pa.table({"flag": pa.array([True, None, False, None])}))
    query = source.table(Schema({"flag": {"impute": True}})).agg(p=proportion("flag", nulls=nulls))
    (measure,) = [m for m in query.measures if m.kind == "sum"]
    (value,) = measure.values
    (count_,) = [m for m in query.measures if m.kind != "sum"]
    found = exact.evaluate(source, query, Unit.rows())
    assert (found[measure][0] + found[count_][0] * value.centre) * value.granularity == total


@pytest.mark.parametrize("x", [math.inf, -math.inf, 1e308, 5e-324, -0.0])
def test_the_ends_of_doubles_are_clamped(x: float) -> None:
    source = Source.open(pa.table({"x": [x]}))
    query = source.table(Schema(nulls="drop")).agg(s=sum("x", (-1, 1)))
    (measure,) = query.measures
    assert exact.evaluate(source, query, Unit.rows())[measure].tolist() == [
        measure.values[0].unit(x) + measure.values[0].centre
    ]
