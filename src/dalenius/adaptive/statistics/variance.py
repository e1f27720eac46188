"""The variance and how sensitive it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalenius.adaptive.statistics.statistic import Statistic
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms._support.interval_grid import IntervalGrid
from dalenius.mechanisms.quantile import records


class Moments(NamedTuple):
    """How many, their mean and their variance, in steps of the grid of the data above its lowest point."""

    size: int
    mean: Fraction
    variance: Fraction


@dataclass(frozen=True, kw_only=True)
class Variance(Statistic[Moments]):
    """The variance (1/n) sum (x_i - mean)^2; 0 for no records.

    Let w be the width of the bounds and M the larger distance of the mean from them.

    - REPLACE_ONE: with s and v the mean and variance of the other n - 1 records, x contributes (n-1)/n^2 (x - s)^2, so
      that the local sensitivity is at most (n-1)/n^2 (M + w/n)^2, and A_k = (n-1)/n^2 min(w, M + (k+1) w/n)^2.
    - ADD_REMOVE: a record more at x changes v by n/(n+1)^2 (x - mean)^2 - v/(n+1), and v <= M^2: A_k = min(w, M +
      w (1/n + ... + 1/(n-k)))^2 / (n-k).

    Neither is above w^2/4, as no variance is, nor are they exact. Between a mean in the middle and one at an end of
    the bounds lies a factor 4: so much, and no more, can be gained over the global sensitivity.

    Parameters
    ----------
    bounds
        (lowest, highest): what is public about the values.
    granularity
        The spacing of the grid of the data; by default between 2^24 and 2^25 points fill the interval. Answers have a
        grid of their own with as many points.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> spread = dp.adaptive.statistics.Variance(bounds=(0, 10))
    >>> spread.value([4, 6] * 100)
    1.0
    >>> round(spread.local_sensitivity([4, 6] * 100), 3), spread.global_sensitivity
    (0.128, 25.0)
    """

    bounds: tuple[float, float]
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.answers

    @cached_property
    def answers(self) -> IntervalGrid:
        half = float(self._width * self.points.granularity) / 2
        if not 0 < half * half < math.inf:
            low, high = self.bounds
            raise InvalidParameter.of(
                "bounds", f"bounds is ({low:g}, {high:g}); their squares are no doubles."
            )
        return IntervalGrid.of((0.0, half * half), None)

    @property
    def _width(self) -> int:
        return self.points.highest - self.points.lowest

    @property
    def _per_square(self) -> Fraction:
        """Steps of the grid of answers in a squared step of the grid of the data."""
        return self.points.granularity**2 / self.answers.granularity

    @property
    def global_steps(self) -> float:
        return float_up(Fraction(self._width**2, 4) * self._per_square)

    def prepared(self, values: Any) -> Moments:
        units = self.points.nearest(records(values)) - self.points.lowest
        n = len(units)
        if not n:
            return Moments(0, Fraction(self._width, 2), Fraction(0))
        total, squares = _sum(units), _sum_of_squares(units)
        return Moments(n, Fraction(total, n), Fraction(n * squares - total * total, n * n))

    def exactly(self, data: Moments) -> Fraction:
        return data.variance * self._per_square

    def at_distance(self, data: Moments, k: int) -> float:
        n, width = data.size, self._width
        furthest = float(max(data.mean, width - data.mean) / width) if width else 0.0
        if self.adjacency is ADD_REMOVE:
            if k >= n:
                return self.global_steps
            drift, share = float(np.sum(1.0 / np.arange(n - k, n + 1))), 1 / (n - k)
        else:
            if not n:
                return self.global_steps
            drift, share = (k + 1) / n, (n - 1) / n**2
        return min(4 * share * min(1.0, furthest + drift) ** 2, 1.0) * self.global_steps

    @property
    def worst_pair(self) -> Neighbours:
        """Two records at one end, or at both."""
        low, high = self.points.value(self.points.lowest), self.points.value(self.points.highest)
        return (
            Neighbours([low], [low, high])
            if self.adjacency is ADD_REMOVE
            else Neighbours([low, low], [low, high])
        )


def _sum(units: Any) -> int:
    """Exact for up to 2^31 records below 2^53: the high and the low half of each apart."""
    half = (1 << 27) - 1
    return (int((units >> 27).sum()) << 27) + int((units & half).sum())


def _sum_of_squares(units: Any) -> int:
    """The same for the squares: products of halves are below 2^54, and are split again."""
    high, low = units >> 27, units & ((1 << 27) - 1)
    return (_sum(high * high) << 54) + (_sum(high * low) << 28) + _sum(low * low)
