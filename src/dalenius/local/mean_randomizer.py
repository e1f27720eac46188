"""What every randomizer of numbers is: people report alone, and the mean is read from all reports."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.local.mean_estimate import MeanEstimate
from dalenius.local.two_level import report_epsilon
from dalenius.mechanisms._support.exact_arrays import real_numbers
from dalenius.mechanisms._support.neighbouring_vectors import LENGTH
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import bernoulli


class MeanRandomizer(Mechanism):
    """A randomizer of one person's number within public bounds, and the way back from reports to the mean.

    Numbers outside the bounds are moved to the nearer one. `decode` makes a report an unbiased estimate of the number
    it came from; `mean` is their mean, with an interval. A neighbour is another number of one person (REPLACE_ONE).

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.Duchi(epsilon=1.0, bounds=(0, 100))
    >>> isinstance(m, dp.local.MeanRandomizer), m.loss.epsilon(delta=0.0)
    (True, 1.0)
    """

    epsilon: float
    bounds: tuple[float, float]
    adjacency: Adjacency

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", report_epsilon(self.epsilon))
        object.__setattr__(self, "bounds", checks.interval("bounds", self.bounds))
        if self._half < sys.float_info.min:
            raise InvalidParameter.of("bounds", "bounds are too close for doubles; rescale the numbers.")
        _ = self.loss

    @property
    def _half(self) -> float:
        return self.bounds[1] / 2 - self.bounds[0] / 2

    @property
    def _middle(self) -> float:
        return self.bounds[1] / 2 + self.bounds[0] / 2

    def _units(self, value: Any) -> Reals:
        """Numbers as shares of the way from -1 to 1."""
        numbers = real_numbers(value)
        if numbers.dtype == object:  # whole numbers beyond the floats
            numbers = np.asarray(np.clip(numbers, *self.bounds))
        numbers = np.clip(numbers.astype(np.float64), *self.bounds)
        return np.asarray(np.clip((numbers - self._middle) / self._half, -1.0, 1.0))

    @abstractmethod
    def _draw(self, units: Reals) -> Array:
        """A report for each number in [-1, 1]."""

    @abstractmethod
    def _decode(self, reports: Any) -> Reals:
        """An unbiased number in units for each report."""

    @abstractmethod
    def _variance(self, unit: float) -> float:
        """The variance of a decoded report of a number, in units; a + b unit^2 but for rounding."""

    def release(self, value: Any) -> Any:
        """One report, or one for each person.

        Parameters
        ----------
        value
            A real number, or an array with one for each person.

        Returns
        -------
        number or ndarray
            The reports, in the shape of `value`.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described. The message never shows it.
        """
        units = self._units(value)
        reports = self._draw(units.ravel()).reshape(units.shape)
        return reports if reports.ndim else reports.item()

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
        units, times = self._units(value), checks.count("times", times)
        many = np.broadcast_to(units, (times, *units.shape))
        return self._draw(many.ravel()).reshape(many.shape)

    def decode(self, reports: Any) -> Reals:
        """An unbiased estimate of the number behind each report; most lie outside the bounds.

        Parameters
        ----------
        reports
            What `release` gave.

        Returns
        -------
        ndarray
            The estimates.

        Raises
        ------
        InvalidParameter
            If they are not reports of this randomizer.
        """
        return self._middle + self._half * self._decode(reports)

    def variance(self, value: float) -> float:
        """The variance of one decoded report.

        Parameters
        ----------
        value
            The number behind the report.

        Returns
        -------
        float
            The variance, in squared units of the bounds.

        Raises
        ------
        InvalidParameter
            If the value is not a number.
        """
        return self._variance(float(self._units(checks.number("value", value)))) * self._half**2

    @property
    def worst_variance(self) -> float:
        """The largest variance of a decoded report, in squared units of the bounds."""
        return max(self._variance(0.0), self._variance(1.0)) * self._half**2

    def mean(self, reports: Any) -> MeanEstimate:
        """The mean of all numbers, from their reports.

        Parameters
        ----------
        reports
            What `release` gave for an array of people, at least two.

        Returns
        -------
        MeanEstimate
            The mean, its standard error and intervals.

        Raises
        ------
        InvalidParameter
            If they are not reports of this randomizer.
        """
        return MeanEstimate(self, self.decode(reports).ravel())

    def limits(self, decoded: Reals, alpha: float) -> tuple[float, float] | None:
        """Exact limits for the mean, where the law of reports gives some."""
        return None

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(self.bounds[0], self.bounds[1])

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        before = np.full(LENGTH, self.bounds[0])
        after = before.copy()
        after[-1] = self.bounds[1]
        return self.worst_pair, Neighbours(before, after)


def rounded(units: Reals, steps: int) -> Ints:
    """Numbers in [-1, 1] as one of steps + 1 places, up or down at random so that the mean is kept."""
    place = (units + 1) / 2 * steps
    whole = np.floor(place)
    up = np.asarray(bernoulli(place - whole))
    return np.asarray(whole.astype(np.int64) + up)
