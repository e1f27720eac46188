"""The trimmed mean and how sensitive it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive.statistics.statistic import OfSorted
from dalenius.adaptive.statistics.windows import Sorted, discounted
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK


@dataclass(frozen=True, kw_only=True)
class TrimmedMean(OfSorted):
    """The mean of what is left when the t smallest and the t largest numbers are dropped, t = floor(trim n).

    With x_1 <= ... <= x_n, padded with the bounds on either side, and c = n - 2 t numbers kept (the middle of the
    bounds for no records):

    - REPLACE_ONE: A_k = max of (x_(a+c+k) - x_a) / c over t-k <= a <= t+1; exact (Bun and Steinke 2019).
    - ADD_REMOVE: a record more or less moves the mean by at most (x_(n-t) - x_(t+1)) / c where one number fewer is
      kept, and by the larger of x_(n-t+1) - x_(t+1) and x_(n-t) - x_t over c + 1 where one more is. A_k is the largest
      of these at all sizes n - i + j, i + j = k, with i ranks added on the right and j on the left, which is as far
      as i records taken out and j put in can move an order statistic. A bound; O(k) for each k, so that the smooth
      sensitivity takes (log(width in steps) / beta)^2 operations at most.

    Parameters
    ----------
    trim
        The share dropped on either side, 0 or more and below 1/2, taken to a multiple of 2^-30.
    bounds
        (lowest, highest): what is public about the values.
    granularity
        The spacing of the grid; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> middle = dp.adaptive.statistics.TrimmedMean(trim=0.25, bounds=(0, 8), granularity=1, adjacency=dp.REPLACE_ONE)
    >>> middle.value([1, 3, 5, 7]), middle.local_sensitivity([1, 3, 5, 7])
    (4.0, 2.0)
    """

    trim: float
    bounds: tuple[float, float]
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        allowed = "a number from 0 up to but not including 1/2"
        trim = checks.number("trim", self.trim, allowed)
        if not 0 <= trim < 0.5:
            raise InvalidParameter.of("trim", f"trim is {trim}; it must be {allowed}.")
        object.__setattr__(self, "trim", math.floor(trim * UNITS_PER_RANK) / UNITS_PER_RANK)
        super().__post_init__()

    def _dropped(self, n: Any) -> Any:
        """floor(trim n), for one n or many."""
        return n * round(self.trim * UNITS_PER_RANK) // UNITS_PER_RANK

    def exactly(self, data: Sorted) -> Fraction:
        n = data.size
        if not n:
            return Fraction(self.points.lowest + self.points.highest, 2)
        return self.mean_of(data, self._dropped(n) + 1, n - self._dropped(n))

    def at_distance(self, data: Sorted, k: int) -> float:
        n = data.size
        if not n:
            return self.global_steps
        t = self._dropped(n)
        if self.adjacency is not ADD_REMOVE:
            kept = n - 2 * t
            return float(np.max(data.widths(np.arange(t - k, t + 2), kept + k)) / kept)
        put_in = np.arange(k + 1)
        size = n - k + 2 * put_in
        if size[0] <= 0:
            return self.global_steps
        dropped = self._dropped(size)
        kept = size - 2 * dropped
        left = dropped - put_in
        fewer = data.widths(left + 1, kept - 1 + k) / kept
        more = np.maximum(data.widths(left, kept + k), data.widths(left + 1, kept + k)) / (kept + 1)
        return float(max(fewer.max(), more.max()))

    def smooth_steps(self, data: Sorted, beta: float) -> float:
        n = data.size
        if self.adjacency is ADD_REMOVE or not n:
            return super().smooth_steps(data, beta)
        t = self._dropped(n)
        return max(1.0, float(discounted(data, t + 1, n - t, n - 2 * t, beta) / (n - 2 * t)))

    @property
    def worst_pair(self) -> Neighbours:
        """A single record at either end, or one record more at the other end."""
        low, high = self.points.value(self.points.lowest), self.points.value(self.points.highest)
        return Neighbours([low], [low, high]) if self.adjacency is ADD_REMOVE else Neighbours([low], [high])
