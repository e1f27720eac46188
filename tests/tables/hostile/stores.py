"""The rows of a world inside an engine: a frame, a Parquet file or a CSV file in DuckDB, PostgreSQL, Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.tables import Source
from dalenius.tables.engines.duckdb import frames
from tests.tables.hostile.rows import COLUMNS, ROLES, Raw, Row

Store = Callable[[Sequence[Row], Mapping[str, str]], Any]
"""A context manager: the rows, with columns of these names, as a Source."""

TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int16": pa.int16(),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "date32": pa.date32(),
    "timestamp[us]": pa.timestamp("us"),
    "decimal128(18, 4)": pa.decimal128(18, 4),
}


def arrow(rows: Sequence[Row], names: Mapping[str, str]) -> pa.Table:
    """The rows as they are, text that is none and dates that are none included."""
    columns = [_array([row[n] for row in rows], TYPES[COLUMNS[role].arrow]) for n, role in enumerate(ROLES)]
    return pa.Table.from_arrays(columns, names=[names[role] for role in ROLES])


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):  # built from its buffers: what is not UTF-8 could not be converted
        return pa.array(values, pa.binary()).view(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).view(kind)
    return pa.array(values, kind)


class Reused:
    """A frame whose rows are exchanged under one Source, so that each question is compiled once.

    Compiling is most of the work of a question about a few rows.
    """

    def __init__(self) -> None:
        self.opened: dict[tuple[str, ...], Source] = {}

    @contextmanager
    def __call__(self, rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        called = tuple(names[role] for role in ROLES)
        table = arrow(rows, names)
        if called not in self.opened:
            self.opened[called] = Source.open(table)
            remember_compiled(self.opened[called]._backend)
        source = self.opened[called]
        held = [frames.form(column, f"r{n}")[0] for n, column in enumerate(table.columns)]
        source._backend.con.register("data", pa.table(held, names=[f"r{n}" for n in range(len(held))]))
        yield source


def remember_compiled(backend: Any) -> None:
    """Let a connection of Ibis compile every expression once."""
    compile_, known = backend.compile, {}

    def remembered(expression: Any, **options: Any) -> Any:
        key = expression.op(), repr(sorted(options.items(), key=str))
        if key not in known:
            known.clear() if len(known) > 200 else None
            known[key] = compile_(expression, **options)
        return known[key]

    backend.compile = remembered


@contextmanager
def frame(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
    source = Source.open(arrow(rows, names))
    try:
        yield source
    finally:
        source.close()


def parquet(folder: Path) -> Store:
    """In a file, whose statistics DuckDB uses."""

    @contextmanager
    def store(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        path = folder / f"data{len(list(folder.iterdir()))}.parquet"
        pq.write_table(arrow(rows, names), path, row_group_size=4)
        source = Source.open(path)
        object.__setattr__(source, "name", "data")
        try:
            yield source
        finally:
            source.close()
            path.unlink()

    return store


def postgres(url: str) -> Store:
    @contextmanager
    def store(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        import psycopg

        columns = ", ".join(
            '"' + names[role].replace('"', '""') + '" ' + COLUMNS[role].postgres for role in ROLES
        )
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS data")
            connection.execute(f"CREATE TABLE data ({columns})")
            with connection.cursor() as cursor, cursor.copy("COPY data FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([_spelled(value, role) for role, value in zip(ROLES, row, strict=True)])
        source = Source.open(url, table="data")
        try:
            yield source
        finally:
            source.close()

    return store


def _spelled(value: Any, role: str) -> str | None:
    import datetime

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
    @contextmanager
    def store(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        path = folder / f"spark{len(list(folder.iterdir()))}.parquet"
        pq.write_table(arrow(rows, names), path)
        yield Source.open(session.read.parquet(str(path)))

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


def sqlite(folder: Path) -> Store:
    """In columns that hold whatever they are given: what is no date, and text that is none, stay what they are."""

    @contextmanager
    def store(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        import sqlite3
        from contextlib import closing

        path = folder / "data.sqlite"
        path.unlink(missing_ok=True)
        kinds = [SQLITE.get(COLUMNS[role].arrow[:4], "TIMESTAMP") for role in ROLES]
        columns = [
            f'"{names[r].replace(chr(34), chr(34) * 2)}" {k}' for r, k in zip(ROLES, kinds, strict=True)
        ]
        marks = ", ".join("CAST(? AS TEXT)" if kind == "TEXT" else "?" for kind in kinds)
        with closing(sqlite3.connect(path)) as held, held:
            held.execute(f"CREATE TABLE data ({', '.join(columns)})")
            values = ([_held(v, role) for role, v in zip(ROLES, row, strict=True)] for row in rows)
            held.executemany(f"INSERT INTO data VALUES ({marks})", values)
        source = Source.open(path, table="data")
        try:
            yield source
        finally:
            source.close()

    return store


def _held(value: Any, role: str) -> Any:
    if role in ("day", "moment") and value is not None:
        try:
            return _spelled(value, role)
        except OverflowError:  # beyond the calendar there is no spelling
            return value
    return float(value) if isinstance(value, Decimal) else value
