"""Parquet files, read by DuckDB where they lie.

Columns are taken by position, text is mended as it is read (bytes that are not UTF-8 become `?`), and several files
must agree in the names and types of their columns: a value that does not fit the type in another file would make a
question fail, so such files are not opened together. Only what the files say of themselves is looked at, and no row.

DuckDB fails on timestamps in milliseconds that microseconds cannot hold; files with such columns are read by Arrow.
"""

from __future__ import annotations

import glob
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import connection
from dalenius.tables.engines.duckdb.cleaning import clean
from dalenius.tables.engines.duckdb.frames import form
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.opened import Clean, Opened
from dalenius.tables.engines.sqltext import name, text, view_name

ENDINGS = (".parquet", ".pq")

DECODED = "TRY(decode({0}))"

SCHEMA = """
    SELECT file_name, name, coalesce(num_children, 0), type, type_length, precision, scale, converted_type, logical_type
    FROM parquet_schema({path}) ORDER BY file_name, column_id
"""


def open_parquet(engine: Engine, path: str, called: str, beside: Any = None) -> Opened:
    """A Parquet file, or several of the same columns."""
    backend = connection.connect() if beside is None else beside
    files: dict[str, list[tuple[Any, ...]]] = {}
    for file, *described in connection.run(backend, SCHEMA.format(path=text(path))):
        files.setdefault(file, []).append(tuple(described))
    schemas = list(files.values())
    names = _names(schemas[0])
    wide = any(
        "MILLIS=Milli" in str(described[-1]) or "TIMESTAMP_MILLIS" in described for described in schemas[0]
    )
    if (len(schemas) > 1 or wide) and len({name.lower() for name in names}) < len(names):
        raise SourceError(
            f"{path!r} has names that differ in capitals only, which cannot be told apart in several files, nor "
            "beside timestamps in milliseconds; rename one, or write one file with timestamps in microseconds."
        )
    if any(sorted(schema, key=repr) != sorted(schemas[0], key=repr) for schema in schemas):
        raise SourceError(
            f"the files of {path!r} differ in the names or types of their columns; write them alike, or open them "
            "apart."
        )
    if wide and "://" not in path:
        return _by_arrow(engine, backend, path, called, "data" if beside is None else view_name())
    relation = f"read_parquet({text(path)}, utf8_validation = 'replace', can_have_nan = true)"
    described = engine.described(backend, relation)
    parts = [column.name for column in described[len(names) :]]  # from the names of folders
    forms = [_apart(clean(column.dtype, f"r{i}")) for i, column in enumerate(described)]
    return engine.cleaned(backend, relation, called, names=names + parts, forms=forms)


def _apart(form: Clean) -> Clean:
    """Text as an id: what may have been mended is nobody's, since it may look like another's."""
    if form.kind != "text" or form.dtype != "string":
        return form
    return replace(form, identity=f"CASE WHEN contains({form.sql}, '?') THEN NULL ELSE {form.sql} END")


def _names(schema: list[tuple[Any, ...]]) -> list[str]:
    """The names of whole columns, as the file has them: DuckDB numbers those that differ in capitals only."""
    names, at = [], 1
    while at < len(schema):
        names.append(schema[at][0])
        at = _after(schema, at)
    return names


def _after(schema: list[tuple[Any, ...]], at: int) -> int:
    """Where the next column begins: after all parts of this one."""
    children, at = schema[at][1], at + 1
    for _ in range(children):
        at = _after(schema, at)
    return at


def _by_arrow(engine: Engine, backend: Any, path: str, called: str, registered: str) -> Opened:
    files = [path] if Path(path).is_file() else sorted(glob.glob(path, recursive=True))
    schema = dataset.dataset(files, format="parquet").schema
    forms = [form(pa.chunked_array([], f.type), f"r{i}") for i, f in enumerate(schema)]
    forms = [(held, replace(read, items=None)) for held, read in forms]  # lists are not read this way
    types, values = [], []
    for i, (field, (held, read)) in enumerate(zip(schema, forms, strict=True)):
        texts = read.kind == "text"
        if (
            read.kind is not None
        ):  # the reader casts as a frame is cast; text is read as bytes, and decoded below
            types.append(field.with_type(pa.binary() if texts else held.type))
        column = name(field.name)
        values.append(f"{DECODED.format(column) if texts else column if read.kind else 'NULL'} AS r{i}")
    backend.con.register(registered, dataset.dataset(files, schema=pa.schema(types), format="parquet"))
    relation = f"(SELECT {', '.join(values)} FROM {registered})"
    return engine.cleaned(backend, relation, called, names=schema.names, forms=[read for _, read in forms])
