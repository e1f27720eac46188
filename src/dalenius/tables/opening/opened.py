"""What opening gives."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from dalenius.tables.kinds import Field, Kind

GIVE = (
    "give the path of a CSV or Parquet file, a pandas, Polars or Arrow frame, a DuckDB file and a table, an Ibis "
    "table, a postgresql:// address and a table, or a Spark DataFrame"
)

numbers = itertools.count()
"""For names of views and folders that nobody else has."""


@dataclass(frozen=True)
class Opened:
    """rows: an Ibis table of clean columns under internal names; a column of no use in a question is left out.

    kept: what must not be thrown away while the rows are in use.
    """

    rows: Any
    engine: str
    name: str
    fields: tuple[Field, ...]
    backend: Any
    owned: bool = True
    kept: Any = None


@dataclass(frozen=True)
class Clean:
    """A column's clean form: its kind, its type as people know it, and SQL that yields it for any value.

    nan: whether a value can turn out missing that is not null to the engine. identity: SQL that tells all values
    apart as text, where the clean form does not (whole numbers beyond 64 bits with a sign).
    """

    kind: Kind | None
    dtype: str
    sql: str = ""
    nan: bool = False
    identity: str | None = None

    def field(self, name: str, nullable: bool = True) -> Field:
        mended = self.kind == "text" and self.identity is not None
        return Field(name, self.dtype, self.kind, nullable, self.nan, mended)


def selected(cleans: tuple[Clean, ...] | list[Clean]) -> str:
    """The SELECT list of clean columns, each under its internal name."""
    from dalenius.tables.kinds import column_name, identity_name

    parts = [f"{c.sql} AS {column_name(i)}" for i, c in enumerate(cleans) if c.kind is not None]
    parts += [f"{c.identity} AS {identity_name(i)}" for i, c in enumerate(cleans) if c.identity is not None]
    return ", ".join(parts) or "1 AS nothing"
