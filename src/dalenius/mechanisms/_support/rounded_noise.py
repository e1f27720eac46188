"""Continuous noise on a grid: the law is cut into grid steps, and cutting is post-processing.

Let N be noise and f a trade-off curve with T(N, N + m) >= f for 0 <= m <= 1, as for canonical noise (Awan and Vadhan
2023) and staircase noise. With values on a grid where the sensitivity is at most w steps, value + floor(w N) =
floor(value + w N) is post-processing of value + w N, which is f-DP. So a sampler of floor(w N) is all that is needed,
and the result is f-DP with nothing added for the grid. The part of a step that is cut off, half a step on average, is
added again.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array
from dalenius.core.checks import float_up
from dalenius.mechanisms._support.additive_noise import NoiseOnReals
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end, spread
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import uniform_integers


def either_side(sizes: Array) -> Array:
    """floor(N) from floor(|N|), the signs drawn at random."""
    negative = np.asarray(uniform_integers(0, 2, len(sizes))) == 1
    # floor(-x) = -floor(x) - 1 but for whole x, which have probability 0.
    return np.where(negative, -sizes - 1, sizes)


class RoundedNoise(NoiseOnReals):
    """Real numbers plus sensitivity * N in every coordinate."""

    sensitivity: float
    coordinates: int
    _offset = 0.5  # the middle of the step

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        object.__setattr__(self, "coordinates", checks.count("coordinates", self.coordinates, least=1))

    @abstractmethod
    def _cells(self, count: int) -> Array:
        """floor(w N) for `count` independent N, w = `_wide`."""

    @property
    def _wide(self) -> int:
        """The sensitivity in grid steps, rounded up to an even number."""
        steps = int(self._grid.steps(self.sensitivity))
        return steps + steps % 2

    def _placed(self, cells: Array, places: Array) -> Array:
        """cells * w + places, in Python's integers where 64 bits would not do."""
        if cells.dtype != object and bool((np.abs(cells) >= (1 << 61) // self._wide).any()):
            cells = cells.astype(object)
        return np.asarray(cells * self._wide + places)

    def _far(self, x: float) -> float:
        """The error that |N| <= x allows: both roundings to the grid add half a step."""
        return float_up(self._grid.granularity * (self._wide * Fraction(x) + 1))

    def _draw(self, size: int, shape: tuple[int, ...]) -> Any:
        return self._cells(prod(shape)).reshape(shape)

    @property
    def worst_pair(self) -> Neighbours:
        """Numbers that differ by the sensitivity in every coordinate a record can change."""
        if self.coordinates == 1:
            return Neighbours(0.0, self.sensitivity)
        return Neighbours(np.zeros(self.coordinates), np.full(self.coordinates, self.sensitivity))

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """Longer vectors as well."""
        moved = spread if self.coordinates > 1 else at_the_end
        return self.worst_pair, moved(self.sensitivity)
