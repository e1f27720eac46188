"""Tables that are public: their rows may be looked at, joined to and used as the keys of groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.errors import InvalidParameter, SourceError
from dalenius.tables.facts.kinds import CLEAN, MOST, Field, Kind, kind_of, public_name


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
        names = [public_name(number, i) for i in range(len(self.fields))]
        held = [
            (name, f, _clean(self.arrow.column(i), f.kind))
            for i, (name, f) in enumerate(zip(names, self.fields, strict=True))
            if f.kind is not None
        ]
        import pyarrow as pa

        arrow = pa.table([column for _, _, column in held], names=[name for name, _, _ in held])
        fields = tuple(Field(name, CLEAN[f.kind], f.kind, f.nullable, False) for name, f, _ in held if f.kind)
        return PublicTable(f"{self.digest}/{number}", fields, arrow)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        return zip(*(self.arrow.column(name).to_pylist() for name in self.names), strict=True)


def _arrow(data: Any) -> Any:
    import pyarrow as pa

    try:
        if isinstance(data, str | Path):
            return _read(Path(data))
        if isinstance(data, pa.Table):
            return data.combine_chunks()
        if isinstance(data, dict):
            return pa.table(data)
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
        from pyarrow import csv

        return csv.read_csv(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        from pyarrow import parquet

        return parquet.read_table(path)
    raise SourceError(f"the public table {path} must be a .csv or .parquet file.")


def _fields(arrow: Any) -> tuple[Field, ...]:
    import ibis.expr.schema as sch
    import pyarrow as pa

    made = []
    # One by one: a type that is unknown to Ibis is of no use, but no reason to refuse the others.
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        try:
            dtype = sch.infer(pa.table({"x": column}))["x"]
        except Exception:
            made.append(Field(name, str(column.type), None, True))
            continue
        told = str(dtype).removeprefix("!")
        made.append(Field(name, told, kind_of(dtype), column.null_count > 0, _has_nan(column)))
    return tuple(made)


def _clean(column: Any, kind: Kind) -> Any:
    """The clean form of a public column. It may fail, and say why: nobody's row is in it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "number":
        doubles = column.cast(pa.float64(), safe=False)
        doubles = pc.if_else(pc.is_nan(doubles), None, doubles)
        return pc.max_element_wise(
            pc.min_element_wise(doubles, MOST, skip_nulls=False), -MOST, skip_nulls=False
        )
    if kind == "text" and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    types = {
        "integer": pa.int64(),
        "text": pa.string(),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }
    return column.cast(types[kind], safe=kind != "timestamp")


def _has_nan(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _digest(arrow: Any) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    plain = arrow.replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
    return hashlib.sha256(sink.getvalue()).hexdigest()
