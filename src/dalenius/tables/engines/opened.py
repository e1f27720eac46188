"""What opening gives, and what engines share when they write SQL."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dalenius.errors import SourceError
from dalenius.tables.facts.kinds import Field, Kind, column_name, identity_name
from dalenius.tables.facts.nearest import nearest

if TYPE_CHECKING:
    from dalenius.tables.engines.engine import Engine

UNUSABLE = (
    "text in which different texts can be equal (a collation, char(n), citext), "
    "that is no plain text, or is not in UTF-8"
)
"""Under a collation that ignores capitals or accents, 'a' equals 'A'; to PostgreSQL's char(3), 'ab' equals 'ab '. One
row would then match two public keys, and two persons' ids would be one: one person could count twice."""

DAYS = "DATE '0001-01-01'", "DATE '9999-12-31'"
MOMENTS = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 00:00:00'"

numbers = itertools.count()
"""For names of views and folders that nobody else has."""


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


def selected(forms: Iterable[Clean]) -> str:
    """The SELECT list of clean columns, each under its internal name."""
    listed = list(enumerate(forms))
    parts = [f"{form.sql} AS {column_name(i)}" for i, form in listed if form.kind is not None]
    parts += [f"{form.identity} AS {identity_name(i)}" for i, form in listed if form.identity is not None]
    return ", ".join(parts) or "1 AS no_column"


def within(x: str, first: str, last: str) -> str:
    """SQL that clamps."""
    return f"CASE WHEN {x} < {first} THEN {first} WHEN {x} > {last} THEN {last} ELSE {x} END"


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A name in SQL."""
    return '"' + value.replace('"', '""') + '"'


def qualified(table: str) -> str:
    """A table in SQL, with its schema if one is named."""
    return ".".join(name(part) for part in table.split("."))


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
