"""What engines share when they write SQL."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from dalenius.tables.engines.opened import Clean
from dalenius.tables.facts.kinds import CLEAN, column_name, identity_name

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


def view_name() -> str:
    """A name for a view that nobody else has."""
    return f"dalenius_{next(numbers)}"


def selected(forms: Iterable[Clean]) -> str:
    """The SELECT list of clean columns, each under its internal name."""
    listed = list(enumerate(forms))
    parts = [f"{form.sql} AS {column_name(i)}" for i, form in listed if form.is_used]
    parts += [f"{form.identity} AS {identity_name(i)}" for i, form in listed if form.identity is not None]
    return ", ".join(parts) or "1 AS no_column"


def types(forms: Iterable[Clean]) -> dict[str, str]:
    """The types of the columns that `selected` lists, as Ibis writes them."""
    listed = list(enumerate(forms))
    clean = {column_name(i): CLEAN[form.kind] for i, form in listed if form.kind is not None}
    clean |= {column_name(i): f"array<{CLEAN[form.items]}>" for i, form in listed if form.items is not None}
    clean |= {identity_name(i): "string" for i, form in listed if form.identity is not None}
    return clean or {"no_column": "int32"}


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
