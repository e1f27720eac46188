"""Questions as objects: built and checked without data, equal when they ask the same."""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import (
    Column,
    Field,
    Query,
    Schema,
    Table,
    Unit,
    bounds,
    correlation,
    count,
    count_distinct,
    covariance,
    discover,
    histogram,
    impute,
    mean,
    median,
    proportion,
    quantile,
    quantiles,
    std,
    sum,
    variance,
)
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.keys import Keys

FIELDS = (
    Field("id", "int64", "integer", True),
    Field("age", "int64", "integer", False),
    Field("pay", "float64", "number", True, True),
    Field("state", "string", "text", False),
    Field("ok", "boolean", "bool", False),
    Field("day", "date", "date", False),
)
SCHEMA = Schema(
    {
        "age": Column(bounds=(0, 120)),
        "pay": Column(bounds=(0, 100), nulls="drop"),
        "state": Column(categories=["CA", "NY"]),
        "ok": Column(categories=[True, False]),
    }
)
TABLE = Table("people", FIELDS, SCHEMA)


def measures(query: Query) -> list[tuple[str, tuple[str, ...], int, int]]:
    return [(m.kind, m.given, m.low, m.high) for m in query.measures]


# What aggregates need


def test_measures_are_shared() -> None:
    query = TABLE.agg(
        n=count(), a=mean("age"), s=sum("pay"), m=mean("pay"), v=variance("pay"), c=count("pay")
    )
    kinds = [(m.kind, m.given) for m in query.measures]
    assert kinds == [
        ("count", ()),
        ("sum", ()),  # age cannot be missing, so its mean divides by the count of rows
        ("product", ()),  # for the mean of a population
        ("sum", ('"pay"',)),  # from zero
        ("count", ('"pay"',)),
        ("sum", ('"pay"',)),  # from the middle
        ("product", ('"pay"',)),
    ]


def test_ranges_follow_from_the_bounds() -> None:
    assert measures(TABLE.agg(m=mean("age")))[:2] == [
        ("count", (), 1, 1),
        ("sum", (), -120, 120),
    ]  # in halves
    assert len(measures(TABLE.agg(m=mean("age", (0, 1))))) == 2  # of 0 and 1 no squares are needed
    assert measures(TABLE.agg(m=sum("age"))) == [("sum", (), 0, 120)]
    assert measures(TABLE.agg(p=proportion("age > 65")))[1] == ("sum", (), -1, 1)
    ((_, _, low, high),) = measures(TABLE.agg(s=sum("pay", (-1, 3))))
    assert (low, high) == (-(2**45), 3 * 2**45)
    (measure,) = TABLE.agg(s=sum("pay", (-1, 3))).measures
    assert high * measure.granularity == 3
    square = TABLE.agg(v=variance("age", (10, 20))).measures[2]
    assert (square.low, square.high, square.granularity) == (0, 100, measure.granularity.__class__(1, 4))


def test_pairs_count_rows_that_have_both() -> None:
    table = Table(
        "t", (Field("x", "float64", "number", True, True), Field("y", "float32", "number", True, True))
    )
    query = table.agg(c=correlation("x", "y", (0, 1), (0, 2), nulls="drop"))
    assert {m.given for m in query.measures} == {('"x"', '"y"')}
    assert [m.kind for m in query.measures] == ["count", "sum", "sum", "product", "product", "product"]
    assert len(table.agg(c=covariance("x", "y", (0, 1), (0, 2), nulls="drop")).measures) == 6
    with pytest.raises(QueryRefused, match="use variance"):
        table.agg(c=covariance("x", "x", (0, 1), (0, 1), nulls="drop"))


def test_bins() -> None:
    ((name, roles),) = [(n, r) for (n, _), r in zip(*_parts(TABLE.agg(h=histogram("age", 12))), strict=True)]
    assert name == "h"
    assert roles[0][1].bins is not None
    assert roles[0][1].bins.edges == tuple(10.0 * n for n in range(13))
    quarters = TABLE.agg(q=quantiles("pay", [0.25, 0.5, 0.75])).measures[0].bins
    assert quarters is not None
    assert quarters.width == 2.0**-7
    assert (quarters.lower, quarters.edges[-1], quarters.size) == (0, 100, 12800)
    ages = TABLE.agg(q=median("age")).measures[0].bins
    assert ages is not None
    assert (ages.width, ages.size) == (1, 121)  # a bin for every age
    magnitudes = TABLE.agg(b=bounds("pay")).measures[0].bins
    assert magnitudes is not None
    assert magnitudes.edges[0] == -(2.0**60)
    assert magnitudes.bin(0.0) == magnitudes.size // 2


def _parts(query: Query) -> tuple[Any, Any]:
    return query.aggregates, query.roles


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.agg(), "at least one aggregate"),
        (lambda t: t.agg(n="count"), "it must be an aggregate"),
        (lambda t: t.agg(n=count), r"n is a function; call it: n=dp.count\("),
        (lambda t: t.agg(n=dp.ZCDP(0.5)), r"n is ZCDP\(rho=0.5\); it must be an aggregate"),
        (lambda t: t.agg(n=dp.ZCDP), "it must be an aggregate"),
        (lambda t: t.agg(n=[].append), "it must be an aggregate"),
        (lambda t: t.group_by("state").agg(state=count()), "names both a grouping column and an aggregate"),
        (lambda t: t.agg(m=mean("state")), "needs numbers, but 'state' is of type text"),
        (lambda t: t.agg(m=mean("nope")), "there is no column 'nope'"),
        (lambda t: t.agg(m=mean("day", (0, 1))), "needs numbers"),
        (lambda t: t.agg(m=mean("age * 2")), "needs bounds: without them one row could change"),
        (lambda t: t.agg(m=mean("age", (5, 1))), r"bounds of mean\('age'\) are \(5, 1\); .* exchange them"),
        (lambda t: t.agg(m=mean("age", (1, 1))), "the lower must be below the upper"),
        (lambda t: t.agg(m=mean("age", (0, float("nan")))), "must be a finite number"),
        (lambda t: t.agg(m=mean("age", 3)), "must be a pair"),
        (lambda t: t.agg(m=mean("age", "ab")), "must be a pair"),
        (lambda t: t.agg(m=mean("age", nulls="ignore")), "must be 'drop', 'never' or impute"),
        (lambda t: t.agg(m=mean("pay", nulls=impute("x"))), "cannot be imputed"),
        (lambda t: t.agg(m=mean("pay + 1", (0, 1), nulls=impute(True))), "cannot be imputed"),
        (lambda t: t.agg(m=mean("pay", granularity=0.3)), "must be a power of two"),
        (lambda t: t.agg(m=mean("pay", granularity=2**-40)), "at most 2\\^30 are allowed"),
        (lambda t: t.agg(m=mean("pay", (1e15, 1e15 + 1), granularity=0.001953125)), "steps of .* from zero"),
        (lambda t: t.agg(m=mean("pay", (-1e200, 1e200))), "beyond what doubles hold well"),
        (lambda t: t.agg(m=mean(3)), "must be a column or an expression"),
        (lambda t: t.agg(p=proportion("age")), "needs a condition"),
        (lambda t: t.agg(q=quantile("age", 0)), "above 0 and below 1"),
        (lambda t: t.agg(q=dp.median("age * 2")), r"^median\('age \* 2'\) needs bounds"),
        (lambda t: t.agg(q=quantile("nope", 0.1)), r"no column 'nope'"),
        (lambda t: t.agg(q=quantile("age * 2", 0.1)), r"^quantile\('age \* 2'\) needs bounds"),
        (lambda t: t.agg(q=quantiles("age", [])), "has no levels"),
        (lambda t: t.agg(q=quantiles("age", [0.5, 0.2])), "must increase"),
        (lambda t: t.agg(h=histogram("age", 0)), "1 or more"),
        (lambda t: t.agg(h=histogram("age", 10**8)), "at most 1048576"),
        (lambda t: t.agg(h=histogram("age", 3, edges=[1, 2])), "both edges and bins"),
        (lambda t: t.agg(h=histogram("age", edges=[2, 1])), "must increase"),
        (lambda t: t.agg(h=histogram("age", edges=[2])), "there must be 2 to"),
        (lambda t: t.agg(b=bounds("age", share=2)), "share is 2"),
        (lambda t: t.group_by(), "at least one column"),
        (lambda t: t.group_by("age"), "needs keys: the groups must be public"),
        (lambda t: t.group_by("state", "state"), "lists a column twice"),
        (lambda t: t.group_by("pay", keys=[1.5]), "not a whole number of 64 bits"),
        (lambda t: t.group_by("pay", keys=[1]), "one can group by whole numbers, text"),
        (lambda t: t.group_by("pay", keys=discover()), "one can group by"),
        (lambda t: t.group_by("state", keys=["CA", "NY", "CA"]), "'CA' is listed twice"),
        (lambda t: t.group_by("state", keys=[]), "list of keys is empty"),
        (lambda t: t.group_by("state", keys="CA"), "must be a list"),
        (lambda t: t.group_by("state", keys=[1]), "is of type text, but its keys hold 1"),
        (lambda t: t.group_by("age", keys=[True]), "is of type integer, but its keys hold True"),
        (lambda t: t.group_by("state", keys=["CA", None]), "holds a null, which is not a group"),
        (
            lambda t: t.group_by("state", "age", keys=["CA"]),
            r"has 1 part; .* keys=\{.state.: \[...\], .age.: \[...\]\}",
        ),
        (lambda t: t.group_by("state", keys={"age": [1]}), "must be for the grouping columns"),
        (lambda t: t.group_by("state", keys=pd.DataFrame({"x": [1]})), "has no column 'state'"),
        (lambda t: t.join_public({"state": ["CA", "CA"]}, on="state"), "more than once"),
        (lambda t: t.join_public({"state": ["CA"], "age": [1]}, on="state"), "both have a column 'age'"),
        (lambda t: t.join_public({"state": [1]}, on="state"), "both must be whole numbers, text"),
        (lambda t: t.join_public({"x": [1.5]}, on={"pay": "x"}), "both must be"),
        (lambda t: t.join_public({"x": [1]}, on="state"), "has no column 'state'"),
        (lambda t: t.join_public({"state": ["CA"]}, on="state", how="outer"), "'inner' or 'left'"),
        (lambda t: t.join_public("nowhere.csv", on="state"), "does not exist"),
        (lambda t: t.join_public({"state": ["CA"]}, on=[]), "needs the columns"),
        (lambda t: t.join_public({"state": ["CA"]}, on=None), "needs the columns"),
        (lambda t: t.join_public({"state": ["CA"]}, on=[("state", 5)]), "needs the columns"),
    ],
)
def test_bad_questions(ask: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ask(TABLE)


# Groups


def test_keys() -> None:
    frame = {"state": ["NY", "CA", "NY", None], "age": [1, 2, 1, 3]}
    rows = (("CA", 2), ("NY", 1))
    for table in (pa.table(frame), pd.DataFrame(frame).astype({"age": "int64"}), pl.DataFrame(frame)):
        assert TABLE.group_by("state", "age", keys=table).keys == Keys(("state", "age"), rows)
    assert TABLE.group_by("state", keys=("b", "a")).keys == Keys(("state",), (("b",), ("a",)))  # as listed
    assert TABLE.group_by("age", keys=np.arange(3)).keys == Keys(("age",), ((0,), (1,), (2,)))
    product = TABLE.group_by("ok", "state").keys
    assert product == Keys(("ok", "state"), ((True, "CA"), (True, "NY"), (False, "CA"), (False, "NY")))
    day = datetime.date(2024, 2, 29)
    assert TABLE.group_by("day", keys=[day]).keys == Keys(("day",), ((day,),))
    decade = TABLE.with_columns(decade="floor(age / 10)").group_by("decade", keys=range(3)).agg(n=count())
    assert decade.columns == ("decade",)


def test_public_columns_can_be_grouped_by_and_used() -> None:
    zips = {"zip": ["1", "2"], "area": [1.5, 2.5], "region": ["n", "s"]}
    table = TABLE.join_public(zips, on={"state": "zip"})
    table.filter("area > 2").group_by("region", keys=["n"]).agg(m=mean("pay / area", (0, 1)))
    left = TABLE.join_public(zips, on={"state": "zip"}, how="left")
    with pytest.raises(QueryRefused, match="uses column 'area', which can hold null"):
        left.filter("area > 2")
    with pytest.raises(QueryRefused, match="uses column 'area', which can hold null"):
        TABLE.join_public({"state": ["CA"], "area": [float("nan")]}, on="state").filter("area > 2")


# Identity


def test_equal_questions_are_equal() -> None:
    def ask(**change: Any) -> Query:
        told = {
            "where": "age >= 18",
            "keys": ["CA"],
            "bounds": (0, 9),
            "nulls": "drop",
            "table": TABLE,
        } | change
        return (
            told["table"]
            .filter(told["where"])
            .join_public({"state": ["CA"], "x": [told.get("x", 1)]}, on="state")
            .group_by("state", keys=told["keys"])
            .agg(n=count(), m=mean("pay", told["bounds"], nulls=told["nulls"]))
        )

    first, same = ask(), ask(where="AGE>=18")
    assert first == same
    assert hash(first) == hash(same)
    assert first.canonical() == same.canonical()
    assert json.loads(first.canonical())
    others = [
        ask(where="age > 18"),
        ask(keys=["NY"]),
        ask(bounds=(0, 10)),
        ask(nulls=impute(0)),
        ask(nulls=impute(0.0)),
        ask(x=2),
        ask(table=Table("people2", FIELDS, SCHEMA)),
        ask(table=Table("people", FIELDS, Schema(dict(SCHEMA.columns), nulls="drop"))),
    ]
    texts = [first.canonical(), *(other.canonical() for other in others)]
    assert len(set(texts)) == len(texts)


# Before any data is read


def test_units_are_checked() -> None:
    declared = Table("people", FIELDS, Schema(dict(SCHEMA.columns) | {"id": {"nulls": "drop"}}))
    query = declared.group_by("state").agg(n=count())
    exact.check(query, Unit.rows())
    exact.check(query, Unit("id", max_rows=1))
    with pytest.raises(QueryRefused, match="'id' can hold null, and no policy says"):
        exact.check(TABLE.agg(n=count()), Unit("id", max_rows=1))
    with pytest.raises(QueryRefused, match="no column 'nope' to tell units by"):
        exact.check(query, Unit("nope", max_rows=1))
    with pytest.raises(QueryRefused, match="ids must be whole numbers or text"):
        exact.check(query, Unit("pay", max_rows=1))
    with pytest.raises(QueryRefused, match="would make a group of every unit"):
        exact.check(declared.group_by("id", keys=[1]).agg(n=count()), Unit("id", max_rows=1))
    with pytest.raises(QueryRefused, match=r"would hold .* numbers"):
        exact.check(declared.group_by("age", keys=range(20_000)).agg(m=median("pay")), Unit.rows())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Unit("id"), "needs max_rows"),
        (lambda: Unit(""), "must be the name of the id column"),
        (lambda: Unit("id", max_rows=0), "1 or more"),
        (lambda: Unit("id", max_rows=1.5), "whole number"),
        (lambda: Unit("id", max_rows=2, max_groups=0), "1 or more"),
    ],
)
def test_bad_units(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_a_unit_is_in_no_more_groups_than_it_has_rows() -> None:
    assert Unit("id", max_rows=2, max_groups=9).max_groups == 2
    assert Unit("id", max_rows=2).max_groups == 2
    assert Unit.rows().is_row
    assert not Unit("id", max_rows=1).is_row
    assert std("x", (0, 1)).tag == "std"
    assert count_distinct() == count_distinct()


def test_a_name_that_an_interval_has_is_refused() -> None:
    table = Table("t", (Field("x", "int64", "integer", False),))
    for other in ("n_low", "n_high"):
        with pytest.raises(InvalidParameter, match="interval of 'n'"):
            table.agg(**{"n": count(), other: count()})


def test_keys_left_out_of_a_mapping_are_those_of_the_schema() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "town": ["a", "b"]})
    table = Source.open(frame, schema=Schema({"sex": {"categories": ["f", "m"]}})).table()
    wanted = {("f", "a"), ("m", "a")}
    assert set(table.group_by("sex", "town", keys={"town": ["a"]}).keys.rows) == wanted
    assert table.cube("sex", "town", keys={"town": ["a"]}).lists == (("f", "m"), ("a",))
    with pytest.raises(InvalidParameter, match="town"):
        table.group_by("sex", "town", keys={"sex": ["f"]})


@pytest.mark.parametrize("name", ["a\x00b", "a\nb", "a\u202eb", "\ud800", "a" * 256, " "])
def test_names_that_others_will_read_are_printable_and_short(name: str) -> None:
    """They go into ledgers, histories and pages, and one that cannot be kept there would be charged in vain."""
    session = dp.Session(pd.DataFrame({"age": [30] * 10}), unit=dp.Unit.rows(), budget=dp.ZCDP(0.5))
    table = session.table
    with pytest.raises(InvalidParameter, match=r"the name of an aggregate is .* at most 255 characters"):
        table.agg(**{name: dp.count()})
    with pytest.raises(InvalidParameter, match="the name of a computed column"):
        table.with_columns(**{name: "age / 2"})
    with pytest.raises(InvalidParameter, match="the name of a question"):
        session.release_all({name: table.agg(n=dp.count())}, dp.ZCDP(0.1))
    assert session.remaining == dp.ZCDP(0.5)
    assert table.agg(**{"a" * 255: dp.count()}) is not None
