"""DuckDB, from a Parquet file and from a file of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pytest

from dalenius.errors import SourceError
from dalenius.tables import Source
from dalenius.tables.compute.exact import Evaluation
from dalenius.tables.engines.duckdb import connection
from tests.tables.engine_contract import EngineContract
from tests.tables.engines.holds import Calls, Hold, check_interrupt, duckdb_file, parquet

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


class InDuckDB(EngineContract):
    """What both kinds of files share."""

    name = "duckdb"

    def roots(self, source: Source, asked: Evaluation) -> int:
        calls, connection = Calls(), source._backend.con
        connection.create_function("counted", calls.sqrt, ["DOUBLE"], "DOUBLE")
        connection.execute("CREATE TEMP MACRO sqrt(x) AS counted(x)")
        asked.run()
        return calls.count


class TestParquet(InDuckDB):
    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls, tmp_path_factory: pytest.TempPathFactory) -> Hold:
        return parquet(tmp_path_factory.mktemp("parquet"))


class TestDuckDBFile(InDuckDB):
    @pytest.fixture(scope="class")
    @classmethod
    def hold(cls, tmp_path_factory: pytest.TempPathFactory) -> Hold:
        return duckdb_file(tmp_path_factory.mktemp("duckdb"))

    @pytest.fixture(params=["column", "view", "macro"])
    def collating(self, request: pytest.FixtureRequest, tmp_path: Path) -> Source:
        """By the type of the column, by a view, or by a macro that a view calls."""
        way = request.param
        with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
            collate = " COLLATE NOCASE" if way == "column" else ""
            connection.execute(f"CREATE TABLE held (s VARCHAR{collate})")
            connection.execute("INSERT INTO held VALUES ('a'), ('A')")
            if way == "macro":
                connection.execute("CREATE MACRO plain(x) AS CAST(x AS VARCHAR) COLLATE NOCASE")
            read = {"view": "s COLLATE NOCASE", "macro": "plain(s)"}.get(way, "s")
            connection.execute(f"CREATE VIEW t AS SELECT {read} AS s FROM held")
        return Source.open(tmp_path / "c.duckdb", table="t")


def test_ctrl_c(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as connection:
        pairs = "range(100000) AS a, range(10000000) AS b WHERE hash(a.range + b.range) % 7 = 3"
        connection.execute(f"CREATE VIEW slow AS SELECT 1 AS n FROM {pairs}")
    check_interrupt(tmp_path / "slow.duckdb", tmp_path)


def test_a_file_that_is_being_written(tmp_path: Path) -> None:
    """In the same process; another connection that only reads is no trouble."""
    path = str(tmp_path / "t.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n")
        with pytest.raises(SourceError, match="cannot be opened for reading") as caught:
            Source.open(path, table="t")
        assert caught.value.__context__ is None
    with duckdb.connect(path, read_only=True):
        Source.open(path, table="t").close()


def test_rows_in_blocks_are_made_by_one_thread() -> None:
    """So that one part of a file is in memory at a time; afterwards, and on a connection of others, all are there."""

    def threads(backend: Any) -> int:
        return int(connection.run(backend, "SELECT current_setting('threads')")[0][0])

    own, given = connection.connect(), ibis.duckdb.connect()
    for backend, within in ((own, 1), (given, threads(given))):
        many = threads(backend)
        with connection.one_thread(backend):
            assert threads(backend) == within
        assert threads(backend) == many
    source = Source.open(pd.DataFrame({"n": range(50_000)}))
    assert sum(map(len, source.engine.blocks(source._backend, source.rows, 16_384))) == 50_000
    assert threads(source._backend) == threads(own)


def test_warnings_as_errors(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("k,x\na,1\nb,2\n")
    asking = (
        "import dalenius as dp; s = dp.Session('t.csv', unit=dp.Unit.rows(), budget=dp.ZCDP(1), "
        "schema=dp.Schema(nulls='drop')); "
        "s.release(s.table.group_by('k', keys=['a']).agg(m=dp.mean('x', bounds=(0, 9))), dp.ZCDP(0.5))"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", asking], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    "macro",
    [
        "least(a, b) AS a",
        "GREATEST(a, b) AS a",
        "sum(x) AS 99",
        '"+"(a, b) AS a',
        "isfinite(x) AS true",
        "trim(x) AS (SELECT content FROM read_text('/etc/hostname'))",
        # and those that would hide the others from whoever looks
        "lower(x) AS ''; CREATE MACRO least(a, b) AS a",
        "duckdb_functions() AS TABLE SELECT '' AS function_name, true AS internal; CREATE MACRO least(a, b) AS a",
        '"AND"(a, b) AS false; CREATE MACRO least(a, b) AS a',
    ],
)
@pytest.mark.parametrize("given", [False, True])
def test_a_function_of_the_database_is_never_taken_for_one_of_duckdbs(
    tmp_path: Path, macro: str, given: bool
) -> None:
    path = str(tmp_path / "people.duckdb")
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE people AS SELECT 1e9 AS pay")
        made.execute("CREATE MACRO twice(x) AS x * 2")  # a name of its own harms nobody
    if given:
        opened: Any = lambda: Source.open(ibis.duckdb.connect(path).table("people"))  # noqa: E731
    else:
        opened = lambda: Source.open(path, table="people")  # noqa: E731
    opened().close()
    with duckdb.connect(path) as made:
        made.execute(f"CREATE MACRO {macro}")
    with pytest.raises(SourceError, match=r"the database has a function .* rename it"):
        opened()


@pytest.mark.parametrize(
    ("name", "types"), [("least", ["DOUBLE"] * 2), ("GREATEST", ["BIGINT"] * 2), ("len", ["BIGINT[]"])]
)
def test_nor_is_a_function_in_python(name: str, types: list[Any]) -> None:
    """It is preferred to one that takes anything, and DuckDB lists it as its own."""
    given = ibis.duckdb.connect()
    given.raw_sql("CREATE TABLE people AS SELECT 1e9 AS pay")
    one, two = (lambda x: x), (lambda x, y: x)
    given.con.create_function("twice", one, ["DOUBLE"], "DOUBLE")
    Source.open(given.table("people"))
    given.con.create_function(name, one if len(types) == 1 else two, types, types[0].removesuffix("[]"))
    with pytest.raises(SourceError, match=f"the database has a function '{name}'.* rename it"):
        Source.open(given.table("people"))
