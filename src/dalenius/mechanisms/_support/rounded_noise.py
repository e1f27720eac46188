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
from numpy.typing import NDArray

from dalenius.core import checks
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.exact_sums import noisy_reals
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end, spread
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import Grid


class RoundedNoise(Mechanism):
    """Real numbers plus sensitivity * N in every coordinate."""

    sensitivity: float
    coordinates: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        object.__setattr__(self, "coordinates", checks.count("coordinates", self.coordinates, least=1))

    @property
    @abstractmethod
    def _grid(self) -> Grid:
        """The grid, from public numbers alone."""

    @abstractmethod
    def _cells(self, count: int) -> NDArray[Any]:
        """floor(w N) for `count` independent N, w = `_wide`."""

    @property
    def _wide(self) -> int:
        """The sensitivity in grid steps, rounded up to an even number."""
        steps = int(self._grid.steps(self.sensitivity))
        return steps + steps % 2

    def _far(self, x: float) -> float:
        """The error that |N| <= x allows: both roundings to the grid add half a step."""
        return float(self._grid.granularity * (self._wide * Fraction(x) + 1)) * (1 + 1e-15)

    def release(self, value: Any) -> Any:
        """The value with noise in every coordinate.

        Parameters
        ----------
        value
            A finite number, or an array of any shape.

        Returns
        -------
        float or ndarray
            The value with noise in every coordinate, of the same shape, as doubles.

        Raises
        ------
        InvalidParameter
            If the value is empty, not numeric or not finite.
        """
        result = self.releases(value, 1)[0]
        return float(result) if np.ndim(value) == 0 else result

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one value, along the first axis.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        numbers, times = real_numbers(value), checks.count("times", times)
        shape = (times, *numbers.shape)
        # The middle of the step.
        return noisy_reals(self._grid, numbers, self._cells(prod(shape)).reshape(shape), offset=0.5)

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
