"""What aggregates of one number a row share: a column, its bounds, its policy and its grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from dalenius.tables.aggregates.aggregate import (
    Aggregate,
    Bounds,
    Columns,
    checked_text,
    on_grid,
)
from dalenius.tables.aggregates.record import NULLS, NUMBERS, PLAIN, STEP
from dalenius.tables.facts.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.measures.gridding import Value, power_of_two

if TYPE_CHECKING:
    from dalenius.tables.sql.calls import Call


@dataclass(frozen=True)
class OfOneNumber(Aggregate):
    """An aggregate of one number a row."""

    column: str
    bounds: Bounds | None = None
    nulls: Nulls | None = None
    granularity: Fraction | None = None

    words: ClassVar = {"column": PLAIN, "bounds": NUMBERS, "nulls": NULLS, "granularity": STEP}

    @classmethod
    def of(
        cls,
        column: str,
        bounds: Iterable[float] | None = None,
        nulls: Nulls | None = None,
        granularity: float | Fraction | None = None,
    ) -> Self:
        """With every part checked."""
        column = checked_text(column, cls.tag)
        what = f"{cls.tag}({column!r})"
        return cls(
            column,
            None if bounds is None else bounds_of(bounds, what),
            nulls_of(nulls, what),
            None if granularity is None else power_of_two(granularity, column),
        )

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    def value(self, table: Columns, halves: bool = True) -> Value:
        """The column on its grid."""
        argument = table.argument(self.column, self.bounds, self.nulls, self.what)
        return on_grid(argument, self.granularity, halves)

    @classmethod
    def from_sql(cls, call: Call) -> Self:
        return cls.of(call.text(0), call.bounds(1))
