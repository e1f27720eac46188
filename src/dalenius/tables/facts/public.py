"""Tables that are public: their rows may be looked at, joined to and used as the keys of groups."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.schema as sch
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from dalenius.core.record import JSON, text
from dalenius.errors import InvalidParameter, LedgerError, SourceError
from dalenius.tables.facts.forms import BROKEN, CONSTANT, constant_record
from dalenius.tables.facts.kinds import CLEAN, LONGEST_TEXT, MOST, Field, Kind, is_text, kind_of, public_name

ARROW: Mapping[Kind, Any] = {
    "integer": pa.int64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""The clean form of each kind in Arrow, but of numbers, which need more than a cast."""


EPOCH = datetime.date(1970, 1, 1).toordinal()

MOST_VALUES = 50_000_000
"""Of a table that comes with a question: of columns that cannot be used only the number of rows is sent, and each of
them takes memory here."""


@dataclass(frozen=True)
class PublicTable:
    """A public table: its rows in Arrow, and a digest of them that stands for it in the identity of a
    question."""

    digest: str
    fields: tuple[Field, ...]
    arrow: Any = field(compare=False, repr=False)

    @classmethod
    def of(cls, data: Any) -> PublicTable:
        """From a pandas, Polars or Arrow frame, a mapping of columns, or the path of a CSV or Parquet file."""
        if isinstance(data, PublicTable):
            return data
        arrow = _arrow(data)
        if len(set(arrow.column_names)) != len(arrow.column_names):
            raise InvalidParameter("the public table has two columns of the same name; rename one.")
        return cls(_digest(arrow), _fields(arrow), arrow)

    @cached_property
    def usable_digest(self) -> str:
        """SHA-256 over the columns that a question can use, for its record: for each a line with its name and type, and
        a line with its values, which are of that type."""
        digest, clean = hashlib.sha256(), self.sent(0)
        used = (own for own in self.fields if own.kind is not None)
        for own, name in zip(used, clean.names, strict=True):
            values = [
                None if value is None else constant_record(value)["is"]
                for value in clean.arrow.column(name).to_pylist()
            ]
            for line in (text({"name": own.name, "type": own.kind}), json.dumps(values)):
                digest.update(line.encode("ascii") + b"\n")
        return digest.hexdigest()

    def record(self) -> dict[str, JSON]:
        """All of it, for a question that travels: a column that a question can use with its values in the clean form of
        its type, any other by its name."""
        clean, columns = self.sent(0), []
        names = iter(clean.names)
        for own in self.fields:
            told: dict[str, JSON] = {"name": own.name, "type": own.kind}
            if own.kind is not None:
                values = clean.arrow.column(next(names)).to_pylist()
                told["values"] = [None if x is None else constant_record(x)["is"] for x in values]
            columns.append(told)
        return {"rows": len(self), "columns": columns}

    @classmethod
    def from_record(cls, record: JSON) -> PublicTable:
        """What `record` wrote, from whoever sends it; InvalidParameter for anything else. Numbers are doubles then,
        whatever type they had."""
        try:
            size, listed = record["rows"], record["columns"]
            names = [column["name"] for column in listed]
            if (
                type(size) is not int
                or size < 0
                or size * len(names) > MOST_VALUES
                or not all(map(is_text, names))
                or len(set(names)) != len(names)
            ):
                raise ValueError
            columns, fields = [], []
            for column in listed:
                kind = column["type"]
                columns.append(_read_values(kind, column.get("values"), size))
                # Whatever else it may have been, what is known of a column that cannot be used is that it is there.
                nullable = kind is None or columns[-1].null_count > 0
                fields.append(Field(column["name"], CLEAN[kind] if kind else "unknown", kind, nullable))
            arrow = pa.table(columns, names=names)
            return cls(_digest(arrow), tuple(fields), arrow)
        except (*BROKEN, pa.ArrowException, LedgerError):
            raise InvalidParameter(
                "a public table that came with the question is not written as we write them."
            ) from None

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def select(self, names: tuple[str, ...]) -> PublicTable:
        """Only these columns; a name that is not there is refused."""
        for name in names:
            if name not in self.names:
                raise InvalidParameter(
                    f"the public table has no column {name!r}; it has {', '.join(map(repr, self.names))}."
                )
        return PublicTable.of(self.arrow.select(list(names)))

    def sent(self, number: int) -> PublicTable:
        """What an engine is given: each column of use in the clean form of its kind, under an internal name.

        number: how many public tables were joined before. The order is that of `fields`; the others are left out.
        """
        columns, fields = {}, []
        for i, own in enumerate(self.fields):
            if own.kind is not None:
                name = public_name(number, i)
                columns[name] = _clean(self.arrow.column(i), own.kind)
                fields.append(Field(name, CLEAN[own.kind], own.kind, own.nullable, False))
        return PublicTable(f"{self.digest}/{number}", tuple(fields), pa.table(columns))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        try:
            columns = [self.arrow.column(name).to_pylist() for name in self.names]
        except (OverflowError, ValueError):  # Python knows no such day, and no such text
            raise InvalidParameter(
                "the public table holds days beyond the years 1 to 9999, or text that is not UTF-8; leave them out."
            ) from None
        return zip(*columns, strict=True)


def _read_values(kind: Kind | None, values: JSON, size: int) -> Any:
    if kind is None:
        if values is not None:
            raise ValueError
        return pa.nulls(size)
    if kind not in CLEAN or not isinstance(values, list) or len(values) != size:
        raise ValueError
    made = [None if x is None else CONSTANT.given("a value", {"kind": kind, "is": x}) for x in values]
    column = pa.chunked_array([pa.array(made, ARROW.get(kind, pa.float64()))])
    return _clean(column, kind)


def _arrow(data: Any) -> Any:
    try:
        if isinstance(data, str | Path):
            return _read(Path(data))
        if isinstance(data, pa.Table):
            return data.combine_chunks()
        if isinstance(data, dict):
            return pa.table(data)
        if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # Polars, not computed yet
            data = data.collect()
        if hasattr(data, "to_arrow"):  # Polars
            return data.to_arrow().combine_chunks()
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data).combine_chunks()
        if hasattr(data, "to_pyarrow"):  # Ibis
            return data.to_pyarrow()
        return pa.Table.from_pandas(data, preserve_index=False)
    except SourceError:
        raise
    except Exception as problem:
        raise InvalidParameter(
            f"the public table could not be read ({type(problem).__name__}: {problem}); give a pandas, Polars or Arrow "
            "frame, a mapping of columns, or the path of a CSV or Parquet file."
        ) from None


def _read(path: Path) -> Any:
    if not path.is_file():
        raise SourceError(f"the public table {path} does not exist; check the path.")
    if path.suffix.lower() == ".csv":
        return csv.read_csv(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return parquet.read_table(path)
    raise SourceError(f"the public table {path} must be a .csv or .parquet file.")


def _fields(arrow: Any) -> tuple[Field, ...]:
    fields = []
    # One by one: a type that is unknown to Ibis is of no use, but no reason to refuse the others.
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        try:
            dtype = sch.infer(pa.table({"x": column}))["x"]
        except Exception:
            fields.append(Field(name, str(column.type), None, True))
            continue
        plain = str(dtype).removeprefix("!")
        fields.append(Field(name, plain, kind_of(dtype), column.null_count > 0, _has_nan(column)))
    return tuple(fields)


def _clean(column: Any, kind: Kind) -> Any:
    """The clean form of a public column, for every value it can hold: what a question is asked of looks at a public
    value wherever one of the data meets it, and where that failed it would tell of the data."""
    try:
        return _cleaned(column, kind)
    except pa.ArrowException as problem:  # nobody's row is in it
        raise InvalidParameter(f"a column of the public table cannot be read as {kind}: {problem}.") from None


def _cleaned(column: Any, kind: Kind) -> Any:
    if kind == "number":
        doubles = column.cast(pa.float64(), safe=False)
        doubles = pc.if_else(pc.is_nan(doubles), None, doubles)
        return pc.max_element_wise(
            pc.min_element_wise(doubles, MOST, skip_nulls=False), -MOST, skip_nulls=False
        )
    if kind in ("date", "timestamp"):
        whole, missing = _whole(column), column.is_null().to_numpy().astype(bool)
        made = pa.array(_in_the_calendar(whole, column.type), mask=missing)
        return pa.chunked_array([made.view(ARROW[kind])])
    if kind == "text":
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        column = column.cast(ARROW[kind])
        column.validate(full=True)  # Arrow does not see to it that text is UTF-8
        if pc.any(pc.match_substring(column, "\x00")).as_py():
            raise pa.ArrowInvalid("it holds the character with code 0")
        if (pc.max(pc.binary_length(column)).as_py() or 0) > LONGEST_TEXT:
            raise pa.ArrowInvalid(f"it holds a text of more than {LONGEST_TEXT} bytes")
    return column.cast(ARROW[kind])


def _whole(column: Any) -> Any:
    """Days or moments as the whole numbers that they are stored as; 0 where there is none."""
    stored = pa.int32() if column.type == pa.date32() else pa.int64()
    return pa.chunked_array([c.view(stored) for c in column.chunks], stored).fill_null(0).to_numpy()


def _in_the_calendar(whole: Any, dtype: Any) -> Any:
    """Days since 1970 as 32 bits, or microseconds, within the years 1 to 9999."""
    first, last = (day.toordinal() - EPOCH for day in (datetime.date.min, datetime.date.max))
    if dtype == pa.date32():
        return np.clip(whole, first, last)
    each = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}["ms" if dtype == pa.date64() else dtype.unit]
    low, high = (min(max(day * 86400 * each, -(2**63)), 2**63 - 1) for day in (first, last))
    inside = np.clip(whole, low, high)
    if dtype == pa.date64():
        return (inside // (86400 * each)).astype(np.int32)
    return inside // 1000 if each == 10**9 else inside * (10**6 // each)


def _has_nan(column: Any) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _digest(arrow: Any) -> str:
    sink = pa.BufferOutputStream()
    plain = arrow.replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
    return hashlib.sha256(sink.getvalue()).hexdigest()
