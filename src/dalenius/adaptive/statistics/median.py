"""The median and how sensitive it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive.statistics.statistic import OfSorted
from dalenius.adaptive.statistics.windows import Sorted, discounted, last_distance
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms import Neighbours


@dataclass(frozen=True, kw_only=True)
class Median(OfSorted):
    """The median: the middle number, the mean of the two middle ones, the middle of the bounds for no records.

    With x_1 <= ... <= x_n, padded with the lower bound for ranks below 1 and the upper one for ranks above n:

    - REPLACE_ONE, n = 2 m - 1: A_k is the largest x_(a+k+1) - x_a with m-k-1 <= a <= m (Nissim, Raskhodnikova and
      Smith 2007); n = 2 m: half the largest x_(a+k+2) - x_a with m-k-1 <= a <= m.
    - ADD_REMOVE: half the largest x_(a+k+1) - x_a with (n-k-1)/2 <= a <= (n-k+1)/2: one or two windows whatever k,
      because k records must be taken out of the gap, which leaves none to move its place.

    Both are exact: no smaller number bounds the sensitivity at distance k. The smooth sensitivity takes O(n log n) or
    O(n) for sorted data.

    Parameters
    ----------
    bounds
        (lowest, highest): what is public about the values.
    granularity
        The spacing of the grid; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 8), granularity=1)
    >>> data = [1, 3, 4, 6, 7]
    >>> [median.local_sensitivity(data, k) for k in (0, 1, 2)]
    [1.0, 1.5, 2.5]
    >>> median.global_sensitivity
    4.0
    """

    bounds: tuple[float, float]
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    @property
    def global_steps(self) -> float:
        width = float(self.points.highest - self.points.lowest)
        return width / 2 if self.adjacency is ADD_REMOVE else width

    def exactly(self, data: Sorted) -> Fraction:
        return self.mean_of(data, (data.size + 1) // 2, data.size // 2 + 1)

    def at_distance(self, data: Sorted, k: int) -> float:
        n = data.size
        if self.adjacency is ADD_REMOVE:
            return float(_around(data, np.array([k]))[0]) / 2
        kept = 2 - n % 2
        m = (n + 1) // 2
        return float(np.max(data.widths(np.arange(m - k - 1, m + 1), k + kept))) / kept

    def smooth_steps(self, data: Sorted, beta: float) -> float:
        n = data.size
        if self.adjacency is ADD_REMOVE:
            k = np.arange(min(last_distance(beta, data.width), n) + 1)
            return max(1.0, float(np.max(np.exp(-beta * k) * _around(data, k))) / 2)
        kept = 2 - n % 2
        m = (n + 1) // 2
        return max(1.0, discounted(data, m, m + kept - 1, kept, beta) / kept)

    @property
    def worst_pair(self) -> Neighbours:
        """One half of the records at either end, and one record that decides."""
        low, high = self.points.value(self.points.lowest), self.points.value(self.points.highest)
        if self.adjacency is ADD_REMOVE:
            return Neighbours([low, high], [low, high, high])
        return Neighbours([low, low, high], [low, high, high])


def _around(data: Sorted, k: Any) -> Any:
    """The larger of the one or two windows of k + 1 steps around the middle, for every k."""
    n = data.size
    return np.maximum(*(data.widths(first, k + 1) for first in (-((k + 1 - n) // 2), (n - k + 1) // 2)))
