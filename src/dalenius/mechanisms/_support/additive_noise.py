"""What the mechanisms that add independent noise to every coordinate share: exact numbers, exact sums."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalenius.core import checks
from dalenius.mechanisms._support.exact_arrays import real_numbers, whole_numbers
from dalenius.mechanisms._support.exact_sums import noisy_integers, noisy_reals, python_integer
from dalenius.mechanisms._support.neighbouring_vectors import spread
from dalenius.mechanisms._support.scaled_noise import ScaledNoise
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import Grid


class NoiseOnReals(Mechanism):
    """Real numbers on a grid, whole-numbered noise added, doubles out."""

    _offset: ClassVar[float] = 0.0
    """What is added to every result, in grid steps."""

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
        noise = np.asarray(self._draw(numbers.size, (times, *numbers.shape)))
        return noisy_reals(self._grid, numbers, noise, self._offset)


class IndependentNoise(ScaledNoise, NoiseOnReals):
    """The same noise, of `scale` or `sigma`, in every coordinate."""

    _share: ClassVar[float]
    """What a record can move each of two coordinates by, in sensitivities."""

    @cached_property
    def _grid(self) -> Grid:
        return Grid.fine(self.sensitivity, getattr(self, self._size))

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0.0, self.sensitivity)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, spread(self.sensitivity * self._share)


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
