"""Tables of DuckDB's own: in a database file, and on a connection that is given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from dalenius.tables import Source
from tests.tables.hostile.rows import World
from tests.tables.hostile.stores import Hold, NotStorable, Store, arrow, called_data, opened_anew

SETTINGS = (
    "SET threads = 1",
    "SET default_null_order = 'nulls_last'",
    "SET default_order = 'desc'",
    "SET ieee_floating_point_ops = false",
    "SET integer_division = true",
    "SET old_implicit_casting = true",
    "SET TimeZone = 'Asia/Tokyo'",
    "SET preserve_insertion_order = true",
)
"""What the owner of a connection may have set."""

VIEWS = ("SELECT * FROM stored ORDER BY 1", "SELECT * FROM stored WHERE random() < 2")
"""What an owner may give instead of a table."""


def fill(connection: Any, world: World, number: int | None) -> None:
    """CREATE OR REPLACE, so that the statistics of columns are of these rows alone."""
    try:
        connection.register("given", _valid(arrow(world, number)))
        connection.execute(f"CREATE OR REPLACE TABLE stored AS SELECT * {_wide(world)} FROM given")
    except Exception:  # DuckDB has no place for it: then it cannot be in its tables
        raise NotStorable from None
    connection.unregister("given")


def _wide(world: World) -> str:
    """Now and then integers of 128 bits, which Arrow does not have."""
    if world.types["i"] != "int64" or world.random("wide").random() < 0.7:
        return ""
    name = world.names["i"].replace('"', '""')
    return f'REPLACE (CAST("{name}" AS HUGEINT) * {2**63 - 1} AS "{name}")'


def _valid(table: pa.Table) -> pa.Table:
    """DuckDB's tables hold no text that is none."""
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array([c.dictionary_decode() for c in column.chunks], pa.string())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            values = column.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
            column = pa.array([None if v is None else _text(v) for v in values], pa.string())
        if pa.types.is_decimal256(column.type):
            column = column.cast(pa.decimal128(38, 4))
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        columns.append(column)
    # Columns by position: names that differ in capitals only cannot stand beside each other in DuckDB's tables.
    names = list(dict.fromkeys(table.column_names))
    if len({name.lower() for name in names}) < len(names):
        raise NotStorable
    return pa.table(columns, names=names)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def database(folder: Path) -> Store:
    """A file, written and closed, then opened to read: its blocks are compressed, its statistics kept."""
    import duckdb

    places = itertools.count()

    def put(world: World, number: int | None) -> Any:
        path = folder / f"data{next(places)}.duckdb"
        with duckdb.connect(str(path)) as connection:
            fill(connection, world, number)
        return str(path)

    return opened_anew(put, table="stored")


def given() -> Store:
    """An Ibis connection of the owner's, with settings of the owner's."""
    import ibis

    @contextmanager
    def store(world: World) -> Iterator[Hold]:
        backend, random = ibis.duckdb.connect(), world.random("settings")
        for setting in random.sample(SETTINGS, random.randint(0, 3)):
            backend.con.execute(setting)
        view = random.choice((None, *VIEWS))
        source = None

        def hold(number: int | None) -> Source:
            nonlocal source
            fill(backend.con, world, number)
            if source is None:
                if view is not None:
                    backend.con.execute(f"CREATE VIEW seen AS {view}")
                source = called_data(Source.open(backend.table("stored" if view is None else "seen")))
            return source

        yield hold
        backend.disconnect()

    return store
