"""DuckDB, embedded: where files and frames are read, and its own database files."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.collations import usable
from dalenius.tables.kinds import MOST
from dalenius.tables.opening.opened import Clean, Opened, numbers, selected

DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
INTEGERS: Mapping[str, str] = {
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
}
BY_STATISTICS = "filter_pushdown,statistics_propagation,join_filter_pushdown,filter_pullup"
TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
START, END = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 00:00:00'"


def clean(dtype: str, x: str) -> Clean:
    """The clean form of a column of a DuckDB type. `x` is its name, in quotes if need be."""
    if dtype == "BOOLEAN":
        return Clean("bool", "boolean", x)
    if dtype in INTEGERS:
        return Clean("integer", INTEGERS[dtype], f"CAST({x} AS BIGINT)")
    if dtype == "UBIGINT":
        return Clean("number", "uint64", f"CAST({x} AS DOUBLE)", identity=f"CAST({x} AS VARCHAR)")
    if dtype in ("HUGEINT", "UHUGEINT"):
        return Clean("number", "decimal(38, 0)", f"CAST({x} AS DOUBLE)")
    if found := DECIMAL.fullmatch(dtype):
        return Clean("number", f"decimal({found[1]}, {found[2]})", f"CAST({x} AS DOUBLE)")
    if dtype in ("FLOAT", "DOUBLE"):
        return Clean("number", "float32" if dtype == "FLOAT" else "float64", finite(x), nan=True)
    if dtype == "VARCHAR" or dtype == "UUID" or dtype.startswith("ENUM("):
        told = "uuid" if dtype == "UUID" else "string"
        return Clean("text", told, x if dtype == "VARCHAR" else f"CAST({x} AS VARCHAR)")
    if dtype == "DATE":
        return Clean("date", "date", within(x, "DATE '0001-01-01'", "DATE '9999-12-31'"))
    if dtype in TIMES:
        return Clean(
            "timestamp", "timestamp(9)" if dtype.endswith("NS") else "timestamp(6)", moment(dtype, x)
        )
    return Clean(None, dtype.lower())


def finite(x: str) -> str:
    """Doubles without NaN and infinity.

    DuckDB settles comparisons, and isnan itself, by the statistics of a Parquet file, which pass over NaN. What may
    have become null on the way has none.
    """
    x = f"CAST({x} AS DOUBLE)"
    return (
        f"CASE WHEN isnan(nullif({x}, CAST(0 AS DOUBLE))) THEN NULL "
        f"WHEN {x} > CAST('{MOST}' AS DOUBLE) THEN CAST('{MOST}' AS DOUBLE) "
        f"WHEN {x} < CAST('-{MOST}' AS DOUBLE) THEN CAST('-{MOST}' AS DOUBLE) ELSE {x} END"
    )


def within(x: str, first: str, last: str) -> str:
    return f"CASE WHEN {x} < {first} THEN {first} WHEN {x} > {last} THEN {last} ELSE {x} END"


def moment(dtype: str, x: str) -> str:
    """A timestamp of any unit in microseconds. Seconds and milliseconds hold more than microseconds can."""
    if dtype in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        first, last = f"CAST('0001-01-01' AS {dtype})", f"CAST('9999-12-31' AS {dtype})"
        return (
            f"CASE WHEN {x} < {first} THEN {START} WHEN {x} > {last} THEN {END} "
            f"ELSE TRY_CAST({x} AS TIMESTAMP) END"
        )
    return within(x if dtype == "TIMESTAMP" else f"TRY_CAST({x} AS TIMESTAMP)", START, END)


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A name in SQL."""
    return '"' + value.replace('"', '""') + '"'


@cache
def spill() -> Path:
    """A folder of ours alone, for what does not fit the memory; it goes away with the process."""
    folder, owner = Path(tempfile.mkdtemp(prefix="dalenius-spill-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child that ends leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def connect(path: str | None = None) -> Any:
    """An embedded DuckDB. It makes its own folder to spill into when it must, and removes it when closed."""
    import ibis

    settings = {
        "temp_directory": str(spill() / str(next(numbers))),
        "preserve_insertion_order": False,
    }
    backend = ibis.duckdb.connect(*([] if path is None else [path]), read_only=path is not None, **settings)
    run(backend, "SET enable_progress_bar = false")
    run(backend, "SET python_enable_replacements = false")  # no table is a variable of Python's
    trust_values(backend)
    return backend


def trust_values(backend: Any) -> None:
    """Let DuckDB decide by values alone, and never by the statistics of a file or a table.

    Statistics are of what is stored; what is read may be another value (text that was mended, an infinite moment), and
    one row's statistics would then decide what becomes of the others.
    """
    run(backend, f"SET disabled_optimizers = '{BY_STATISTICS}'")


def run(backend: Any, statement: str) -> list[tuple[Any, ...]]:
    return list(backend.con.execute(statement).fetchall())


def described(backend: Any, relation: str) -> list[tuple[str, str]]:
    """Names and types of the columns of what may stand after FROM."""
    return [(row[0], row[1]) for row in run(backend, f"DESCRIBE SELECT * FROM {relation}")]


def cleaned(
    backend: Any,
    relation: str,
    called: str,
    names: Sequence[str] | None = None,
    cleans: Sequence[Clean] | None = None,
    *,
    owned: bool = True,
    kept: Any = None,
) -> Opened:
    """A view of the clean columns of what may stand after FROM, taken by position.

    names: what the columns are called where DuckDB does not know. cleans: their clean forms, of columns r0, r1, ...,
    where the types do not tell.
    """
    told = described(backend, relation)
    raw = [f"r{i}" for i in range(len(told))]
    forms = (
        list(cleans)
        if cleans is not None
        else [clean(dtype, x) for x, (_, dtype) in zip(raw, told, strict=True)]
    )
    fields = tuple(c.field(n) for c, n in zip(forms, names or [n for n, _ in told], strict=True))
    fields = usable(fields, backend, None, None)
    forms = [c if f.kind is not None else replace(c, kind=None) for c, f in zip(forms, fields, strict=True)]
    view = f"dalenius_{next(numbers)}"
    run(
        backend,
        f"CREATE TEMP VIEW {view} AS SELECT {selected(forms)} FROM (SELECT * FROM {relation}) AS t({', '.join(raw)})",
    )
    rows = backend.table(view, database=("temp", "main"))
    return Opened(rows, "duckdb", called, fields, backend, owned, kept)


def open_database(path: str, table: str | None) -> Opened:
    """A table of a DuckDB file."""
    if not Path(path).is_file():
        raise SourceError(f"there is no file {path!r}; check the path.")
    if table is None:
        raise SourceError(f"{path!r} is a database; name the table in it: table='people'.")
    backend = connect(path)
    relation = ".".join(name(part) for part in table.split("."))
    try:
        described(backend, relation)
        found = True
    except Exception:
        found = False
    if not found:  # outside the handler: the original must not hang on as the context of this one
        raise SourceError(no_table(table))
    return cleaned(backend, relation, table)


def no_table(table: str) -> str:
    return f"there is no table {table!r} in the database, or it may not be read; check its name."
