"""Interval arithmetic on arrays: where a function of several uncertain numbers can lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Range:
    """Entry by entry, a number between `low` and `high`."""

    low: Reals
    high: Reals

    @classmethod
    def around(cls, middle: Reals, reach: float) -> Range:
        return cls(middle - reach, middle + reach)

    def __add__(self, other: float) -> Range:
        return Range(self.low + other, self.high + other)

    def __sub__(self, other: Range | float) -> Range:
        if isinstance(other, Range):
            return Range(self.low - other.high, self.high - other.low)
        return self + -other

    def __mul__(self, other: Range | float) -> Range:
        if isinstance(other, Range):
            return _hull([a * b for a in (self.low, self.high) for b in (other.low, other.high)])
        return (
            Range(self.low * other, self.high * other)
            if other >= 0
            else Range(self.high * other, self.low * other)
        )

    def __truediv__(self, other: Range) -> Range:
        """By a range above zero."""
        return _hull([a / b for a in (self.low, self.high) for b in (other.low, other.high)])

    def square(self) -> Range:
        ends = np.array([self.low**2, self.high**2])
        crosses = (self.low <= 0) & (self.high >= 0)
        return Range(np.where(crosses, 0.0, ends.min(axis=0)), ends.max(axis=0))

    def root(self) -> Range:
        return Range(np.sqrt(self.low), np.sqrt(self.high))

    def at_least(self, least: float) -> Range:
        return Range(np.maximum(self.low, least), np.maximum(self.high, least))


def _hull(corners: list[Reals]) -> Range:
    return Range(np.minimum.reduce(corners), np.maximum.reduce(corners))
