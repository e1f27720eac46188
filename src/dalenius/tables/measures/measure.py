"""What the engine is asked to compute, group by group: integers whose dependence on one row is known.

Aggregates are made of measures, and noise is added to measures; see `compute.exact` for their use. A measure is one
integer per group (for bins: one per bin), the sum over the rows that count of an integer per row. One row that counts
contributes an integer in [low, high]. A row may also contribute nothing (it is filtered out, its key is not
listed, a value is missing), and a unit any number of rows up to its bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import ibis
import numpy as np
import numpy.typing as npt

from dalenius.core.record import JSON, unknown
from dalenius.errors import LedgerError
from dalenius.tables.facts.forms import CONSTANTS, PLAIN, Form, Recorded
from dalenius.tables.measures.bins import Bins
from dalenius.tables.measures.gridding import Value
from dalenius.tables.rows.terms import integer, null

if TYPE_CHECKING:
    from dalenius.core.adjacency import Adjacency
    from dalenius.tables.engines.engine import Engine
    from dalenius.tables.plan.noise import Noise
    from dalenius.tables.plan.noises import Price
    from dalenius.tables.plan.sensitivity import Sensitivity

Reals = npt.NDArray[Any]

PLACE = "__place"
"""Where a row is among those of its unit in its group, from 0, where the id has several columns."""

PARTS = 2**30
"""Levels of quantiles are whole numbers of such parts of 1, and ranks are counted in them."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The bounded rows of a question inside the engine: what measures are summed from.

    names: the column of every value and set of bins, and of what shows whether an expression has a value. unit: the
    columns that tell units apart; none where every row is one. Of several, `PLACE` numbers a unit's rows in a group.
    """

    rows: Any
    names: Mapping[Value | Bins | str, str]
    engine: Engine
    unit: tuple[str, ...]

    def units(self) -> Any:
        """How many units there are."""
        if not self.unit:
            return self.rows.count()
        if len(self.unit) == 1:
            return self.rows[self.unit[0]].nunique()
        return ibis.cases((self.rows[PLACE] == 0, integer(1))).count()

    def count(self, given: Sequence[str]) -> Any:
        """How many rows have a value of these expressions."""
        names = sorted({self.names[text] for text in given})
        if not names:
            return self.rows.count()
        if len(names) == 1:
            return self.rows[names[0]].count()
        return ibis.cases((self.lacking(names), null("int64")), else_=integer(1)).count()

    def lacking(self, names: Sequence[str]) -> Any:
        """Whether a row lacks any of these."""
        result, *others = (self.rows[name].isnull() for name in names)
        for condition in others:
            result = result | condition
        return result


@dataclass(frozen=True)
class Measure(Recorded, ABC):
    """One integer per group, or per bin of each group.

    values: what is summed. given: expressions a row must have a value of to count at all; empty when none can lack it.
    origin: the step that a sum is counted from. labels: what the bins are, where they are not intervals. granularity:
    what one unit of the sum is worth.
    """

    values: tuple[Value, ...] = ()
    given: tuple[str, ...] = ()
    origin: int = 0
    bins: Bins | None = None
    labels: tuple[Any, ...] = ()

    words: ClassVar[Mapping[str, Form]] = {
        "values": Form(Value.record, Value.from_record).several,
        "given": PLAIN.several,
        "origin": PLAIN,
        "bins": Form(Bins.record, Bins.from_record).optional,
        "labels": CONSTANTS,
    }
    kind: ClassVar[str]
    """The word for it in records and explanations. It is written into ledgers and never changes."""
    once: ClassVar[bool] = False
    """Whether a unit counts once in a group, however many rows it has there."""
    whole: ClassVar[bool] = False
    """Whether what is released estimates a number of rows or units."""
    adds_up: ClassVar[bool] = True
    """Whether the groups add up to the same measure of all rows."""

    def record(self) -> dict[str, JSON]:
        """Shown by this, an answer stays what it was, whatever grids and bins the code chooses today."""
        return {"kind": self.kind, **super().record()}

    @property
    def range(self) -> tuple[int, int]:
        """What one row that counts can contribute."""
        return 1, 1

    @cached_property
    def low(self) -> int:
        return self.range[0]

    @cached_property
    def high(self) -> int:
        return self.range[1]

    @property
    def size(self) -> int:
        """How many integers there are per group."""
        return self.bins.size if self.bins is not None else 1

    @property
    def bits(self) -> int:
        """How many bits one row's integer has."""
        return max(abs(self.low), abs(self.high)).bit_length()

    @property
    def granularity(self) -> Fraction:
        worth = Fraction(1)
        for value in self.values:
            worth *= value.granularity
        return worth

    @property
    def label(self) -> str:
        """What it is, for people."""
        if self.values:
            return f"{self.kind} of {', '.join(v.text for v in self.values)}"
        there = " and ".join(self.given)
        return (
            f"{self.kind} where {there} {'is' if len(self.given) == 1 else 'are'} there"
            if there
            else self.kind
        )

    @abstractmethod
    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        """Sums for the engine and what each is multiplied by: together, the integer of a group."""

    def typical(self, rows: float) -> float:
        """The number to expect in a group of so many rows, evenly spread over the bounds."""
        return rows

    def noise(self, price: Price, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        """How it is released for a price: with noise added, unless a kind of measure knows better."""
        return price.added(self, moved, adjacency, levels)

    def _total(self, frame: Frame, x: Any, bits: int) -> list[tuple[Any, int]]:
        """The sum of x over the rows that have all that is needed."""
        own = {value.text for value in self.values}
        others = sorted({frame.names[text] for text in self.given if text not in own})
        if others:
            # Adding nothing but nulls: x counts only where the others are there.
            x = ibis.cases((frame.lacking(others), null("int64")), else_=x)
        return [(part, 2**power) for part, power in frame.engine.sum(x, bits)]


class RowCount(Measure):
    """1 for every row."""

    kind = "count"
    whole = True

    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        return [(frame.count(self.given), 1)]


class UnitCount(Measure):
    """1 for every unit with a row in the group, however many it has there."""

    kind = "units"
    once = True
    whole = True
    adds_up = False

    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        return [(frame.units(), 1)]


class ValueSum(Measure):
    """The value on its grid, in steps from `origin`."""

    kind = "sum"

    @property
    def shift(self) -> int:
        """Engines sum in steps from the centre, whatever the origin is."""
        return self.values[0].centre - self.origin

    @property
    def range(self) -> tuple[int, int]:
        (value,) = self.values
        return value.low + self.shift, value.high + self.shift

    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        (value,) = self.values
        bits = max(abs(value.low), abs(value.high)).bit_length()
        parts = self._total(frame, frame.rows[frame.names[value]], bits)
        return [*parts, (frame.count(self.given), self.shift)] if self.shift else parts

    def typical(self, rows: float) -> float:
        return rows * (self.low + self.high) / 2 if self.origin == 0 else 0.0


class ProductSum(Measure):
    """The product of two values (or the square of one), each in steps from its centre."""

    kind = "product"

    @property
    def range(self) -> tuple[int, int]:
        a, b = self.values
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        if a == b:
            return (0 if a.low <= 0 <= a.high else min(corners)), max(corners)
        return min(corners), max(corners)

    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        a, b = (frame.rows[frame.names[value]] for value in self.values)
        return self._total(frame, a * b, self.bits)

    def typical(self, rows: float) -> float:
        a, b = self.values
        return rows * max(abs(a.low), abs(a.high)) ** 2 / 3 if a == b else 0.0


class BinCounts(Measure):
    """1 in the bin the value falls into, 0 in the others."""

    kind = "bins"
    whole = True

    def sums(self, frame: Frame) -> list[tuple[Any, int]]:
        return [(frame.rows.count(), 1)]  # in each bin: the statement groups by it


class ChosenBin(BinCounts):
    """The same counts, of which none leaves, but a bin that is chosen by its score, with noise."""

    whole = False
    adds_up = False

    @property
    def swing(self) -> Fraction | None:
        """How far one row more, or one less, moves a score up or down; None where the scores are the counts."""
        return None

    def scores(self, counts: Reals) -> Reals:
        """Of all bins of every group, from their counts."""
        return np.asarray(counts, dtype=float)

    def noise(self, price: Price, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        return price.chosen(self, moved, adjacency)


class FullestBin(ChosenBin):
    """Chosen is the bin with most rows."""

    kind = "fullest"


class BinOfRank(ChosenBin):
    """Chosen is the bin that a quantile is in. labels: its level, in 2^-30 parts.

    With n rows, l of them in lower bins and m up to this one, the score is minus the distance of level n from [l, m].
    A row more moves l - level n and m - level n by 1 - level or by -level.
    """

    kind = "rank"

    @property
    def swing(self) -> Fraction:
        (part,) = self.labels
        return Fraction(max(part, PARTS - part), PARTS)

    def scores(self, counts: Reals) -> Reals:
        (part,) = self.labels
        rows = np.asarray(counts)
        # In whole parts of a rank. Python's whole numbers where those of 64 bits might not suffice.
        rows = rows.astype(
            np.int64 if float(rows.sum(axis=1, dtype=float).max(initial=0)) < 2**32 else object
        )
        upto = np.cumsum(rows, axis=1)
        target = part * upto[:, -1:]
        away = np.maximum(np.maximum((upto - rows) * PARTS - target, target - upto * PARTS), 0)
        # Ranks further away than 2^23 count as that far: no row moves them further, and doubles hold them exactly.
        return np.asarray(-np.minimum(away, 2**53).astype(float) / PARTS)


class NoisyQuantile(BinCounts):
    """The same counts, of which none leaves, but a quantile of each group, in half bins from the middle of the first.

    labels: its level, in 2^-30 parts, and what else is needed. The noise is for how far a unit can move the quantile of
    these very counts, or of counts like them: docs/proofs/adaptive-quantiles.md.
    """

    whole = False
    adds_up = False

    @property
    def level(self) -> float:
        return float(self.labels[0] / PARTS)

    @property
    def granularity(self) -> Fraction:
        assert self.bins is not None
        return Fraction(self.bins.width) / 2

    def in_units(self, halves: Reals) -> Reals:
        """Half bins as numbers of the column."""
        assert self.bins is not None
        return np.asarray(self.bins.middles[0] + halves * float(self.granularity))


class SmoothQuantile(NoisyQuantile):
    """With noise in proportion to its smooth sensitivity."""

    kind = "smooth_quantile"

    def noise(self, price: Price, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        return price.smooth(self, moved, adjacency)


class ProposedQuantile(NoisyQuantile):
    """With noise for a proposed local sensitivity, if the data bear it. labels: the level, and so many half bins."""

    kind = "proposed_quantile"

    @property
    def proposed(self) -> int:
        return int(self.labels[1])

    def noise(self, price: Price, moved: Sensitivity, adjacency: Adjacency, levels: int) -> Noise:
        return price.proposed(self, moved, adjacency)


KINDS: Mapping[str, type[Measure]] = {
    made.kind: made
    for made in (
        *(RowCount, UnitCount, ValueSum, ProductSum, BinCounts, FullestBin, BinOfRank),
        *(SmoothQuantile, ProposedQuantile),
    )
}
"""By the words for them in records."""


def read_measure(record: Mapping[str, JSON]) -> Measure:
    """The measure whose `record` this is."""
    if record["kind"] not in KINDS:
        raise unknown("a measure", record["kind"], LedgerError)
    return KINDS[record["kind"]].from_record(record)


def count(*given: str) -> Measure:
    """The rows that have a value of these expressions; all rows when there are none."""
    return RowCount(given=tuple(sorted(set(given))))


def units() -> Measure:
    """The distinct units."""
    return UnitCount()


def centred_sum(value: Value, *others: Value) -> Measure:
    """The sum of a value over rows that also have the others, from the middle of its bounds: means are made of
    it."""
    return ValueSum((value,), needed(value, *others), value.centre)


def total(value: Value) -> Measure:
    """The sum of a value, counted from zero."""
    return ValueSum((value,), needed(value), 0)


def product(a: Value, b: Value, *others: Value) -> Measure:
    """The sum of products of two values from their centres, over rows that also have the others."""
    return ProductSum((a, b), needed(a, b, *others))


def binned(bins: Bins) -> Measure:
    """The rows in each bin."""
    return BinCounts(given=(bins.text,) if bins.nullable else (), bins=bins)


def fullest(bins: Bins, labels: tuple[Any, ...]) -> Measure:
    """The bin with most rows."""
    return FullestBin(given=(bins.text,) if bins.nullable else (), bins=bins, labels=labels)


def bin_of_rank(bins: Bins, level: float) -> Measure:
    """The bin of a quantile; the level is taken to the nearest 2^-30."""
    return BinOfRank(given=(bins.text,) if bins.nullable else (), bins=bins, labels=(_parts(level),))


def smooth_quantile(bins: Bins, level: float) -> Measure:
    """A quantile with noise in proportion to its smooth sensitivity."""
    return SmoothQuantile(given=(bins.text,) if bins.nullable else (), bins=bins, labels=(_parts(level),))


def proposed_quantile(bins: Bins, level: float, sensitivity: float) -> Measure:
    """A quantile with noise for a proposed sensitivity, which is rounded down to half bins, of which it is one at
    least."""
    halves = min(max(math.floor(Fraction(sensitivity) * 2 / Fraction(bins.width)), 1), 2 * bins.size)
    given = (bins.text,) if bins.nullable else ()
    return ProposedQuantile(given=given, bins=bins, labels=(_parts(level), halves))


def _parts(level: float) -> int:
    return min(max(round(level * PARTS), 1), PARTS - 1)


def needed(*values: Value) -> tuple[str, ...]:
    """What can be missing among the values, each once, in a fixed order: equal questions make equal
    measures."""
    return tuple(sorted({value.text for value in values if value.nullable}))
