"""Parquet files, read by DuckDB where they lie.

Columns are taken by position, text is mended as it is read (bytes that are not UTF-8 become `?`), and several files
must agree in the names and types of their columns: a value that does not fit the type in another file would make a
question fail, so such files are not opened together. Only what the files say of themselves is looked at, and no row.

DuckDB fails on timestamps in milliseconds that microseconds cannot hold; files with such columns are read by Arrow.
"""

from __future__ import annotations

import glob
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import dataset

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import connection
from dalenius.tables.engines.duckdb.cleaning import clean
from dalenius.tables.engines.duckdb.frames import form
from dalenius.tables.engines.duckdb.guessing import clean_as, guessed, read_as
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.opened import Clean, Opened
from dalenius.tables.engines.place import is_address, shown
from dalenius.tables.engines.sqltext import name, text, view_name
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.schema import Schema

ENDINGS = (".parquet", ".pq")

PART = re.compile(r"[/\\]([^/?\\=]+)=([^/\n?\\]*)(?=[/\\])")
"""A folder that is a value of a column."""
NONE = "__HIVE_DEFAULT_PARTITION__"

DECODED = "TRY(decode({0}))"

SCHEMA = """
    SELECT file_name, name, coalesce(num_children, 0), type, type_length, precision, scale, converted_type, logical_type
    FROM parquet_schema({path}) ORDER BY file_name, column_id
"""


def open_parquet(engine: Engine, path: str, schema: Schema, called: str, beside: Any = None) -> Opened:
    """A Parquet file, or several of the same columns."""
    backend = connection.reaching(connection.connect() if beside is None else beside, path)
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
            f"{shown(path)!r} has names that differ in capitals only, which cannot be told apart in several files, nor "
            "beside timestamps in milliseconds; rename one, or write one file with timestamps in microseconds."
        )
    if any(sorted(schema, key=repr) != sorted(schemas[0], key=repr) for schema in schemas):
        raise SourceError(
            f"the files of {shown(path)!r} differ in the names or types of their columns; write them alike, or open "
            "them apart."
        )
    if wide and is_address(path):
        raise SourceError(
            f"{shown(path)!r} has timestamps in milliseconds, of which a question could fail on one that microseconds "
            "do not hold; write them in microseconds, or copy the data to a file."
        )
    if wide:
        return _by_arrow(engine, backend, path, called, "data" if beside is None else view_name())
    options = "utf8_validation = 'replace', can_have_nan = true, hive_types_autocast = false"
    relation = f"read_parquet({text(path)}, {options})"
    described = engine.described(backend, relation)
    names += [column.name for column in described[len(names) :]]
    forms = [_apart(clean(column.dtype, f"r{i}")) for i, column in enumerate(described)]
    for i, kind in _folders(backend, names, list(files), schema).items():
        forms[i] = clean_as(kind, read_as(kind, f"nullif(r{i}, '')"))
    return engine.cleaned(backend, relation, called, names=names, forms=forms)


def _folders(backend: Any, names: list[str], files: list[str], schema: Schema) -> dict[int, Kind]:
    """The columns that names of folders are the values of, by position, with their kinds: as those of a CSV file, so
    that one folder with an odd name does not decide for the others, nor make a question fail."""
    values = [{key.lower(): unquote(value) for key, value in PART.findall(file)} for file in files]
    if any(value.keys() != values[0].keys() for value in values):  # then DuckDB takes none of them
        return {}
    found = [i for i, name in enumerate(names) if name.lower() in values[0]]
    columns = [[None if (x := value[names[i].lower()]) == NONE else x for value in values] for i in found]
    sample = pa.table([pa.array(c, pa.string()) for c in columns], [f"r{n}" for n in range(len(found))])
    guesses = guessed(backend, sample if found else None, len(found))
    return {i: schema[names[i]].type or guess for i, guess in zip(found, guesses, strict=True)}


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
    files = [path] if Path(path).is_file() else sorted(glob.glob(path, recursive=True, include_hidden=True))
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
