"""A person in one month as the unit: what is protected, what is refused, what is said and what is written down."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import Source
from dalenius.tables.compute import exact

MONTHS = [1, 2, 3]
SCHEMA = dp.Schema({"month": {"categories": MONTHS}}, nulls="drop")
UNIT = dp.Unit(["id", "month"], max_rows=2)


def frame(rows: list[tuple[Any, ...]]) -> pa.Table:
    types = (("id", pa.int64()), ("month", pa.int64()), ("x", pa.int64()))
    return pa.table({n: pa.array([r[k] for r in rows], t) for k, (n, t) in enumerate(types)})


def visits(seed: int = 0, size: int = 120) -> list[tuple[int, int, int]]:
    random = Random(seed)
    return [(random.randrange(8), random.choice(MONTHS), random.randrange(10)) for _ in range(size)]


def session(rows: Any = None, unit: dp.Unit = UNIT, **options: Any) -> dp.Session:
    data = frame(visits()) if rows is None else rows
    options.setdefault("budget", dp.ZCDP(1000.0))
    return dp.Session(data, unit=unit, schema=SCHEMA, name="visits", **options)


# What is protected


def counted(rows: list[tuple[int, int, int]], unit: dp.Unit = UNIT) -> dict[str, list[int]]:
    source = Source.open(frame(rows))
    query = (
        source.table(SCHEMA)
        .group_by("month")
        .agg(n=dp.count(), u=dp.count_distinct(), s=dp.sum("x", bounds=(0, 10)))
    )
    found = exact.evaluate(source, query, unit)
    return {
        name: found[roles[0][1]].tolist()
        for (name, _), roles in zip(query.aggregates, query.roles, strict=True)
    }


def test_a_person_counts_in_every_month() -> None:
    """Two rows of each person in each month; with the person as the unit, two in all."""
    rows = [(1, month, 1) for month in MONTHS for _ in range(5)]
    found = counted(rows)
    assert (found["n"], found["u"]) == ([2, 2, 2], [1, 1, 1])
    assert sum(counted(rows, dp.Unit("id", max_rows=2))["n"]) == 2


def test_a_month_of_a_person_moves_that_month_by_its_bound_and_no_other() -> None:
    """What noise is planned for: whatever one unit holds, all the rest stays as it was."""
    base = [row for row in visits(1) if row[:2] != (3, 2)]
    for most in (1, 2, 4):
        unit = dp.Unit(["id", "month"], max_rows=most)
        before = counted(base, unit)
        for size in (1, 3, 30):
            after = counted([*base, *((3, 2, 9) for _ in range(size))], unit)
            kept = min(size, most)
            assert [b - a for a, b in zip(before["n"], after["n"], strict=True)] == [0, kept, 0]
            assert [b - a for a, b in zip(before["u"], after["u"], strict=True)] == [0, 1, 0]


def test_ids_that_look_alike_together_are_kept_apart() -> None:
    """(1, 12) and (11, 2): no text is made of both."""
    data = pd.DataFrame({"a": ["1", "11", "1|1", "1"], "b": ["12", "2", "2", "1|2"]})
    source = Source.open(data)
    query = source.table(dp.Schema(nulls="drop")).agg(n=dp.count(), u=dp.count_distinct())
    found = exact.evaluate(source, query, dp.Unit(["a", "b"], max_rows=1))
    assert [found[m].tolist() for m in query.measures] == [[4], [4]]


def test_rows_without_one_of_the_ids_belong_to_nobody() -> None:
    found = counted([(1, 1, 1), (None, 1, 1), (2, None, 1), (2, 2, 1)])  # type: ignore[list-item]
    assert found["n"] == [1, 1, 0]
    undeclared = Source.open(frame([(1, 1, 1)]))
    query = undeclared.table(dp.Schema({"id": {"nulls": "drop"}})).agg(n=dp.count())
    with pytest.raises(QueryRefused, match="unit's column 'month' can hold null, and no policy"):
        exact.evaluate(undeclared, query, UNIT)


def test_per_unit_counts_and_truncation_are_of_each_month() -> None:
    s = session(frame([(1, month, 1) for month in MONTHS for _ in range(month)]))
    found = exact.evaluate(s.source, query := s.table.per_unit().agg(n=dp.count()), s.table.per_unit().bound)
    assert found[query.measures[0]].tolist() == [3]
    cut = s.truncation(dp.ZCDP(500.0))
    assert cut.unit == "id in one month"
    assert cut.answer.to_pandas()["cut"][0] == pytest.approx(1, abs=1)
    assert "id in one month with more than 2 rows" in str(cut)


# Joins


def joined(rows: list[Any], others: list[Any], on: Any = ("id", "month")) -> Any:
    both = dp.Session(
        {"visits": frame(rows), "bought": frame(others)},
        unit=dp.Unit(["id", "month"], max_rows={"visits": 2, "bought": 3}),
        budget=dp.ZCDP(10.0),
        schema={"visits": SCHEMA, "bought": SCHEMA},
        name="both",
    )
    table = both.table["visits"].join(both.table["bought"], on=list(on))
    query = table.group_by("month", keys=MONTHS).agg(n=dp.count())
    return table, exact.evaluate(both.source, query, table.bound)[query.measures[0]].tolist()


def test_a_join_meets_rows_of_the_same_person_and_month() -> None:
    rows = [(person, month, 1) for person in (1, 2) for month in (1, 2) for _ in range(4)]
    others = [(1, 1, 5)] * 5 + [(1, 2, 5)] + [(2, 3, 5)] * 9
    table, found = joined(rows, others)
    assert found == [2 * 3, 2 * 1, 0]  # cut to 2 and 3 of each person and month, and only equals meet
    assert table.bound.max_rows == 6
    # One unit more in both tables moves its own month by the bound, and nothing else.
    _, more = joined([*rows, *[(7, 1, 1)] * 9], [*others, *[(7, 1, 1)] * 9])
    assert [b - a for a, b in itertools.zip_longest(found, more)] == [6, 0, 0]


def test_a_join_on_part_of_the_id_is_refused() -> None:
    for on in (["id"], ["month"], ["id", "x"]):
        with pytest.raises(QueryRefused, match=r"joined on the unit's id, 'id', 'month'"):
            joined(visits(), visits(1), on)


def test_what_is_joined_on_beside_the_id_counts_whatever_it_is_equal_to() -> None:
    """(x, id) is a condition of its own, though its right side is the id."""
    _, found = joined([(1, 1, 1), (1, 2, 5)], [(1, 1, 0), (1, 2, 0)], ["id", "month", ("x", "id")])
    assert found == [1, 0, 0]


def test_a_table_of_a_session_with_another_unit_is_refused() -> None:
    other = session(unit=dp.Unit("id", max_rows=2)).table.per_unit().agg(n=dp.count())
    s = session()
    with pytest.raises(QueryRefused, match="built where 'id' tells units apart, and here 'id', 'month' does"):
        s.release(other, dp.ZCDP(0.1))
    assert s.remaining == dp.ZCDP(1000.0)


# What is refused


@pytest.mark.parametrize("columns", [[], ["id", "id"], ["id", ""], [1, "id"], None, {"id"}])
def test_what_is_no_id(columns: Any) -> None:
    with pytest.raises(InvalidParameter, match="name of the id column, or several, each once"):
        dp.Unit(columns, max_rows=1)


def test_one_column_in_a_list_is_that_column() -> None:
    assert dp.Unit(["id"], max_rows=2) == dp.Unit("id", max_rows=2)


def test_a_column_that_is_not_there_or_of_another_type() -> None:
    with pytest.raises(
        QueryRefused,
        match=r"no column \"DATE_TRUNC.*made where the data is: a view, or a column of the data frame",
    ):
        session(unit=dp.Unit(["id", "DATE_TRUNC('month', day)"], max_rows=1))
    days = pd.DataFrame({"id": [1], "day": [datetime.date(2024, 1, 1)], "pay": [1.5]})
    for columns, said in (
        (["id", "pay"], "whole numbers, text or dates"),
        (["day", "id"], "whole numbers or text"),
    ):
        s = dp.Session(
            days, unit=dp.Unit(columns, max_rows=1), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop")
        )
        with pytest.raises(QueryRefused, match=said):
            s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        assert s.remaining == dp.ZCDP(1.0)


def test_a_group_of_every_person_is_refused_and_of_every_month_is_not() -> None:
    s = session()
    with pytest.raises(QueryRefused, match="grouping by 'id'"):
        s.release(s.table.group_by("id", keys=[1, 2]).agg(n=dp.count()), dp.ZCDP(0.1))
    assert len(s.release(s.table.group_by("month").agg(n=dp.count()), dp.ZCDP(0.1)).to_pandas()) == 3


def test_distinct_units_in_sql_are_of_all_columns() -> None:
    s = session(frame([(1, month, 1) for month in MONTHS] * 2))
    answer = s.sql("SELECT COUNT(DISTINCT id, month) AS u FROM data", dp.ZCDP(500.0))
    assert answer.to_pandas()["u"][0] == pytest.approx(3, abs=1)
    with pytest.raises(QueryRefused, match=r"COUNT\(DISTINCT id, month\)"):
        s.sql("SELECT COUNT(DISTINCT id) AS u FROM data", dp.ZCDP(0.1))


def test_statistics_about_people_are_refused() -> None:
    """A person's months may be alike: intervals and tests that take them for independent would lie."""
    s = session()
    with pytest.raises(InvalidParameter, match="takes units to be people"):
        _ = s.privacy_report
    answer = s.release(s.table.agg(n=dp.count(), m=dp.mean("x", bounds=(0, 10))), dp.ZCDP(0.1))
    with pytest.raises(InvalidParameter, match="takes units to be people, independent of each other"):
        dp.infer.from_answer(answer)
    asked: list[Any] = [
        (dp.infer.Mean(dp.ZCDP(0.1)), {"x": (0, 10)}),
        (dp.infer.LinearRegression(dp.ZCDP(0.1)), {"x": (0, 10)}, {"month": (0, 3)}),
        (dp.infer.MeanTest(dp.ZCDP(0.1), bounds=(0, 10), mean=5.0), {"x": (0, 10)}),
    ]
    for estimator in asked:
        with pytest.raises(InvalidParameter, match="takes units to be people"):
            s.infer(*estimator)


# What is said and written down


def test_what_is_promised_is_said_plainly() -> None:
    s = session()
    said = "Protected is each id in one month, not each id: whoever has rows in k of them is promised k times epsilon"
    assert said in str(s)
    assert said in str(s.explain(s.table.agg(n=dp.count()), dp.ZCDP(0.1)))
    answer = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
    assert "At most 2 rows of each id in one month count." in str(answer)
    assert dp.Unit("id", max_rows=1).caveat == dp.Unit.rows().caveat == ""
    assert dp.Unit(["id", "year", "month"], max_rows=1).each == "id in one year and month"


def test_group_privacy_is_as_it_is_said() -> None:
    """k of the units: k epsilon, k mu, k^2 rho."""
    for k in (2, 5):
        assert dp.losses.group(dp.losses.pure(0.3), k).epsilon(0.0) == pytest.approx(k * 0.3)
        gaussian = dp.losses.group(dp.losses.gaussian(sigma=2.0), k)
        assert gaussian.zcdp() == pytest.approx(k**2 / 8)
        assert gaussian.gdp() == pytest.approx(k / 2)


def test_the_record_is_for_ever() -> None:
    assert UNIT.record() == {
        "kind": "several ids",
        "columns": ["id", "month"],
        "max_rows": 2,
        "max_groups": 2,
    }
    tables = dp.Unit(["id", "month"], max_rows={"visits": 2, "bought": 3}, max_groups=1)
    assert tables.record() == {
        "kind": "several ids in tables",
        "columns": ["id", "month"],
        "max_rows": {"bought": 3, "visits": 2},
        "max_groups": 1,
    }
    for unit in (UNIT, tables):
        assert dp.Unit.from_record(unit.record()) == unit
    assert session().table.per_unit().record()["steps"] == [
        {"kind": "rows of each unit", "unit": ["id", "month"], "name": "rows"}
    ]
    assert dp.Unit("id", max_rows=2).record()["kind"] == "id"  # as it was


def test_an_account_keeps_its_unit(tmp_path: Path) -> None:
    place = tmp_path / "l.ledger"
    s = session(ledger=place, budget=dp.ZCDP(1.0))
    s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
    with pytest.raises(InvalidParameter, match=r"opened with unit Unit\(\['id', 'month'\]"):
        session(ledger=place, budget=dp.ZCDP(1.0), unit=dp.Unit("id", max_rows=2)).release(
            s.table.agg(n=dp.count()), dp.ZCDP(0.1)
        )
    again = session(ledger=place, budget=dp.ZCDP(1.0))
    assert again.remaining == dp.ZCDP(0.9)
    (account,) = again.ledger.accounts()
    assert account.unit == "Unit(['id', 'month'], max_rows=2, max_groups=2)"
    page = again.ledger.statement(datetime.datetime.now(datetime.UTC).year).html
    assert "each id in one month, of whom at most 2 rows count" in page
    assert "k^2 times rho" in page


def test_synthesis_takes_the_month_and_not_the_id() -> None:
    s = session()
    s.synthesize(["month"], dp.ZCDP(1.0))
    with pytest.raises(QueryRefused, match="'id' tells people apart"):
        s.synthesize({"id": [1, 2], "month": MONTHS}, dp.ZCDP(1.0))
