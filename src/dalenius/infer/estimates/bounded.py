"""A column between public bounds, on a grid around their middle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter

STEPS = 2**20
"""From the middle to either bound: rounding moves a mean by 2^-21 of that at most."""

BLOCK = 2**21
"""Rows whose squares add up to less than 2^62."""


@dataclass(frozen=True)
class Bounded:
    """u = (x - middle) / half, from -1 to 1, in whole steps of 2^-20; values beyond the bounds are at the bounds."""

    low: float
    high: float

    @classmethod
    def of(cls, bounds: object, name: str = "bounds") -> Bounded:
        """From what a user gave."""
        low, high = checks.interval(name, bounds)
        most = max(abs(low), abs(high))
        if not most < 1e150 or not high - low > max(1e-12 * most, 1e-150):
            raise InvalidParameter.of(
                name, f"{name} is ({low:g}, {high:g}), beyond what doubles hold well; rescale the data."
            )
        return cls(low, high)

    @property
    def middle(self) -> float:
        return self.low + (self.high - self.low) / 2

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2

    def note(self, adjacency: Adjacency) -> str:
        """What becomes of values that are not between the bounds, or not there."""
        text = f"Values outside the public bounds [{self.low:g}, {self.high:g}] count as the nearer bound"
        return f"{text}." if adjacency is ADD_REMOVE else f"{text}, missing ones as their middle."

    def steps(self, values: Reals) -> Ints:
        """Whole numbers from -2^20 to 2^20, each from its own value alone; values are finite."""
        inside = (np.clip(values, self.low, self.high) - self.middle) / self.half
        return np.clip(np.rint(inside * STEPS), -STEPS, STEPS).astype(np.int64)

    def values(self, u: Reals) -> Reals:
        """What u stands for, within the bounds."""
        return np.clip(self.middle + np.asarray(u) * self.half, self.low, self.high)


def present(adjacency: Adjacency, *columns: Reals) -> list[Reals]:
    """The rows that count: those without a number are left out under add/remove; under replace-one, where the number
    of rows is public, all stay, and a missing number is NaN for `steps_of` to put in the middle."""
    if adjacency is not ADD_REMOVE:
        return list(columns)
    whole = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return [column[whole] for column in columns]


def steps_of(bounded: Bounded, values: Reals) -> Ints:
    """`Bounded.steps`, with missing and infinite values in the middle of the bounds."""
    return bounded.steps(np.where(np.isfinite(values), values, bounded.middle))


def exact_sum(values: Ints) -> int:
    """Of whole numbers below 2^41, in integers of any size."""
    return sum(int(values[k : k + BLOCK].sum()) for k in range(0, len(values), BLOCK))


def power_sums(steps: Ints | Iterable[Ints]) -> list[int]:
    """n, the sum and the sum of squares, in units of 1, 2^-20 and 2^-40, of a column or of its blocks."""
    blocks = [steps] if isinstance(steps, np.ndarray) else steps
    return added(([len(one), exact_sum(one), exact_sum(one * one)] for one in blocks), 3)


def added(totals: Iterable[Sequence[int]], size: int) -> list[int]:
    """Lists of so many whole numbers, place by place."""
    found = [0] * size
    for more in totals:
        found = [a + int(b) for a, b in zip(found, more, strict=True)]
    return found


def up(x: float) -> float:
    """A little more than x: roundings of a few operations are covered."""
    return math.nextafter(x * (1 + 1e-12), math.inf)
