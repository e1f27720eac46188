"""Questions in SQL: the same objects as from Python, or a reason."""

from __future__ import annotations

from typing import Any

import pytest

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import (
    Column,
    Field,
    Schema,
    Table,
    bounds,
    correlation,
    count,
    count_distinct,
    covariance,
    discover,
    histogram,
    mean,
    median,
    proportion,
    quantile,
    std,
    sum,
    variance,
)
from dalenius.tables.sql import parse_aggregates, parse_sql

FIELDS = (
    Field("id", "int64", "integer", False),
    Field("age", "int64", "integer", False),
    Field("income", "float64", "number", True, True),
    Field("state", "string", "text", False),
    Field("zip", "string", "text", False),
    Field("my col", "int64", "integer", False),
)
SCHEMA = Schema(
    {
        "income": Column(bounds=(0, 10)),
        "age": Column(bounds=(0, 120)),
        "state": Column(categories=["CA", "NY"]),
        "my col": Column(bounds=(0, 1)),
    },
    nulls="drop",
)
PEOPLE = Table("people", FIELDS, SCHEMA)
ZIPS = {"zip": ["1", "2"], "region": ["n", "s"]}


def test_a_grouped_question() -> None:
    text = "SELECT state, COUNT(*) AS n, AVG(income) pay FROM people WHERE age >= 18 GROUP BY state"
    expected = PEOPLE.filter("age >= 18").group_by("state").agg(n=count(), pay=mean("income"))
    assert parse_sql(text, PEOPLE) == expected
    assert parse_sql(text.replace("GROUP BY state", "group by 1;"), PEOPLE) == expected
    other = parse_sql(text, PEOPLE, keys=discover())
    assert other.keys == discover()


@pytest.mark.parametrize("by", ["state", "s", "1", "S", "people.state"])
def test_a_grouping_column_under_another_name(by: str) -> None:
    """With the categories of the column, and nothing of it in the conditions."""
    column = "people.state" if "." in by else "state"
    text = f"SELECT {column} AS s, COUNT(*) AS n FROM people WHERE state <> 'NY' GROUP BY {by}"
    table = PEOPLE.filter("state <> 'NY'").with_columns(s="state")
    expected = table.group_by("s", keys=["CA", "NY"]).agg(n=count())
    assert parse_sql(text, PEOPLE).canonical() == expected.canonical()


def test_every_aggregate() -> None:
    text = """
        SELECT COUNT(*) a, COUNT(income) b, COUNT(DISTINCT id) c, SUM(income, 0, 5) d, MEAN(age) e, VARIANCE(age) f,
               STDDEV(age) g, CORR(age, income) h, COVAR_SAMP(age, income, 0, 9, -1, 1) i, MEDIAN(age) j,
               QUANTILE(age, 0.9, 0, 100) k, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) l,
               PROPORTION(age > 65) m, HISTOGRAM(age, 12) n, BOUNDS(income) o, SUM("my col") p,
               AVG(CASE WHEN age > 5 THEN income END, 0, 3) q, HISTOGRAM(age, 4, -1, 1) r
        FROM people
    """
    asked = {
        "a": count(),
        "b": count("income"),
        "c": count_distinct(),
        "d": sum("income", (0, 5)),
        "e": mean("age"),
        "f": variance("age"),
        "g": std("age"),
        "h": correlation("age", "income"),
        "i": covariance("age", "income", (0, 9), (-1, 1)),
        "j": median("age"),
        "k": quantile("age", 0.9, (0, 100)),
        "l": quantile("age", 0.25),
        "m": proportion("age > 65"),
        "n": histogram("age", 12),
        "o": bounds("income"),
        "p": sum('"my col"'),
        "q": mean("CASE WHEN age > 5 THEN income END", (0, 3)),
        "r": histogram("age", 4, (-1, 1)),
    }
    assert parse_sql(text, PEOPLE, unit=("id",)) == PEOPLE.agg(**asked)


def test_public_tables() -> None:
    text = "SELECT region, COUNT(*) AS n FROM people {} GROUP BY region"
    expected = PEOPLE.join_public(ZIPS, on="zip").group_by("region", keys=["n"]).agg(n=count())
    for join in (
        "JOIN zips USING (zip)",
        "JOIN zips ON people.zip = zips.zip",
        "INNER JOIN Zips z ON z.zip = people.zip",
    ):
        assert parse_sql(text.format(join), PEOPLE, public={"zips": ZIPS}, keys=["n"]) == expected
    left = parse_sql(text.format("LEFT JOIN zips USING (zip)"), PEOPLE, public={"zips": ZIPS}, keys=["n"])
    assert left != expected


def test_names_by_default() -> None:
    query = parse_sql("SELECT COUNT(*), AVG(people.income), MEDIAN(age) FROM people", PEOPLE)
    assert [name for name, _ in query.aggregates] == ["count", "avg_income", "median_age"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * FROM people", r"SELECT \* shows rows"),
        ("SELECT people.* FROM people", r"SELECT \* shows rows"),
        ("SELECT income FROM people", "neither aggregated nor in GROUP BY"),
        ("SELECT state, COUNT(*) FROM people", "neither aggregated nor in GROUP BY"),
        ("SELECT MAX(income) FROM people", "belong to one person"),
        ("SELECT MIN(age) FROM people", "belong to one person"),
        ("SELECT STRING_AGG(state, ',') FROM people", "shows rows of the data"),
        ("SELECT ANY_VALUE(state) FROM people", "shows a row|is not an aggregate"),
        ("SELECT SUM(income) / COUNT(*) FROM people", "is not an aggregate that can be released"),
        ("SELECT age + 1 FROM people", "is not an aggregate"),
        ("SELECT FOO(age) FROM people", "is not an aggregate"),
        ("SELECT SUM(age) FILTER (WHERE age > 1) FROM people", "write the condition inside"),
        ("SELECT SUM(age) OVER () FROM people", "window functions"),
        ("SELECT SUM(DISTINCT age) FROM people", "use its plain form"),
        (
            "SELECT COUNT(DISTINCT state) FROM people",
            r"only be counted of the unit's id: COUNT\(DISTINCT id\)",
        ),
        ("SELECT COUNT(age, state) FROM people", "not available|one argument"),
        ("SELECT AVG(income, 0) FROM people", "bounds are two numbers"),
        ("SELECT AVG(income, 0, age) FROM people", "must be a number"),
        ("SELECT AVG() FROM people", "lacks an argument"),
        ("SELECT AVG(my_col) FROM people", "there is no column"),
        ("SELECT AVG(income, 5, 1) FROM people", "exchange them"),
        ("SELECT COUNT(*), COUNT(*) FROM people", "two aggregates are called 'count'"),
        ("SELECT state AS State, COUNT(*) FROM people GROUP BY state", "keeps its name"),
        ("SELECT state AS zip, COUNT(*) AS n FROM people GROUP BY zip", "there is a column 'zip' already"),
        ("SELECT state AS s, COUNT(*) AS s FROM people GROUP BY state", "names both a grouping column"),
        ("SELECT COUNT(*) FROM people GROUP BY state", "must also stand in the SELECT list"),
        ("SELECT state FROM people GROUP BY state", "has no aggregate"),
        ("SELECT COUNT(*) FROM people GROUP BY 7", "no such column in the SELECT list"),
        ("SELECT COUNT(*) FROM people GROUP BY age / 10", "must also stand in the SELECT list"),
        ("SELECT COUNT(*) FROM people GROUP BY ALL", "not available|GROUP BY ALL|list the columns"),
        ("SELECT state, COUNT(*) FROM people GROUP BY ROLLUP (state)", "several questions"),
        (
            "SELECT state, COUNT(*) FROM people GROUP BY state HAVING COUNT(*) > 5",
            "HAVING would choose groups",
        ),
        ("SELECT COUNT(*) FROM people ORDER BY 1", "ORDER BY would order by exact answers"),
        ("SELECT COUNT(*) FROM people LIMIT 1", "LIMIT would drop groups"),
        ("SELECT DISTINCT state FROM people", "SELECT DISTINCT shows rows"),
        ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "not available"),
        ("SELECT COUNT(*) FROM people QUALIFY TRUE", "QUALIFY"),
        ("SELECT COUNT(*) FROM other", "there is no private table other; it is called 'people'"),
        ("SELECT COUNT(*) FROM s.people", "there is no private table"),
        ("SELECT COUNT(*) FROM (SELECT * FROM people)", "must name the table 'people'"),
        ("SELECT COUNT(*)", "must name the table 'people'"),
        ("SELECT COUNT(*) FROM people, other", "not one of the public tables"),
        ("SELECT COUNT(*) FROM people JOIN people p2 USING (id)", "cannot be joined with itself"),
        ("SELECT COUNT(*) FROM people JOIN zips", "needs USING"),
        ("SELECT COUNT(*) FROM people CROSS JOIN zips", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people RIGHT JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people FULL JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people JOIN zips ON people.zip > zips.zip", "write ON column ="),
        ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM people", "WITH is not available"),
        ("SELECT COUNT(*) FROM people UNION SELECT 1", "combines queries"),
        ("SELECT COUNT(*) FROM people; SELECT 1", "several statements"),
        ("INSERT INTO people VALUES (1)", "is not a SELECT"),
        ("DROP TABLE people", "is not a SELECT"),
        ("SELEC 1", "is not valid SQL"),
        ("", "must be SQL text"),
        ("SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)", "not available"),
        ("SELECT COUNT(*) FROM people WHERE RANDOM() < 0.5", "is random"),
        ("SELECT COUNT(*) INTO x FROM people", "INTO"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        parse_sql(text, PEOPLE, unit=("id",), public={"zips": ZIPS})


REGIONS = {"code": ["CA", "NY"], "age": [1, 2], "region": ["w", "e"]}
PUBLIC = {"zips": ZIPS, "regions": REGIONS, "pairs": {"a": ["CA", "CA"], "b": ["CA", "NY"], "w": [1, 2]}}


def asked(text: str) -> Any:
    return parse_sql(text, PEOPLE, unit=("id",), public=PUBLIC)


def test_qualifiers_are_resolved() -> None:
    text = "SELECT COUNT(*) n FROM people JOIN regions r ON people.state = r.code WHERE {}"
    ours, theirs = asked(text.format("people.age > 2")), asked(text.format("r.age > 2"))
    assert ours.table.steps[1].condition == '"age" > 2'
    assert theirs.table.steps[1].condition == '"r.age" > 2'
    assert asked(text.format("R.REGION = 'w'")).table.steps[1].condition == "\"region\" = 'w'"
    # The column joined on is there under its own name, and null where nothing matched.
    left = asked("SELECT COUNT(*) n FROM people LEFT JOIN regions ON state = code WHERE regions.code IS NULL")
    assert left.table.steps[1].condition == '"code" IS NULL'
    assert {f.name for f in left.table.steps[0].table.fields} == {
        "code (joined on)",
        "code",
        "regions.age",
        "region",
    }


VISITS = Table(
    "visits",
    (Field("at", "timestamp(6)", "timestamp", False), Field("name", "string", "text", False)),
    Schema(nulls="drop"),
)


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("at >= '2024-01-01'", "\"at\" >= '2024-01-01'"),  # a word of SQL's, which is written in quotes
        ("DATE_DIFF('day', '2024-01-01', at) > 3", "DATE_DIFF('day', DATE '2024-01-01', \"at\") > 3"),
        ("DATE(at) = '2024-01-01'", "CAST(\"at\" AS DATE) = '2024-01-01'"),
        ("TRIM(BOTH FROM name) = 'a'", "TRIM(name) = 'a'"),
        ("DATE_PART('month', at) = 3 AND name = 'a'", "DATE_PART('month', \"at\") = 3 AND name = 'a'"),
    ],
)
def test_dates_and_text_in_where(condition: str, meant: str) -> None:
    found = parse_sql(f"SELECT COUNT(*) n FROM visits WHERE {condition}", VISITS)
    assert found == VISITS.filter(meant).agg(n=count())


@pytest.mark.parametrize(
    "condition",
    [
        "DATE_TRUNC('month', at, 'America/New_York') = '2024-01-01'",
        "TIMESTAMP_TRUNC(at, MONTH, 'America/New_York') = '2024-01-01'",
        "DATE_DIFF('day', at, at, 3) = 0",
        "SUBSTRING(name) = 'a'",
        "SUBSTRING(name, TRUE, 2) = 'a'",
        "SUBSTRING(name, 1, TRUE) = 'a'",
        "SUBSTRING(name, 1, 2, 3) = 'a'",
        "LENGTH(name, 2) = 1",
        "DATE(at, 'America/New_York') = '2024-01-01'",
        "DATE_PART('month', at) = 3 AND EXTRACT(DECADE FROM at) = 2",
    ],
)
def test_dates_and_text_that_are_refused(condition: str) -> None:
    """Nothing that was written is passed over, and nothing fails in another way."""
    for ask in (VISITS.filter, lambda text: parse_sql(f"SELECT COUNT(*) n FROM visits WHERE {text}", VISITS)):
        with pytest.raises(QueryRefused):
            ask(condition)


def test_brackets_are_where_sql_has_them() -> None:
    """(age = 1) IS NULL, not age = (1 IS NULL)."""
    found = asked("SELECT COUNT(*) n FROM people WHERE age = 1 IS NULL")
    assert found.table.steps[0].condition == '("age" = 1) IS NULL'


def test_every_join_condition_is_kept() -> None:
    both = asked(
        "SELECT COUNT(*) n FROM people JOIN pairs ON people.state = pairs.a AND people.state = pairs.b"
    )
    assert both.table.steps[0].on == (("state", "a"), ("state", "b"))
    other = asked("SELECT COUNT(*) n FROM people JOIN pairs p ON (p.b = zip AND (state = p.a))")
    assert other.table.steps[0].on == (("zip", "b"), ("state", "a"))
    assert PEOPLE.join_public(PUBLIC["pairs"], on=[("state", "a"), ("state", "b")]) == both.table


def test_names_with_dots(tmp_path: Any) -> None:
    table = Table("adult.train", FIELDS, SCHEMA)
    for name in ('"adult.train"', "adult.train", '"Adult.Train" AS a'):
        assert parse_sql(f"SELECT COUNT(*) AS n FROM {name}", table) == table.agg(n=count())
    with pytest.raises(QueryRefused, match=r'it is called .*: write FROM "adult\.train"'):
        parse_sql("SELECT COUNT(*) FROM adult", table)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "SELECT COUNT(*) FROM people WHERE nonsense.age > 2",
            "there is no table 'nonsense' in FROM or JOIN",
        ),
        ("SELECT COUNT(*) FROM people p WHERE people.age > 2", r"there is no table 'people'.*'p'"),
        ("SELECT COUNT(*) FROM people WHERE peple.age > 2", "did you mean 'people'"),
        ("SELECT COUNT(*) FROM people WHERE x.people.age > 2", "name a column as table"),
        ("SELECT AVG(nonsense.age) FROM people", "there is no table 'nonsense'"),
        (
            "SELECT people.nothing, COUNT(*) FROM people GROUP BY people.nothing",
            "no column 'nothing' in people",
        ),
        (
            "SELECT COUNT(*) FROM people JOIN regions r ON state = code WHERE age > 2",
            "'age' is ambiguous; write .*\"r\"",
        ),
        (
            "SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zip WHERE zip = '1'",
            "'zip' is ambiguous",
        ),
        ("SELECT COUNT(*) FROM people JOIN zips ON zip = zips.zip", "'zip' is ambiguous"),
        ("SELECT COUNT(*) FROM people JOIN zips ON zips.zip = zips.region", "write ON column = zips.column"),
        (
            "SELECT COUNT(*) FROM people JOIN zips ON people.zip = people.state",
            "write ON column = zips.column",
        ),
        (
            "SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zap",
            "no column 'zap' in zips; did you",
        ),
        ("SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zip OR TRUE", "write ON column ="),
        (
            "SELECT COUNT(*) FROM people JOIN zips ON people.zip = zips.zip AND people.age > 3",
            "write ON column =",
        ),
        ("SELECT COUNT(*) FROM people JOIN zips ON TRUE", "write ON column ="),
        ("SELECT COUNT(*) FROM people JOIN zips USING (state)", "no column 'state' in zips"),
        ("SELECT COUNT(*) FROM people JOIN zips USING (region)", "no column 'region'"),
        (
            "SELECT COUNT(*) FROM people JOIN zips USING (zip) JOIN zips USING (zip)",
            "two tables are called 'zips'",
        ),
        ("SELECT COUNT(*) FROM people JOIN zps USING (zip)", "did you mean 'zips'"),
        ("SELECT COUNT(*) FROM people NATURAL JOIN zips", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people SEMI JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people ANTI JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people ASOF JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people LEFT ANTI JOIN zips USING (zip)", "only JOIN and LEFT JOIN"),
        ("SELECT COUNT(*) FROM people p(a, b)", "use its plain form"),
        ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "not available"),
        ("SELECT COUNT(*) FROM people USING SAMPLE 10%", "samples are not available"),
        ("SELECT COUNT(*) FROM people AT (VERSION => 1)", "use its plain form"),
        ("SELECT COUNT(*) FROM ONLY people", "use its plain form"),
        ("SELECT COUNT(*) FROM people PIVOT (SUM(age) FOR state IN ('CA'))", "use its plain form"),
        ("SELECT COUNT(*) FROM people WINDOW w AS (PARTITION BY age)", "window functions"),
        ("SELECT COUNT(*) FROM a.b.people", "there is no private table"),
        ("SELECT COUNT(* EXCLUDE (age)) FROM people", "use its plain form"),
        ("SELECT COUNT(age) FILTER (WHERE age > 1) FROM people", "write the condition inside"),
        (
            "SELECT SUM(age ORDER BY state) FROM people",
            "use its plain form|not an SQL expression|not in the language",
        ),
        ("SELECT SUM(age IGNORE NULLS) FROM people", "use its plain form"),
        ("SELECT AVG(DISTINCT age) FROM people", "use its plain form"),
        ("SELECT COUNT(DISTINCT id, age) FROM people", "only be counted of the unit's id"),
        ("SELECT COUNT(DISTINCT (id)) FROM people", "only be counted of the unit's id"),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, income) FROM people",
            "orders by one expression",
        ),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age NULLS FIRST) FROM people",
            "use its plain form",
        ),
        ("SELECT PERCENTILE_CONT(age) WITHIN GROUP (ORDER BY age) FROM people", "must be a number"),
        (
            "SELECT PERCENTILE_CONT(0.5, age) WITHIN GROUP (ORDER BY id) FROM people",
            "orders by one expression",
        ),
        ("SELECT PROPORTION(age > 3, 0, 1) FROM people", "takes 1 argument, not 3"),
        ("SELECT BOUNDS(age, 0, 1) FROM people", "takes 1 argument, not 3"),
        ("SELECT COUNT_DISTINCT(state) FROM people", "takes no arguments, not 1"),
        ("SELECT HISTOGRAM(age, 2.7) FROM people", "a whole one"),
        ("SELECT CORR(age, income, 0, 1, 0, 1, 2) FROM people", "bounds are two numbers"),
        ("SELECT MEDIAN(age, 0) FROM people", "bounds are two numbers"),
        ("SELECT QUANTILE(age) FROM people", "lacks an argument"),
        ("SELECT MODE() WITHIN GROUP (ORDER BY age) FROM people", "PERCENTILE_CONT"),
        ("SELECT state, COUNT(*) FROM people GROUP BY GROUPING SETS ((state), ())", "list the columns"),
        ("SELECT state, COUNT(*) FROM people GROUP BY CUBE (state)", "several questions"),
        ("SELECT state, COUNT(*) FROM people GROUP BY age, CUBE (state)", "list the columns"),
        ("SELECT state, COUNT(*) FROM people GROUP BY state WITH ROLLUP", "list the columns"),
        ("SELECT COUNT(*) FROM people WHERE state COLLATE NOCASE = 'ca'", "not in the language"),
        ("SELECT COUNT(*) FROM people WHERE age IS NOT DISTINCT FROM 3", "not in the language"),
        ("SELECT COUNT(*) FROM people WHERE (age, id) = (1, 2)", "not in the language"),
        ("SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 3 AND 1", "use its plain form"),
        ("SELECT COUNT(*) FROM people WHERE state LIKE 'a!%' ESCAPE '!'", "not in the language"),
        (
            "SELECT COUNT(*) FROM people WHERE age = ANY (1, 2)",
            "not in the language|an aggregate|not available",
        ),
        ("SELECT COUNT(*) FROM people WHERE age // 2 = 1", "not in the language"),
        ("SELECT COUNT(*) FROM people WHERE age IN (1, NULL)", "comparison with NULL"),
        ("SELECT COUNT(*) FROM people WHERE 1 < age < 5", "can be read in two ways"),
        ("SELECT COUNT(*) FROM people WHERE (age > 1) = NOT (age > 2)", "can be read in two ways"),
        ("SELECT ALL COUNT(*) FROM people FETCH FIRST 1 ROWS ONLY", "LIMIT|not available"),
        ("SELECT COUNT(*) FROM people OFFSET 3", "OFFSET"),
        ("SELECT TOP 3 COUNT(*) FROM people", "not valid SQL|is not an aggregate|LIMIT|not available"),
        ("SELECT COUNT(*) FROM people CLUSTER BY age", "not available|not valid SQL|use its plain form"),
        ("SELECT COUNT(*) FROM people FOR UPDATE", "not available"),
        ("SELECT COUNT(*), people.* FROM people", "shows rows"),
        ("SELECT (SELECT COUNT(*) FROM people) FROM people", "is not an aggregate"),
        ("SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)", "not in the language|query of its own"),
        ("VALUES (1)", "is not a SELECT"),
        ("SELECT COUNT(*) FROM people EXCEPT SELECT 1", "combines queries"),
        ("EXPLAIN SELECT COUNT(*) FROM people", "is not a SELECT"),
    ],
)
def test_nothing_that_was_written_is_passed_over(text: str, reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        asked(text)


def test_the_distinct_units_of_rows() -> None:
    with pytest.raises(QueryRefused, match=r"which here are the rows: COUNT\(\*\)"):
        parse_sql("SELECT COUNT(DISTINCT id) FROM people", PEOPLE)
    with pytest.raises(QueryRefused, match="there is no GROUP BY"):
        parse_sql("SELECT COUNT(*) FROM people", PEOPLE, keys=["CA"])


@pytest.mark.parametrize(
    "text",
    [
        "n = count(), pay = mean(income, 0, 250000), u = count(distinct id)",
        "n=count(),pay=mean(income,0,250000),u=count(distinct id)",
        "count(*) AS n, mean(income, 0, 250000) AS pay, count_distinct() as u",
    ],
)
def test_a_list_of_aggregates(text: str) -> None:
    expected: dict[str, Any] = {"n": count(), "pay": mean("income", (0, 250_000)), "u": count_distinct()}
    assert parse_aggregates(text, ("id",)) == expected


def test_a_bad_list_of_aggregates() -> None:
    for text in (
        "",
        "n = count(), n = count()",
        "income",
        "n = 3",
        "count() from people",
        "x = max(income)",
        "a.n = count()",
    ):
        with pytest.raises(InvalidParameter):
            parse_aggregates(text)
