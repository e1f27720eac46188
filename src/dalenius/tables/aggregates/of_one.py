"""What aggregates of one column share: the column, its bounds, its policy, and, of numbers to be summed, a grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dalenius.tables.aggregates.aggregate import Aggregate, Bounds, checked_text, on_grid
from dalenius.tables.aggregates.call import Call
from dalenius.tables.facts.forms import FRACTION, NULLS, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.measures.gridding import Value, power_of_two
from dalenius.tables.rows.scope import Argument, Scope


@dataclass(frozen=True)
class OfOneColumn(Aggregate):
    """An aggregate of one column or expression."""

    column: str
    bounds: Bounds | None = None
    nulls: Nulls | None = None

    @classmethod
    def of(
        cls,
        column: str,
        bounds: Iterable[float] | None = None,
        nulls: Nulls | None = None,
        **more: Any,
    ) -> Self:
        """With every part checked that all of these have."""
        what = more.get("called") or f"{cls.tag}({checked_text(column, cls.tag)!r})"
        return cls(column, bounds_of(bounds, what), nulls_of(nulls, what), **more)

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    def argument(self, table: Scope) -> Argument:
        """The column in a table."""
        return table.argument(self.column, self.bounds, self.nulls, self.what)

    def normal(self, table: Scope) -> Self:
        argument = self.argument(table)
        return replace(self, column=argument.text, bounds=argument.bounds, nulls=argument.nulls)


@dataclass(frozen=True)
class OfOneNumber(OfOneColumn):
    """An aggregate of one number a row, on a grid."""

    granularity: Fraction | None = None

    words: ClassVar = {"column": PLAIN, "bounds": NUMBERS, "nulls": NULLS, "granularity": FRACTION.optional}

    def __post_init__(self) -> None:
        if self.granularity is not None:
            object.__setattr__(self, "granularity", power_of_two(self.granularity, self.column))

    def value(self, table: Scope, halves: bool = True) -> Value:
        """The column on its grid."""
        return on_grid(self.argument(table), self.granularity, halves)

    @classmethod
    def made(cls, **parts: Any) -> Self:
        return cls.of(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Self:
        return cls.of(call.text(0), call.bounds(1))
