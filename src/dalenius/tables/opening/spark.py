"""Spark: a DataFrame, or a table of a session.

Columns are renamed by position before anything names them: to Spark, names that differ in capitals only are one name.
Its timestamps are moments, and Ibis has set the session to UTC: they are read as such.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from dalenius.errors import SourceError
from dalenius.tables.collations import UNUSABLE
from dalenius.tables.kinds import MOST
from dalenius.tables.opening.duckdb import no_table, within
from dalenius.tables.opening.opened import Clean, Opened, numbers, selected

INTEGERS: Mapping[str, str] = {
    "ByteType": "int8",
    "ShortType": "int16",
    "IntegerType": "int32",
    "LongType": "int64",
}
REBASE = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
"""Spark 3 fails on old dates in files unless told how to read them."""


def clean(dtype: Any, x: str, mend: str) -> Clean:
    """The clean form of a column of a Spark type. mend: SQL that makes text valid UTF-8."""
    kind = type(dtype).__name__
    if kind == "BooleanType":
        return Clean("bool", "boolean", x)
    if kind in INTEGERS:
        return Clean("integer", INTEGERS[kind], f"CAST({x} AS BIGINT)")
    if kind == "DecimalType":
        return Clean("number", f"decimal({dtype.precision}, {dtype.scale})", f"CAST({x} AS DOUBLE)")
    if kind in ("FloatType", "DoubleType"):
        return Clean("number", "float32" if kind == "FloatType" else "float64", _finite(x), nan=True)
    if kind in ("StringType", "VarcharType"):
        if getattr(dtype, "collation", None) not in (None, "UTF8_BINARY"):
            return Clean(None, UNUSABLE)
        # What is not UTF-8 is missing: mended, it could be taken for another text, or another unit.
        return Clean("text", "string", f"CASE WHEN {mend.format(x)} = {x} THEN {x} END", nan=True)
    if kind == "DateType":
        return Clean("date", "date", within(x, "DATE '0001-01-01'", "DATE '9999-12-31'"))
    if kind in ("TimestampType", "TimestampNTZType"):
        word = "TIMESTAMP_NTZ" if kind == "TimestampNTZType" else "TIMESTAMP"
        first, last = f"{word} '0001-01-01 00:00:00'", f"{word} '9999-12-31 00:00:00'"
        return Clean("timestamp", "timestamp(6)", within(x, first, last))
    return Clean(None, dtype.simpleString())


def _finite(x: str) -> str:
    x, most = f"CAST({x} AS DOUBLE)", f"CAST('{MOST}' AS DOUBLE)"
    return (
        f"CASE WHEN isnan({x}) THEN CAST(NULL AS DOUBLE) WHEN {x} > {most} THEN {most} "
        f"WHEN {x} < -{most} THEN -{most} ELSE {x} END"
    )


def open_spark(data: Any, table: str | None) -> Opened:
    """A DataFrame, or a session and the name of a table."""
    if hasattr(data, "sparkSession"):
        return cleaned(data, "data")
    if not hasattr(data, "table"):
        raise SourceError(
            f"a {type(data).__name__} of Spark cannot be opened; give a DataFrame or a session."
        )
    if table is None:
        raise SourceError(
            "a Spark session is given; name the table in it: table='people', or give a DataFrame."
        )
    found = None
    with contextlib.suppress(Exception):
        found = data.table(".".join(f"`{part.replace('`', '``')}`" for part in table.split(".")))
    if found is None:
        raise SourceError(no_table(table))
    return cleaned(found, table)


def cleaned(frame: Any, called: str, backend: Any = None) -> Opened:
    """The clean columns of a DataFrame, as a view of the session."""
    import ibis

    session = frame.sparkSession
    backend = ibis.pyspark.connect(session) if backend is None else backend
    for setting in REBASE:
        with contextlib.suppress(
            Exception
        ):  # where a server does not let it be set, the table is its own affair
            if session.conf.get(setting) == "EXCEPTION":
                session.conf.set(setting, "CORRECTED")
    told = list(frame.schema.fields)
    mend = (
        "make_valid_utf8({0})"
        if int(session.version.split(".")[0]) >= 4
        else "decode(encode({0}, 'UTF-8'), 'UTF-8')"
    )
    forms = [clean(f.dataType, f"r{i}", mend) for i, f in enumerate(told)]
    fields = tuple(c.field(f.name, f.nullable) for c, f in zip(forms, told, strict=True))
    view = f"dalenius_{next(numbers)}"
    raw = frame.toDF(*(f"r{i}" for i in range(len(told))))
    raw.createOrReplaceTempView(f"{view}_raw")
    session.sql(f"SELECT {selected(forms)} FROM {view}_raw").createOrReplaceTempView(view)
    return Opened(backend.table(view), "pyspark", called, fields, backend, owned=False, kept=frame)
