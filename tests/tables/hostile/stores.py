"""The rows of a world inside an engine: a frame, a Parquet file or a CSV file in DuckDB, PostgreSQL, Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.tables import Source
from dalenius.tables.opening import frames
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
