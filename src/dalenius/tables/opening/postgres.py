"""A table of a PostgreSQL server, through its own expressions: CASE decides for each value, before any cast.

NaN is null, infinity the largest value of its kind, and so are numbers beyond doubles and dates beyond the calendar.
Text must be stored as UTF-8, under a collation in which different texts differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from dalenius.errors import SourceError
from dalenius.tables.collations import POSTGRES, POSTGRES_ANY, UNUSABLE
from dalenius.tables.kinds import MOST, clean_types
from dalenius.tables.opening.duckdb import name, no_table, within
from dalenius.tables.opening.opened import Clean, Opened, selected

INTEGERS: Mapping[str, str] = {"int2": "int16", "int4": "int32", "int8": "int64"}
START, END = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 00:00:00'"
TINY = "1e-300"
"""Nearer to zero, numerics are zero: a cast to doubles would fail on the smallest."""

TYPES = "SELECT oid, CASE typtype WHEN 'e' THEN 'enum' ELSE typname END FROM pg_type WHERE oid = ANY(%s)"
FULL = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attnotnull"


def clean(dtype: str, x: str) -> Clean:
    """The clean form of a column of a PostgreSQL type."""
    if dtype == "bool":
        return Clean("bool", "boolean", x)
    if dtype in INTEGERS:
        return Clean("integer", INTEGERS[dtype], f"CAST({x} AS BIGINT)")
    if dtype in ("float4", "float8"):
        told = "float32" if dtype == "float4" else "float64"
        return Clean("number", told, _number(f"CAST({x} AS DOUBLE PRECISION)", "DOUBLE PRECISION"), nan=True)
    if dtype == "numeric":
        return Clean("number", "decimal", _number(x, "DECIMAL"), nan=True)
    if dtype.startswith("decimal("):  # never infinite, and within doubles
        value = f"CASE WHEN {x} < CAST('NaN' AS DECIMAL) THEN CAST({x} AS DOUBLE PRECISION) END"
        return Clean("number", dtype, value, nan=True)
    if dtype in ("text", "varchar", "uuid", "enum"):
        told = "uuid" if dtype == "uuid" else "string"
        return Clean("text", told, x if dtype == "text" else f"CAST({x} AS TEXT)")
    if dtype == "date":
        return Clean("date", "date", within(x, "DATE '0001-01-01'", "DATE '9999-12-31'"))
    if dtype == "timestamp":
        return Clean("timestamp", "timestamp(6)", within(x, START, END))
    return Clean(None, UNUSABLE if dtype in ("bpchar", "citext", "name") else dtype)


def _number(x: str, form: str) -> str:
    """Doubles from doubles or numerics. PostgreSQL takes NaN to be above all else, and x is named seldom: each mention
    multiplies with those of the question."""

    def constant(text: str) -> str:
        return f"CAST('{text}' AS {form})"

    small = (
        f"WHEN ABS({x}) < {constant(TINY)} THEN CAST('0' AS DOUBLE PRECISION) " if form == "DECIMAL" else ""
    )
    clamped = f"LEAST(GREATEST({x}, {constant(str(-MOST))}), {constant(str(MOST))})"
    return f"CASE {small}WHEN {x} < {constant('NaN')} THEN CAST({clamped} AS DOUBLE PRECISION) END"


def open_postgres(address: str, table: str | None) -> Opened:
    """A table by the address of its database."""
    import ibis
    import psycopg

    if table is None:
        raise SourceError("the address names a database; name the table in it: table='people'.")
    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=30)
    except psycopg.Error:
        connection = None
    if connection is None:  # no chained exception: the address may hold a password
        raise SourceError(
            f"no connection to PostgreSQL at {urlsplit(address).hostname}; check address and password."
        )
    backend = ibis.postgres.from_connection(connection)
    relation = ".".join(name(part) for part in table.split("."))
    return cleaned(backend, relation, table, relation)


def cleaned(
    backend: Any, text: str, called: str, relation: str | None, *, owned: bool = True, kept: Any = None
) -> Opened:
    """The clean columns of what may stand after FROM. relation: the name of the table, where it is one."""
    told = _described(backend, text)
    if told is None:
        raise SourceError(no_table(called))
    full, odd = _facts(backend, relation)
    forms = [clean(dtype, name(column)) for column, dtype in told]
    fields = []
    for position, (column, _) in enumerate(told):
        if forms[position].kind == "text" and (odd is None or column in odd):
            forms[position] = replace(forms[position], kind=None, dtype=UNUSABLE)
        fields.append(forms[position].field(column, column not in full))
    types = clean_types(tuple(fields)) or {"nothing": "int32"}
    # OFFSET 0 keeps the planner from writing each clean column out wherever the question mentions it.
    rows = backend.sql(f"SELECT {selected(forms)} FROM {text} AS t OFFSET 0", schema=types)
    return Opened(rows, "postgres", called, tuple(fields), backend, owned, kept)


def _described(backend: Any, text: str) -> list[tuple[str, str]] | None:
    """Names and types of the columns; None where there are none to be seen. A domain is told as what it is made of."""
    import psycopg

    try:
        with backend.con.cursor() as cursor:
            described = cursor.execute(f"SELECT * FROM {text} AS t LIMIT 0").description
            codes = [column.type_code for column in described]
            names = dict(cursor.execute(TYPES, (codes,)).fetchall())
    except psycopg.Error:
        return None
    return [(column.name, _type(column, names[column.type_code])) for column in described]


def _type(column: Any, told: str) -> str:
    narrow = told == "numeric" and column.precision is not None and column.precision <= 38
    return f"decimal({column.precision}, {column.scale})" if narrow and 0 <= column.scale <= 38 else str(told)


def _facts(backend: Any, relation: str | None) -> tuple[set[str], set[str] | None]:
    """The columns that cannot hold null, and those in which different texts can be equal (None: in all)."""
    with backend.con.cursor() as cursor:
        if cursor.execute("SHOW server_encoding").fetchall()[0][0] != "UTF8":
            return set(), None
        if relation is None:
            return set(), None if cursor.execute(POSTGRES_ANY).fetchall()[0][0] else set()
        full = {column for (column,) in cursor.execute(FULL, (relation,)).fetchall()}
        return full, {column for (column,) in cursor.execute(POSTGRES, (relation,)).fetchall()}
