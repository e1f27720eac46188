"""Bounds as text: the digits shown are rounded the way the bound goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 7
"""Significant digits of a bound on screen."""


def rounded_up(value: float | Decimal, digits: int = DIGITS) -> str:
    """An upper bound, at least as large as `value` in the digits shown."""
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A lower bound, at most as large as `value` in the digits shown."""
    return _rounded(value, digits, ROUND_FLOOR)


def exact(value: float) -> str:
    """A number as it was given: the shortest text that reads back as the same number."""
    return _written(Decimal(repr(float(value))).normalize())


def told_apart(values: Sequence[float]) -> list[str]:
    """Numbers by which things are called: in six digits, or with all of theirs where six do not tell them apart.

    >>> told_apart([0.25, 1 / 3]), told_apart([0.1234567, 0.1234568])
    (['0.25', '0.333333'], ['0.1234567', '0.1234568'])
    """
    short = [f"{value:g}" for value in values]
    return short if len(set(short)) == len(short) else [repr(float(value)) for value in values]


def _rounded(value: float | Decimal, digits: int, rounding: str) -> str:
    if value in (math.inf, -math.inf):
        return "inf" if value > 0 else "-inf"
    # Decimal(float) is exact, so the one rounding here goes the way it is told.
    full = Decimal(value)
    short = Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(full)
    # Trailing zeros stay when digits were cut: they say how far the number is known.
    return _written(short.normalize() if short == full else short)


def _written(number: Decimal) -> str:
    if number == 0:
        return "0"
    if -4 <= number.adjusted() < 15:
        return f"{number:f}"
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits))
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{number.adjusted()}"
