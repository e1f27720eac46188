"""The median with noise for a proposed local sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.gaps import nearest, padded, wide_windows
from dalenius.adaptive.ptr.local_noise import LocalNoise
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class LocalMedian(LocalNoise):
    """The median plus Laplace noise, for data whose median no single record can move by more than `sensitivity`.

    Of an even number of records the median is the mean of the two in the middle; of none, the middle of the bounds.
    The local sensitivity of the median is the widest of the gaps next to it: for REPLACE_ONE and odd n the gaps next
    to x_m, for even n half of x_(h+2) - x_h and of x_(h+1) - x_(h-1); for ADD_REMOVE half the gaps next to x_m, or
    half of x_(h+1) - x_h. So data are unstable if there is a window that is wide enough (more than `sensitivity`, or
    twice that), empty (or with one record, for REPLACE_ONE and even n), and with as many records to its left as to
    its right, or one more or less. `distance` is the least number of changes that makes one.

    The printed test of Avella Medina 2025 looks for the distance to data whose *median* differs by more than the
    sensitivity from that of the data at hand; that distance can change by any number from one neighbour to the next,
    and the test is not private.

    Parameters
    ----------
    sensitivity
        The local sensitivity proposed: chosen without looking at the data.
    scale
        The scale of the noise.
    bounds
        What is public about the numbers; they are clipped to it.
    adjacency
        The neighbouring relation.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import LocalMedian, ProposeTestRelease
    >>> median = LocalMedian(sensitivity=1.0, scale=2.0, bounds=(0.0, 100.0))
    >>> m = ProposeTestRelease.by_distance(median, epsilon=0.5, wrong_pass=1e-6)
    >>> bool(abs(m.release([40, 41, 42, 43, 44] * 100) - 42) < 60)
    True
    >>> m.release([0.0] * 50 + [100.0] * 50)
    Refusal()
    """

    def statistic(self, data: Any) -> Fraction:
        x = padded(data, self.bounds)
        n = len(x) - 2
        return (Fraction(float(x[(n + 1) // 2])) + Fraction(float(x[n // 2 + 1]))) / 2

    def distance(self, data: Any) -> int:
        x = padded(data, self.bounds)
        n = len(x) - 2
        if self.adjacency is ADD_REMOVE:
            left, inside, right = wide_windows(x, 2 * self.sensitivity)
            return nearest(inside + np.maximum(abs(left - right) - 1, 0), FAR)
        if n == 0:
            return FAR
        spare = 1 - n % 2  # a record may stay inside
        left, inside, right = wide_windows(x, (1 + spare) * self.sensitivity, spare)
        moved = inside - spare
        return nearest(moved + (np.maximum(abs(left - right) - moved - 1, 0) + 1) // 2, FAR)

    @property
    def worst_pair(self) -> Neighbours:
        """Gaps of just the sensitivity proposed around the middle, over which one record moves the median."""
        low, high = self.bounds
        step = min(self.sensitivity * (2 if self.adjacency is ADD_REMOVE else 1), high - low)
        near = [low] * 400 + [low + step] * 400
        one_more = [*near, low + step]
        if self.adjacency is ADD_REMOVE:
            return Neighbours(near, one_more)
        return Neighbours([*near, low], one_more)
