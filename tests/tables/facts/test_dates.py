"""Days, weeks, months, ... as public keys, and first and last days as facts."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import Schema, Source, Unit, count
from dalenius.tables.compute import exact
from dalenius.tables.facts.dates import beginning, listed
from dalenius.tables.sql import parse_sql

DAY = datetime.date


@pytest.mark.parametrize("span", ["year", "quarter", "month", "week"])
def test_every_day_is_in_one_of_those_listed(span: Any) -> None:
    for first in (DAY(1, 1, 1), DAY(2019, 12, 30), DAY(2024, 2, 29), DAY(9999, 12, 20)):
        last = DAY.fromordinal(min(first.toordinal() + 800, DAY.max.toordinal()))
        days = listed("day", first, last)
        assert len(days) == (last - first).days + 1
        assert listed(span, first, last) == sorted({beginning(day, span) for day in days})


def test_months_and_years_as_people_write_them() -> None:
    assert dp.months("2023-11", DAY(2024, 2, 29)) == [
        DAY(2023, 11, 1),
        DAY(2023, 12, 1),
        DAY(2024, 1, 1),
        DAY(2024, 2, 1),
    ]
    assert dp.years(2023, "2024") == [DAY(2023, 1, 1), DAY(2024, 1, 1)]
    assert dp.days("2024-02", "2024-02")[-1] == DAY(2024, 2, 29)
    assert dp.days("9999-12", "9999-12")[-1] == DAY.max
    for wrong in (
        ("2024-13", "2025-01"),
        ("soon", "2025-01"),
        (datetime.datetime(2024, 1, 1), "2025"),
        (1.5, 2),
    ):
        with pytest.raises(InvalidParameter, match="is not a date"):
            dp.months(*wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="first before the last"):
        dp.weeks("2024-02-02", "2024-02-01")


VISITS = pa.table(
    {
        "day": pa.array(
            [DAY(2024, 1, 5), DAY(2024, 1, 31), DAY(2024, 3, 1), DAY(2031, 1, 1), None], pa.date32()
        ),
        "moment": pa.array([datetime.datetime(2024, 1, 5, 23, 59)] * 4 + [None], pa.timestamp("us")),
        "town": ["a", "A ", "b", "b", None],
    }
)
FACTS = {"day": {"bounds": ("2024-01", "2024-03")}, "moment": {"bounds": (DAY(2024, 1, 4), DAY(2024, 1, 6))}}


@pytest.mark.parametrize(
    ("text", "keys", "counts"),
    [
        ("DATE_TRUNC('month', day)", dp.months("2024-01", "2024-03"), [2, 0, 1]),
        ("DATE_TRUNC('quarter', day)", [DAY(2024, 1, 1)], [3]),
        ("DATE_TRUNC('day', moment)", dp.days("2024-01-04", "2024-01-06"), [0, 4, 0]),
        ("CAST(moment AS DATE)", dp.days("2024-01-04", "2024-01-06"), [0, 4, 0]),
        ("YEAR(day)", [2024], [3]),
        ("EXTRACT(MONTH FROM day)", list(range(1, 13)), [3, 0, 1] + [0] * 9),
        ("EXTRACT(HOUR FROM moment)", list(range(24)), [0] * 23 + [4]),
        ("EXTRACT(DOW FROM moment)", list(range(7)), [0, 0, 0, 0, 0, 4, 0]),
        (
            "CASE WHEN town = 'a' THEN 'one' WHEN town = 'b' THEN 'two' ELSE 'one' END",
            ["one", "two"],
            [3, 2],
        ),
        ("CASE WHEN town = 'a' THEN 2 ELSE NULL END", [2], [1]),
        ("town = 'b'", [False, True], [2, 2]),
    ],
)
def test_keys_of_computed_columns(text: str, keys: list[Any], counts: list[int]) -> None:
    """From public facts alone, in Python and in SQL: named, by place, written out, and as part of a cross-table."""
    source = Source.open(VISITS, schema=Schema(FACTS, nulls="drop"))
    table = source.table()
    asked = [
        table.with_columns(g=text).group_by("g").agg(n=count()),
        *(
            parse_sql(f"SELECT {text} AS g, COUNT(*) AS n FROM data GROUP BY {by}", table)
            for by in ("g", "1", text, "G")
        ),
    ]
    assert len({query.canonical() for query in asked}) == 1
    assert [key for (key,) in asked[0].keys.rows] == keys  # type: ignore[union-attr]
    assert exact.evaluate(source, asked[0], Unit.rows())[asked[0].measures[0]].tolist() == counts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("MONTH(day)", "EXTRACT(month FROM day)"),
        ("DATE_PART('dow', moment)", "DAYOFWEEK(moment)"),
        (
            "YEAR(CASE WHEN MONTH(day) = 1 THEN day END)",
            "EXTRACT(YEAR FROM CASE WHEN EXTRACT(MONTH FROM day) = 1 THEN day END)",
        ),
    ],
)
def test_a_part_has_one_text(one: str, other: str) -> None:
    """The same question however the part is written; a column is no part."""
    table = Source.open(VISITS, schema=Schema(nulls="drop")).table()
    asked = {table.with_columns(g=text).agg(n=count("g")).canonical() for text in (one, other)}
    assert len(asked) == 1
    with pytest.raises(QueryRefused, match="the part is a constant"):
        table.with_columns(month="town").with_columns(g="DATE_PART(month, day)")


def test_what_has_no_keys_of_its_own() -> None:
    table = Source.open(VISITS, schema=Schema(nulls="drop")).table()
    for text in (
        *("DATE_TRUNC('month', day)", "YEAR(day)", "LOWER(town)", "DATE_DIFF('day', day, day)"),
        *("CASE WHEN town = 'a' THEN town ELSE 'b' END", "CASE WHEN town = 'a' THEN YEAR(day) ELSE 1 END"),
    ):
        with pytest.raises(QueryRefused, match=r"needs keys.*dp\.months"):
            table.with_columns(g=text).group_by("g")
    with pytest.raises(InvalidParameter, match="there is a column 'town' already"):
        parse_sql("SELECT YEAR(day) AS town, COUNT(*) AS n FROM data GROUP BY town", table, keys=[2024])
    with pytest.raises(QueryRefused, match="which is an aggregate"):
        parse_sql("SELECT COUNT(*) AS n FROM data GROUP BY n", table)
    with pytest.raises(QueryRefused, match="must also stand in the SELECT list"):
        parse_sql("SELECT COUNT(*) AS n FROM data GROUP BY YEAR(day)", table)


def test_bounds_of_dates() -> None:
    column = dp.tables.Column(bounds=["2024-01-01", DAY(2024, 12, 31)])
    assert column.bounds is None
    assert column.days == (DAY(2024, 1, 1), DAY(2024, 12, 31))
    assert eval(repr(column), {"Column": dp.tables.Column}) == column
    for wrong in (("2024-01-01", 5), ("2024-12-31", "2024-01-01"), ("2024-01-01",)):
        with pytest.raises(InvalidParameter, match="the bounds of a column"):
            dp.tables.Column(bounds=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="which dates have"):
        Schema({"town": {"bounds": ("2024", "2024")}}).check(Source.open(VISITS).fields)
    with pytest.raises(InvalidParameter, match="the first and the last day"):
        Schema({"day": {"bounds": (0, 1)}}).check(Source.open(VISITS).fields)


def test_text_in_double_quotes() -> None:
    table = Source.open(VISITS, schema=Schema(nulls="drop")).table()
    for ask in (
        lambda: table.filter('town = "Oslo"'),
        lambda: parse_sql('SELECT COUNT(*) FROM data WHERE town IN ("Oslo")', table),
    ):
        with pytest.raises(QueryRefused, match="single quotes: 'Oslo'"):
            ask()


def test_all_that_is_wrong_with_a_schema_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Schema({"x": {"bounds": (1, 0), "type": "int"}, "y": {"nul": 1}}, nulls="no", records="x")  # type: ignore[arg-type]
    assert all(
        word in str(caught.value) for word in ("exchange", "'integer'", "'nulls'?", "'drop'", "'quoted'")
    )
    with pytest.raises(InvalidParameter, match=r"(?s)exchange.*empty list|empty list.*exchange"):
        dp.tables.Column(bounds=(1, 0), categories=[])
