"""The candidates on an interval: multiples of a public granularity within public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise import Grid

FINENESS = 24
"""Unless a granularity is given the interval has between 2^24 and 2^25 points."""
EXACT = 1 << 53
"""Counts up to here are doubles."""


@dataclass(frozen=True)
class IntervalGrid:
    """The candidates: the multiples of a public granularity inside public bounds."""

    bounds: tuple[float, float]
    granularity: Fraction

    @classmethod
    def of(cls, bounds: object, granularity: object) -> IntervalGrid:
        low, high = checks.interval("bounds", bounds)
        if granularity is None:
            step = Fraction(2) ** (math.frexp(high - low)[1] - 1 - FINENESS)
        elif isinstance(granularity, Fraction) and granularity > 0:
            step = granularity
        else:
            # As written: 0.01 is a hundredth, not the double next to it.
            step = Fraction(repr(checks.positive("granularity", granularity)))
        points = cls((low, high), step)
        if not 1 <= points.count <= EXACT:
            raise InvalidParameter(
                f"granularity is {float(step):g}; between the bounds {low:g} and {high:g} there must be "
                "1 to 2^53 multiples of it."
            )
        if max(abs(points.lowest), abs(points.highest)) >= 1 << 61:
            raise InvalidParameter(
                f"granularity is {float(step):g}; it is too fine for numbers as large as the bounds {low:g} "
                f"and {high:g}. Give a coarser one."
            )
        return points

    @cached_property
    def lowest(self) -> int:
        return math.ceil(Fraction(self.bounds[0]) / self.granularity)

    @cached_property
    def highest(self) -> int:
        return math.floor(Fraction(self.bounds[1]) / self.granularity)

    @property
    def count(self) -> int:
        return self.highest - self.lowest + 1

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.granularity)

    def nearest(self, values: Reals) -> Ints:
        """The nearest candidate (in grid units) to each value; beyond the bounds, the last one."""
        low, high = self.bounds
        units = np.asarray(self.grid.to_units(np.clip(values, low, high)), dtype=np.int64)
        return np.clip(units, self.lowest, self.highest)

    def starts(self, values: Reals) -> Ints:
        """Where runs that begin at these values begin; one past the last candidate for those beyond it."""
        low, high = self.bounds
        step = float(self.granularity)
        units = np.asarray(self.grid.to_units(np.clip(values, low - step, high + step)), dtype=np.int64)
        return np.clip(units, self.lowest, self.highest + 1)

    def value(self, unit: int) -> float:
        return float(self.grid.to_values(np.array([unit], dtype=np.int64))[0])

    def values(self, units: Ints) -> Reals:
        return np.asarray(self.grid.to_values(units), dtype=np.float64)
