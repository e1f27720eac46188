"""What is done to the rows before they are grouped. Each step looks at one row at a time and keeps at most one
of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dalenius.core.record import JSON
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.public import PublicTable

if TYPE_CHECKING:
    from dalenius.tables.rows.scope import Scope

Upload: TypeAlias = Callable[[PublicTable], Any]
"""Puts a public table where the rows are."""


class Step(ABC):
    """One step."""

    @abstractmethod
    def apply(self, scope: Scope, upload: Upload) -> None:
        """Do it to the rows of a table."""

    @abstractmethod
    def record(self) -> dict[str, JSON]:
        """For the ledger. Expressions are in their normal form, columns named exactly."""

    @property
    def added(self) -> tuple[Field, ...]:
        """The columns that come from elsewhere."""
        return ()


@dataclass(frozen=True)
class Filter(Step):
    """Rows for which the condition does not hold, or is null, are left out."""

    condition: str

    def apply(self, scope: Scope, upload: Upload) -> None:
        scope.filter(self.condition)

    def record(self) -> dict[str, JSON]:
        return {"kind": "filter", "condition": self.condition}


@dataclass(frozen=True)
class Compute(Step):
    """A further column, from an expression."""

    name: str
    text: str

    def apply(self, scope: Scope, upload: Upload) -> None:
        scope.compute(self.name, self.text)

    def record(self) -> dict[str, JSON]:
        return {"kind": "compute", "name": self.name, "expression": self.text}


@dataclass(frozen=True)
class Join(Step):
    """The matching row of a public table, in which the columns joined on have no duplicates.

    on: pairs (our column, theirs). how: "inner" leaves out rows without a match, "left" keeps them with nulls.
    """

    table: PublicTable
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]

    def apply(self, scope: Scope, upload: Upload) -> None:
        scope.join(self, upload)

    def record(self) -> dict[str, JSON]:
        on = sorted([ours, theirs] for ours, theirs in self.on)
        return {"kind": "join", "how": self.how, "on": on, "public": self.table.usable_digest}

    @property
    def added(self) -> tuple[Field, ...]:
        joined_on = {theirs for _, theirs in self.on}
        own = (field for field in self.table.fields if field.name not in joined_on)
        return tuple(replace(field, nullable=field.nullable or self.how == "left") for field in own)
