"""Exact numbers: whole grains, rounded once and on the safe side, and floats read as a person wrote them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dalenius.errors import InvalidParameter

PLACES = 30
GRAINS = 10**PLACES
"""Costs are whole numbers of 1e-30: fine enough that rounding up never shows, coarse enough to write down."""


def rounded_up(value: Fraction) -> Fraction:
    """The next whole number of grains."""
    return Fraction(-((-value * GRAINS).__floor__()), GRAINS)


def rounded_down(value: Fraction) -> Fraction:
    """The whole number of grains below."""
    return Fraction((value * GRAINS).__floor__(), GRAINS)


def declared(value: float) -> Fraction:
    """A number as a person wrote it: 0.1 is one tenth, not the nearest double.

    Ten releases of 0.05 fit a budget of 0.5 because both are read like this.

    >>> declared(0.1) * 10
    Fraction(1, 1)
    """
    return Fraction(repr(float(value)))


def declared_at_most(value: Fraction) -> float:
    """The largest float that, read as it is written, does not exceed the value."""
    return _nearest(_near(value), lambda x: declared(x) <= value, -math.inf)


def declared_at_least(value: Fraction) -> float:
    """The smallest float that, read as it is written, is not below the value."""
    return _nearest(_near(value), lambda x: declared(x) >= value, math.inf)


def exactly_at_most(value: Fraction) -> float:
    """The largest float whose exact value does not exceed the value."""
    return _nearest(_near(value), lambda x: Fraction(x) <= value, -math.inf)


def root_at_most(square: Fraction) -> float:
    """The largest float near the root whose own square, exactly, does not exceed the square given."""
    return _nearest(math.sqrt(square), lambda x: Fraction(x) ** 2 <= square, 0.0)


def declared_root_at_most(square: Fraction) -> float:
    """The same, of the float as it is written."""
    return _nearest(math.sqrt(square), lambda x: declared(x) ** 2 <= square, 0.0)


def declared_root_at_least(square: Fraction) -> float:
    """The smallest float near the root whose square, as it is written, is not below the square given."""
    return _nearest(math.sqrt(square), lambda x: declared(x) ** 2 >= square, math.inf)


def decimal(value: Fraction) -> str:
    """A whole number of grains, written exactly.

    >>> decimal(Fraction(3, 20))
    '0.15'
    """
    grains = value * GRAINS
    if grains.denominator != 1:
        raise InvalidParameter(f"{value} is not a whole number of 1e-{PLACES}.")
    whole, part = divmod(grains.numerator, GRAINS)
    return f"{whole}.{part:0{PLACES}d}".rstrip("0").rstrip(".")


def shown(number: Decimal, digits: int, up: bool) -> str:
    """A number for people, rounded up or down at so many digits; no rounding where none is needed.

    >>> shown(Decimal("0.1234567"), 3, up=True), shown(Decimal("5e-7"), 3, up=False)
    ('0.124', '5e-7')
    """
    number = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(number).normalize()
    return f"{number:f}" if not number or number.adjusted() > -5 else f"{number:e}"


def from_decimal(text: object) -> Fraction:
    """The number that `decimal` wrote; another spelling is refused, so that one number has one text."""
    if isinstance(text, str) and len(text) < 400 and text.replace(".", "", 1).isdecimal() and text.isascii():
        value = Fraction(text)
        if (value * GRAINS).denominator == 1 and decimal(value) == text:
            return value
    raise InvalidParameter("an amount must be written as an exact decimal number, such as 0.05.")


def _nearest(start: float, holds: Callable[[float], bool], towards: float) -> float:
    """The first float from the start that has the property."""
    while not holds(start):
        start = math.nextafter(start, towards)
    return start


def _near(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameter("the amount is too large; check the units.") from None
