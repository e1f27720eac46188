"""What the mechanisms that add independent noise to every coordinate share: exact numbers, exact sums."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus import checks
from dalenius.mechanisms import on_grid
from dalenius.mechanisms.mechanism import Mechanism
from dalenius.mechanisms.values import Numbers, added, integers_like, real_numbers, whole_numbers
from dalenius.noise import Grid


class NoiseOnReals(Mechanism):
    """Real numbers on a grid, whole-numbered noise added, doubles out."""

    @property
    @abstractmethod
    def _grid(self) -> Grid:
        """The grid, from public numbers alone."""

    @abstractmethod
    def _draw(self, size: int, shape: tuple[int, ...]) -> Any:
        """Noise of this shape, in grid steps, each entry part of a release of `size` coordinates."""

    def release(self, value: Any) -> Any:
        """The value (a number, or an array of any shape) with noise in every coordinate, as doubles."""
        units = on_grid.steps(self._grid, real_numbers(value))
        result = self._noisy(units, units.size)
        return float(result.item()) if np.ndim(value) == 0 else result

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one value, along the first axis."""
        units, times = on_grid.steps(self._grid, real_numbers(value)), checks.count("times", times)
        return self._noisy(np.broadcast_to(units, (times, *units.shape)), units.size)

    def _noisy(self, units: Numbers, size: int) -> NDArray[np.float64]:
        return on_grid.doubles(self._grid, added(units, np.asarray(self._draw(size, units.shape))))


class NoiseOnIntegers(Mechanism):
    """Whole numbers with whole-numbered noise added, whole numbers out."""

    @abstractmethod
    def _draw(self, shape: tuple[int, ...]) -> Any:
        """Noise of this shape."""

    def release(self, value: Any) -> Any:
        """The value (an integer, or an array of integers) with noise in every coordinate.

        One integer gives an integer of any size; an array gives int64, clamped to its range.
        """
        numbers = whole_numbers(value)
        return integers_like(added(numbers, np.asarray(self._draw(numbers.shape))), np.ndim(value) == 0)

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one value, along the first axis."""
        numbers, times = whole_numbers(value), checks.count("times", times)
        many = np.broadcast_to(numbers, (times, *numbers.shape))
        return integers_like(added(many, np.asarray(self._draw(many.shape))), False)
