"""Values that exist for every row: arithmetic that cannot fail in any engine.

DuckDB answers a double that is too large with infinity, PostgreSQL with an error, and with another error when a
product is too small; integers and decimals that overflow are errors almost everywhere. So arithmetic is done in
double precision on tame operands: a column of unknown magnitude is clamped to 2^reach, and flushed to zero
below 2^-reach, where it enters arithmetic, and every Term carries two powers of two between which the magnitude
of its values lies when it is neither null nor zero. `reach` is 2^500 for an expression that multiplies two
columns, less for one that multiplies more; an expression that could leave the range of doubles for every reach
is refused. NaN is read as null where a column is read, and cannot arise afterwards. The operations themselves
(+, -, *, /, sqrt, comparisons) are correctly rounded IEEE 754 in all engines, hence equal in all of them.

No operand relies on a condition elsewhere in the statement, nor on the order in which an engine evaluates: what would
make an operation fail (a zero below a fraction, a negative under a root, a double too large for an integer) is taken
out of its argument itself. Operations on constants are carried out here, so that no engine ever folds one.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ibis

from dalenius.errors import QueryRefused
from dalenius.tables.facts.kinds import NUMERIC, Kind

REACHES = (500, 250, 125, 60)
"""Columns are tame when their magnitudes are within 2^-reach and 2^reach; the first that does is used."""

FAR = 1000
"""No operation may yield a magnitude outside 2^-1000 .. 2^1000."""

LONGEST = 4000
"""Mentions of columns in what an expression becomes."""

UNBOUNDED = 1025
"""The `top` of what may be infinite."""

MANTISSA = 53
INT64 = 63
WHOLE = 62
"""Doubles become integers only when they are within 2^62."""


class TooFar(Exception):
    """With columns of this reach an operation could leave the range of doubles."""


@dataclass(frozen=True)
class Term:
    """An expression over the rows of a table.

    value: the Ibis expression. NaN has become null.
    kind: what it yields; nullable: whether null is possible other than by a broken promise (`nulls="never"`).
    undeclared: columns it reads that can be missing and have no policy.
    top, bottom: |value| is 0 or within 2^bottom and 2^top. whole: always an integer.
    loose: a number as it was read, or a choice among such: clamped to the reach before it enters arithmetic.
    constant: the Python value, for a literal. size: how many columns it mentions.
    """

    value: Any
    kind: Kind | None
    nullable: bool = False
    undeclared: frozenset[str] = frozenset()
    top: int = UNBOUNDED
    bottom: int = -1074
    whole: bool = False
    loose: bool = False
    constant: Any = None
    size: int = 1

    def __post_init__(self) -> None:
        if self.size > LONGEST:
            raise QueryRefused("it is too long once its columns are written out; shorten it.")

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC


def double(x: float) -> Any:
    """A constant in double precision. As text: a bare 0.1 is a decimal to the engines, rounded in their own
    ways."""
    return ibis.literal(repr(float(x))).cast("float64")


def integer(x: int) -> Any:
    """A constant of 64 bits. As text: a bare 5 is 32 bits wide to the engines, and its square may not fit."""
    return ibis.literal(str(int(x))).cast("int64")


def moment(at: datetime.datetime) -> Any:
    """A constant moment, in microseconds. As text: DuckDB would be given its seconds as a decimal number."""
    return ibis.literal(at.isoformat(sep=" ")).cast("timestamp(6)")


def null(dtype: str) -> Any:
    return ibis.null(dtype)


def literal(value: Any) -> Term:
    """A constant of the query."""
    if isinstance(value, bool):
        return Term(ibis.literal(value), "bool", constant=value)
    if isinstance(value, int) and -(2**INT64) <= value < 2**INT64:
        size = abs(value).bit_length()
        constant = ibis.literal(value, "int64")
        return Term(constant, "integer", top=size, bottom=max(size - 1, 0), whole=True, constant=value)
    if isinstance(value, int | float):
        if not abs(value) < 2.0**FAR:
            raise QueryRefused("a number in the expression is beyond 2^1000; use a smaller one.")
        x, power = float(value), math.frexp(value)[1]
        return Term(double(x), "number", top=power, bottom=power - 1, whole=x.is_integer(), constant=x)
    return Term(ibis.literal(value), "text", constant=value)


def number(term: Term) -> Term:
    """The same value in double precision."""
    if term.kind == "integer":
        if term.constant is not None:
            return literal(float(term.constant))
        return replace(term, value=term.value.cast("float64"), kind="number")
    return term


def tame(term: Term, reach: int) -> Term:
    """A number that can enter arithmetic: what is loose is clamped to 2^reach, and flushed to zero below
    2^-reach."""
    term = number(term)
    loose = term.loose or term.top > FAR
    if not loose or (term.top <= reach and term.bottom >= -reach):
        return term

    x = term.value
    large, small = 2.0**reach, 2.0**-reach
    steps = [
        (x <= double(-large), double(-large)),
        (x <= double(-small), x),
        (x < double(small), double(0.0)),
        (x <= double(large), x),
        (x > double(large), double(large)),
    ]
    value = ibis.cases(*steps)
    return replace(term, value=value, loose=False, top=reach, bottom=-reach, size=len(steps) * term.size)


def _constants(*terms: Term) -> bool:
    return all(isinstance(t.constant, int | float) and t.kind != "bool" for t in terms)


def add(a: Term, b: Term, reach: int, sign: int = 1) -> Term:
    if _constants(a, b):
        return literal(float(a.constant) + sign * float(b.constant))
    a, b = tame(a, reach), tame(b, reach)
    whole = a.whole and b.whole
    bottom = 0 if whole else max(min(a.bottom, b.bottom) - MANTISSA, -1074)
    value = a.value + b.value if sign > 0 else a.value - b.value
    return _joined(a, b, value, top=max(a.top, b.top) + 1, bottom=bottom, whole=whole, bottomless=True)


def multiply(a: Term, b: Term, reach: int) -> Term:
    if _constants(a, b):
        return literal(float(a.constant) * float(b.constant))
    a, b = tame(a, reach), tame(b, reach)
    whole = a.whole and b.whole
    bottom = 0 if whole else a.bottom + b.bottom
    return _joined(a, b, a.value * b.value, top=a.top + b.top, bottom=bottom, whole=whole)


def divide(a: Term, b: Term, reach: int) -> Term:
    """a / b in double precision, null where b is zero."""
    if b.constant == 0:
        raise QueryRefused("it divides by zero.")
    if _constants(a, b):
        return literal(float(a.constant) / float(b.constant))
    a, b = tame(a, reach), tame(b, reach)
    below = b.value if b.constant is not None else b.value.nullif(double(0.0))
    quotient = _joined(a, b, a.value / below, top=a.top - b.bottom, bottom=a.bottom - b.top)
    return quotient if b.constant is not None else replace(quotient, nullable=True)


def negate(a: Term, reach: int) -> Term:
    if a.constant is not None:
        return literal(-a.constant)
    return add(literal(0.0), a, reach, sign=-1)


def magnitude(a: Term, reach: int) -> Term:
    if a.constant is not None:
        return literal(abs(float(a.constant)))
    a = tame(a, reach)
    return replace(a, value=a.value.abs())


def root(a: Term, reach: int) -> Term:
    """The square root, null for what is negative."""
    if a.constant is not None:
        if a.constant < 0:
            raise QueryRefused("it takes the root of a negative number.")
        return literal(math.sqrt(a.constant))
    a = tame(a, reach)
    value = ibis.cases((a.value >= double(0.0), a.value)).sqrt()
    return Term(value, "number", True, a.undeclared, a.top // 2 + 1, a.bottom // 2 - 1, size=2 * a.size)


def rounded(a: Term, up: bool) -> Term:
    """floor or ceil, as an integer; magnitudes beyond 2^62 are clamped."""
    if a.kind == "integer":
        return a
    if a.constant is not None:
        nearest = math.ceil(a.constant) if up else math.floor(a.constant)
        return literal(min(max(nearest, -(2**WHOLE)), 2**WHOLE))
    size = a.size
    if a.top > WHOLE:
        x, end = a.value, 2.0**WHOLE
        steps = [(x <= double(-end), double(-end)), (x <= double(end), x), (x > double(end), double(end))]
        a, size = replace(a, value=ibis.cases(*steps)), len(steps) * size
    value = a.value.ceil() if up else a.value.floor()
    return Term(value.cast("int64"), "integer", a.nullable, a.undeclared, INT64, 0, whole=True, size=size)


def remainder(a: Term, b: Term) -> Term:
    if a.kind != "integer" or not isinstance(b.constant, int) or b.constant <= 0:
        raise QueryRefused(
            "% needs a whole-number column on its left and a positive whole number on its right."
        )
    if a.constant is not None:
        raise QueryRefused("% of two constants; write the result.")
    top = b.constant.bit_length()
    return replace(a, value=a.value % b.value, top=top, bottom=0, whole=True)


def balanced(values: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """Values combined in pairs: a tree, not a chain thousands deep, which engines refuse."""
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def alike(terms: list[Term], what: str) -> list[Term]:
    """The terms brought to one kind, or QueryRefused. A null literal takes any kind."""
    kinds = {t.kind for t in terms if t.kind is not None}
    if len(kinds) > 1 and kinds <= set(NUMERIC):
        return [t if t.kind is None else number(t) for t in terms]
    if len(kinds) > 1:
        dated = kinds & {"date", "timestamp"} and kinds & {"integer", "number"}
        hint = ": a date is written DATE '2024-12-31'" if dated else ""
        raise QueryRefused(f"{what} mixes {' and '.join(sorted(str(k) for k in kinds))}; use one type{hint}.")
    return terms


def merged(terms: list[Term], value: Any, *, nullable: bool) -> Term:
    """A term that is one of several, row by row."""
    known = [t for t in terms if t.kind is not None]
    return Term(
        value,
        known[0].kind if known else None,
        nullable,
        frozenset().union(*(t.undeclared for t in terms)),
        max((t.top for t in known), default=0),
        min((t.bottom for t in known), default=0),
        all(t.whole for t in known),
        loose=any(t.loose for t in known),
        size=sum(t.size for t in terms),
    )


def truth(value: Any, *terms: Term) -> Term:
    """A condition on some terms."""
    return Term(
        value,
        "bool",
        any(t.nullable for t in terms),
        frozenset().union(*(t.undeclared for t in terms)),
        size=sum(t.size for t in terms),
    )


def _joined(
    a: Term, b: Term, value: Any, *, top: int, bottom: int, whole: bool = False, bottomless: bool = False
) -> Term:
    # A difference may be arbitrarily small without harm; a product or quotient that underflows is an error somewhere.
    if top > FAR or (bottom < -FAR and not bottomless):
        raise TooFar
    undeclared = a.undeclared | b.undeclared
    return Term(
        value, "number", a.nullable or b.nullable, undeclared, top, bottom, whole, size=a.size + b.size
    )
