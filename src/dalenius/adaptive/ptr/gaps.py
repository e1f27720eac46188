"""Empty intervals in sorted numbers: what makes an order statistic jump, and how far data are from having one.

Numbers x_1 <= ... <= x_n in [low, high] are padded with x_0 = low and x_(n+1) = high. The window (i, j) is the open
interval from x_i to x_j; it has L = i numbers to its left, R = n + 1 - j to its right and j - i - 1 inside. To empty
it, the numbers inside must be moved or removed; to bring it to a given place among the others, further numbers must
change sides, or be added or removed. For each i the first j that makes the window wide enough suffices: a longer one
costs one more to empty and saves at most one elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms._support.float_arrays import Reals, reals

Ints = NDArray[np.int64]


class Windows(NamedTuple):
    """Numbers to the left of, inside and to the right of windows."""

    left: Ints
    inside: Ints
    right: Ints


def padded(data: object, bounds: tuple[float, float]) -> Reals:
    """The data within the bounds, sorted, between the two bounds."""
    low, high = bounds
    values = np.sort(np.clip(reals("value", data, least=0), low, high))
    return np.concatenate(([low], values, [high]))


def wide_windows(x: Reals, width: float, least_inside: int = 0) -> Windows:
    """For each i the shortest window from x_i that is wider than `width`, where there is one."""
    n = len(x) - 2
    left = np.arange(n + 1)
    stop = np.maximum(first_beyond(x, width), left + 1 + least_inside)
    found = stop <= n + 1
    left, stop = left[found], stop[found]
    return Windows(left, stop - left - 1, n + 1 - stop)


def first_beyond(x: Reals, width: float, at_least: bool = False) -> Ints:
    """For each i <= n the first j > i with x_j - x_i > width (or >= width), n + 2 where there is none.

    By bisection with exact comparisons: no rounding makes a gap that is as wide as the limit look wider.
    """
    n = len(x) - 2
    start = x[: n + 1]
    low, high = np.arange(1, n + 2), np.full(n + 1, n + 2)
    while (low < high).any():
        middle = (low + high) // 2
        wide = (middle > n + 1) | _beyond(x[np.minimum(middle, n + 1)], start, width, at_least)
        low, high = np.where(wide, low, middle + 1), np.where(wide, middle, high)
    return low


def _beyond(to: Reals, start: Reals, width: float, at_least: bool) -> NDArray[np.bool_]:
    """to - start > width (or >=), exactly: the rounding error of a difference is a float (Knuth's two-sum)."""
    gap = to - start
    back = gap - to
    error = (to - (gap - back)) - (start + back)
    return np.asarray((gap > width) | ((gap == width) & ((error > 0) | (at_least & (error == 0)))))


def nearest(costs: Ints, none: int) -> int:
    """The least of them; `none` if there is no window at all."""
    return int(costs.min(initial=none))
