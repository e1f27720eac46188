"""No value can make a question fail: the types of PostgreSQL that hold more than doubles and calendars do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables import Schema, Source, Unit, bounds, count, histogram, mean, median, sum
from dalenius.tables.compute import exact
from dalenius.tables.facts.kinds import LONGEST_TEXT
from tests.servers.postgres import PostgresServer
from tests.tables.engines.test_nasty_records import check, integers

ROWS = """
    CREATE TABLE odd (id uuid, n numeric, d date, t timestamp, c char(3), f float8, r real);
    INSERT INTO odd VALUES
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'NaN', 'infinity', 'infinity', 'ab', 'NaN', 'NaN'),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1e400', '-infinity', '-infinity', 'ab ', 'inf', '-inf'),
        ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '-1e400', '4000-02-28 BC', '2000-01-01', 'x', 5e-324, 1e-45),
        ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1e-400', '99999-01-01', '2000-01-01', 'x', 1e-310, 3e38),
        (NULL, 'Infinity', '2000-06-01', NULL, NULL, -1.7e308, -3e38),
        (NULL, 0.5, NULL, '2000-06-01', 'y', 0.5, 0.5);
"""


@pytest.fixture(scope="module")
def source(postgres_server: PostgresServer) -> Iterator[Source]:
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ROWS)
    opened = Source.open(url, table="odd")
    yield opened
    opened.close()


EXPRESSIONS = [
    *(
        "n",
        "f",
        "r",
        "n * n",
        "n / n",
        "f * f",
        "f / f",
        "r * r * r",
        "f * 2 + n",
        "n - f",
        "sqrt(n)",
        "abs(f)",
        "-f",
    ),
    *(
        "floor(f)",
        "ceil(n)",
        "floor(n * f)",
        "year(d)",
        "month(t)",
        "year(cast(t as date))",
        "coalesce(f, n)",
    ),
    *("case when n > f then n else f end", "least(n, f, r)", "f * f * f * f * f * f * f", "n / f / r"),
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_expression_has_a_value(source: Source, text: str) -> None:
    table = source.table(Schema(nulls="drop"))
    query = table.filter(f"{text} < 10 or {text} >= 10 or id is null").agg(
        n=count(),
        m=mean(text, (-1, 1)),
        w=sum(text, (-1e100, 1e100)),
        h=histogram(text, 3, (-1, 1)),
        q=median(text, (0, 1e9)),
    )
    assert exact.evaluate(source, query, Unit("id", max_rows=9))[query.measures[0]].tolist()[0] >= 0


def test_values(source: Source) -> None:
    table = source.table(Schema(nulls="drop"))
    query = table.agg(n=count("n"), f=count("f"), y=count("year(d)"), s=sum("n", (-1, 1)), b=bounds("f"))
    found = exact.evaluate(source, query, Unit.rows())
    numbers = [found[measure].tolist() for measure in query.measures]
    assert numbers[:3] == [[5], [5], [5]]  # NaN is no number; dates beyond the calendar are at its ends
    (total,) = [m for m in query.measures if m.kind == "sum"]
    assert found[total][0] * total.granularity == 1.5  # 1 - 1 + 0 + 1 + 0.5


def test_nan_among_decimals_is_null(postgres_server: PostgresServer) -> None:
    """Of any precision; PostgreSQL takes NaN for the largest number there is."""
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE odd (x numeric(12, 2), y numeric, z numeric(38, 10))")
        connection.execute(
            "INSERT INTO odd VALUES ('NaN', 'NaN', 'NaN'), (6000, 'Infinity', 6000), (1, 1, 1)"
        )
    opened = Source.open(url, table="odd")
    for name in "xyz":
        table = opened.table(Schema(nulls="drop"))
        text = f"FLOOR(SQRT(SQRT({name})))"
        query = table.filter(f"{name} > 5000").agg(n=count(), m=mean(text, (0, 10)))
        found = exact.evaluate(opened, query, Unit.rows())
        assert found[query.measures[0]].tolist() == [1]
        query = table.agg(n=count(name), m=count(text))
        found = exact.evaluate(opened, query, Unit.rows())
        assert [found[measure].tolist() for measure in query.measures] == [[2], [2]]
    opened.close()


ROOTS = "FLOOR(SQRT(SQRT(SQRT(SQRT(SQRT(COALESCE({}, 0)))))))"
ODD = [math.inf, -math.inf, math.nan, None, 1.7976931348623157e308, 5e-324, -0.0, 2.0**63]


@pytest.mark.parametrize(
    "text",
    [
        ROOTS.format("x"),
        ROOTS.format("z"),
        "FLOOR(x)",
        "CEIL(-z)",
        "FLOOR(CASE WHEN x > 0 THEN x ELSE z END)",
        "FLOOR(LEAST(x, z)) % 7",
        "z * x * z",
        "COALESCE(z, 1) / GREATEST(x, z)",
        "ABS(NULLIF(z, 1)) - x",
        "CAST(x > z AS INTEGER) + z",
    ],
)
def test_no_number_makes_an_expression_fail(text: str) -> None:
    """What is computed from a column, chosen among columns, or a column by another name, is clamped like a column."""
    opened = Source.open(pa.table({"x": pa.array([*ODD, 1.0, 4.0], pa.float64())}))
    table = opened.table(Schema(nulls="drop")).with_columns(z="x")
    query = table.filter(f"{text} < 5 OR x IS NULL OR x IS NOT NULL").agg(
        n=count(), m=mean(text, (0, 10)), h=histogram(text, 1, (9007199254740994, 9007199254740996))
    )
    assert exact.evaluate(opened, query, Unit.rows())[query.measures[0]].tolist() == [len(ODD) + 2]


FAR = pa.array([-(2**31), 2**31 - 1, 0], pa.int32()).view(pa.date32())
MOMENTS = pa.array([-(2**62), 2**62, 0], pa.int64())
PUBLIC: list[tuple[pa.Array, str]] = [
    (
        pa.array([Decimal(10) ** 75, -(Decimal(10) ** 75), None], pa.decimal256(76, 0)),
        " * ".join("vvvvv") + " * n <> 0",
    ),
    (pa.array([2**64 - 1, 0, 1], pa.uint64()), " * ".join("vvvvv") + " * n <> 0"),
    (FAR, "EXTRACT(DOY FROM COALESCE(v, d)) > 0"),
    (FAR, "DATE_TRUNC('week', COALESCE(v, d)) <= DATE_TRUNC('year', d)"),
    (FAR.cast(pa.date64()), "DATE_DIFF('day', v, d) > 0"),
    *((MOMENTS.view(pa.timestamp(unit)), "DATE_DIFF('hour', v, t) > 0") for unit in ("s", "ms", "us", "ns")),
]


@pytest.mark.parametrize(("values", "condition"), PUBLIC)
def test_public_values_are_as_clean_as_private_ones(source: Source, values: pa.Array, condition: str) -> None:
    """Whoever asks brings them: where one made a question fail, it would do so if somebody's row met it."""
    public = {"near": [0, 1, 2], "v": values}
    rows = source.table(Schema(nulls="drop")).with_columns(near="FLOOR(r)")
    asked = rows.join_public(public, on="near", how="left").filter(condition).agg(n=count())
    exact.evaluate(source, asked, Unit.rows())


def test_public_keys_that_become_the_same_are_refused(source: Source) -> None:
    far = pa.array([2**31 - 1, 2**30], pa.int32()).view(pa.date32())
    with pytest.raises(InvalidParameter, match="holds the same d more than once"):
        source.table(Schema(nulls="drop")).join_public({"d": far, "v": [1, 2]}, on="d")


@pytest.mark.parametrize(
    "text", [b"\xff", b"a\x00", b"x" * (LONGEST_TEXT + 1)], ids=["bytes", "zero", "long"]
)
def test_public_text_that_is_none_is_refused(source: Source, text: bytes) -> None:
    public = {"c": [1], "v": pa.array([text]).view(pa.string())}
    with pytest.raises(InvalidParameter, match="cannot be read as text"):
        source.table(Schema(nulls="drop")).with_columns(c1="FLOOR(r)").join_public(public, on={"c1": "c"})


@pytest.mark.parametrize("odd", [9007199254740996.0, math.inf, 9007199254740994.0])
def test_the_end_of_the_last_bin(odd: float) -> None:
    """Both edges of one bin, two doubles apart: all there is is in it."""
    opened = Source.open(pa.table({"x": [odd, 1.0]}))
    edges = (9007199254740994, 9007199254740996)
    query = opened.table(Schema(nulls="drop")).agg(h=histogram("x", 1, edges))
    assert exact.evaluate(opened, query, Unit.rows())[query.measures[0]].tolist() == [[2]]


def test_blanks_at_the_end(source: Source) -> None:
    """To char(3), 'ab' equals 'ab ': a row would be in both groups."""
    with pytest.raises(QueryRefused, match="different texts can be equal"):
        source.table(Schema(nulls="drop")).group_by("c", keys=["ab", "ab "])


@pytest.mark.parametrize(
    ("kind", "dtype", "good", "nasty"),
    [
        ("integer", "bigint", "1", ["9223372036854775807", "-9223372036854775808", "NULL"]),
        ("number", "float8", "1", ["'NaN'", "'Infinity'", "'-Infinity'", "5e-324", "NULL"]),
        ("number", "real", "1", ["'NaN'", "'Infinity'", "1e-45"]),
        (
            "number",
            "numeric",
            "1",
            ["'NaN'", "'Infinity'", "'-Infinity'", "'1e5000'", "'-1e5000'", "'1e-5000'", "NULL"],
        ),
        ("number", "numeric(12, 2)", "1", ["'NaN'", "9999999999.99"]),
        ("number", "small", "1", ["'NaN'", "NULL"]),
        ("text", "text", "'a'", ["''", "repeat('a', 100000)", "chr(1114111)", "NULL"]),
        ("text", "mood", "'a'", ["'b'", "NULL"]),
        ("bool", "boolean", "true", ["NULL"]),
        (
            "date",
            "date",
            "'2020-01-01'",
            ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'", "NULL"],
        ),
        (
            "timestamp",
            "timestamp",
            "'2020-01-01'",
            ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31'"],
        ),
    ],
)
def test_one_record_can_only_spoil_itself(
    postgres_server: PostgresServer, kind: str, dtype: str, good: str, nasty: list[str]
) -> None:
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN small AS numeric CHECK (VALUE <> 7)"
        )
        connection.execute(f"CREATE TABLE t (x {dtype}, i int); CREATE TABLE u (x {dtype}, i int)")
        for table, values in (("t", [good] * 5), ("u", [*[good] * 5, *nasty])):
            for value in values:
                connection.execute(f"INSERT INTO {table} VALUES ({value}, 1)")
    check(
        integers(Source.open(url, table="t"), kind), integers(Source.open(url, table="u"), kind), len(nasty)
    )


@pytest.mark.parametrize(
    "dtype", ["bytea", "money", "int[]", "timestamptz", "time", "interval", "json", "char(3)"]
)
def test_types_without_use(postgres_server: PostgresServer, dtype: str) -> None:
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t (x {dtype}, i int)")
    source = Source.open(url, table="t")
    with pytest.raises(QueryRefused, match="column 'x' has type"):
        source.table(Schema(nulls="drop")).filter("x IS NULL")
    source.close()
