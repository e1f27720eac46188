"""What the mechanisms that add independent noise to every coordinate share: exact numbers, exact sums."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core import checks
from dalenius.mechanisms._support.exact_arrays import Numbers, real_numbers, whole_numbers
from dalenius.mechanisms._support.exact_sums import noisy_integers, noisy_reals, python_integer
from dalenius.mechanisms.mechanism import Mechanism
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
        numbers = real_numbers(value)
        result = self._noisy(numbers, numbers.shape)
        return result if numbers.ndim else float(result.item())

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
        return self._noisy(numbers, (times, *numbers.shape))

    def _noisy(self, numbers: Numbers, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return noisy_reals(self._grid, numbers, np.asarray(self._draw(numbers.size, shape)))


class NoiseOnIntegers(Mechanism):
    """Whole numbers with whole-numbered noise added, whole numbers out."""

    @abstractmethod
    def _draw(self, shape: tuple[int, ...]) -> Any:
        """Noise of this shape."""

    def release(self, value: Any) -> Any:
        """The value with noise in every coordinate.

        Parameters
        ----------
        value
            An integer, or an array of integers.

        Returns
        -------
        int or ndarray
            One integer gives an integer of any size; an array gives int64, clamped to its range.

        Raises
        ------
        InvalidParameter
            If the value is empty or not of an integer type.
        """
        numbers = whole_numbers(value)
        if numbers.ndim == 0:
            return python_integer(numbers, self._draw(()))
        return noisy_integers(numbers, np.asarray(self._draw(numbers.shape)))

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
        numbers, times = whole_numbers(value), checks.count("times", times)
        return noisy_integers(numbers, np.asarray(self._draw((times, *numbers.shape))))
