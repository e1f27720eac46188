"""Opening data: every kind of source gives the same integers, and what cannot be opened says so in one sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dalenius.errors import EngineFailed, QueryRefused, SourceError
from dalenius.tables import Column, Schema, Source, Unit, count, histogram, mean, median
from dalenius.tables.compute import exact
from tests.servers.postgres import PostgresServer

TABLE = pa.table({"id": [1, 2, 2, 3], "pay": [1.5, None, 2.5, 99.0], "state": ["CA", "NY", "CA", "TX"]})
SCHEMA = Schema({"state": {"categories": ["CA", "NY"]}, "pay": {"bounds": (0, 4)}}, nulls="drop")
EXPECTED = [[2, 1], [2, 0]]


def answer(source: Source) -> list[Any]:
    query = source.table(SCHEMA).group_by("state").agg(n=count(), pay=mean("pay"))
    table = exact.evaluate(source, query, Unit.rows())
    assert table.keys == [("CA",), ("NY",)]
    return [table[m].tolist() for m in query.measures[:2]]


def write_duckdb(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute(
            "CREATE TABLE people AS SELECT * FROM given; CREATE SCHEMA s; CREATE TABLE s.p AS FROM people"
        )
    return path


def test_frames() -> None:
    frames = (TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE), pl.from_arrow(TABLE).lazy(), TABLE.to_pydict())
    for frame in frames:
        assert answer(Source.open(frame)) == EXPECTED


def test_files(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet")
    pq.write_table(TABLE.slice(0, 3), tmp_path / "part-1.parquet")
    pq.write_table(TABLE.slice(3), tmp_path / "part-2.parquet")
    pyarrow.csv.write_csv(TABLE, tmp_path / "people.csv")
    TABLE.to_pandas().to_csv(tmp_path / "people.csv.gz", index=False)
    assert Source.open(tmp_path / "people.parquet").name == "people"
    for name in ("people.parquet", "part-*.parquet", "people.csv", "people.csv.gz"):
        assert answer(Source.open(str(tmp_path / name))) == EXPECTED


def test_databases(tmp_path: Path, postgres_server: PostgresServer) -> None:
    import psycopg

    path = write_duckdb(tmp_path / "people.duckdb")
    with Closing(Source.open(path, table="people")) as source:
        assert answer(source) == EXPECTED
    with Closing(Source.open(path, table="s.p")) as source:
        assert answer(source) == EXPECTED
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "S t"; CREATE TABLE "S t".people (id int, pay float8, state text)')
        with connection.cursor() as cursor:
            rows = [tuple(row.values()) for row in TABLE.to_pylist()]
            cursor.executemany('INSERT INTO "S t".people VALUES (%s, %s, %s)', rows)
    with Closing(Source.open(url, table="S t.people")) as source:
        assert answer(source) == EXPECTED
        assert source.name == "S t.people"


class Closing:
    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> Source:
        return self.source

    def __exit__(self, *_: object) -> None:
        self.source.close()


def test_ibis_tables() -> None:
    backend = ibis.duckdb.connect()
    backend.con.register("t", TABLE)
    table = backend.table("t")
    source = Source.open(table.filter(table.id < 9))
    assert answer(source) == EXPECTED
    source.close()
    assert backend.table("t").count().execute() == 4  # a connection that was given stays open
    other = ibis.polars.connect({"t": pl.DataFrame({"a": [1]})})
    with pytest.raises(SourceError, match="'polars' is not an engine questions can run on"):
        Source.open(other.table("t"))


@pytest.mark.parametrize(
    ("data", "table", "message"),
    [
        ("nowhere.parquet", None, "no file 'nowhere.parquet'; check the path"),
        ("nowhere-*.csv", None, "no file"),
        ("nowhere.duckdb", "t", "no file"),
        ("people.xlsx", None, "does not end like a CSV, Parquet, DuckDB or SQLite file"),
        ("mysql://host/db", "t", "begins with mysql://"),
        ("postgresql://host/db", None, "name the table in it"),
        (3, None, "data of type int cannot be opened; give the path"),
        (np.zeros(3), None, "data of type ndarray cannot be opened"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "two columns of the same name"),
    ],
)
def test_what_cannot_be_opened(data: Any, table: str | None, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        Source.open(data, table=table)
    assert "secret-value" not in str(caught.value)
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)


def test_a_broken_file(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"secret-value")
    with pytest.raises(SourceError, match="could not be opened") as caught:
        Source.open(tmp_path / "bad.parquet")
    assert caught.value.__context__ is None
    assert "secret-value" not in str(caught.value)


def test_a_password_is_not_told() -> None:
    with pytest.raises(SourceError, match=r"no connection to PostgreSQL at 127\.0\.0\.1") as caught:
        Source.open("postgresql://me:hunter2@127.0.0.1:1/db", table="t")
    assert "hunter2" not in repr(caught.value) + str(caught.value.__context__)
    for address in (
        "host=127.0.0.1 port=1 user=me password=QQQWWW",
        "postgresql:/me:QQQWWW@127.0.0.1:1/db",
        "me:QQQWWW@127.0.0.1:1/db",
        "postgresql://me:x@QQQ/WWW@127.0.0.1:1/db",
        "postgresql://me:QQQ@WWW@127.0.0.1:1/db",
        "postgresql://me:QQQ\0WWW@127.0.0.1:1/db",
    ):
        with pytest.raises(SourceError) as caught:
            Source.open(address, table="t")
        shown = f"{caught.value} {caught.value.__context__}".upper()
        assert "QQQ" not in shown
        assert "WWW" not in shown


def test_unknown_tables(tmp_path: Path, postgres_server: PostgresServer) -> None:
    path = write_duckdb(tmp_path / "people.duckdb")
    with pytest.raises(SourceError, match="name the table in it"):
        Source.open(path)
    for data in (path, postgres_server.fresh()):
        with pytest.raises(SourceError, match="there is no table 'nope'"):
            Source.open(data, table="nope")


def test_a_table_of_a_database_is_not_another_file(tmp_path: Path) -> None:
    """DuckDB takes a name that it does not know for that of a file."""
    path, other = write_duckdb(tmp_path / "people.duckdb"), tmp_path / "other.csv"
    other.write_text("id\n1\n")
    for name in (str(other), f"main.{other}", "https://example.invalid/other.csv"):
        with pytest.raises(SourceError, match="there is no table"):
            Source.open(path, table=name)
    assert Source.open(path, table="MAIN.People").place == Source.open(path, table="MAIN.People").place


def test_a_csv_column_that_changes_type_reads_as_null(tmp_path: Path) -> None:
    """However far down the file the change is: an error would tell that somebody's row is odd."""
    path = tmp_path / "people.csv"
    lines = [f"{n},{n % 7}.5,CA" for n in range(60_000)]
    path.write_text(
        "\n".join(["id,pay,state", *lines, "60000,ask me,CA", "60001,1e999,CA", "60002,,CA"]) + "\n"
    )
    source = Source.open(path, schema=SCHEMA)
    assert {f.name: f.kind for f in source.fields} == {"id": "integer", "pay": "number", "state": "text"}
    query = source.table().group_by("state", keys=["CA"]).agg(n=count(), there=count("pay"))
    table = exact.evaluate(source, query, Unit.rows())
    assert table[query.measures[0]].tolist() == [60_003]
    assert table[query.measures[1]].tolist()[0] in (
        60_000,
        60_001,
    )  # 1e999 is infinite to some, unreadable to others


def test_the_types_of_a_csv_file_can_be_declared(tmp_path: Path) -> None:
    path = tmp_path / "zips.csv"
    path.write_text("zip,n\n01234,5\n98765,6\n")
    schema = Schema({"zip": Column(type="text"), "n": {"type": "number"}}, nulls="drop")
    source = Source.open(path, schema=schema)
    assert [f.kind for f in source.fields] == ["text", "number"]
    query = source.table().group_by("zip", keys=["01234"]).agg(n=count())
    assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [1]


def test_what_the_engine_says_is_withheld(tmp_path: Path) -> None:
    """A file that changes after it was opened: the engine names the value it cannot read; we do not."""
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "part-1.parquet")
    source = Source.open(str(tmp_path / "part-*.parquet"))
    query = source.table(Schema(nulls="drop")).agg(m=mean("x", (0, 1)))
    pq.write_table(pa.table({"x": ["secret-value"]}), tmp_path / "part-1.parquet")
    with pytest.raises(EngineFailed, match="could not be carried out") as caught:
        exact.evaluate(source, query, Unit.rows())
    assert "secret-value" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("dtype", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    "others", [[0.5], [0.0], [-3.0, 2.0], [math.inf], [1e30, None], [None], [-math.inf, 0.25]]
)
def test_parquet_statistics_pass_over_nan(
    tmp_path: Path, dtype: pa.DataType, others: list[float | None]
) -> None:
    """DuckDB settles comparisons by the statistics of the file; NaN must not slip through as an ordinary value."""
    pq.write_table(pa.table({"x": pa.array([*others, math.nan, math.nan], dtype)}), tmp_path / "x.parquet")
    source = Source.open(tmp_path / "x.parquet")
    table = source.table(Schema(nulls="drop"))
    there = len([x for x in others if x is not None])
    counts = {
        "mean": table.agg(m=mean("x", (-1, 1))),
        "wide": table.agg(m=mean("x", (-1e6, 1e6))),
        "product": table.agg(m=mean("x * x", (-1, 1))),
        "floor": table.agg(m=mean("floor(x)", (-1, 1))),
        "count": table.agg(n=count("x")),
        "filter": table.filter("x <= 5 or x > 5").agg(n=count()),
    }
    for name, query in counts.items():
        assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [there], name
    bins = table.agg(
        h=histogram("x", 4, (-1, 1)), e=histogram("x", edges=[-1, 0, 1]), q=median("x", (-10, 10))
    )
    found = exact.evaluate(source, bins, Unit.rows())
    assert [int(found[measure].sum()) for measure in bins.measures] == [there] * 3


def test_text_that_is_equal_without_being_the_same_is_not_used(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """One row would match the keys 'a' and 'A': one person would count twice."""
    import psycopg

    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE TABLE t (s VARCHAR COLLATE NOCASE, n INTEGER)")
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        icu = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        connection.execute(icu)
        connection.execute("CREATE TABLE t (s text COLLATE ci, n integer, plain text)")
    for data in (tmp_path / "c.duckdb", url):
        source = Source.open(data, table="t")
        with pytest.raises(QueryRefused, match="different texts can be equal"):
            source.table(SCHEMA).group_by("s", keys=["a", "A"])
        with pytest.raises(QueryRefused, match="different texts can be equal"):
            exact.evaluate(source, source.table(SCHEMA).agg(n=count()), Unit("s", max_rows=1))
    source.table(SCHEMA).group_by("plain", keys=["a", "A"])


def test_keys_are_sent_once() -> None:
    source = Source.open(TABLE)
    for _ in range(3):
        answer(source)
    assert len(source._uploaded) == 1


def test_a_question_for_another_table_is_refused() -> None:
    query = Source.open(TABLE).table(SCHEMA).agg(n=count())
    with pytest.raises(ValueError, match="built for another table"):
        exact.evaluate(Source.open(pa.table({"x": [1]})), query, Unit.rows())


def test_nothing_is_shown_by_accident() -> None:
    source = Source.open(pa.table({"name": ["secret-value"]}))
    query = source.table(SCHEMA).agg(n=count())
    table = exact.evaluate(source, query, Unit.rows())
    assert "secret-value" not in repr(source) + repr(query) + repr(table)
    assert "1" not in repr(table)
