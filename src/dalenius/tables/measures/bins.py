"""Bins of a value: which of a list of intervals it falls into, the same in every engine."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import ibis
import numpy as np

from dalenius.core.checks import count, number
from dalenius.errors import InvalidParameter
from dalenius.tables.facts.forms import NULLS, NUMBER, NUMBERS, PLAIN, Form, Recorded
from dalenius.tables.facts.schema import Nulls, imputed_number
from dalenius.tables.measures.gridding import LARGEST_POWER, clamp
from dalenius.tables.rows.terms import Term, balanced, double, integer, null

MOST = 2**20
MOST_EDGES = 256


@dataclass(frozen=True)
class Bins(Recorded):
    """Intervals [e0, e1), [e1, e2), ..., [e(n-1), en] of an expression; values beyond the ends go to the end
    bins.

    Either equal in width, lower + width * i in double precision, or with the edges listed. Each row is in one
    bin (in none when the value is missing), whichever way the arithmetic rounds.
    """

    text: str
    lower: float
    width: float
    size: int
    listed: tuple[float, ...] | None
    nulls: Nulls
    nullable: bool
    whole: bool

    words: ClassVar[Mapping[str, Form]] = {
        "expression": PLAIN.of("text"),
        "lower": NUMBER,
        "width": NUMBER,
        "size": PLAIN,
        "edges": NUMBERS.of("listed"),
        "nulls": NULLS,
        "missing": PLAIN.of("nullable"),
        "whole": PLAIN,
    }

    @property
    def edges(self) -> tuple[float, ...]:
        if self.listed is not None:
            return self.listed
        return tuple((self.lower + self.width * np.arange(self.size + 1)).tolist())

    @property
    def middles(self) -> tuple[float, ...]:
        """The middle of each bin; of the whole numbers in it when the values are whole."""
        edges, last = np.array(self.edges), 1.0 if self.whole else 0.0
        return tuple(((edges[:-1] + edges[1:] - last) / 2).tolist())

    def bin(self, x: float) -> int:
        """The bin of one value, as the engines compute it."""
        return min(max(bisect.bisect_right(self.edges, x) - 1, 0), self.size - 1)

    def expression(self, term: Term) -> Any:
        """The bin of every row, from 0, as an Ibis expression; null for a value that is missing."""
        return self._among(term) if self.listed is not None else self._uniform(term)

    def _among(self, term: Term) -> Any:
        """How many of the inner edges are at or below the value."""
        x = term.value.cast("float64")
        missing = self._missing()
        absent = null("int64") if missing is None else integer(self.bin(missing))
        passed = [(x >= double(edge)).cast("int32") for edge in self.edges[1:-1]]
        total = balanced(passed or [ibis.literal(0, "int32")], operator.add)
        return ibis.cases((x.isnull(), absent), else_=total.cast("int64"))

    def _uniform(self, term: Term) -> Any:
        missing = self._missing()
        x = clamp(term, self.lower, self._last, None if missing is None else min(missing, self._last))
        # One width is added first and one bin taken off after: nothing here is tiny, which PostgreSQL would refuse.
        shifted = x + double(self.width - self.lower)
        if self._exact:
            return self._clipped((shifted * double(1 / self.width)).floor().cast("int64") - 1)
        # A quotient may be off by one at an edge; comparing with the edges themselves, as `edges` has them, settles it.
        near = (shifted / double(self.width)).floor().cast("int64") - 1
        start = double(self.lower) + near.cast("float64") * double(self.width)
        end = double(self.lower) + (near + 1).cast("float64") * double(self.width)
        return self._clipped(ibis.cases((x < start, near - 1), (x >= end, near + 1), else_=near))

    def _clipped(self, index: Any) -> Any:
        """Within the bins, which `_last` proves it is already; null stays null, as it would not in LEAST."""
        last = self.size - 1
        return ibis.cases((index < 0, integer(0)), (index > last, integer(last)), else_=index)

    def _near(self, x: float) -> int:
        """The bin of a value within the edges as the engines find it, before the edges are looked at."""
        shifted = x + (self.width - self.lower)
        quotient = shifted * (1 / self.width) if self._exact else shifted / self.width
        return math.floor(quotient) - 1

    @cached_property
    def _last(self) -> float:
        """Where values in the last bin and beyond are put: within the last bin, or there is no telling bins apart.

        `_near` is made of rounded additions, multiplications and a floor, which are all monotone: between the lower
        end and here it stays between its values at the two, which are looked at before anything is charged. These are
        0 and size - 1, or, where the edges are compared after that, at most one off: then x is at the end of bin -1,
        or below the start of bin `size`, and comes back into range.
        """
        start, end = (self.lower + self.width * i for i in (self.size - 1, self.size))
        off = 0 if self._exact else 1
        for x in (start + (end - start) / 2, start):
            if x < end and -off <= self._near(self.lower) and self._near(x) <= self.size - 1 + off:
                return x
        raise InvalidParameter(
            f"{self.size} bins from {self.lower:g} to {end:g} are too narrow for doubles; ask for fewer."
        )

    @property
    def _exact(self) -> bool:
        """Whether the arithmetic is exact but for the last digit of the value: powers of two."""
        return math.frexp(self.width)[0] == 0.5 and (self.lower / self.width).is_integer()

    def _missing(self) -> float | None:
        edges = self.edges
        imputed = imputed_number(self.nulls, self.text)
        if imputed is not None:
            return min(max(imputed, edges[0]), edges[-1])
        return edges[0] if self.nulls == "never" else None


def equal_bins(term: Term, text: str, bounds: tuple[float, float], size: int, nulls: Nulls) -> Bins:
    """So many bins of the same width between the bounds."""
    (lower, upper), size = bounds, _size(size, 1)
    width = (upper - lower) / size
    if not _tellable(width) or lower + width == lower or upper - width == upper:
        raise InvalidParameter(
            f"{size} bins between {lower:g} and {upper:g} are too narrow for doubles; ask for fewer."
        )
    return _told_apart(Bins(text, lower, width, size, None, *_policy(term, text, nulls)))


def fine_bins(term: Term, text: str, bounds: tuple[float, float], most: int, nulls: Nulls) -> Bins:
    """At most `most` bins whose width is a power of two: what quantiles are read from.

    Whole numbers have a bin each if they fit.
    """
    (lower, upper), most = bounds, _size(most, 2)
    power = math.frexp((upper - lower) / most)[1] - 1
    width = 2.0 ** (max(power, 0) if term.kind == "integer" else power)
    while True:
        start = math.floor(Fraction(lower) / Fraction(width))
        end = Fraction(upper) / Fraction(width)
        size = (math.floor(end) + 1 if term.kind == "integer" else max(math.ceil(end), start + 1)) - start
        if size <= most:
            break
        width *= 2
    first = float(start * Fraction(width))
    if not _tellable(width) or abs(start) + size > 2**50:
        raise InvalidParameter(
            f"the bounds of {text!r} are too narrow for doubles; subtract a constant from the column."
        )
    return _told_apart(Bins(text, first, width, size, None, *_policy(term, text, nulls)))


def listed_bins(term: Term, text: str, edges: Iterable[float], nulls: Nulls) -> Bins:
    """Bins with the edges listed."""
    listed = tuple(number("an edge", edge) for edge in edges)
    if len(listed) < 2 or len(listed) > MOST_EDGES + 1:
        raise InvalidParameter(f"there are {len(listed)} edges; there must be 2 to {MOST_EDGES + 1}.")
    if any(a >= b for a, b in itertools.pairwise(listed)):
        raise InvalidParameter("the edges must increase.")
    return Bins(text, listed[0], 0.0, len(listed) - 1, listed, *_policy(term, text, nulls))


def _size(size: int, least: int) -> int:
    size = count("the number of bins", size, least)
    if size > MOST:
        raise InvalidParameter(f"{size} bins are asked for; at most {MOST} are allowed.")
    return size


def _tellable(width: float) -> bool:
    return 2.0**-LARGEST_POWER < width < 2.0**LARGEST_POWER


def _told_apart(bins: Bins) -> Bins:
    """The bins, if doubles tell them apart."""
    _ = bins._last
    return bins


def _policy(term: Term, text: str, nulls: Nulls) -> tuple[Nulls, bool, bool]:
    imputed_number(nulls, text)
    return nulls, nulls == "drop" and term.nullable, term.kind == "integer"
