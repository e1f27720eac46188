"""The language: what may be written, and what is refused, with the reason."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import Field, Schema, Source, Table, Unit, count, mean
from dalenius.tables.compute import exact
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.rows.steps import Compute, Filter

FIELDS = (
    Field("age", "int64", "integer", False),
    Field("pay", "float64", "number", True, True),
    Field("name", "string", "text", False),
    Field("ok", "boolean", "bool", False),
    Field("day", "date", "date", False),
    Field("moment", "timestamp", "timestamp", False),
    Field("blob", "binary", None, True),
    Field("My Column", "int32", "integer", False),
)
TABLE = Table("people", FIELDS, Schema({"pay": {"nulls": "drop"}}))


def condition(text: str, table: Table = TABLE) -> str:
    step = table.filter(text).steps[-1]
    assert isinstance(step, Filter)
    return step.condition


def test_spellings_of_one_condition_are_one_condition() -> None:
    assert len({condition(text) for text in ("age>=18", "AGE >= 18", ' "age"  >=  18 -- grown up')}) == 1
    assert condition("age >= 18") != condition("age > 18")


def test_names_are_found_exactly_or_alone_without_capitals() -> None:
    assert condition('"My Column" = 1') == condition('"my column" = 1')
    two = Table("t", (Field("a", "int64", "integer", False), Field("A", "int64", "integer", False)))
    assert condition("A = 1", two) == '"A" = 1'
    with pytest.raises(QueryRefused, match="there is no column 'b'; there are 'a', 'A'"):
        two.filter("b = 1")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "age >= 18 and age < 65",
            "not ok",
            "ok",
            "name = 'O''Neill'",
            "name in ('a', 'b')",
            "name like 'a%'",
        ),
        *(
            "pay is null",
            "pay is not null",
            "age between 1 and 2",
            "day >= '2024-02-29'",
            "day = date '2024-02-29'",
        ),
        *(
            "year(day) = 2024",
            "cast(moment as date) = day",
            "pay / age > 0.5",
            "age % 2 = 0",
            "coalesce(pay, 0) > 1",
        ),
        *(
            "case when age > 1 then ok else not ok end",
            "if(ok, age, pay) > 1",
            "abs(pay - 1) < least(age, 3)",
        ),
        *(
            "moment >= '2024-02-29 10:00'",
            "moment between timestamp '2024-01-01' and date '2024-12-31'",
            "extract(dow from day) = 1",
            "extract(doy from moment) = 366",
            "date_part('hour', moment) < 6",
            "date_trunc('month', moment) = date_trunc('month', day)",
            "datediff('week', day, cast(moment as date)) > 1",
            "day - date '2020-01-01' > 100",
            "date(moment) = day",
            "lower(trim(name)) in ('a', 'b')",
            "substring(upper(name) from 2 for 3) like 'a%'",
            "char_length(left(name, 9)) = 9",
        ),
        *("1 < 2", "sqrt(pay) > 2", "floor(pay) = 3", "-age < -3", "extract(quarter from day) = 4"),
    ],
)
def test_what_may_be_written(text: str) -> None:
    assert condition(condition(text)) == condition(text)  # the canonical text means itself


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("age", "is not a condition"),
        ("nope = 1", "there is no column 'nope'"),
        ("blob = 1", "has type binary, which cannot be used"),
        ("age = 'x'", "mixes integer and text"),
        ("name < 'x'", "the order of text differs between engines"),
        ("name || 'x' = 'y'", "makes a new text; compare its parts"),
        ("pay = null", "never true; write IS NULL"),
        ("age in (1, null)", "comparison with NULL"),
        ("age in (select 1)", "not available; use its plain form"),
        ("age in (name)", "mixes integer and text"),
        ("age in (age)", "IN needs a list of constants"),
        ("age = (select 1)", "is a query of its own"),
        ("exists (select 1)", "not in the language"),
        ("sum(age) > 1", "is an aggregate"),
        ("row_number() over () = 1", "looks at other rows"),
        ("random() < 0.5", "is random; noise is added by the release"),
        ("current_date > day", "changes from day to day"),
        ("ln(pay) > 1", "rounded differently by different engines"),
        ("power(pay, 2) > 1", "write x \\* x"),
        ("round(pay) = 1", "write FLOOR\\(x \\+ 0.5\\)"),
        ("upper(age) = 'A'", "is of type integer; text is needed"),
        ("lower('A') = name", "is a constant; write the result"),
        ("trim(name, 'x') = 'A'", "blanks away and nothing else"),
        ("substring(name, 0, 2) = 'A'", "1 for the first character"),
        ("substring(name, -1) = 'A'", "1 for the first character"),
        ("substring(name, age) = 'A'", "1 for the first character"),
        ("substring(name, 1, -1) = 'A'", "not negative"),
        ("left(name, 1.5) = 'A'", "not negative"),
        ("length(day) = 1", "text is needed"),
        ("name ilike 'a%'", "depends on the engine's locale"),
        ("name like 'a_b'", "takes patterns"),
        ("name like '%'", "takes patterns"),
        (f"name like '%{'é' * 33}%'", "64 bytes of text at most"),
        ("name ~ 'a.*'", "by different engines; write LIKE"),
        ("cast(name as integer) = 1", "text cannot be cast to INT"),
        ("cast(pay as integer) = 1", "FLOOR and CEIL make whole numbers"),
        ("try_cast(name as integer) = 1", "not in the language"),
        ("pay / 0 > 1", "divides by zero"),
        ("age % 0 = 1", "positive whole number"),
        ("pay % 2 = 1", "whole-number column"),
        ("age + name > 1", "name.* is text; a number is needed"),
        ("not age", "a condition is needed"),
        ("case age when 1 then ok end", "write CASE WHEN column = value"),
        ("case when ok then null end", "no outcome other than NULL"),
        ("moment > day", "compared by their dates"),
        ("moment > 'noon'", "is not a moment"),
        ("moment > '2024-02-30 10:00'", "is not a moment"),
        ("moment > timestamp '2024-01-01 10:00+02:00'", "in UTC and without a zone"),
        ("moment > timestamptz '2024-01-01 10:00'", "text cannot be cast"),
        ("hour(day) = 1", "a date has no hour"),
        ("date_trunc('hour', moment) = day", "one groups by dates"),
        ("date_trunc('decade', day) = day", "use year, quarter, month, week, day"),
        ("date_diff('hour', day, moment) = 1", "compared by their dates"),
        ("date_diff('century', day, day) = 1", "is not available; use year"),
        ("date_diff('day', date '2024-01-01', date '2024-01-02') = 1", "of two constants"),
        ("moment - day = 1", "dates are subtracted from dates"),
        ("day - 1 = day", "dates are subtracted from dates"),
        ("day > 'yesterday'", "is not a date"),
        ("extract(epoch from day) = 1", "is not available; use YEAR"),
        ("year(name) = 1", "a date or a timestamp is needed"),
        ("f(age) = 1", "there is no function 'F'|there is no function 'f'"),
        ("age > ?", "placeholder"),
        ("people.age > 1", "name the column alone"),
        ("age > 1; drop table people", "is a statement"),
        ("select 1", "is a statement"),
        ("drop table people", "is a statement"),
        ("age >", "is not an SQL expression"),
        ("age > 1 as x", "must not name itself"),
        ("", "it must be an SQL expression"),
        ("age = 1e400", "beyond 2\\^1000|is not a number"),
        ("pay" + " * pay" * 20 + " > 1", "could overflow"),
        ("1 / (2 - 2) > 1", "divides by zero"),
        ("pay / (1 - 1) > 1", "divides by zero"),
        ("pay > sqrt(1 - 2)", "the root of a negative number"),
        ("1e300 * 1e300 > pay", "beyond 2\\^1000"),
        ("pay > 1 / 1e-300 / 1e-300", "beyond 2\\^1000"),
        ("age = 1 or " * 5000 + "ok", "at most 20000 are allowed"),
        ("not " * 3000 + "ok", "nested too deeply|not an SQL expression"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(QueryRefused, match=reason):
        TABLE.filter(text)


def test_a_chain_of_conditions_may_be_long() -> None:
    assert condition(" or ".join(f"age = {n}" for n in range(900)))


def test_and_is_carried_out() -> None:
    """Engines refuse chains of a thousand; that would be after the charge."""
    source = Source.open(pa.table({"n": [1, 5, 2000], "x": [1.0, 5.0, 0.5]}))
    chain = " or ".join(f"n = {n}" for n in range(1100))
    query = (
        source.table(Schema(nulls="drop")).filter(chain).filter(f"x in ({', '.join(map(str, range(1100)))})")
    )
    assert exact.evaluate(source, query.agg(n=count()), Unit.rows()).values[rows()].tolist() == [2]


def test_text_that_no_engine_holds() -> None:
    for text in ("a\x00", "\ud800"):
        with pytest.raises(QueryRefused, match="code 0"):
            TABLE.filter(f"name = '{text}'")
        with pytest.raises(InvalidParameter, match="is not a whole number of 64 bits, text"):
            TABLE.group_by("name", keys=[text])


def test_computed_columns() -> None:
    table = TABLE.with_columns(ratio="pay / age", high="ratio > 3").filter("high and ratio < 9")
    assert [type(step) for step in table.steps] == [Compute, Compute, Filter]
    with pytest.raises(QueryRefused, match="there is a column 'ratio' already"):
        table.with_columns(ratio="age")
    with pytest.raises(QueryRefused, match="is always null"):
        table.with_columns(x="null")


def test_growing_by_substitution_is_stopped() -> None:
    steps = {"x0": "age + age"} | {f"x{n}": f"sqrt(x{n - 1} + x{n - 1})" for n in range(1, 40)}
    with pytest.raises(QueryRefused, match="too long once its columns are written out"):
        TABLE.with_columns(**steps)


def test_a_missing_policy_is_an_error_before_any_data_is_read() -> None:
    bare = Table("people", FIELDS)
    for text in ("pay > 1", "pay + age > 1", "case when pay > 1 then ok else false end"):
        with pytest.raises(
            QueryRefused, match=r"uses column 'pay', which can hold null or NaN.*declare nulls="
        ):
            bare.filter(text)
    with pytest.raises(QueryRefused, match="uses column 'pay'"):
        bare.agg(m=mean("pay", (0, 1)))
    # Written out in the question itself, what becomes of missing values is declared.
    bare.filter("coalesce(pay, 0) > 1")
    bare.filter("pay is null")
    bare.agg(m=mean("pay", (0, 1), nulls="drop"))
    bare.agg(m=mean("pay / age", (0, 1), nulls="drop"))
