"""What opening gives, and what is said when nothing can be opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dalenius.errors import SourceError
from dalenius.tables.facts.kinds import Field, Kind
from dalenius.tables.facts.nearest import nearest

if TYPE_CHECKING:
    from dalenius.tables.engines.engine import Engine

APART = (
    "the tables of one session are joined where they are, so they must be in one place: all of them files and data "
    "frames, or all tables of one database, or of one Spark session, or of one connection of Ibis"
)


@dataclass(frozen=True)
class Opened:
    """rows: an Ibis table of clean columns under internal names; a column of no use in a question is left out.

    kept: what must not be thrown away while the rows are in use.
    """

    rows: Any
    engine: Engine
    name: str
    fields: tuple[Field, ...]
    backend: Any
    owned: bool = True
    kept: Any = None


class Described(NamedTuple):
    """A column as the engine describes it; dtype: its type, as the engine's `clean` understands it."""

    name: str
    dtype: Any
    nullable: bool = True


@dataclass(frozen=True)
class Clean:
    """A column's clean form: its kind, its type as people know it, and SQL that yields it for any value.

    nan: whether a value can turn out missing that is not null to the engine. identity: SQL that tells all values
    apart as text, where the clean form does not (whole numbers beyond 64 bits with a sign). items: of a list, whose
    kind is None, the kind of its items; the SQL then yields a list of their clean forms, at most MOST_ITEMS of them.
    """

    kind: Kind | None
    dtype: str
    sql: str = ""
    nan: bool = False
    identity: str | None = None
    items: Kind | None = None

    @property
    def is_used(self) -> bool:
        """Whether a question can use the column, or what is in it."""
        return self.kind is not None or self.items is not None

    def field(self, name: str, nullable: bool = True) -> Field:
        mended = self.kind == "text" and self.identity is not None
        return Field(name, self.dtype, self.kind, nullable, self.nan, mended, self.items)


def named_table(table: str | None, what: str) -> str:
    """The table to open; a database holds many."""
    if table is None:
        raise SourceError(f"{what}; name the table in it: table='people'.")
    return table


def existing_file(path: str) -> None:
    """Refuse a path where there is no file."""
    if not Path(path).is_file():
        raise SourceError(f"there is no file {path!r}; check the path.")


def no_table(table: str, known: Iterable[str] = ()) -> SourceError:
    """Outside a handler: the engine's own complaint must not hang on as the context of this one."""
    hint = nearest(table, names) if (names := list(known)) else "check its name"
    return SourceError(f"there is no table {table!r} in the database, or it may not be read; {hint}.")
