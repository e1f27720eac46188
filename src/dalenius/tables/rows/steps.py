"""What is done to the rows before they are grouped. Each step looks at one row at a time and keeps at most one
of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dalenius.tables.facts.public import PublicTable


@dataclass(frozen=True)
class Filter:
    """Rows for which the condition does not hold, or is null, are left out."""

    condition: str


@dataclass(frozen=True)
class Compute:
    """A further column, from an expression."""

    name: str
    text: str


@dataclass(frozen=True)
class Join:
    """The matching row of a public table, in which the columns joined on have no duplicates.

    on: pairs (our column, theirs). how: "inner" leaves out rows without a match, "left" keeps them with nulls.
    """

    table: PublicTable
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]


Step: TypeAlias = Filter | Compute | Join
