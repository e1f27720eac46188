"""What the engine is asked to compute, group by group: integers whose dependence on one row is known.

Aggregates are made of measures, and noise is added to measures; see `dalenius.tables.exact` for their use.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from dalenius.tables.bins import Bins
from dalenius.tables.gridding import Value

MeasureKind: TypeAlias = Literal["count", "units", "sum", "product", "bins"]


@dataclass(frozen=True)
class Measure:
    """One integer per group (for bins: one per bin), the sum over the rows that count of an integer per row.

    kind: "count": 1 for every row; "units": 1 for every unit with a row in the group, however many it has
          there; "sum": the value on its grid, in steps from `origin`; "product": the product of two values (or
          the square of one), each in steps from its centre; "bins": 1 in the bin the value falls into, 0 in the
          others. values: what is summed. given: expressions a row must have a value of to count at all; empty
          when none can lack it. low, high: one row that counts contributes an integer in [low, high]. A row may
          also contribute nothing (it is filtered out, its key is not listed, a value is missing), and a unit
          any number of rows up to its bound. granularity: what one unit of the sum is worth.
    """

    kind: MeasureKind
    values: tuple[Value, ...] = ()
    given: tuple[str, ...] = ()
    origin: int = 0
    bins: Bins | None = None

    @cached_property
    def low(self) -> int:
        return self._range[0]

    @cached_property
    def high(self) -> int:
        return self._range[1]

    @property
    def size(self) -> int:
        """How many integers there are per group."""
        return self.bins.size if self.bins is not None else 1

    @property
    def granularity(self) -> Fraction:
        worth = Fraction(1)
        for value in self.values:
            worth *= value.granularity
        return worth

    @property
    def _range(self) -> tuple[int, int]:
        if self.kind == "sum":
            (value,) = self.values
            shift = value.centre - self.origin
            return value.low + shift, value.high + shift
        if self.kind == "product":
            a, b = self.values
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            if a == b:
                return (0 if a.low <= 0 <= a.high else min(corners)), max(corners)
            return min(corners), max(corners)
        return 1, 1


def count(*given: str) -> Measure:
    """The rows that have a value of these expressions; all rows when there are none."""
    return Measure("count", given=tuple(sorted(set(given))))


def units() -> Measure:
    """The distinct units."""
    return Measure("units")


def centred_sum(value: Value, *others: Value) -> Measure:
    """The sum of a value over rows that also have the others, from the middle of its bounds: means are made of
    it."""
    return Measure("sum", (value,), needed(value, *others), value.centre)


def total(value: Value) -> Measure:
    """The sum of a value, counted from zero."""
    return Measure("sum", (value,), needed(value), 0)


def product(a: Value, b: Value, *others: Value) -> Measure:
    """The sum of products of two values from their centres, over rows that also have the others."""
    return Measure("product", (a, b), needed(a, b, *others))


def binned(bins: Bins) -> Measure:
    """The rows in each bin."""
    return Measure("bins", given=(bins.text,) if bins.nullable else (), bins=bins)


def needed(*values: Value) -> tuple[str, ...]:
    """What can be missing among the values, each once, in a fixed order: equal questions make equal
    measures."""
    return tuple(sorted({value.text for value in values if value.nullable}))
