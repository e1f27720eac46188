"""What is said about an expression that is not understood: the fix, and nothing of the parser's own."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import QueryRefused
from dalenius.tables.rows.compile import NAMED
from dalenius.tables.rows.expressions import __doc__ as language


@pytest.fixture
def session() -> dp.Session:
    data = pd.DataFrame({"t": ["ab"] * 9, "day": pd.to_datetime(["2024-01-05"] * 9), "age": [30] * 9})
    return dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("LENGHT(t) > 1", "did you mean LENGTH"),
        ("LOWR(t) = 'a'", "did you mean LOWER"),
        ("frobnicate(t) = 'a'", "(?i)there is no function 'frobnicate'; there are ABS"),
        ("TO_CHAR(day, 'YYYY') = '2024'", r"EXTRACT\(YEAR FROM day\)"),
        ("STRFTIME(day, '%Y') = '2024'", r"EXTRACT\(YEAR FROM day\)"),
        ("SPLIT_PART(t, 'a', 1) = 'b'", r"is not in the language.*docs/tables.md"),
        ("t SIMILAR TO 'a'", r"write LIKE '%ab%', or IN"),
        ("CONTAINS(t, 'a')", r"write town LIKE '%ab%'"),
        ("ISNULL(t)", r"write x IS NULL"),
        ("day > NOW()", r"NOW changes from moment to moment; write the date"),
        (
            "DATE '2024-01-01' + INTERVAL 3 DAY > DATE '2024-01-05'",
            r"a span of time, and dates cannot be moved",
        ),
        (
            "DATE '2024-01-01' + 3 > DATE '2024-01-05'",
            r"of type date; a number is needed here: dates cannot be moved",
        ),
    ],
)
def test_a_slip_gets_its_fix(
    session: dp.Session,
    condition: str,
    words: str,
    capfd: pytest.CaptureFixture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for ask in (
        lambda: session.table.filter(condition),
        lambda: session.sql(f"SELECT COUNT(*) AS n FROM data WHERE {condition}", dp.ZCDP(0.1)),
    ):
        with pytest.raises(QueryRefused, match=words) as problem:
            ask()
        assert "dalenius.tables" not in str(problem.value)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert session.spent.rho == 0


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("residual sugar > 1", r'The column stands in double quotes: "residual sugar"\.$'),
        ('"residual sugar" > 1 AND t = >50', r"write it like 'age >= 18'\. Text stands in single quotes"),
        ("t = 'a' AND", r"write it like 'age >= 18'\.$"),
        ("INITCAP(t) = 'A'", r"^.{0,1500}$"),
    ],
)
def test_what_cannot_be_read_may_lack_quotes(condition: str, words: str) -> None:
    """Columns with blanks are known by name; and no message is as long as what the parser makes of a function."""
    data = pd.DataFrame({"t": ["ab"] * 9, "residual sugar": [1.0] * 9})
    s = dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0), schema=dp.Schema(nulls="drop"))
    with pytest.raises(QueryRefused, match=words):
        s.table.filter(condition)


def test_functions_that_are_named_are_there(session: dp.Session) -> None:
    """Each is in the description of the language, and none of them is unknown to it."""
    assert all(re.search(rf"\b{name}\b", str(language)) for name in NAMED)
    for name in NAMED:
        told = ""
        try:
            session.table.filter(f"{name}(age) = 1")
        except QueryRefused as problem:
            told = str(problem)
        assert "there is no function" not in told


def test_bounds_are_told_for_python_and_sql(session: dp.Session) -> None:
    with pytest.raises(
        QueryRefused, match=r"bounds=\(lower, upper\); in SQL and from a shell.*mean\(age, 0, 100\)"
    ):
        session.sql("SELECT AVG(age) FROM data", dp.ZCDP(0.1))


def test_quarters_as_people_write_them() -> None:
    assert dp.quarters("2024-Q2", "2024Q3") == dp.quarters("2024-04-01", "2024-09-30")
    with pytest.raises(dp.errors.InvalidParameter, match="a quarter like '2024-Q4'"):
        dp.quarters("2024-Q5", "2025-Q1")


def test_a_session_says_what_each_table_has() -> None:
    both = {
        "visits": pd.DataFrame({"id": [1], "x": [1], "y": [2]}),
        "buys": pd.DataFrame({"id": [1], "z": [1]}),
    }
    s = dp.Session(both, unit=dp.Unit("id", max_rows=1), budget=dp.ZCDP(1.0))
    assert "2 tables (visits: 3 columns, buys: 2 columns)" in repr(s)
    assert "2 tables (visits: 3 columns, buys: 2 columns)" in str(s)
