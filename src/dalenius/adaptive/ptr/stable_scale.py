"""How wide data are spread, to within a factor, without noise where that is stable.

Between which two of the numbers least, least base, least base^2, ... does the interquartile range x_(b) - x_(a) lie,
a = ceil(n/4), b = ceil(3n/4)? How many records must change until it is elsewhere, exactly:

*It becomes at least h.* For numbers u < v with v - u >= h, enough records must be at u or below (a of them) and at v or
above (n - b + 1). Let l records be at u or below, r at v or above and m between. For REPLACE_ONE (a - l)+ + (n - b + 1
- r)+ records are moved there. For ADD_REMOVE, 4 l' >= n' and 4 r' > n' are needed for the numbers after the change; x
records added on the left, y on the right and z removed between reach it if 3x - y + z >= A = m + r - 3l and 3y - x + z
>= B = m + l - 3r + 1.

*It becomes less than h.* For u <= v with v - u < h, at most a - 1 records may be below u and n - b above v: with l
below, r above and m inside, (l - a + 1)+ + (r - n + b)+ are moved inside; or, as 4 l' < n' and 4 r' <= n', x and y
records are removed left and right and z added inside, with the same left sides and A = 3l - m - r + 1, B = 3r - m - l.

The least x + y + z = c. With d = x - y the two say A - c <= 2d <= c - B, and |d| <= c; what is left of c goes to z, or
in pairs to x and y. So c is the least number for which there is such a d.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.gaps import Ints, first_beyond, nearest, padded
from dalenius.adaptive.ptr.parts import Stable
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.float_arrays import Reals
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class StableScale(Stable):
    """Between which two powers of `base`, times `least`, the interquartile range lies: (low, high), without noise.

    A scale without a proposal (Dwork and Lei 2009), which sets the units of what is asked next; of the errors of a
    regression, too: hand over y - X . coefficients for public coefficients. Data keep the budget, which is nothing at
    all, if no neighbour's range lies elsewhere. A range near an end of its interval is refused, however many records
    there are: ask again with another `least`, at the same cost.

    Parameters
    ----------
    least
        Ranges below this are not told apart: (0, least).
    base
        Above 1: how precise the scale is.
    bounds
        What is public about the numbers; they are clipped to it.
    adjacency
        The neighbouring relation.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import ProposeTestRelease, StableScale
    >>> m = ProposeTestRelease.by_distance(StableScale(least=0.015, bounds=(-1e6, 1e6)), epsilon=0.5, wrong_pass=1e-6)
    >>> m.release([x / 100 for x in range(1000)])
    (3.84, 7.68)
    """

    least: float
    base: float = 2.0
    bounds: tuple[float, float]
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", checks.interval("bounds", self.bounds))
        object.__setattr__(self, "least", checks.positive("least", self.least))
        object.__setattr__(self, "base", checks.positive("base", self.base))
        checked_adjacency(self.adjacency)
        if not 1.001 <= self.base <= 1e6:
            raise InvalidParameter.of("base", f"base is {self.base}; it must be between 1.001 and 1e6.")
        _ = self._edges

    @cached_property
    def _edges(self) -> list[float]:
        """The ends of the intervals, between 0 and the width of the bounds."""
        width = self.bounds[1] - self.bounds[0]
        if not width / self.least < 1e300:
            raise InvalidParameter.of(
                "least", f"least is {self.least:g}; it is too small for such wide bounds."
            )
        most = math.log(width / self.least) / math.log(self.base) if width > self.least else 0.0
        inner = [self.least * self.base**j for j in range(math.ceil(most) + 1)]
        return [0.0, *(edge for edge in inner if edge < width), width]

    @property
    def budget(self) -> Loss:
        return Loss.zero(self.adjacency)

    def release(self, data: Any) -> tuple[float, float]:
        return self._interval(padded(data, self.bounds))

    def _interval(self, x: Reals) -> tuple[float, float]:
        n = len(x) - 2
        first, third = Fraction(float(x[(n + 3) // 4])), Fraction(float(x[(3 * n + 3) // 4]))
        place = bisect_right(self._edges, third - first) - 1
        place = min(place, len(self._edges) - 2)
        return self._edges[place], self._edges[place + 1]

    def distance(self, data: Any) -> int:
        x = padded(data, self.bounds)
        low, high = self._interval(x)
        less = self._until_less(x, low) if low > 0 else FAR
        more = self._until_more(x, high) if high < self._edges[-1] else FAR
        changes = min(less, more)
        return changes - 1 if changes < FAR else FAR

    def _until_more(self, x: Reals, width: float) -> int:
        n = len(x) - 2
        stop = first_beyond(x, width, at_least=True)
        found = stop <= n + 1
        left, right = np.arange(n + 1)[found], n + 1 - stop[found]
        between = n - left - right
        if self.adjacency is not ADD_REMOVE:
            if n < 2:
                return FAR
            first, third = (n + 3) // 4, (3 * n + 3) // 4
            return nearest(np.maximum(first - left, 0) + np.maximum(n - third + 1 - right, 0), FAR)
        return nearest(_least(between + right - 3 * left, between + left - 3 * right + 1, between), FAR)

    def _until_less(self, x: Reals, width: float) -> int:
        """Only asked where the range is at least `width`: of two records or more."""
        n = len(x) - 2
        start = np.arange(1, n + 1)
        stop = np.minimum(first_beyond(x, width, at_least=True)[1:], n + 1)  # the first that is not inside
        left, inside, right = start - 1, stop - start, n + 1 - stop
        if self.adjacency is not ADD_REMOVE:
            first, third = (n + 3) // 4, (3 * n + 3) // 4
            return nearest(np.maximum(left - first + 1, 0) + np.maximum(right - n + third, 0), FAR)
        # Inside records can be added without end.
        return nearest(_least(3 * left - inside - right + 1, 3 * right - inside - left, np.ones(n)), FAR)

    @property
    def worst_pair(self) -> Neighbours:
        low, step = self.bounds[0], self._edges[1]
        near = [low] * 500 + [low + step * 0.9] * 500
        return Neighbours(near, [*near[1:], low] if self.adjacency is not ADD_REMOVE else near[1:])


def _least(a: Ints, b: Ints, spare: Any) -> Ints:
    """The least c >= 0 with a whole d, |d| <= c, a - c <= 2d <= c - b; if nothing is to spare, c - |d| must be even."""
    least = np.maximum.reduce([(a + b + 1) // 2, -(-a // 3), -(-b // 3), np.zeros_like(a)])
    best = np.full(len(a), FAR)
    for more in (3, 2, 1, 0):
        best = np.where(_fits(least + more, a, b, spare), least + more, best)
    return best


def _fits(c: Ints, a: Ints, b: Ints, spare: Any) -> NDArray[np.bool_]:
    lowest, highest = np.maximum(-((c - a) // 2), -c), np.minimum((c - b) // 2, c)
    # Next to 0 as far as possible; its neighbours have the other parity.
    middle = np.clip(0, lowest, highest)
    fits = np.zeros(len(c), dtype=np.bool_)
    for d in (middle - 1, middle, middle + 1):
        fits |= (lowest <= d) & (d <= highest) & ((spare > 0) | ((c - abs(d)) % 2 == 0))
    return np.asarray(fits & (lowest <= highest))
