"""SQLite, where any column may hold anything."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import pytest

from dalenius.errors import QueryRefused, SourceError
from dalenius.tables import Schema, Source, Unit, count, mean
from dalenius.tables.compute import exact
from dalenius.tables.engines.sqlite.backend import exact as spelled
from tests.tables.engine_contract import EngineContract
from tests.tables.engines.holds import Calls, Hold, check_interrupt, sqlite

SCHEMA = Schema(nulls="drop")


class TestSQLite(EngineContract):
    name = "sqlite"

    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls, tmp_path_factory: pytest.TempPathFactory) -> Hold:
        return sqlite(tmp_path_factory.mktemp("sqlite"))

    @pytest.fixture(params=["column", "view"])
    def collating(self, request: pytest.FixtureRequest, tmp_path: Path) -> Source:
        made(
            tmp_path / "c.sqlite",
            f"CREATE TABLE held (s TEXT {'COLLATE NOCASE' if request.param == 'column' else ''})",
            "INSERT INTO held VALUES ('a'), ('A')",
            f"CREATE VIEW t AS SELECT s {'COLLATE NOCASE' if request.param == 'view' else ''} AS s FROM held",
        )
        stated = Schema({"s": {"type": "text"}}, nulls="drop")
        return Source.open(tmp_path / "c.sqlite", table="t", schema=stated)

    def roots(self, source: Source, asked: exact.Evaluation) -> int:
        calls = Calls()
        source._backend.con.create_function("sqrt", 1, calls.sqrt, deterministic=True)
        asked.run()
        return calls.count


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


ANYTHING = ["NULL", "1", "-7", "1.5", "9e999", "-9e999", "'1'", "'a'", "''", "X'61'", "CAST(X'FF' AS TEXT)"]
ANYTHING += [
    "'2020-02-30'",
    "'2020-02-29'",
    "'2020-02-29 25:00'",
    "'2020-02-29 23:59:59.5'",
    "9223372036854775807",
]


@pytest.mark.parametrize(
    ("declared", "kind", "there"),
    [
        ("INTEGER", "integer", {"1", "-7", str(2**63 - 1)}),
        ("INT", "integer", {"1", "-7", str(2**63 - 1)}),
        ("BOOLEAN", "bool", {"1"}),
        ("DOUBLE", "number", 7),
        ("DECIMAL(10, 2)", "number", 7),
        ("TEXT", "text", 13),
        ("DATE", "date", 1),
        ("DATETIME", "timestamp", 2),
    ],
)
def test_a_value_of_another_kind_is_missing(tmp_path: Path, declared: str, kind: str, there: Any) -> None:
    """Whatever a column holds beside, in a table that lets it."""
    rows = [f"INSERT INTO t VALUES ({value})" for value in ANYTHING]
    source = Source.open(made(tmp_path / "t.sqlite", f"CREATE TABLE t (x {declared})", *rows), table="t")
    assert [f.kind for f in source.fields] == [kind]
    (column,) = source.rows.columns
    shown = source.rows[column].cast("string")
    found = [
        v for v in source.fetch(source.rows.select(shown=shown)).column("shown").to_pylist() if v is not None
    ]
    assert (set(found) if isinstance(there, set) else len(found)) == there
    assert exact.evaluate(source, source.table(SCHEMA).agg(n=count()), Unit.rows()).values


def test_doubles_are_spelled_exactly() -> None:
    import random

    rnd = random.Random(1)
    some = [struct.unpack("d", struct.pack("Q", rnd.getrandbits(64)))[0] for _ in range(3000)]
    some = [x for x in some if x == x and abs(x) != float("inf")]
    some += [0.0, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, 2.0**62, 2.2250738585072014e-308]
    with closing(sqlite3.connect(":memory:")) as connection:
        assert [connection.execute(f"SELECT {spelled(x)}").fetchone()[0] for x in some] == some


def test_a_column_without_a_type(tmp_path: Path) -> None:
    path = made(
        tmp_path / "t.sqlite", "CREATE TABLE t (x, y BLOB)", "INSERT INTO t VALUES (1, 2), ('a', 'b')"
    )
    source = Source.open(path, table="t")
    with pytest.raises(QueryRefused, match="not declared; state it in the schema"):
        source.table(SCHEMA).filter("x > 0")
    stated = Schema({"x": {"type": "integer"}, "y": {"type": "text"}}, nulls="drop")
    source = Source.open(path, table="t", schema=stated)
    query = source.table().agg(n=count("x"), m=count("y"))
    found = exact.evaluate(source, query, Unit.rows())
    assert [found[m].tolist() for m in query.measures] == [[1], [1]]


def test_text_too_long_to_sort_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted, a record holds an id twice: with the limit of a thousand million bytes a long one would make it fail."""
    path = made(
        tmp_path / "t.sqlite", "CREATE TABLE t (i TEXT)", "INSERT INTO t VALUES ('a'), (hex(zeroblob(40000)))"
    )
    backend = ibis.sqlite.connect(path)
    backend.con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    monkeypatch.setattr("dalenius.tables.engines.sqlite.LONGEST_TEXT", 2**27 // 10_000)
    source = Source.open(backend.table("t"))
    query = source.table(SCHEMA).agg(n=count())
    assert exact.evaluate(source, query, Unit("i", max_rows=2))[query.measures[0]].tolist() == [1]


def test_files(tmp_path: Path) -> None:
    path = made(tmp_path / "people.db", "CREATE TABLE people (x INTEGER)", "INSERT INTO people VALUES (1)")
    assert Source.open(path, table="people").engine.name == "sqlite"
    assert Source.open(f"file://{path}", table="main.people").place == Source.open(path, table="people").place
    for table, message in ((None, "name the table in it"), ("nope", "there is no table 'nope'")):
        with pytest.raises(SourceError, match=message):
            Source.open(path, table=table)
    with pytest.raises(SourceError, match="no file"):
        Source.open(tmp_path / "nowhere.sqlite", table="t")
    (tmp_path / "bad.sqlite").write_bytes(b"secret-value" * 100)
    with pytest.raises(SourceError) as caught:
        Source.open(tmp_path / "bad.sqlite", table="t")
    assert "secret" not in str(caught.value)


def test_an_ibis_table(tmp_path: Path) -> None:
    path = made(tmp_path / "t.sqlite", "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
    backend = ibis.sqlite.connect(path)
    source = Source.open(backend.table("t"))
    assert source.place == Source.open(path, table="t").place
    query = source.table(SCHEMA).agg(m=mean("x", (0, 5)))
    assert exact.evaluate(source, query, Unit.rows())[query.measures[0]].tolist() == [2]
    source.close()
    assert backend.table("t").count().execute() == 2


@pytest.mark.parametrize("name", ["min", "ABS", "coalesce", "row_number"])
def test_a_function_of_a_connection_is_never_taken_for_one_of_sqlites(tmp_path: Path, name: str) -> None:
    path = made(tmp_path / "t.sqlite", "CREATE TABLE t (x INTEGER)")
    backend = ibis.sqlite.connect(path)
    backend.con.row_factory = sqlite3.Row
    for _ in range(2):
        Source.open(backend.table("t"))
        backend.con.create_function("twice", 1, lambda x: 2 * x)  # a name of its own harms nobody
    backend.con.create_function(name, 1, lambda x: x)
    with pytest.raises(SourceError, match=f"the connection has a function '{name.lower()}'"):
        Source.open(backend.table("t"))
    Source.open(path, table="t")


def test_text_that_is_not_in_utf_8(tmp_path: Path) -> None:
    path = made(tmp_path / "t.sqlite", "PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (d DATE)")
    with pytest.raises(SourceError, match="not in UTF-8"):
        Source.open(path, table="t")


def test_ctrl_c(tmp_path: Path) -> None:
    path = made(
        tmp_path / "slow.sqlite",
        "CREATE TABLE one (n INTEGER)",
        "INSERT INTO one VALUES (1)",
        "CREATE VIEW slow AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i % 7 + 1 FROM r) SELECT n FROM r, one",
    )
    check_interrupt(path, tmp_path)
