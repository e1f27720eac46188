"""Values on an integer grid, computed inside the engine, to the same integers in every engine.

A value x is clamped to its bounds and becomes the integer

    u(x) = ((x + m) - m) * c - centre,    m = 3/2 * 2^52 * g,    c = 1/g,

with g, the granularity, a power of two, and `centre` the integer nearest to the middle of the bounds in units
of g. Doubles near m are g apart: x + m is the nearest multiple of g, halves to the even one, which is neither up
nor down on average; the rest is exact. The engines all add as IEEE 754 says, so the integers agree to the last
one. Rounding is monotone, so u(x) lies within u(lower) and u(upper) for every x within the bounds: that, and
nothing else, is what sensitivities rest on. The product comes last because PostgreSQL fails on one that
underflows, and (x + m) - m is 0 or at least g.

How fine. What is lost is at most g/2 a row, and intervals allow for it: of a mean g/2, of a sum g/2 for each of
2^36 rows. Sums alone have 2^48 steps between their bounds: 2^36 rows then lose 2^-13 of the bounds' width, little
beside the noise. Values that are also multiplied have 2^30, so that products fit 64 bits. Columns of whole numbers
with no more values than that within their bounds stay exact: u(x) = x / g - centre in integers, with g = 1 or 1/2
(so that the centre is exactly in the middle).

One CASE clamps, keeps null, turns NaN into null (or into the imputed constant).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import ibis

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.facts.forms import FRACTION, NULLS, NUMBER, PLAIN, Form, Recorded
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.schema import Nulls, imputed_number
from dalenius.tables.rows.terms import Term, double, integer, null

STEPS = 30
"""Bounds are divided into 2^29 to 2^30 steps unless asked otherwise: products of two values fit 64 bits with a
sign."""

SUM_STEPS = 48
"""For sums, whose values are not multiplied."""

FARTHEST = 50
"""Bounds are within 2^50 steps of zero, so that the centre and the halves beside it are exact doubles."""

LARGEST_POWER = 400
"""Bounds are at most 2^400, and steps at least 2^-400: no operation comes near the ends of doubles."""


@dataclass(frozen=True)
class Value(Recorded):
    """A column or expression on its grid.

    text: the canonical expression; kind: integer or number (conditions count as integers, 0 and 1).
    lower, upper: the bounds; granularity: one step; centre: the step that is counted as zero.
    nulls: what becomes of missing values; nullable: whether a row can lack the value after that.
    """

    text: str
    kind: Kind
    lower: float
    upper: float
    granularity: Fraction
    centre: int
    nulls: Nulls
    nullable: bool

    words: ClassVar[Mapping[str, Form]] = {
        "expression": PLAIN.of("text"),
        "type": PLAIN.of("kind"),
        "lower": NUMBER,
        "upper": NUMBER,
        "step": FRACTION.of("granularity"),
        "centre": PLAIN,
        "nulls": NULLS,
        "missing": PLAIN.of("nullable"),
    }

    @property
    def low(self) -> int:
        """The least integer a row can have."""
        return self.unit(self.lower)

    @property
    def high(self) -> int:
        """The greatest integer a row can have."""
        return self.unit(self.upper)

    def unit(self, x: float) -> int:
        """The integer of one value, as the engines compute it."""
        x = min(max(x, self.lower), self.upper)
        if self.exact:
            return round(Fraction(x) / self.granularity) - self.centre
        magic, scale = self._constants
        return int(((x + magic) - magic) * scale) - self.centre

    def value(self, unit: Fraction | int) -> Fraction:
        """The value of an integer counted from the centre."""
        return (unit + self.centre) * self.granularity

    @property
    def exact(self) -> bool:
        """Whether the whole numbers of the column are on the grid: then everything is done in integers."""
        return self.kind == "integer" and self.granularity <= 1

    @property
    def binary(self) -> bool:
        """Whether a row has one of two values, a step on either side of the centre."""
        return self.exact and self.low == -1 and self.high == 1 and self.granularity == Fraction(1, 2)

    @property
    def _constants(self) -> tuple[float, float]:
        return float(3 * 2**51 * self.granularity), float(1 / self.granularity)

    def expression(self, term: Term) -> Any:
        """The integer of every row, as an Ibis expression."""
        return self._integers(term) if self.exact else self._doubles(term)

    def _integers(self, term: Term) -> Any:
        x = term.value.cast("int64")
        scale = int(1 / self.granularity)
        below, above = math.ceil(self.lower) - 1, math.floor(self.upper)
        inside = x if scale == 1 else x * scale
        inside = inside - self.centre if self.centre else inside
        return ibis.cases(
            (x <= below, integer(self.low)),
            (x <= above, inside),
            (x > above, integer(self.high)),
            else_=self._missing_unit(),
        )

    def _doubles(self, term: Term) -> Any:
        magic, scale = self._constants
        clamped = clamp(term, self.lower, self.upper, self._missing())
        nearest = ((clamped + double(magic)) - double(magic)) * double(scale)
        return nearest.cast("int64") - integer(self.centre)

    def _missing(self) -> float | None:
        """What a missing value is read as; None leaves it missing."""
        imputed = imputed_number(self.nulls, self.text)
        if imputed is not None:
            return min(max(imputed, self.lower), self.upper)
        return self.lower if self.nulls == "never" else None

    def _missing_unit(self) -> Any:
        missing = self._missing()
        return null("int64") if missing is None else integer(self.unit(missing))


def clamp(term: Term, lower: float, upper: float, missing: float | None) -> Any:
    """The term in double precision, clamped; null becomes `missing` (None: null)."""
    x = term.value.cast("float64")
    low, high = double(lower), double(upper)
    otherwise = null("float64") if missing is None else double(missing)
    return ibis.cases((x <= low, low), (x <= high, x), (x > high, high), else_=otherwise)


def make_value(
    term: Term,
    text: str,
    bounds: tuple[float, float],
    nulls: Nulls,
    granularity: float | Fraction | None = None,
    *,
    halves: bool = False,
) -> Value:
    """A Value with its grid chosen from the bounds alone.

    halves: for values counted from their centre and multiplied; an integer column gets g = 1/2 and a true
    centre. Without: for sums alone, on a finer grid.
    """
    lower, upper = bounds
    if term.kind not in ("integer", "number"):
        raise QueryRefused(f"{text!r} is of type {term.kind}; numbers are needed here.")
    kind: Kind = term.kind
    step = _default(kind, lower, upper, halves) if granularity is None else power_of_two(granularity, text)
    width = Fraction(upper) - Fraction(lower)
    if max(abs(lower), abs(upper)) > 2.0**LARGEST_POWER or step < Fraction(2) ** -LARGEST_POWER:
        raise InvalidParameter(
            f"the bounds of {text!r} are beyond what doubles hold well; rescale the column."
        )
    most = STEPS if halves else SUM_STEPS
    if width / step > 2**most:
        raise InvalidParameter(
            f"the bounds of {text!r} hold {float(width / step):.3g} steps of {float(step):g}; at most "
            f"2^{most} are allowed."
        )
    if max(abs(lower), abs(upper)) / step > 2**FARTHEST:
        raise InvalidParameter(
            f"the bounds of {text!r} are more than 2^{FARTHEST} steps of {float(step):g} from zero; use a larger "
            "step or subtract a constant from the column."
        )
    imputed_number(nulls, text)
    centre = math.floor((Fraction(lower) + Fraction(upper)) / 2 / step + Fraction(1, 2))
    return Value(text, kind, lower, upper, step, centre, nulls, nulls == "drop" and term.nullable)


def _default(kind: Kind, lower: float, upper: float, halves: bool) -> Fraction:
    width = upper - lower
    steps = STEPS if halves else SUM_STEPS
    if kind == "integer" and width <= 2 ** (steps - halves):
        return Fraction(1, 2) if halves else Fraction(1)
    power = math.frexp(width)[1] - steps
    return Fraction(2) ** max(power, math.frexp(max(abs(lower), abs(upper)))[1] - FARTHEST)


def power_of_two(granularity: float | Fraction, text: str) -> Fraction:
    try:
        step = Fraction(granularity)
    except (TypeError, ValueError, OverflowError):
        step = Fraction(0)
    whole = max(step.numerator, step.denominator)
    if step <= 0 or min(step.numerator, step.denominator) != 1 or whole & (whole - 1):
        raise InvalidParameter(
            f"the granularity for {text!r} is {granularity!r}; it must be a power of two, like 0.25 or 1024: only "
            "those divide without rounding."
        )
    return step
