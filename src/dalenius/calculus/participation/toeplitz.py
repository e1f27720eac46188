"""Lower triangular Toeplitz strategies: one column, moved down step by step. Whole numbers throughout."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.linalg import toeplitz

from dalenius.calculus.participation.dense import dense_squares
from dalenius.calculus.participation.schedule import Schedule, Squares

WRITTEN_OUT = 512
"""Steps at most for which a matrix with negative or rising entries is written out."""


@lru_cache(maxsize=16)
def toeplitz_squares(coefficients: tuple[float, ...], schedule: Schedule) -> Squares:
    """The entries of the first column, taken exactly; what is not listed is 0.

    For steps i <= j the entry of C'C is the sum over s < n - j of c_s c_(s + j - i). With c_0 >= c_1 >= ... >= 0 it
    grows when j falls and when j - i falls, so that the pattern 0, b, 2b, ... has the largest sum (Kalinin and
    Lampert 2024, Theorem 2). The same pattern is the worst one if columns b apart do not meet (b or fewer
    coefficients, of any sign), and for c >= 0 among patterns with distances that are multiples of b, if there may be
    as many as fit. Else the least decreasing sequence above |c| bounds it.
    """
    entries, unit = whole(coefficients[: schedule.steps])
    attained = _length(entries, schedule)
    alone = squared(entries)
    all_multiples = schedule.multiples and schedule.every
    exact = (
        schedule.longest == 1
        or len(entries) <= schedule.separation
        or (min(entries) >= 0 and (all_multiples or all(a >= b for a, b in pairwise(entries))))
    )
    if exact:
        return Squares(attained * unit**2, attained * unit**2)
    bounds = Squares(max(attained, alone) * unit**2, _length(_falling(entries), schedule) * unit**2)
    if schedule.steps > WRITTEN_OUT:
        return bounds
    column = np.zeros(schedule.steps)
    column[: len(entries)] = coefficients[: schedule.steps]
    dense = dense_squares(np.asarray(toeplitz(column, np.zeros(schedule.steps))), schedule)
    return Squares(max(bounds.lower, dense.lower), min(bounds.upper, dense.upper))


def whole(coefficients: Sequence[float]) -> tuple[list[int], Fraction]:
    """Multiples of a common power of two, and that."""
    exact = [c.as_integer_ratio() for c in coefficients]
    shared = max(below for _, below in exact)
    return [above * (shared // below) for above, below in exact], Fraction(1, shared)


def squared(entries: list[int]) -> int:
    """The squared length."""
    return sum(c * c for c in entries)


def _falling(entries: list[int]) -> list[int]:
    largest, falling = 0, []
    for entry in reversed(entries):
        largest = max(largest, abs(entry))
        falling.append(largest)
    return falling[::-1]


def _length(entries: list[int], schedule: Schedule) -> int:
    """Of the sum of columns 0, b, 2b, ..., squared."""
    n, k, b = schedule.steps, schedule.longest, schedule.separation
    if k == 1 or len(entries) <= b:
        return (k - 1) * squared(entries) + squared(entries[: n - (k - 1) * b])
    column = entries + [0] * (n - len(entries))
    total = column.copy()
    for t in range(b, n):
        total[t] += total[t - b]
    # Column k b, and what the running sum has added after it.
    for t in range(n - 1, k * b - 1, -1):
        total[t] -= total[t - k * b]
    return squared(total)
