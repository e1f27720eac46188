"""DuckDB, in the same process: where files and frames are read, and its own database files.

Doubles overflow to infinity, sums of integers have 128 bits, casts out of range are errors.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import ibis
import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from dalenius.errors import SourceError
from dalenius.tables.engines import sqltext
from dalenius.tables.engines.duckdb import cleaning, connection, csv, frames, parquet
from dalenius.tables.engines.duckdb.folders import is_folder, pattern
from dalenius.tables.engines.engine import Engine, interruptible, wide_sum
from dalenius.tables.engines.opened import Clean, Described, Opened, existing_file, named_table, no_table
from dalenius.tables.engines.place import Place, file_name, file_place, local, plain_name, shown
from dalenius.tables.facts.dates import Span
from dalenius.tables.facts.kinds import CLEAN, Kind
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows.spelling import FIRST, Ends, builtin
from dalenius.tables.rows.total import CASTS, COMMON, SCORED, SUMMED

ADDRESSES = ("s3://", "s3a://", "s3n://", "gs://", "gcs://", "https://", "http://", "file://", "hf://")
DATABASES = (".duckdb", ".ddb", ".db")
TABLES = "SELECT table_catalog, table_schema, table_name FROM information_schema.tables ORDER BY 3"
COLLATE = re.compile(r"\bcollate\s+\w", re.IGNORECASE)
COLLATED = """
    SELECT current_setting('default_collation') NOT IN ('', 'binary')
        OR EXISTS (SELECT 1 FROM duckdb_tables() WHERE sql ILIKE '%collate%')
        OR EXISTS (SELECT 1 FROM duckdb_views() WHERE NOT internal AND sql ILIKE '%collate%')
        OR EXISTS (SELECT 1 FROM duckdb_functions() WHERE NOT internal AND macro_definition ILIKE '%collate%')
"""
"""Whether any text might be collated: a column's type does not tell, nor does a view's text when a macro does it."""


class DuckDB(Engine):
    """Embedded."""

    name = "duckdb"
    opened = (
        "the path or address of a CSV or Parquet file, a folder of Parquet files, a pandas, Polars or Arrow frame, a "
        "DuckDB file and a table"
    )
    at_hand = True
    functions: ClassVar[Mapping[str, str]] = {
        "sha256": "s",
        "hex": "s",
        "strlen": "s",
        "list_extract": "li",
        "len": "l",
        "length": "s",
        "translate": "s",
        **dict.fromkeys(("trim", "ltrim", "rtrim"), "s"),
        "substring": "si",
        "date_diff": "sd",
        "date_trunc": "sd",
    }
    casts = CASTS | {"is"}
    operations: ClassVar[Mapping[type[Any], str]] = {
        **COMMON,
        **SUMMED,
        **SCORED,
        ops.StringConcat: "s",
        ops.Substring: "si",
        ops.TryCast: "s",
    }

    def opens(self, data: Any) -> bool:
        if is_folder(data):
            return True
        if isinstance(data, str | Path):
            endings = (*DATABASES, *csv.ENDINGS, *parquet.ENDINGS)
            text = str(data)
            return text.startswith(ADDRESSES) or ("://" not in text and text.lower().endswith(endings))
        return isinstance(data, dict) or type(data).__module__.partition(".")[0] in frames.PACKAGES

    def open(self, data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
        if not isinstance(data, str | Path):
            return frames.open_frame(self, data, schema, beside)
        path = pattern(str(data)) if is_folder(data) else local(str(data))
        called = file_name(str(data))
        ending = shown(path).lower()
        if ending.endswith(DATABASES):
            return self._open_database(path, table, beside)
        if table is not None:
            raise SourceError("a table is named, but the data is one file; leave the table out.")
        if not ending.endswith((*csv.ENDINGS, *parquet.ENDINGS)):
            raise SourceError(f"{shown(path)!r} does not end like a CSV, Parquet or DuckDB file; rename it.")
        hidden = ending.endswith(parquet.ENDINGS)  # what DuckDB reads itself, it reads with those
        if "://" not in path and not glob.glob(path, recursive=True, include_hidden=hidden):
            existing_file(path)
        if ending.endswith(parquet.ENDINGS):
            if Path(
                path
            ).is_file():  # by its own name: DuckDB would take [1] in it for a pattern, and read another file
                path = glob.escape(path)
            return parquet.open_parquet(self, path, schema, called, beside)
        return csv.open_csv(self, path, schema, called, beside)

    def _open_database(self, path: str, table: str | None, beside: Any) -> Opened:
        existing_file(path)
        called = named_table(table, f"{path!r} is a database")
        backend = connection.connect() if beside is None else beside
        if beside is None and not _succeeds(lambda: connection.attach(backend, path)):
            backend.disconnect()
            raise SourceError(
                f"the database {path!r} cannot be opened for reading. If this or another process has it open for "
                "writing, close it there, or give an Ibis table of that connection."
            )
        if beside is None:
            connection.no_function_is_hidden(backend)
        known = connection.run(backend, TABLES)
        # What DuckDB does not know as a table it takes for a file's name: another place, with a budget of its own.
        parts = tuple(called.lower().split("."))
        is_there = any(tuple(part.lower() for part in names)[-len(parts) :] == parts for names in known)
        if not is_there or not _succeeds(lambda: self.described(backend, sqltext.qualified(called))):
            backend.disconnect()
            raise no_table(called, [str(name) for *_, name in known])
        return self.cleaned(backend, sqltext.qualified(called), called)

    def place(self, data: Any, table: str | None) -> Place:
        if not isinstance(data, str | Path):
            return Place("memory")
        where = pattern(str(data)) if is_folder(data) else str(data)
        return file_place(where, plain_name(table, "main"))

    def place_given(self, backend: Any, table: str) -> Place:
        """In a file, when the connection has no other."""
        files = connection.run(backend, "SELECT path FROM duckdb_databases() WHERE NOT internal")
        if len(files) != 1 or not files[0][0]:
            return Place("memory")
        return Place("file", os.path.realpath(files[0][0]), plain_name(table, "main"))

    def adopted(self, backend: Any, sql: str) -> tuple[Any, Any]:
        connection.no_function_is_hidden(backend)
        connection.trust_values(backend)
        return backend, f"({sql})"

    def described(self, backend: Any, relation: Any) -> list[Described]:
        rows = connection.run(backend, f"DESCRIBE SELECT * FROM {relation}")
        return [Described(str(name), str(dtype)) for name, dtype, *_ in rows]

    def clean(self, dtype: Any, x: str) -> Clean:
        return cleaning.clean(dtype, x)

    def collated(self, backend: Any, relation: Any, columns: Sequence[str]) -> set[str]:
        inside = COLLATE.search(relation) is not None
        return set(columns) if inside or connection.run(backend, COLLATED)[0][0] else set()

    def view(self, backend: Any, relation: Any, columns: Sequence[str], forms: Sequence[Clean]) -> Any:
        view = sqltext.view_name()
        source = f"(SELECT * FROM {relation}) AS t({', '.join(columns)})"
        connection.run(backend, f"CREATE TEMP VIEW {view} AS SELECT {sqltext.selected(forms)} FROM {source}")
        return connection.table(backend, view, "temp", "main")

    def fetch(self, backend: Any, statement: Any) -> Any:
        return interruptible(lambda: backend.to_pyarrow(statement), backend.con.interrupt)

    def blocks(self, backend: Any, statement: Any, size: int) -> Iterator[NDArray[np.int64]]:
        with connection.one_thread(backend):
            relation = backend._to_duckdb_relation(statement)
            reader = interruptible(lambda: relation.to_arrow_reader(size), backend.con.interrupt)
            try:
                while batch := interruptible(lambda: next(reader, None), backend.con.interrupt):
                    yield np.column_stack([column.to_numpy() for column in batch.columns])
            finally:  # a result that is still open is in the way of every other statement
                reader.close()

    def close(self, backend: Any) -> None:
        backend.disconnect()

    def digest(self, text: Any) -> Any:
        digits = builtin("sha256", "string", returns="string")(text).left(6)
        return (ibis.literal("0x") + digits).try_cast("int64")

    def hexadecimal(self, text: Any) -> Any:
        return builtin("hex", "string", returns="string")(text)

    def length(self, text: Any) -> Any:
        return builtin("strlen", "string", returns="int64")(text)

    def characters(self, text: Any) -> Any:
        return builtin("length", "string", returns="int64")(text)

    def trimmed(self, text: Any, ends: Ends) -> Any:
        name = {"both": "trim", "front": "ltrim", "back": "rtrim"}[ends]
        return builtin(name, "string", "string", returns="string")(
            text, " "
        )  # else other signs for blanks go, too

    def days(self, date: Any) -> Any:
        between = builtin("date_diff", "string", "date", "date", returns="int64")
        return between("day", ibis.literal(FIRST), date)

    def beginning(self, date: Any, span: Span) -> Any:
        return builtin("date_trunc", "string", "date", returns="timestamp(6)")(span, date).cast("date")

    def item(self, items: Any, kind: Kind, at: Any) -> Any:
        return builtin("list_extract", f"array<{CLEAN[kind]}>", "int64", returns=CLEAN[kind])(items, at + 1)

    def size(self, items: Any, kind: Kind) -> Any:
        return builtin("len", f"array<{CLEAN[kind]}>", returns="int64")(items)

    def once(self, rows: Any) -> Any:
        return rows

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        return wide_sum(x, size)


def _succeeds(action: Any) -> bool:
    """Whether it can be done; outside of this, so that no complaint of the engine hangs on as a context."""
    try:
        action()
    except Exception:
        return False
    return True
