"""Numbers and tables for people: bounds are rounded outwards, and plain text goes where no terminal is."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 7
"""Significant digits of a bound on screen."""


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """An upper bound, at least as large as `value` in the digits shown."""
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A lower bound, at most as large as `value` in the digits shown."""
    return _rounded(value, digits, ROUND_FLOOR)


def exact(value: float) -> str:
    """A number as it was given: the shortest text that reads back as the same number."""
    return _written(Decimal(repr(float(value))).normalize())


def _rounded(value: float, digits: int, rounding: str) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # Decimal(float) is exact, so the one rounding here goes the way it is told.
    full = Decimal(value)
    short = Context(prec=digits, rounding=rounding).plus(full)
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


def plain_number(value: float) -> float | str:
    """JSON has no infinity: the text "inf" stands for it."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def is_terminal() -> bool:
    """Whether a person is looking: only then colours and frames are drawn."""
    return sys.stdout.isatty()


def say(text: str = "") -> None:
    """One paragraph, as it is."""
    print(text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: framed on a terminal, else columns separated by two spaces."""
    if is_terminal():
        _framed(header, rows)
        return
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _framed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    frame = Table(header_style="bold")
    for title in header:
        frame.add_column(title)
    for row in rows:
        # Text, not str: rich would read square brackets in it as its own markup.
        frame.add_row(*(Text(cell) for cell in row))
    Console().print(frame)
