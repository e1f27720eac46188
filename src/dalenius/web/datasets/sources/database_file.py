"""DuckDB and SQLite databases under a folder of the settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from dalenius.errors import SourceError
from dalenius.tables.engines import engine_for
from dalenius.tables.engines.duckdb import DATABASES
from dalenius.tables.engines.sqlite import ENDINGS as SQLITE
from dalenius.tables.engines.sqltext import text as quoted
from dalenius.tables.facts.nearest import nearest
from dalenius.web.datasets.faults import Faults
from dalenius.web.datasets.sources.folder import inside
from dalenius.web.datasets.sources.source import Allowed, Asked, Kind, Record, Tables, named, text

ENDINGS = (*DATABASES, *SQLITE)
MAIN = "main"
"""The schema of a table whose name says none."""


class DatabaseFile(Kind):
    """Tables of one file."""

    tag = "database file"
    title = "DuckDB or SQLite file"
    asks: ClassVar[Sequence[Asked]] = (
        Asked("file", "Database file", "Its path inside the folder, such as register.duckdb."),
        Asked(
            "tables",
            "Table",
            "Its name. Several tables of the same people: one line each, as visits = visits.",
            lines=True,
        ),
    )

    def offered(self, allowed: Allowed) -> str | None:
        return None if allowed.source_folders else "the settings name no folder to read files from"

    def read(self, given: Mapping[str, Any], allowed: Allowed, faults: Faults) -> Record:
        path = text(given, "file", faults)
        tables = {
            name or called.rpartition(".")[2]: called
            for name, called in named(given, "tables", faults).items()
        }
        where = faults.attempt("source.file", lambda: self._file(path, allowed)) if path else None
        if where is not None:
            for called in tables.values():
                faults.attempt("source.tables", lambda called=called: _check_table(where, called))  # type: ignore[misc]
        return {"kind": self.tag, "file": where, "tables": tables}

    def tables(self, record: Record, secret: str | None, allowed: Allowed) -> Tables:
        where = self._file(record["file"], allowed)
        for called in record["tables"].values():
            _check_table(where, called)
        return {name: (where, called) for name, called in record["tables"].items()}

    def words(self, record: Record) -> str:
        return f"{', '.join(record['tables'].values())} in {record['file']}"

    @staticmethod
    def _file(path: str, allowed: Allowed) -> str:
        if not path.lower().endswith(ENDINGS) or any(sign in path for sign in "*?["):
            raise SourceError(f"{path!r} does not end like a DuckDB or SQLite file ({', '.join(ENDINGS)}).")
        return inside(path, allowed)


def _check_table(where: str, called: str) -> None:
    """Refuse all but tables. In DuckDB the name of a file, and a view, could read whatever the server can; and a view
    of a table would have a second budget for the same rows."""
    known = _duckdb(where) if engine_for(where).name == "duckdb" else _sqlite(where)
    if known is None:
        raise SourceError(
            "the database cannot be opened for reading; see that no other program writes to it."
        )
    # By its parts, as the engine reads the name: the table "a.b" is none of a schema a, which may have a view b.
    parts = tuple(called.lower().split("."))
    if parts not in {(*short, table.lower()) for schema, table in known for short in _ways(schema)}:
        names = [table if schema == MAIN else f"{schema}.{table}" for schema, table in known]
        raise SourceError(
            f"the database has no table {called!r}; {nearest(called, names)}. (A view is refused: it may read from "
            "anywhere, and what it shows of a table would have a second budget.)"
        )


def _ways(schema: str) -> tuple[tuple[str, ...], ...]:
    """What may stand before a table's name."""
    return ((), (MAIN,)) if schema == MAIN else ((schema.lower(),),)


def _duckdb(where: str) -> list[tuple[str, str]] | None:
    """The tables of a DuckDB file, with their schemas; None if it cannot be read."""
    import duckdb

    try:
        with closing(duckdb.connect(":memory:")) as connection:
            connection.execute(f"ATTACH {quoted(where)} AS looked_at (READ_ONLY)")
            return connection.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'looked_at'"
            ).fetchall()
    except duckdb.Error:
        return None


def _sqlite(where: str) -> list[tuple[str, str]] | None:
    """The tables of a SQLite file, likewise."""
    try:
        with closing(sqlite3.connect(f"{Path(where).as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        return None
    return [(MAIN, name) for (name,) in rows]
