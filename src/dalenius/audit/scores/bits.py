"""The lowest bits of floating-point outputs, where careless noise leaves the input behind (Mironov 2012).

The double nearest to x + noise is a multiple of a power of two that depends on x: near zero, a sum with x = 1
ends 53 bits below the point while noise alone goes on for longer. The size of an output and its last bit
together tell such grids apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.audit.rows import NUMBER, Ints, Reals, Rows
from dalenius.audit.scores.score import Lesson, Table

REACH = 64
PLACES = 2 * REACH + 1
DIGITS = 54


@dataclass(frozen=True)
class LastBit:
    """Exponents of the highest and of the lowest bit of a number, after an exact shift."""

    column: int
    shift: float

    size = PLACES * DIGITS + 1

    def __call__(self, rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, self.column], rows.codes[:, self.column]
        usable = (codes == NUMBER) & np.isfinite(numbers)
        shifted = np.where(usable, numbers, 0.0) - self.shift
        fraction, exponent = np.frexp(shifted)
        whole = np.abs(fraction * 2.0**53).astype(np.int64)
        lowest = whole & -whole
        digits = np.where(whole > 0, 53 - np.frexp(lowest.astype(np.float64))[1] + 1, 0)
        place = np.clip(exponent, -REACH, REACH) + REACH
        return np.where(usable, place * DIGITS + digits, self.size - 1).astype(np.int64)


def last_bits(lesson: Lesson, column: int) -> list[Table]:
    """The odds by first and last bit, of the output and of its difference to either input."""
    name = lesson.layout.name(column)
    shifts = {0.0: name}
    if lesson.centres is not None:
        for which, centre in zip(("first", "second"), lesson.centres, strict=True):
            shifts.setdefault(float(centre[column]), f"{name} minus the {which} input")
    scores = []
    for shift, text in shifts.items():
        cut = LastBit(column, shift)
        scores.append(Table.learn(f"the odds by the last bit of {text}", cut, cut.size, lesson))
    return scores


@dataclass(frozen=True)
class LastDigits:
    """The last eight binary digits of a whole number."""

    column: int

    size = 257

    def __call__(self, rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, self.column], rows.codes[:, self.column]
        usable = (codes == NUMBER) & (np.abs(numbers) < 2.0**53)
        digits = np.floor(np.where(usable, numbers, 0.0)).astype(np.int64) & 255
        return np.where(usable, digits, self.size - 1)


def last_digits(lesson: Lesson, column: int) -> Table:
    """The odds by the last digits of whole numbers: parity, and the like."""
    cut = LastDigits(column)
    name = f"the odds by the last 8 binary digits of {lesson.layout.name(column)}"
    return Table.learn(name, cut, cut.size, lesson)


def looks_continuous(values: Reals) -> bool:
    """Whether low-order bits are worth looking at: numbers that are neither whole nor few."""
    some = values[:1000]
    some = some[np.isfinite(some)]
    return some.size > 0 and bool((some != np.floor(some)).any())
