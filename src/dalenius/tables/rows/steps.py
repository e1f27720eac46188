"""What is done to the rows before they are grouped. The steps here look at one row at a time and keep at most one of
it; those in `relations` look at the rows of one unit at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dalenius.core.checks import shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter
from dalenius.tables.facts.kinds import Field, Kind, is_text
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.spelling import Spelling

if TYPE_CHECKING:
    from dalenius.tables.ask.query import Table
    from dalenius.tables.rows.scope import Scope


class Beside(Protocol):
    """What a step that was written down is read with."""

    def table(self, record: JSON) -> Table:
        """The private table with its steps, from its record."""

    def public(self, digest: JSON) -> PublicTable:
        """The public table of which a record has the digest."""


class Held(Protocol):
    """Where the rows of the private tables are."""

    @property
    def spelling(self) -> Spelling | None:
        """How the engine there spells what engines spell differently; None where nothing can be run."""

    def upload(self, public: PublicTable) -> Any:
        """A public table, put there."""

    def rows_of(self, table: str) -> Any:
        """The rows of the private table of that name; None where everything is checked and nothing can be run."""

    def listed(self, items: Any, kind: Kind, at: Any) -> tuple[Any, Any]:
        """Of a list of items of a kind: the item at a position from 0, and how many there are."""

    def truncate(self, scope: Scope, unit: tuple[str, ...], most: int, by: tuple[str, ...]) -> None:
        """Leave at most so many rows of each unit in a scope; the columns `unit` are its id. by: columns of which a
        unit's values are kept or left out together."""


class Step(ABC):
    """One step."""

    tag: ClassVar[str]
    """The word for this kind in records. It is written into ledgers and never changes."""
    words: ClassVar[tuple[str, ...]]
    """The other words of its record, which never change either."""
    told: ClassVar[tuple[str, ...]] = ()
    """Those of them that follow from the others and the table, and may be left out by somebody who asks."""
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

    @property
    @abstractmethod
    def said(self) -> str:
        """What it does, for people, after its tag."""

    @abstractmethod
    def record(self) -> dict[str, JSON]:
        """For the ledger. Expressions are in their normal form, columns named exactly."""

    @classmethod
    @abstractmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        """The table with this step after its others, taken as if it were asked for anew: every check is made."""

    @property
    def added(self) -> tuple[Field, ...]:
        """The columns that come from elsewhere."""
        return ()


@dataclass(frozen=True)
class Filter(Step):
    """Rows for which the condition does not hold, or is null, are left out."""

    tag = "filter"
    words = ("condition",)

    condition: str

    def apply(self, scope: Scope, held: Held) -> None:
        scope.filter(self.condition)

    @property
    def said(self) -> str:
        return self.condition

    def record(self) -> dict[str, JSON]:
        return {"kind": self.tag, "condition": self.condition}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.filter(record["condition"])

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Compute(Step):
    """A further column, from an expression."""

    tag = "compute"
    words = ("name", "expression")

    name: str
    text: str

    def apply(self, scope: Scope, held: Held) -> None:
        scope.compute(self.name, self.text)

    @property
    def said(self) -> str:
        return f"{self.name} = {self.text}"

    def record(self) -> dict[str, JSON]:
        return {"kind": self.tag, "name": self.name, "expression": self.text}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.with_columns(
            **{as_text("the name of a computed column", record["name"]): record["expression"]}
        )

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)


@dataclass(frozen=True)
class Join(Step):
    """The matching row of a public table, in which the columns joined on have no duplicates.

    on: pairs (our column, theirs). how: "inner" leaves out rows without a match, "left" keeps them with nulls.
    """

    tag = "join"
    words = ("how", "on", "public")

    table: PublicTable
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]

    def apply(self, scope: Scope, held: Held) -> None:
        scope.join(self, held)

    @property
    def said(self) -> str:
        return f"a public table, {self.how}, on {joined_on(self.on)}"

    def record(self) -> dict[str, JSON]:
        on = sorted([ours, theirs] for ours, theirs in self.on)
        return {"kind": self.tag, "how": self.how, "on": on, "public": self.table.usable_digest}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.join_public(beside.public(record["public"]), pairs_of(record["on"]), record["how"])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(ours for ours, _ in self.on)

    @property
    def added(self) -> tuple[Field, ...]:
        joined_on = {theirs for _, theirs in self.on}
        own = (field for field in self.table.fields if field.name not in joined_on)
        return tuple(replace(field, nullable=field.nullable or self.how == "left") for field in own)


def joined_on(pairs: Iterable[tuple[str, str]]) -> str:
    """The columns joined on, for people: theirs where they are called otherwise."""
    return ", ".join(ours if ours == theirs else f"{ours} = {theirs}" for ours, theirs in pairs)


def as_text(what: str, given: JSON) -> str:
    """Text with anything in it, from a record that anybody may have written."""
    if not is_text(given):
        raise InvalidParameter(f"{what} is {shown(given)}; it must be text that is not empty.")
    return str(given)


def pairs_of(on: JSON) -> list[str | tuple[str, str]]:
    """The columns to join on, as a record has them: [["ours", "theirs"], ...]."""
    if not isinstance(on, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(map(is_text, pair)) for pair in on
    ):
        raise InvalidParameter(
            f"the columns to join on are {shown(on)}; they must be pairs of names: [['ours', 'theirs'], ...]."
        )
    return [(ours, theirs) for ours, theirs in on]
