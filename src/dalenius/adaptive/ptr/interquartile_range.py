"""The interquartile range with noise for a proposed local sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.ptr.distance_test import FAR
from dalenius.adaptive.ptr.gaps import Ints, Windows, nearest, padded, wide_windows
from dalenius.adaptive.ptr.local_noise import LocalNoise
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.mechanisms.mechanism import Neighbours

NEAR = range(-3, 4)


@dataclass(frozen=True, kw_only=True)
class LocalInterquartileRange(LocalNoise):
    """x_(ceil(3n/4)) - x_(ceil(n/4)) plus Laplace noise, where no record can move it by more than `sensitivity`.

    Of fewer than two records it is 0. One record moves a quartile over the gap below or above it, never both quartiles
    in opposite directions, so that the widest of these gaps bounds the local sensitivity; for REPLACE_ONE it is the
    local sensitivity. `distance` is the least number of changes that brings an empty window, wider than `sensitivity`,
    next to a quartile. (For ADD_REMOVE the ranks change with n: it depends on n which gaps a quartile can cross.)

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
    >>> from dalenius.adaptive.ptr import LocalInterquartileRange, ProposeTestRelease
    >>> spread = LocalInterquartileRange(sensitivity=0.5, scale=1.0, bounds=(0.0, 100.0))
    >>> m = ProposeTestRelease.by_distance(spread, epsilon=0.5, wrong_pass=1e-6)
    >>> bool(abs(m.release([x / 100 for x in range(10_000)]) - 50) < 25)
    True
    """

    def statistic(self, data: Any) -> Fraction:
        x = padded(data, self.bounds)
        n = len(x) - 2
        if n < 2:
            return Fraction(0)
        return Fraction(float(x[_third(n)])) - Fraction(float(x[_first(n)]))

    def distance(self, data: Any) -> int:
        x = padded(data, self.bounds)
        windows = wide_windows(x, self.sensitivity)
        if self.adjacency is ADD_REMOVE:
            return nearest(windows.inside + _to_gap(windows), FAR)
        n = len(x) - 2
        if n < 2:
            return FAR
        left, inside, _ = windows
        places = [place for rank in (_first(n), _third(n)) for place in (rank - 1, rank)]
        moved = [np.maximum(np.maximum(left - place, place - left - inside), 0) for place in places]
        return nearest(inside + np.min(moved, axis=0), FAR)

    @property
    def worst_pair(self) -> Neighbours:
        """A gap of just the sensitivity proposed above the third quartile."""
        low, high = self.bounds
        step = min(self.sensitivity, high - low)
        near = [low] * 600 + [low + step] * 200
        if self.adjacency is ADD_REMOVE:
            return Neighbours(near, near[1:])
        return Neighbours(near, [*near[1:], low + step])


def _first(n: Any) -> Any:
    return (n + 3) // 4


def _third(n: Any) -> Any:
    return (3 * n + 3) // 4


def _to_gap(windows: Windows) -> Ints:
    """How many records must be added or removed until an empty window is next to a quartile.

    Next to the first quartile there are three times as many records to its right as to its left, but for one or two.
    Changing the lesser side is worth three changes of the larger one, which changes by a few at most.
    """
    left, _, right = windows
    best = np.full(len(left), FAR)
    for change in NEAR:
        for place in NEAR:
            for rank, small, large in ((_first, left, right), (_third, right, left)):
                many = large + change
                few = many // 3 + place
                lower = few if rank is _first else many
                usable = (few >= 0) & (many >= 0) & _crossed(rank, lower, few + many)
                cost = abs(change) + abs(few - small)
                best = np.where(usable, np.minimum(best, cost), best)
    return best


def _crossed(rank: Callable[[Any], Any], place: Ints, n: Ints) -> NDArray[np.bool_]:
    """Whether a record more or less can move the order statistic over the gap above the first `place` of n records."""
    here = rank(n)
    more = np.where(rank(n + 1) == here, here - 1, here)
    less = np.where(rank(n - 1) == here, here, here - 1)
    return np.asarray((n >= 1) & ((place == more) | (place == less)))
