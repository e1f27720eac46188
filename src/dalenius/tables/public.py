"""Tables that are public: their rows may be looked at, joined to and used as the keys of groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.calculus.errors import InvalidParameter, SourceError
from dalenius.tables.kinds import Field, field_of


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

    made = []
    for name, dtype in sch.infer(arrow).items():
        column = arrow.column(name)
        told = field_of(name, dtype)
        made.append(Field(name, told.dtype, told.kind, column.null_count > 0, _has_nan(column)))
    return tuple(made)


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
