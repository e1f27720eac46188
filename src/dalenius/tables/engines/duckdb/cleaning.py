"""The clean form of every type of DuckDB: see `dalenius.tables.facts.kinds`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dalenius.tables.engines.opened import Clean
from dalenius.tables.engines.sqltext import DAYS, MOMENTS, within
from dalenius.tables.facts.kinds import MOST, MOST_ITEMS

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
TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


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
    if digits := DECIMAL.fullmatch(dtype):
        return Clean("number", f"decimal({digits[1]}, {digits[2]})", f"CAST({x} AS DOUBLE)")
    if dtype in ("FLOAT", "DOUBLE"):
        return Clean("number", "float32" if dtype == "FLOAT" else "float64", finite(x), nan=True)
    if dtype == "VARCHAR" or dtype == "UUID" or dtype.startswith("ENUM("):
        shown = "uuid" if dtype == "UUID" else "string"
        return Clean("text", shown, x if dtype == "VARCHAR" else f"CAST({x} AS VARCHAR)")
    if dtype == "DATE":
        return Clean("date", "date", within(x, *DAYS))
    if dtype in TIMES:
        return Clean(
            "timestamp", "timestamp(9)" if dtype.endswith("NS") else "timestamp(6)", moment(dtype, x)
        )
    if dtype.endswith("[]"):
        item = clean(dtype[:-2], "e")
        if item.kind is not None:
            listed = f"list_transform(list_slice({x}, 1, {MOST_ITEMS}), lambda e: {item.sql})"
            return Clean(None, dtype.lower(), listed, items=item.kind)
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


def moment(dtype: str, x: str) -> str:
    """A timestamp of any unit in microseconds. Seconds and milliseconds hold more than microseconds can."""
    if dtype in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        first, last = f"CAST('0001-01-01' AS {dtype})", f"CAST('9999-12-31' AS {dtype})"
        return (
            f"CASE WHEN {x} < {first} THEN {MOMENTS[0]} WHEN {x} > {last} THEN {MOMENTS[1]} "
            f"ELSE TRY_CAST({x} AS TIMESTAMP) END"
        )
    return within(x if dtype == "TIMESTAMP" else f"TRY_CAST({x} AS TIMESTAMP)", *MOMENTS)
