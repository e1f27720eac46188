"""Columns under any names: what people call a column does not matter to any engine."""

from __future__ import annotations

from pathlib import Path

import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.errors import QueryRefused, SourceError
from dalenius.tables import Query, Schema, Source, Table, Unit, count, sum
from dalenius.tables.compute import exact
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

BOTH = pa.table([[1, 2], [30, 40], ["x", "y"]], names=["a", "A", "k"])
SCHEMA = Schema(nulls="drop")


def total(source: Source, text: str) -> float:
    return answered(source, source.table(SCHEMA).agg(s=sum(text, (0, 1000))))


def answered(source: Source, query: Query) -> float:
    (measure,) = [m for m in query.measures if m.kind == "sum"]
    return float(exact.evaluate(source, query, Unit.rows())[measure][0] * measure.granularity)


def check_both(source: Source) -> None:
    """`a` is a, `A` is A, and what is computed or joined beside them under the same letters is itself."""
    assert [total(source, text) for text in ("a", "A", '"A" - a', "K = 'x'")] == [3, 70, 67, 1]
    table = source.table(SCHEMA).with_columns(Kk="a + 1", kK="100")
    table = table.join_public({"k": ["x", "y"], "KK": [5, 6], "a0": ["p", "q"]}, on="k")
    assert answered(source, table.agg(s=sum("KK + kK + Kk", (0, 1000)))) == 11 + 200 + 5
    assert answered(source, table.filter("a0 = 'q' AND \"A\" > 1").agg(s=sum("KK", (0, 9)))) == 6
    with pytest.raises(QueryRefused, match="'kk' may mean 'KK' or 'Kk' or 'kK'; write it with the right"):
        table.agg(s=sum("kk", (0, 9)))


def test_frames() -> None:
    for data in (BOTH, BOTH.to_pandas(), pl.from_arrow(BOTH), BOTH.to_pydict()):
        check_both(Source.open(data))


def test_files(tmp_path: Path) -> None:
    pq.write_table(BOTH, tmp_path / "both.parquet")
    (tmp_path / "both.csv").write_text("a,A,k\n1,30,x\n2,40,y\n")
    for name in ("both.parquet", "both.csv"):
        check_both(Source.open(tmp_path / name))
    pq.write_table(BOTH, tmp_path / "both-2.parquet")
    with pytest.raises(SourceError, match="names that differ in capitals only"):
        Source.open(str(tmp_path / "both*.parquet"))


def test_databases(postgres_server: PostgresServer) -> None:
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('CREATE TABLE both_ (a int, "A" int, k text)')
        connection.execute("INSERT INTO both_ VALUES (1, 30, 'x'), (2, 40, 'y')")
    source = Source.open(url, table="both_")
    check_both(source)
    source.close()
    backend = ibis.postgres.from_connection(psycopg.connect(url, autocommit=True))
    check_both(Source.open(backend.table("both_").filter(lambda t: t.a < 9)))
    backend.disconnect()


def test_ibis_tables() -> None:
    backend = ibis.duckdb.connect()
    t = ibis.memtable({"one": [1, 2], "two": [30, 40], "k": ["x", "y"]})
    backend.create_table("t", t)
    check_both(Source.open(backend.table("t").select(a="one", A="two", k="k")))


ODD = [
    "select",
    'q"uo"te',
    " b l ",
    "__key0",
    "__v0",
    "__unit",
    "n",
    "s0",
    "c0",
    "x0",
    "p0_0",
    "r0",
    "é",
    "A;DROP",
    "`",
]


def check_odd(source: Source) -> None:
    table: Table = source.table(SCHEMA)
    for position, name in enumerate(ODD):
        written = '"' + name.replace('"', '""') + '"'
        assert total(source, written) == 2 * position + 1
        query = (
            table.with_columns(**{f"{name}2": f"{written} * 2"})
            .group_by(name, keys=[position])
            .agg(rows=count(), total=sum(f'"{name}2"'.replace('q"uo"te', 'q""uo""te'), (0, 99)))
        )
        assert answered(source, query) == 2 * position


def test_odd_names(tmp_path: Path, postgres_server: PostgresServer) -> None:
    data = pd.DataFrame({name: [i, i + 1] for i, name in enumerate(ODD)})
    check_odd(Source.open(data))
    pq.write_table(pa.Table.from_pandas(data), tmp_path / "odd.parquet")
    data.to_csv(tmp_path / "odd.csv", index=False)
    check_odd(Source.open(tmp_path / "odd.parquet"))
    check_odd(Source.open(tmp_path / "odd.csv"))
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        columns = ", ".join('"' + name.replace('"', '""') + '" int' for name in ODD)
        connection.execute(f"CREATE TABLE odd ({columns})")
        for more in (0, 1):
            connection.execute(
                f"INSERT INTO odd VALUES ({', '.join(str(i + more) for i in range(len(ODD)))})"
            )
    source = Source.open(url, table="odd")
    check_odd(source)
    source.close()


def test_a_name_that_is_not_there_gets_a_hint() -> None:
    with pytest.raises(QueryRefused, match="there is no column 'incme'; did you mean 'income'"):
        Source.open({"income": [1], "age": [2]}).table(SCHEMA).filter("incme > 3")


def test_text_is_never_a_number() -> None:
    """No engine is left to make of '5' a 5: it would fail on what is no number."""
    source = Source.open({"t": ["5", "x"], "n": [5, 6]})
    table = source.table(SCHEMA)
    for refused in (
        "t > 3",
        "t = 5",
        "t IN (5, 6)",
        "n IN ('5')",
        "COALESCE(t, 5) = 5",
        "CASE WHEN n > 5 THEN t ELSE 1 END = 1",
    ):
        with pytest.raises(QueryRefused):
            table.filter(refused)
    with pytest.raises(QueryRefused, match="of type text and 'k' of the public table of type integer"):
        table.join_public({"k": [5], "v": [1]}, on={"t": "k"})
    with pytest.raises(ValueError, match="list keys of that type"):
        table.group_by("t", keys=[5])
