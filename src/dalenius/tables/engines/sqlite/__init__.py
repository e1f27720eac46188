"""SQLite: a database file, or a table of Ibis's.

Any column may hold anything in any row, whatever its declared type: the type of each value decides, and what is not of
its column's kind is missing. Sums of whole numbers have 64 bits and fail beyond; whole numbers that overflow become
doubles, which nothing here lets them (`total`). Dates and timestamps are text in ISO form.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import ibis
import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from dalenius.errors import SourceError
from dalenius.tables.engines import sqltext
from dalenius.tables.engines.engine import Engine, limbs
from dalenius.tables.engines.opened import Clean, Described, Opened, existing_file, named_table, no_table
from dalenius.tables.engines.place import Place, file_place, local, plain_name
from dalenius.tables.engines.sqlite.functions import FUNCTIONS
from dalenius.tables.engines.sqlite.hidden import no_function_is_hidden
from dalenius.tables.facts.dates import Span
from dalenius.tables.facts.kinds import CLEAN, LONGEST_TEXT, MOST, Kind
from dalenius.tables.facts.schema import Schema
from dalenius.tables.rows.spelling import Ends, builtin
from dalenius.tables.rows.total import CASTS, COMMON, SCORED, SUMMED

ENDINGS = (".sqlite", ".sqlite3", ".db3")
MARK = b"SQLite format 3\x00"
BUSY = 60.0
"""Seconds to wait for somebody who writes; after that a question fails as it does for any other reason."""

LOOK = 10_000
"""Steps of the engine between looks for Ctrl-C."""

LAST = datetime.datetime(9999, 12, 31)
DATE = re.compile(rb"\d{4}-\d\d-\d\d")
MOMENT = re.compile(rb"(\d{4}-\d\d-\d\d)([ T](?!24)\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
"""Not 24:00, which newer versions of Python read as the next day."""


class SQLite(Engine):
    """A file, in the same process."""

    name = "sqlite"
    opened = "a SQLite file and a table"
    at_hand = True
    functions: ClassVar[Mapping[str, str]] = {
        "dalenius_digest": "x",
        "hex": "s",
        "length": "x",
        "dalenius_characters": "s",
        "dalenius_cased": "s",
        "dalenius_trimmed": "s",
        "dalenius_cut": "si",
        "dalenius_days": "d",
        "dalenius_beginning": "ds",
    }
    casts = CASTS | {"sx"}
    operations: ClassVar[Mapping[type[Any], str]] = {
        **COMMON,
        **SUMMED,
        **SCORED,
        ops.BitwiseAnd: "i",
        ops.BitwiseRightShift: "i",
    }

    def opens(self, data: Any) -> bool:
        if not isinstance(data, str | Path):
            return False
        path = _path(data)
        return "://" not in path and (path.lower().endswith(ENDINGS) or _is_marked(path))

    def open(self, data: Any, table: str | None, schema: Schema, beside: Any = None) -> Opened:
        path = _path(data)
        existing_file(path)
        called = named_table(table, f"{path!r} is a database")
        backend = _connected(path) if beside is None else beside
        held = backend.con
        try:
            columns = self.described(backend, sqltext.qualified(called))
        except sqlite3.OperationalError:
            columns = []
        if not columns:
            names: list[str] = []
            with contextlib.suppress(sqlite3.Error):
                known = held.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
                )
                names = [str(name) for (name,) in known]
            held.close()
            raise no_table(called, names)
        stated = [schema[column.name].type for column in columns]
        forms = [
            self.clean(column.dtype, f"r{i}") if kind is None else _read_as(kind, f"r{i}")
            for i, (column, kind) in enumerate(zip(columns, stated, strict=True))
        ]
        return self.cleaned(backend, sqltext.qualified(called), called, forms=forms)

    def place(self, data: Any, table: str | None) -> Place:
        return file_place(str(data), plain_name(table, "main"))

    def place_given(self, backend: Any, table: str) -> Place:
        """In the file of its schema: the main one, or one that is attached."""
        files = {schema.lower(): file for _, schema, file in backend.con.execute("PRAGMA database_list")}
        schema, _, name = table.rpartition(".")
        if schema.lower() not in files:
            schema, name = "main", table
        file = files[schema.lower()]
        return Place("file", os.path.realpath(file), name) if file else Place("memory")

    def adopted(self, backend: Any, sql: str) -> tuple[Any, Any]:
        no_function_is_hidden(backend.con)
        return _own(backend.con), f"({sql})"

    def described(self, backend: Any, relation: Any) -> list[Described]:
        """By their declared types, as a view has them."""
        ((encoding,),) = backend.con.execute("PRAGMA encoding").fetchall()
        if encoding != "UTF-8":  # the bytes of texts and dates are others
            raise SourceError(
                f"this SQLite database keeps its text in {encoding}, not in UTF-8; make a copy that does: "
                "sqlite3 OLD .dump | grep -v '^PRAGMA encoding' | sqlite3 NEW"
            )
        view = sqltext.view_name()
        backend.con.execute(f"CREATE TEMP VIEW {view} AS SELECT * FROM {relation}")
        try:
            rows = backend.con.execute(f"PRAGMA temp.table_info({view})").fetchall()
        finally:
            backend.con.execute(f"DROP VIEW temp.{view}")
        return [Described(str(column), str(dtype).upper()) for _, column, dtype, *_ in rows]

    def clean(self, dtype: Any, x: str) -> Clean:
        """The kind is that of the declared type, by SQLite's own rules where these tell."""
        word = dtype.partition("(")[0].strip()
        for parts, kind in KINDS:
            if any(part in word for part in parts):
                return _read_as(kind, x)
        return Clean(None, dtype.lower() or "not declared; state it in the schema")

    def collated(self, backend: Any, relation: Any, columns: Sequence[str]) -> set[str]:
        """None: clean text is compared by its bytes, whatever the column's collation."""
        return set()

    def view(self, backend: Any, relation: Any, columns: Sequence[str], forms: Sequence[Clean]) -> Any:
        view = sqltext.view_name()
        # Not by AS t(...), which SQLite lacks; the name is no table's, which would be taken for a recursion.
        renamed = f"WITH {view}_raw({', '.join(columns)}) AS (SELECT * FROM {relation})"
        backend.con.execute(
            f"CREATE TEMP VIEW {view} AS {renamed} SELECT {sqltext.selected(forms)} FROM {view}_raw LIMIT -1"
        )
        return backend.sql(f"SELECT * FROM temp.{view}", schema=sqltext.types(forms))

    def fetch(self, backend: Any, statement: Any) -> Any:
        with _interrupted():
            return backend.to_pyarrow(statement)

    def blocks(self, backend: Any, statement: Any, size: int) -> Iterator[NDArray[np.int64]]:
        backend._run_pre_execute_hooks(statement)
        with _interrupted(), closing(backend.con.cursor()) as cursor:
            cursor.execute(backend.compile(statement))
            while rows := cursor.fetchmany(size):
                yield np.array(rows, dtype=np.int64)

    def close(self, backend: Any) -> None:
        backend.disconnect()

    def digest(self, text: Any) -> Any:
        return builtin("dalenius_digest", "binary", returns="int64")(text.cast("binary"))

    def hexadecimal(self, text: Any) -> Any:
        digits = builtin("hex", "string", returns="string")(text)
        return ibis.cases((text.notnull(), digits))  # of null they would be none, and not null

    def length(self, text: Any) -> Any:
        return builtin("length", "binary", returns="int64")(text.cast("binary"))

    # SQLite's own functions of text end at the character with code 0.

    def characters(self, text: Any) -> Any:
        return builtin("dalenius_characters", "string", returns="int64")(text)

    def cased(self, text: Any, of: str, to: str) -> Any:
        return builtin("dalenius_cased", "string", "string", "string", returns="string")(text, of, to)

    def trimmed(self, text: Any, ends: Ends) -> Any:
        return builtin("dalenius_trimmed", "string", "string", returns="string")(text, ends)

    def cut(self, text: Any, start: int, size: int) -> Any:
        return builtin("dalenius_cut", "string", "int64", "int64", returns="string")(text, start, size)

    def days(self, date: Any) -> Any:
        return builtin("dalenius_days", "date", returns="int64")(date)

    def beginning(self, date: Any, span: Span) -> Any:
        return builtin("dalenius_beginning", "date", "string", returns="date")(date, span)

    def once(self, rows: Any) -> Any:
        return rows

    def sum(self, x: Any, size: int) -> list[tuple[Any, int]]:
        return limbs(x, size)


KINDS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    (("BOOL",), "bool"),
    (("DATETIME", "TIMESTAMP"), "timestamp"),
    (("DATE",), "date"),
    (("INT",), "integer"),
    (("CHAR", "CLOB", "TEXT"), "text"),
    (("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"), "number"),
)
"""What a declared type has in it, in this order."""


def _read_as(kind: Kind, x: str) -> Clean:
    """The clean form of a column, by the type of each value. Text that is none must not reach Python as text."""
    if kind in CALLED:
        called = f"CASE typeof({x}) WHEN 'text' THEN {CALLED[kind].__name__}(CAST({x} AS BLOB)) END"
        return Clean(kind, CLEAN[kind], f"{called} COLLATE BINARY", nan=True)
    if kind == "number":
        from dalenius.tables.engines.sqlite.backend import exact

        real = f"min(max({x}, {exact(-MOST)}), {exact(MOST)})"
        number = f"CASE typeof({x}) WHEN 'integer' THEN CAST({x} AS REAL) WHEN 'real' THEN {real} END"
        return Clean(kind, CLEAN[kind], number, nan=True)
    fits = f" AND {x} IN (0, 1)" if kind == "bool" else ""
    return Clean(kind, CLEAN[kind], f"CASE WHEN typeof({x}) = 'integer'{fits} THEN {x} END", nan=True)


@contextlib.contextmanager
def _interrupted() -> Iterator[None]:
    """A statement that was interrupted is a KeyboardInterrupt: nothing else interrupts one."""
    try:
        yield
        return
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
    raise KeyboardInterrupt


def _own(held: sqlite3.Connection) -> Any:
    """Ibis's way to a connection, with our spellings and functions; any other that uses it is not touched."""
    from dalenius.tables.engines.sqlite.backend import Backend

    backend = Backend.from_connection(held)
    for function in (*CALLED.values(), dalenius_digest):
        held.create_function(function.__name__, 1, _interrupting(function, held), deterministic=True)
    for function in FUNCTIONS:
        count = function.__code__.co_argcount
        held.create_function(function.__name__, count, _interrupting(function, held), deterministic=True)
    return backend


def _connected(path: str) -> Any:
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    held = sqlite3.connect(address, uri=True, timeout=BUSY, check_same_thread=False)
    held.set_progress_handler(lambda: 0, LOOK)
    return _own(held)


def _interrupting(function: Callable[..., Any], held: sqlite3.Connection) -> Callable[..., Any]:
    """Ctrl-C inside a function would be told as the function's failure."""

    @wraps(function)
    def called(value: Any, *further: Any) -> Any:
        try:
            return None if value is None else function(value, *further)
        except KeyboardInterrupt:
            held.interrupt()
            return None

    return called


def dalenius_text(value: bytes) -> str | None:
    """Bytes as text; what is not UTF-8 is missing: mended, it could be taken for another text, or another unit."""
    try:
        return value.decode() if len(value) <= LONGEST_TEXT else None
    except UnicodeDecodeError:
        return None


def dalenius_date(value: bytes) -> str | None:
    """A date as SQLite's own functions write it; anything else is missing."""
    moment = _moment(value, DATE)
    return None if moment is None else moment.date().isoformat()


def dalenius_timestamp(value: bytes) -> str | None:
    """A timestamp without a zone, or a date for its midnight."""
    moment = _moment(value, MOMENT)
    return None if moment is None else min(moment, LAST).isoformat(sep=" ")


def dalenius_digest(value: bytes) -> int:
    """The first 24 bits of the SHA-256."""
    return int.from_bytes(hashlib.sha256(value).digest()[:3], "big")


CALLED: Mapping[Kind, Callable[[bytes], str | None]] = {
    "text": dalenius_text,
    "date": dalenius_date,
    "timestamp": dalenius_timestamp,
}


def _moment(value: bytes, form: re.Pattern[bytes]) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(value.decode()) if form.fullmatch(value) else None
    except ValueError:  # the 30th of February
        return None


def _path(data: Any) -> str:
    return local(str(data))


def _is_marked(path: str) -> bool:
    """Whether a file of any name is SQLite's."""
    try:
        with open(path, "rb") as file:
            return path.lower().endswith(".db") and file.read(len(MARK)) == MARK
    except OSError:
        return False
