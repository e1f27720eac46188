"""Sums of whole-number functions of a row, computed where the data is: what steps of an iterative fit are made of.

    totals(source, query, unit, wanted)

`query` only sums; what it sums, on grids and within bounds, are the columns a function is made of. Rows are filtered
and bounded by unit as for any answer, and a row that lacks one of the values is left out. `wanted` gets an Ibis table
of these values as doubles, v0, v1, ... in the order asked, and says what is to be summed: a `Total` is an integer a
row, of at most so many bits, in expressions of the operations that are listed as total.

WHY A SENSITIVITY HOLDS. What a row adds must be within bounds whatever the engine's arithmetic does: engines round
sums of doubles alike, but `exp` differs in its last bit from one to another. So doubles become integers by `nearest`
alone, which clamps before it rounds; integers are then multiplied and summed exactly (`Engine.sum`). The bound on a
row is that of the clamped integers, and owes nothing to how a double was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ibis

from dalenius.tables.ask.query import Query
from dalenius.tables.compute.exact import prepared
from dalenius.tables.compute.source import Source
from dalenius.tables.engines.failure import sealed
from dalenius.tables.facts.unit import Unit
from dalenius.tables.rows.terms import double

WHOLE = 51
"""`nearest` rounds within 2^51."""

BITS = 62
"""A row's integer is within 2^62."""

SUMS = 400
"""Sums in one statement: SQLite has room for 2000 columns, PostgreSQL for 1664."""

FARTHEST = 30.0
"""Beyond it the exponential is taken to be that of 30, or of -30: 1e13, where no grid tells scores apart."""


class Total(NamedTuple):
    """An int64 expression whose magnitude is below 2^bits in every row: products of what `nearest` returns."""

    value: Any
    bits: int


Wanted = Callable[[Any], tuple[Any, Sequence[Total]]]
"""From the rows to the rows with more columns, and what is to be summed of these."""


def totals(source: Source, query: Query, unit: Unit, wanted: Wanted) -> list[int]:
    """The exact sums, in the order wanted; private: they must go through a mechanism."""
    return sealed(lambda: _totals(source, query, unit, wanted))


def _totals(source: Source, query: Query, unit: Unit, wanted: Wanted) -> list[int]:
    engine, asked = source.engine, prepared(source, query, unit)
    rows, sums = wanted(asked.numbers)
    if any(total.bits > BITS for total in sums):
        raise OverflowError
    pieces = [[(part, 2**power) for part, power in engine.sum(total.value, total.bits)] for total in sums]
    found = [0] * len(sums)
    for some in _chunks(pieces):
        named = {f"s{n}_{k}": part for n in some for k, (part, _) in enumerate(pieces[n])}
        statement = rows.aggregate(**named)
        engine.check(statement, source.given)
        (row,) = source.fetch(statement).to_pylist()
        for n in some:
            for k, (_, factor) in enumerate(pieces[n]):
                found[n] += int(row[f"s{n}_{k}"]) * factor
    return found


def tally(source: Source, query: Query, unit: Unit, placed: Callable[[Any], Any]) -> dict[int, int]:
    """How many rows are in each place: `placed` gives the rows an int64 column `place`. Private, as sums are."""
    return sealed(lambda: _tally(source, query, unit, placed))


def _tally(source: Source, query: Query, unit: Unit, placed: Callable[[Any], Any]) -> dict[int, int]:
    rows = placed(prepared(source, query, unit).numbers)
    statement = rows.group_by("place").aggregate(rows=rows.count())
    source.engine.check(statement, source.given)
    return {int(row["place"]): int(row["rows"]) for row in source.fetch(statement).to_pylist()}


def _chunks(pieces: Sequence[Sequence[Any]]) -> Iterator[range]:
    """So many sums at a time that their pieces fit one statement."""
    start, size = 0, 0
    for n, parts in enumerate(pieces):
        if size + len(parts) > SUMS:
            yield range(start, n)
            start, size = n, 0
        size += len(parts)
    if size:
        yield range(start, len(pieces))


def nearest(x: Any, most: int) -> Any:
    """The integer nearest to a double, halves to the even one, within -most and most, as int64; null stays null."""
    if not 0 < most <= 2**WHOLE:
        raise OverflowError
    magic = double(3 * 2.0**WHOLE)
    clamped = clamped_to(x, float(most))
    return ((clamped + magic) - magic).cast("int64")


def clamped_to(x: Any, most: float) -> Any:
    """A double within -most and most."""
    low, high = double(-most), double(most)
    return ibis.cases((x <= low, low), (x <= high, x), (x > high, high))


def exponential(x: Any) -> Any:
    """exp of a double, within exp(-30) and exp(30)."""
    return clamped_to(x, FARTHEST).exp()
