"""Steps that look at all rows of one unit at a time, or make several rows of one.

Each says how many rows of a unit there are at most afterwards (`bound`), and what it makes of the rows of one unit
depends on the rows of that unit alone, in all tables. The proof is in docs/proofs/relations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from dalenius.core.record import JSON
from dalenius.tables.facts.kinds import Field
from dalenius.tables.facts.unit import Unit, each
from dalenius.tables.rows.steps import Beside, Held, Step, as_text, joined_on, pairs_of

if TYPE_CHECKING:
    from dalenius.tables.ask.query import Table
    from dalenius.tables.rows.scope import Scope


@dataclass(frozen=True)
class PrivateJoin(Step):
    """The matching rows of another private table of the same units.

    unit: the id, which both tables have under these names and are joined on. on: pairs (our column, theirs), those of
    the id among them. left, right: at most so many rows of a unit are kept of each side before they are joined. flat:
    what the other table's columns are called from then on, in pairs (theirs, flat).
    """

    tag = "private join"
    words = ("how", "on", "columns", "max_rows", "table")
    told = ("columns", "max_rows")
    per_unit: ClassVar[bool] = True

    table: Table
    unit: tuple[str, ...]
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]
    left: int
    right: int
    flat: tuple[tuple[str, str], ...]

    def apply(self, scope: Scope, held: Held) -> None:
        scope.join_private(self, held)

    @property
    def ids(self) -> frozenset[tuple[str, str]]:
        """The pairs that are the id's own."""
        return frozenset((column, column) for column in self.unit)

    def bound(self, unit: Unit) -> Unit:
        """Each of our rows meets at most `right` of theirs, or stays alone: right is at least 1."""
        return unit.times(self.right)

    @property
    def said(self) -> str:
        rows = f"{self.left} and {self.right} rows of each {each(self.unit)}"
        return f"{self.table.name}, {self.how}, on {joined_on(self.on)}; at most {rows}"

    def record(self) -> dict[str, JSON]:
        on = sorted([ours, theirs] for ours, theirs in self.on)
        kept = {"left": self.left, "right": self.right}
        called = sorted([theirs, flat] for theirs, flat in self.flat)
        return {
            "kind": self.tag,
            "how": self.how,
            "on": on,
            "columns": called,
            "max_rows": kept,
            "table": self.table.record(),
        }

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.join(beside.table(record["table"]), pairs_of(record["on"]), record["how"])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(ours for ours, _ in self.on)

    @property
    def added(self) -> tuple[Field, ...]:
        flat, outer = dict(self.flat), self.how == "left"
        own = (f for f in self.table.columns if f.name in flat)
        return tuple(replace(f, name=flat[f.name], nullable=f.nullable or outer) for f in own)


@dataclass(frozen=True)
class Explode(Step):
    """A row for each of the first items of a list; a row whose list is empty or missing has none. The column is the
    item from then on. item: the column as it is then."""

    tag = "explode"
    words = ("column", "type", "max_items")
    told = ("type",)
    per_unit: ClassVar[bool] = True

    item: Field
    most: int

    def apply(self, scope: Scope, held: Held) -> None:
        scope.explode(self, held)

    def bound(self, unit: Unit) -> Unit:
        return unit.times(self.most)

    @property
    def said(self) -> str:
        return f"{self.item.name}, at most {self.most} items"

    def record(self) -> dict[str, JSON]:
        return {"kind": self.tag, "column": self.item.name, "type": self.item.kind, "max_items": self.most}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.explode(
            as_text("the column to explode", record["column"]), max_items=record["max_items"]
        )

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.item.name})

    @property
    def added(self) -> tuple[Field, ...]:
        return (self.item,)


@dataclass(frozen=True)
class LimitRows(Step):
    """Fewer rows of each unit: they are left out where the rows are joined or summed, after all filters before that."""

    tag = "limit rows"
    words = ("max_rows",)
    per_unit: ClassVar[bool] = True

    rows: int

    def apply(self, scope: Scope, held: Held) -> None:
        """`bound` says it to whoever keeps rows."""

    def bound(self, unit: Unit) -> Unit:
        return unit.at_most(self.rows)

    @property
    def said(self) -> str:
        return f"at most {self.rows} of each unit"

    def record(self) -> dict[str, JSON]:
        return {"kind": self.tag, "max_rows": self.rows}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.limit_rows(record["max_rows"])


@dataclass(frozen=True)
class PerUnit(Step):
    """One row for each unit that has any: its id, and in the column `name` how many rows it has."""

    tag = "rows of each unit"
    words = ("unit", "name")
    told = ("unit",)
    per_unit: ClassVar[bool] = True

    unit: tuple[str, ...]
    name: str

    def apply(self, scope: Scope, held: Held) -> None:
        scope.count_rows(self.unit, self.name)

    def bound(self, unit: Unit) -> Unit:
        return unit.at_most(1)

    @property
    def said(self) -> str:
        return f"{self.name}, one row of each {each(self.unit)}"

    def record(self) -> dict[str, JSON]:
        unit = self.unit[0] if len(self.unit) == 1 else list(self.unit)
        return {"kind": self.tag, "unit": unit, "name": self.name}

    @classmethod
    def again(cls, record: Mapping[str, JSON], table: Table, beside: Beside) -> Table:
        return table.per_unit(record["name"])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.unit)
