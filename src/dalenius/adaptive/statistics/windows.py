"""The widest windows of sorted data, wide ones discounted: what smooth sensitivities of order statistics come to.

Data are sorted whole numbers x_1 <= ... <= x_n between public ends; x_i is the lower end for i < 1 and the upper end
for i > n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class Sorted:
    """Sorted whole numbers with a public end on either side, as exact doubles above the lower end."""

    def __init__(self, units: Ints, lowest: int, highest: int) -> None:
        self.size = len(units)
        self.width = float(highest - lowest)
        self._offsets = (np.sort(units) - lowest).astype(np.float64)

    def at(self, index: NDArray[np.int64]) -> Reals:
        """x_i for ranks i, of which any whole number is one."""
        if not self.size:
            return np.where(index < 1, 0.0, self.width)
        inside = self._offsets[np.clip(index, 1, self.size) - 1]
        return np.where(index < 1, 0.0, np.where(index > self.size, self.width, inside))

    def widths(self, first: NDArray[np.int64], steps: int | NDArray[np.int64]) -> Reals:
        """x_(a + steps) - x_a for every rank a."""
        return self.at(first + steps) - self.at(first)


def last_distance(beta: float, width: float) -> int:
    """The largest k that can matter: exp(-beta k) width is at most 1 beyond."""
    return math.floor(math.log(max(width, 1.0)) / beta) + 1


def discounted(data: Sorted, last: int, first: int, kept: int, beta: float) -> float:
    """max over ranks a <= last, b >= first with k = b - a - kept >= 0 of exp(-beta k) (x_b - x_a), or 1.

    `first` - `last` is kept - 1 or kept. For a given a the best b is not smaller for a larger a: with v_b = exp(-beta
    b) the values v_b (x_b - x_a) of two b differ by a term that does not depend on a plus x_a (v_b - v_b'). So the
    best b are found by halving (Nissim, Raskhodnikova and Smith 2007, section 3.1): O(n log n). Beyond
    `last_distance` nothing exceeds 1.

    Doubles: exp(-beta k) is off by a relative 2^-47 at most. Where that makes halving take b_1 in place of b_0 at
    some a, b_1 is as good for every a to within 2^-47 (1 + 1/beta): for smaller a (b_0 > b_1) because there the
    differences x_b - x_a are larger; for larger a (b_0 < b_1) because such a tie needs x_b1 - x_b0 to be beta times
    x_b0 - x_a. There are at most 62 such steps on the way to any a.
    """
    reach = min(last_distance(beta, data.width), data.size + 1) + 2
    down, up = data.at(last - np.arange(reach)), data.at(first + np.arange(reach))
    fade = np.exp(-beta * np.arange(reach))
    # k = i + j + first - last - kept, which is -1 or more: the one pair that is too narrow is left out.
    spare = first - last - kept
    best = 1.0
    if spare < 0:
        best = max(best, float(np.max(fade[:-1] * (up[1:] - down[0]))))
        down, spare = down[1:], spare + 1
    return max(best, math.exp(-beta * spare) * _largest(down, up, fade))


def _largest(down: Reals, up: Reals, fade: Reals) -> float:
    """max over i, j of fade_i fade_j (up_j - down_i), down falling and up rising: the best j falls as i grows."""
    rows, columns = len(down), len(up)
    best = np.full(rows, -1, dtype=np.int64)
    largest = 0.0
    stride = 1 << (rows - 1).bit_length()
    todo = np.array([0])
    while True:
        low = np.where(todo + stride < rows, best[np.minimum(todo + stride, rows - 1)], 0)
        high = np.where(todo > 0, best[np.maximum(todo - stride, 0)], columns - 1)
        lengths = high - low + 1
        starts = np.cumsum(lengths) - lengths
        column = np.arange(int(lengths.sum())) + np.repeat(low - starts, lengths)
        values = fade[column] * (up[column] - np.repeat(down[todo], lengths))
        tops = np.maximum.reduceat(values, starts)
        hits = np.flatnonzero(values == np.repeat(tops, lengths))
        best[todo] = column[hits[np.searchsorted(hits, starts)]]
        largest = max(largest, float(np.max(tops * fade[todo])))
        if stride == 1:
            return largest
        stride >>= 1
        todo = np.arange(stride, rows, 2 * stride)
