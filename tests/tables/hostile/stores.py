"""The tables of a world inside an engine, one after the other.

A store is opened for a world and then holds its table or one of its neighbours. Where the product would read the
same statement from the same relation (a frame, a file, a table), only the rows are exchanged under one Source. Where
opening itself reads rows (CSV files, columns of Python objects) every table is opened anew: see `opened_anew`.
"""

from __future__ import annotations

import datetime
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.tables import Source
from dalenius.tables.engines.duckdb import connection, frames
from tests.tables.hostile.rows import COLUMNS, ROLES, Raw, World, fitted

Hold = Callable[[int | None], Source]
"""Puts the table (None) or a neighbour into the engine; valid until the next one is put there."""

Store = Callable[[World], AbstractContextManager[Hold]]


class NotStorable(Exception):
    """An engine has no place for a value: no case."""


TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int16": pa.int16(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "float16": pa.float16(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "bool": pa.bool_(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    **{f"timestamp[{unit}]": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    "decimal128(18, 4)": pa.decimal128(18, 4),
    "decimal128(38, 4)": pa.decimal128(38, 4),
    "decimal256(50, 4)": pa.decimal256(50, 4),
}


def arrow(world: World, number: int | None) -> pa.Table:
    """The rows as they are, text that is none and dates that are none included."""
    rows = world.table(number)
    columns = [_array([row[n] for row in rows], world.types[role]) for n, role in enumerate(ROLES)]
    return pa.Table.from_arrays(columns, names=[world.names[role] for role in ROLES])


def _array(values: list[Any], form: str) -> pa.Array:
    kind = TYPES[form]
    values = [fitted(value, form) for value in values]
    if form == "dictionary":
        return _array(values, "string").dictionary_encode()
    if form.endswith("string"):  # built from its buffers: what is not UTF-8 could not be converted
        return pa.array(values, pa.large_binary() if form == "large_string" else pa.binary()).view(kind)
    if form == "date32":
        return pa.array(values, pa.int32()).view(kind)
    if form == "date64" or form.startswith("timestamp"):
        return pa.array(values, pa.int64()).view(kind)
    if form == "float16":
        return pa.array(values, pa.float32()).cast(kind)
    return pa.array(values, kind)


@contextmanager
def frame(world: World) -> Iterator[Hold]:
    """A frame in memory, as open_frame forms it."""
    source = Source.open(arrow(world, None))

    def hold(number: int | None) -> Source:
        table = arrow(world, number)
        held = [frames.form(column, f"r{n}")[0] for n, column in enumerate(table.columns)]
        source._backend.con.register("data", pa.table(held, names=[f"r{n}" for n in range(len(held))]))
        return source

    yield hold
    source.close()


@contextmanager
def plain_frame(world: World) -> Iterator[Hold]:
    """A frame in a DuckDB that optimizes nothing."""
    with frame(world) as hold:
        backend = hold(None)._backend
        names = ",".join(name for (name,) in connection.run(backend, "SELECT name FROM duckdb_optimizers()"))
        connection.run(backend, f"SET disabled_optimizers = '{names}'")
        yield hold


def parquet(folder: Path) -> Store:
    """In a file, whose statistics and dictionaries DuckDB uses.

    Arrow remembers where the parts of a file lie: what Arrow reads is opened again.
    """

    @contextmanager
    def store(world: World) -> Iterator[Hold]:
        path, source = folder / "data.parquet", None

        def hold(number: int | None) -> Source:
            nonlocal source
            if source is not None and _by_arrow(source):
                source.close()
                source = None
            write_parquet(world, number, path)
            if source is None:
                source = called_data(Source.open(path))
                source._backend.con.execute("SET enable_external_file_cache = false")
            return source

        yield hold
        if source is not None:
            source.close()

    return store


def _by_arrow(source: Source) -> bool:
    views = connection.run(source._backend, "SELECT view_name FROM duckdb_views() WHERE NOT internal")
    return ("data",) in views


def write_parquet(world: World, number: int | None, path: Path) -> Path:
    small = 4 if world.equal == 1 else 1000
    try:
        pq.write_table(arrow(world, number), path, row_group_size=small, use_dictionary=world.equal > 1)
    except pa.ArrowInvalid:  # a moment that the format has no place for
        raise NotStorable from None
    return path


def called_data(source: Source) -> Source:
    """Under the name that questions in SQL have for it."""
    object.__setattr__(source, "name", "data")
    return source


def opened_anew(put: Callable[[World, int | None], Any], **options: Any) -> Store:
    """Whatever `put` makes of the rows, opened for every table."""

    @contextmanager
    def store(world: World) -> Iterator[Hold]:
        opened: list[Source] = []

        def hold(number: int | None) -> Source:
            while opened:
                opened.pop().close()
            given = put(world, number)
            given, more = given if isinstance(given, tuple) else (given, {})
            opened.append(called_data(Source.open(given, **options, **more)))
            return opened[-1]

        yield hold
        while opened:
            opened.pop().close()

    return store


def postgres(url: str) -> Store:
    @contextmanager
    def store(world: World) -> Iterator[Hold]:
        import psycopg

        columns = ", ".join(
            '"' + world.names[role].replace('"', '""') + '" ' + COLUMNS[role].postgres for role in ROLES
        )
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS data")
            connection.execute(f"CREATE TABLE data ({columns})")
            source = Source.open(url, table="data")

            def hold(number: int | None) -> Source:
                connection.execute("TRUNCATE data")
                with connection.cursor() as cursor, cursor.copy("COPY data FROM STDIN") as copy:
                    for row in world.table(number):
                        copy.write_row([spelled(value, role) for role, value in zip(ROLES, row, strict=True)])
                if world.equal > 1:
                    connection.execute("ANALYZE data")
                return source

            yield hold
            source.close()

    return store


SQLITE = {
    "int6": "INTEGER",
    "int3": "INTEGER",
    "int1": "INTEGER",
    "floa": "REAL",
    "deci": "NUMERIC",
    "stri": "TEXT",
    "bool": "BOOLEAN",
    "date": "DATE",
}


def sqlite(folder: Path, anything: bool = True) -> Store:
    """In columns that hold whatever they are given: what is no date, and text that is none, stay what they are.

    anything: whether values of any type may stand in any column of a nasty row.
    """

    @contextmanager
    def store(world: World) -> Iterator[Hold]:
        path = folder / "data.sqlite"
        path.unlink(missing_ok=True)
        kinds = [SQLITE.get(COLUMNS[role].arrow[:4], "TIMESTAMP") for role in ROLES]
        named = [world.names[role].replace('"', '""') for role in ROLES]
        columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(named, kinds, strict=True))
        marks = ", ".join("CAST(? AS TEXT)" if kind == "TEXT" else "?" for kind in kinds)
        with closing(sqlite3.connect(path)) as held:
            held.execute(f"CREATE TABLE data ({columns})")
            source = Source.open(path, table="data")

            def hold(number: int | None) -> Source:
                first, own, last = world.parts(number)
                rows = [
                    [_held(v, role) for v, role in zip(row, ROLES, strict=True)]
                    for row in (*first, *own, *last)
                ]
                for at in range(len(first), len(first) + len(own)):
                    random = world.random(number, at)
                    for position in range(2, len(ROLES)):
                        if anything and random.random() < 0.3:
                            rows[at][position] = random.choice(ANYTHING)
                with held:
                    held.execute("DELETE FROM data")
                    held.executemany(f"INSERT INTO data VALUES ({marks})", rows)
                return source

            yield hold
            source.close()

    return store


ANYTHING = (
    *(
        0,
        1,
        2**63 - 1,
        -(2**63),
        0.5,
        math.inf,
        -math.inf,
        1e308,
        5e-324,
        "",
        "p",
        "1e5",
        "nan",
        "2020-01-01",
        "\x00",
    ),
    *(
        b"",
        b"\xff",
        b"p",
        b"\x00",
        "2020-02-30",
        "9999-12-31 23:59:59.999999",
        "0000-00-00",
        "10000-01-01",
        "x" * 70_000,
    ),
)
"""Any column of SQLite may hold any of these."""


def _held(value: Any, role: str) -> Any:
    if role in ("day", "moment") and value is not None:
        try:
            return spelled(value, role)
        except OverflowError:  # beyond the calendar there is no spelling
            return value
    return float(value) if isinstance(value, Decimal) else value


def spelled(value: Any, role: str) -> str | None:
    """A value as text; of moments beyond Python's calendar there is none here."""
    if value is None:
        return None
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, bytes):
        return value.decode()
    if role == "day":
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=value)).isoformat()
    if role == "moment":
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)).isoformat(sep=" ")
    return str(value)


def spark(session: Any, folder: Path) -> Store:
    """In a file; every table is another DataFrame of the same session."""
    places = iter(range(10**9))

    def put(world: World, number: int | None) -> Any:
        path = folder / f"spark{next(places)}.parquet"
        pq.write_table(arrow(world, number), path)
        return session.read.parquet(str(path))

    return opened_anew(put)
