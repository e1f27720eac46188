"""What is done to the rows before they are grouped. The steps here look at one row at a time and keep at most one of
it; those in `relations` look at the rows of one unit at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dalenius.core.record import JSON
from dalenius.tables.facts.kinds import Field, Kind
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.unit import Unit

if TYPE_CHECKING:
    from dalenius.tables.rows.scope import Scope


class Held(Protocol):
    """Where the rows of the private tables are."""

    def upload(self, public: PublicTable) -> Any:
        """A public table, put there."""

    def rows_of(self, table: str) -> Any:
        """The rows of the private table of that name; None where everything is checked and nothing can be run."""

    def listed(self, items: Any, kind: Kind, at: Any) -> tuple[Any, Any]:
        """Of a list of items of a kind: the item at a position from 0, and how many there are."""

    def truncate(self, scope: Scope, unit: str, most: int, by: tuple[str, ...]) -> None:
        """Leave at most so many rows of each unit in a scope; the unit's id is the column `unit`. by: columns of which
        a unit's values are kept or left out together."""


class Step(ABC):
    """One step."""

    per_unit: ClassVar[bool] = False
    """Whether it looks at all rows of a unit, or makes several rows of one: only an id tells whose they are."""

    @abstractmethod
    def apply(self, scope: Scope, held: Held) -> None:
        """Do it to the rows of a table."""

    def bound(self, unit: Unit) -> Unit:
        """How many rows of one unit there are at most after the step, where there were so many before."""
        return unit

    @property
    def names(self) -> frozenset[str]:
        """The columns joined on, and others that a step looks at by name and not in an expression."""
        return frozenset()

    @property
    def texts(self) -> tuple[str, ...]:
        """The expressions that a step computes."""
        return ()

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

    def apply(self, scope: Scope, held: Held) -> None:
        scope.filter(self.condition)

    def record(self) -> dict[str, JSON]:
        return {"kind": "filter", "condition": self.condition}

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Compute(Step):
    """A further column, from an expression."""

    name: str
    text: str

    def apply(self, scope: Scope, held: Held) -> None:
        scope.compute(self.name, self.text)

    def record(self) -> dict[str, JSON]:
        return {"kind": "compute", "name": self.name, "expression": self.text}

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)


@dataclass(frozen=True)
class Join(Step):
    """The matching row of a public table, in which the columns joined on have no duplicates.

    on: pairs (our column, theirs). how: "inner" leaves out rows without a match, "left" keeps them with nulls.
    """

    table: PublicTable
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]

    def apply(self, scope: Scope, held: Held) -> None:
        scope.join(self, held)

    def record(self) -> dict[str, JSON]:
        on = sorted([ours, theirs] for ours, theirs in self.on)
        return {"kind": "join", "how": self.how, "on": on, "public": self.table.usable_digest}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(ours for ours, _ in self.on)

    @property
    def added(self) -> tuple[Field, ...]:
        joined_on = {theirs for _, theirs in self.on}
        own = (field for field in self.table.fields if field.name not in joined_on)
        return tuple(replace(field, nullable=field.nullable or self.how == "left") for field in own)
