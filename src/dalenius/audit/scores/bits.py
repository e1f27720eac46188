"""The lowest bits of floating-point outputs, where careless noise leaves the input behind (Mironov 2012).

The double nearest to x + noise is a multiple of a power of two that depends on x: near zero, a sum with x = 1
ends 53 bits below the point while noise alone goes on for longer. The size of an output and its last bit
together tell such grids apart.
"""

from __future__ import annotations

import numpy as np

from dalenius.audit.rows import NUMBER, Rows
from dalenius.audit.scores.score import Cells, Lesson, Score, odds
from dalenius.core.arrays import Ints, Reals

REACH = 64
DIGITS = 54
LAST_BITS = (2 * REACH + 1) * DIGITS + 1
LAST_DIGITS = 257


def last_bits(lesson: Lesson, column: int) -> list[Score]:
    """The odds by first and last bit, of the output and of its difference to either input."""
    name = lesson.layout.name(column)
    shifts = {0.0: name}
    if lesson.centres is not None:
        for which, centre in zip(("first", "second"), lesson.centres, strict=True):
            shifts.setdefault(float(centre[column]), f"{name} minus the {which} input")
    return [
        odds(f"the odds by the last bit of {text}", last_bit(column, shift), LAST_BITS, lesson)
        for shift, text in shifts.items()
    ]


def last_bit(column: int, shift: float) -> Cells:
    """Exponents of the highest and of the lowest bit of a number, after an exact shift."""

    def cell(rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, column], rows.codes[:, column]
        usable = (codes == NUMBER) & np.isfinite(numbers)
        fraction, exponent = np.frexp(np.where(usable, numbers, 0.0) - shift)
        whole = np.abs(fraction * 2.0**53).astype(np.int64)
        lowest = whole & -whole
        digits = np.where(whole > 0, 53 - np.frexp(lowest.astype(np.float64))[1] + 1, 0)
        place = np.clip(exponent, -REACH, REACH) + REACH
        return np.where(usable, place * DIGITS + digits, LAST_BITS - 1).astype(np.int64)

    return cell


def last_digits(lesson: Lesson, column: int) -> Score:
    """The odds by the last eight binary digits of whole numbers: parity, and the like."""

    def cell(rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, column], rows.codes[:, column]
        usable = (codes == NUMBER) & (np.abs(numbers) < 2.0**53)
        digits = np.floor(np.where(usable, numbers, 0.0)).astype(np.int64) & 255
        return np.where(usable, digits, LAST_DIGITS - 1)

    name = f"the odds by the last 8 binary digits of {lesson.layout.name(column)}"
    return odds(name, cell, LAST_DIGITS, lesson)


def looks_continuous(values: Reals) -> bool:
    """Whether low-order bits are worth looking at: numbers that are neither whole nor few."""
    some = values[:1000]
    some = some[np.isfinite(some)]
    return some.size > 0 and bool((some != np.floor(some)).any())
