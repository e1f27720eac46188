"""The rows of a world inside an engine: a frame, a Parquet file or a CSV file in DuckDB, PostgreSQL, Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.tables import Source
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
    """A table of DuckDB whose rows are exchanged under one Source, so that each question is compiled once.

    Compiling is most of the work of a question about a few rows. Names that DuckDB takes for one another cannot be
    columns of one table, and text that is not UTF-8 not its content: those go the way of the frame.
    """

    def __init__(self) -> None:
        self.opened: dict[tuple[str, ...], Source] = {}

    @contextmanager
    def __call__(self, rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Source]:
        called = tuple(names[role] for role in ROLES)
        if len({name.casefold() for name in called}) < len(called) or not all(_readable(row) for row in rows):
            with frame(rows, names) as source:
                yield source
            return
        table = arrow(rows, names)
        if called not in self.opened:
            backend = ibis.duckdb.connect()
            backend.con.register("incoming", table)
            backend.con.execute("CREATE TABLE data AS SELECT * FROM incoming LIMIT 0").fetchall()
            remember_compiled(backend)
            self.opened[called] = Source.open(backend.table("data"))
        source = self.opened[called]
        con = source._backend.con
        con.register("incoming", table)
        con.execute("DELETE FROM data").fetchall()
        con.execute("INSERT INTO data SELECT * FROM incoming").fetchall()
        yield source


def _readable(row: Row) -> bool:
    return all(value.decode(errors="replace").encode() == value for value in row if isinstance(value, bytes))


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
