"""Huber's estimate of location with noise for a proposed local sensitivity, and how far data are from breaking it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.local_noise import LocalNoise
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Array, Ints
from dalenius.errors import InvalidParameter
from dalenius.infer.inputs import column
from dalenius.mechanisms.mechanism import Neighbours

FINER = 256
"""The grid has this many steps, or up to twice as many, in the sensitivity: T and the windows are on it."""
WIDEST = 1 << 59
"""As many steps may be between the bounds: places are integers of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class LocalHuberLocation(LocalNoise):
    """Huber's location estimate plus Laplace noise, for data where no record can move it by more than `sensitivity`.

    T(x) is the least theta (on a grid of whole numbers within the bounds) with G(theta) = sum_i psi(x_i - theta) <= 0,
    psi(u) = u between -c and c, and the nearer of the two beyond. One record moves G by at most D = c at every theta
    (2 c for REPLACE_ONE), and the fall G(s) - G(t) between two places by at most m = min(t - s, 2 c).

    `distance` is the least k for which a window [s, s + sensitivity] exists with |G| <= D (k + 1) throughout and
    G(s) - G(s + sensitivity) <= D + k m: too few records near a place that k records could make the estimate.

    - It is 0 where a neighbour has an estimate further away than `sensitivity`: if T(x) = s < t = T(x'), then
      G(s) <= 0 for x and G(t - 1) > 0 for x', so that 0 >= G(s) >= G(t - 1) >= -D for x, over at least the length of a
      window; if T(x') = t < s = T(x), D >= G(t) >= G(s - 1) > 0 in the same way.
    - It changes by at most 1 from one neighbour to the next: a window that will do for x and k will do for x' and
      k + 1, as |G| grows by at most D and the fall by at most m.

    So the test of `ProposeTestRelease.by_distance` is private for any data and any n. The estimate calibrated by the
    empirical influence function (Avella-Medina, Privacy-preserving parametric inference: a case for robust statistics,
    2021), whose condition this tests, is not: see docs/printed-but-wrong.md.

    Parameters
    ----------
    sensitivity
        The local sensitivity proposed: chosen without looking at the data; about 2 c / (records within c).
    scale
        The scale of the noise.
    bounds
        What is public about the numbers; they are clipped to it. Wide bounds cost nothing but grid.
    adjacency
        The neighbouring relation.
    c
        Where psi bends, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.adaptive.ptr import ProposeTestRelease
    >>> from dalenius.infer.influence.huber_location import LocalHuberLocation
    >>> huber = LocalHuberLocation(sensitivity=0.05, scale=0.1, bounds=(-1e4, 1e4), c=1.345)
    >>> m = ProposeTestRelease.by_distance(huber, epsilon=0.5, wrong_pass=1e-6)
    >>> x = np.append(np.random.default_rng(0).normal(size=1000), [9e3] * 20)
    >>> bool(abs(m.release(x)) < 2)
    True
    >>> m.release([-100.0] * 500 + [100.0] * 500)
    Refusal()
    """

    c: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", checks.positive("c", self.c))
        low, high = self.bounds
        if not self.c < high - low or (high - low) / self._step > WIDEST:
            raise InvalidParameter(
                f"sensitivity is {self.sensitivity:g} and c is {self.c:g}, for bounds ({low:g}, {high:g}); the first "
                "must be at least 2^-50 of their width, and the second below it."
            )

    @cached_property
    def _step(self) -> float:
        return 2.0 ** (math.frexp(self.sensitivity / FINER)[1] - 1)

    @property
    def _width(self) -> int:
        low, high = self.bounds
        return math.floor((high - low) / self._step)

    @property
    def _bend(self) -> int:
        return max(1, round(self.c / self._step))

    @property
    def _window(self) -> int:
        return math.floor(self.sensitivity / self._step)

    @property
    def _reach(self) -> int:
        """What one record moves G by."""
        return self._bend if self.adjacency is ADD_REMOVE else 2 * self._bend

    def _pull(self, data: Any) -> _Pull:
        return _Pull(self.grid_rows(data), self._bend, self._width)

    def grid_rows(self, data: Any) -> Ints:
        """Each number on its own as a whole number of steps above the lower bound.

        What is not a finite number is absent, or (where a record is replaced, not removed) in the middle.
        """
        values, _ = column(data)
        finite = np.isfinite(values)
        if self.adjacency is ADD_REMOVE:
            values = values[finite]
        low, high = self.bounds
        inside = np.where(np.isfinite(values), np.clip(values, low, high), low + (high - low) / 2)
        return np.asarray(np.minimum(np.rint((inside - low) / self._step), self._width).astype(np.int64))

    def statistic(self, data: Any) -> Fraction:
        pull = self._pull(data)
        place = _first(lambda theta: pull(theta) <= 0, 0, self._width)
        return Fraction(self.bounds[0]) + place * Fraction(self._step)

    def distance(self, data: Any) -> int:
        pull, window, last = self._pull(data), self._window, self._width - self._window
        if last < 0:
            return FAR  # no two estimates are so far apart
        knots = np.concatenate(
            [pull.rows + side - shift for side in (-self._bend, self._bend) for shift in (0, window)]
        )
        knots = np.unique(knots[(knots >= 0) & (knots <= last)])
        falls = pull.many(knots) - pull.many(knots + window)
        most = min(window, 2 * self._bend)

        def breaks(k: int) -> bool:
            height = self._reach * (k + 1)
            start = _first(lambda s: pull(s) <= height, 0, last + 1)
            end = _first(lambda s: pull(s + window) < -height, 0, last + 1) - 1
            if start > end:
                return False
            inner = falls[np.searchsorted(knots, start) : np.searchsorted(knots, end, side="right")]
            ends = [pull(s) - pull(s + window) for s in (start, end)]
            return min([*ends, *([int(inner.min())] if len(inner) else [])]) <= self._reach + k * most

        return _first(breaks, 0, len(pull.rows) + 1)

    @property
    def worst_pair(self) -> Neighbours:
        """Just so many records near the middle that one more, far away, moves the estimate by the sensitivity."""
        low, high = self.bounds
        middle = (low + high) / 2
        # With N records in the middle, one that is added moves the estimate by c/N, one that is replaced by 2c/N.
        many = max(3, math.ceil(self.c * (1 if self.adjacency is ADD_REMOVE else 2) / self.sensitivity))
        near = [middle] * many
        return (
            Neighbours(near, [*near, high])
            if self.adjacency is ADD_REMOVE
            else Neighbours([*near, low], [*near, high])
        )


class _Pull:
    """G(theta) = sum_i psi(x_i - theta) in whole numbers."""

    def __init__(self, rows: Ints, bend: int, width: int) -> None:
        self.rows, self.bend = np.sort(rows), bend
        small = (len(rows) + 1) * (width + 2 * bend) < 1 << 62
        self.sums: Array = np.concatenate(([0], np.cumsum(self.rows if small else self.rows.astype(object))))

    def many(self, theta: Array) -> Array:
        below = np.searchsorted(self.rows, theta - self.bend)
        above = np.searchsorted(self.rows, theta + self.bend)
        inside = self.sums[above] - self.sums[below] - (above - below) * theta.astype(self.sums.dtype)
        return np.asarray(inside + self.bend * (len(self.rows) - above - below).astype(self.sums.dtype))

    def __call__(self, theta: int) -> int:
        return int(self.many(np.array([theta], dtype=np.int64))[0])


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first whole number from low on at which it holds, which it goes on doing; high if there is none before."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
