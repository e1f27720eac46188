"""A quantile and how sensitive it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive.statistics.statistic import OfSorted
from dalenius.adaptive.statistics.windows import Sorted, discounted
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms.quantile import checked_level


@dataclass(frozen=True, kw_only=True)
class Quantile(OfSorted):
    """The `level`-quantile x_r, r = ceil(level n): the least number with a share of `level` at or below it.

    With x_1 <= ... <= x_n, padded with the lower bound for ranks below 1 and the upper one for ranks above n (for no
    records, the lower bound), A_k is the largest x_(a+k+1) - x_a with

    - REPLACE_ONE: r-k-1 <= a <= r; exact, as for the middle of an odd number of records.
    - ADD_REMOVE: a <= level n + g and a + k + 1 >= level n - g + 1, g = max(level, 1 - level). A record more or less
      moves level n by g at most past the ranks, so that no other gap than those with |a - level n| <= g can be the
      change at distance 0; a window that satisfies this for n still does for n + 1 and n - 1 when it is made one step
      longer. A bound, exact only at distance 0: some windows need more than k records.

    For a median, `Median` moves by half as much under ADD_REMOVE.

    Parameters
    ----------
    level
        Between 0 and 1, both excluded.
    bounds
        (lowest, highest): what is public about the values.
    granularity
        The spacing of the grid; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> upper = dp.adaptive.statistics.Quantile(level=0.75, bounds=(0, 8), granularity=1)
    >>> upper.value([1, 3, 4, 6, 7]), upper.local_sensitivity([1, 3, 4, 6, 7])
    (6.0, 2.0)
    """

    level: float
    bounds: tuple[float, float]
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checked_level("level", self.level))
        super().__post_init__()

    def _rank(self, n: int) -> int:
        return math.ceil(Fraction(self.level) * n)

    def _ends(self, n: int) -> tuple[int, int]:
        """The last rank where a window may begin, and the first where it may end."""
        if self.adjacency is not ADD_REMOVE:
            return self._rank(n), self._rank(n)
        place = Fraction(self.level) * n
        slack = max(Fraction(self.level), 1 - Fraction(self.level))
        return math.floor(place + slack), math.ceil(place - slack) + 1

    def exactly(self, data: Sorted) -> Fraction:
        return self.mean_of(data, self._rank(data.size), self._rank(data.size))

    def at_distance(self, data: Sorted, k: int) -> float:
        last, first = self._ends(data.size)
        return float(np.max(data.widths(np.arange(first - k - 1, last + 1), k + 1)))

    def smooth_steps(self, data: Sorted, beta: float) -> float:
        last, first = self._ends(data.size)
        return discounted(data, last, first, 1, beta)

    @property
    def worst_pair(self) -> Neighbours:
        """Records at both ends, as many as decide which end it is."""
        low, high = self.points.value(self.points.lowest), self.points.value(self.points.highest)
        n = math.ceil(1 / min(self.level, 1 - self.level)) + 1
        r = self._rank(n)
        if self.adjacency is not ADD_REMOVE:
            return Neighbours([low] * r + [high] * (n - r), [low] * (r - 1) + [high] * (n - r + 1))
        while self._rank(n + 1) == r:  # one record more at the upper end must raise the rank
            n += 1
        return Neighbours([low] * r + [high] * (n - r), [low] * r + [high] * (n - r + 1))
