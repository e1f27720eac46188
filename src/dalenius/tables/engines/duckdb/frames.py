"""Frames in memory: pandas, Polars, Arrow, or a mapping of columns.

Columns are renamed and brought to types that DuckDB holds without loss, on Arrow's side and mostly without a copy; no
value decides anything but its own. What has no place in a question (lists, zones, bytes, times of day) is refused by
name when it is used. Columns of Python objects are in `objects`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import connection
from dalenius.tables.engines.duckdb.cleaning import INTEGERS, clean
from dalenius.tables.engines.duckdb.csv import valid
from dalenius.tables.engines.duckdb.objects import from_objects
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.opened import Clean, Opened
from dalenius.tables.engines.sqltext import MOMENTS, view_name
from dalenius.tables.facts.kinds import MOST_ITEMS
from dalenius.tables.facts.schema import Schema

PACKAGES = ("pandas", "polars", "pyarrow")
SECOND: Mapping[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
WHOLE = {theirs: ours for ours, theirs in INTEGERS.items()} | {"bool": "BOOLEAN", "uint64": "UBIGINT"}
"""What DuckDB calls Arrow's whole numbers and truth values."""

START, END = -62_135_596_800, 253_402_214_400
"""Seconds from 1970 to the first day of the year 1, and to the last of the year 9999."""


def open_frame(engine: Engine, data: Any, schema: Schema, beside: Any = None) -> Opened:
    """Register the columns with an embedded DuckDB, or with the one of a table opened before."""
    module = type(data).__module__.partition(".")[0]
    columns = _from_pandas(data, schema) if module == "pandas" else _from_arrow(data, module, schema)
    names = [name for name, _, _ in columns]
    if len(set(names)) != len(names):
        raise SourceError("the frame has two columns of the same name; rename one.")
    forms = [form(column, f"r{i}") for i, (_, column, _) in enumerate(columns)]
    table = pa.table([held for held, _ in forms], names=[f"r{i}" for i in range(len(forms))])
    if not forms:
        raise SourceError("the frame has no columns.")
    backend, held = (connection.connect(), "data") if beside is None else (beside, view_name())
    backend.con.register(held, table)
    opened = engine.cleaned(backend, held, "data", names=names, forms=[form for _, form in forms])
    full = {name for name, _, full in columns if full}
    fields = tuple(replace(f, nullable=f.nullable and f.name not in full) for f in opened.fields)
    return replace(opened, fields=fields)


def _from_pandas(frame: Any, schema: Schema) -> list[tuple[str, Any, bool]]:
    """(name, column, whether it has no way to say "missing", as NumPy's integers and truth values have not)."""
    columns = []
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        plain = isinstance(series.dtype, np.dtype)
        if _of_objects(series.dtype):
            column = from_objects(list(series), schema[str(name)].type)
        else:
            column = _converted(pa.Array.from_pandas, series)
        columns.append((str(name), column, plain and series.dtype.kind in "iub"))
    return columns


def _of_objects(dtype: Any) -> bool:
    """Whether values are Python objects, each of which may be anything: also behind categories, and in text.

    Types of pandas' own say of themselves that they are, and hold arrays of Arrow: of these no value is made an object,
    which would fail for text that is not UTF-8 and for days beyond the calendar.
    """
    inner = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    if isinstance(inner, np.dtype):
        return inner.kind == "O"
    return getattr(inner, "storage", "") == "python"


def _from_arrow(data: Any, module: str, schema: Schema) -> list[tuple[str, Any, bool]]:
    if module == "polars":
        data = data.collect() if hasattr(data, "collect") else data
        return [(s.name, _polars(s, schema), False) for s in data.get_columns()]
    if isinstance(data, dict):
        return [(str(name), _listed(values, schema[str(name)].type), False) for name, values in data.items()]
    table = data if isinstance(data, pa.Table) else pa.table(data)
    return [(name, column, False) for name, column in zip(table.column_names, table.columns, strict=True)]


def _polars(series: Any, schema: Schema) -> Any:
    if str(series.dtype) == "Object":
        return from_objects(series.to_list(), schema[series.name].type)
    return _converted(lambda s: s.to_arrow(), series)


def _listed(values: Any, declared: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
    if kind != "O" and values.ndim > 1:
        return pa.nulls(len(values))
    if (
        kind in "UT"
    ):  # text of NumPy may hold half of a surrogate pair, for which Arrow would refuse all of it
        return from_objects(values.tolist(), "text")
    if kind == "M" and np.datetime_data(values.dtype) == ("D", 1):
        return _days(values)
    return from_objects(list(values), declared) if kind == "O" else _converted(pa.array, values)


def _days(values: Any) -> Any:
    """Days as Arrow's, of 32 bits: those beyond are beyond the calendar, too, and stay there."""
    whole = np.clip(np.ma.getdata(values).astype(np.int64), -(2**31), 2**31 - 1).astype(np.int32)
    return pa.array(whole, mask=np.ma.getmaskarray(values) | np.isnat(np.ma.getdata(values))).view(
        pa.date32()
    )


def _converted(make: Any, values: Any) -> Any:
    """An Arrow column, or one of a type without use where there is no such thing: then its name is refused."""
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return make(values)
    return pa.nulls(len(values))


def form(column: Any, x: str) -> tuple[Any, Clean]:
    """What DuckDB is given, and the clean form of it."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    dtype = column.type
    if is_.is_dictionary(dtype) or is_.is_run_end_encoded(dtype):
        return form(_plain(column), x)
    if is_.is_boolean(dtype) or is_.is_integer(dtype):
        return column, clean(WHOLE[str(dtype)], x)
    if is_.is_floating(dtype):
        wide = column.cast(pa.float32()) if is_.is_float16(dtype) else column
        return wide, clean("DOUBLE" if is_.is_float64(dtype) else "FLOAT", x)
    if is_.is_decimal(dtype):
        if dtype.precision > 38 or not 0 <= dtype.scale <= dtype.precision:  # DuckDB has no such ones
            return column.cast(pa.float64()), clean("DOUBLE", x)
        wide = column.cast(pa.decimal128(dtype.precision, dtype.scale))
        return wide, clean(f"DECIMAL({dtype.precision},{dtype.scale})", x)
    if is_.is_string(dtype) or is_.is_large_string(dtype) or is_.is_string_view(dtype):
        return _valid(column), clean("VARCHAR", x)
    if is_.is_date32(dtype):
        return column, clean("DATE", x)
    if is_.is_date64(dtype):
        return _units(column), Clean("date", "date", f"CAST({_moment(x, 'ms')} AS DATE)")
    if is_.is_timestamp(dtype) and dtype.tz is None:
        shown = "timestamp(9)" if dtype.unit == "ns" else "timestamp(6)"
        return _units(column), Clean("timestamp", shown, _moment(x, dtype.unit))
    if is_.is_list(dtype) or is_.is_large_list(dtype):
        return _lists(column, x)
    return pa.chunked_array([pa.nulls(len(column))]), Clean(None, str(dtype))


def _lists(column: Any, x: str) -> tuple[Any, Clean]:
    """Lists of items that DuckDB holds without loss; where there are none, a column of no use."""
    items, read = form(pc.list_flatten(column), "e")
    shown = str(column.type)
    if read.kind is None:
        return pa.chunked_array([pa.nulls(len(column))]), Clean(None, shown)
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    ends = pa.array(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
    missing = pa.array(column.is_null().to_numpy().astype(bool), pa.bool_())
    wide = (
        items.cast(pa.large_string()) if read.kind == "text" else items
    )  # one piece may be too large for less
    whole = pa.concat_arrays(wide.chunks) if wide.num_chunks else pa.array([], wide.type)
    held = pa.LargeListArray.from_arrays(ends, whole, mask=missing)
    listed = f"list_transform(list_slice({x}, 1, {MOST_ITEMS}), lambda e: {read.sql})"
    return pa.chunked_array([held]), Clean(None, shown, listed, items=read.kind)


def _plain(column: Any) -> Any:
    """Values in place of codes."""
    chunks = [
        chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else pc.run_end_decode(chunk)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type.value_type)


def _valid(column: Any) -> Any:
    """Text that is UTF-8, which Arrow does not see to."""
    with contextlib.suppress(pa.ArrowInvalid):
        column.validate(full=True)
        return column
    binary = column.cast(pa.large_string()).cast(pa.large_binary())
    return pa.chunked_array([pa.array([valid(value) for value in binary.to_pylist()], pa.large_string())])


def _units(column: Any) -> Any:
    """Moments as the integers they are: DuckDB would fail on those that microseconds cannot hold."""
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())


def _moment(x: str, unit: str) -> str:
    """Units since 1970 as a timestamp; what is finer than microseconds is cut off."""
    second = SECOND[unit]
    first, last = max(START * second, -(2**63)), min(END * second, 2**63 - 1)
    if unit == "ns":
        micros = f"CASE WHEN {x} >= 0 THEN {x} // 1000 ELSE -1 - (-({x} + 1)) // 1000 END"
    else:
        micros = f"{x} * {10**6 // second}"
    return (
        f"CASE WHEN {x} < {first} THEN {MOMENTS[0]} WHEN {x} > {last} THEN {MOMENTS[1]} "
        f"WHEN {x} IS NOT NULL THEN make_timestamp({micros}) END"
    )
