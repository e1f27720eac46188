"""What a statistic of numbers in public bounds is, and its sensitivities: local, at a distance, global, smooth."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dalenius.adaptive.statistics.windows import Sorted, last_distance
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms._support.interval_grid import IntervalGrid
from dalenius.mechanisms.quantile import records

SMALLEST_BETA, LARGEST_BETA = 1e-4, 100.0

D = TypeVar("D")
"""The data as a statistic keeps them."""


class Measured(NamedTuple):
    """A statistic and a smooth bound on its sensitivity, both in steps of the grid of answers."""

    value: Fraction
    sensitivity: float


class Statistic(ABC, Generic[D]):
    """A statistic f of one number per record, with a bound A_k(X) on its sensitivity at distance k.

    The local sensitivity of f at X is the most that f changes from X to a neighbour. A_k(X) is at least the local
    sensitivity of every data set that at most k steps to a neighbour lead to, and A_k(X) <= A_(k+1)(X') for
    neighbours X, X'. Then

        S(X) = max over k >= 0 of exp(-beta k) A_k(X)

    is a beta-smooth bound: it is at least the local sensitivity, and S(X) <= e^beta S(X') (Nissim, Raskhodnikova and
    Smith 2007). It is never taken below one step of the grid of answers, which keeps it smooth. Numbers are clamped
    to the bounds and rounded to the grid of the data first; all of this is about the numbers so rounded.

    None of these numbers may be published: they depend on the data. What adds noise in proportion is a mechanism, such
    as `dp.adaptive.SmoothStudentT`.

    Examples
    --------
    >>> import dalenius as dp
    >>> isinstance(dp.adaptive.statistics.Median(bounds=(0, 10)), dp.adaptive.statistics.Statistic)
    True
    """

    bounds: tuple[float, float]
    granularity: Any
    adjacency: Adjacency

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        points = IntervalGrid.of(self.bounds, self.granularity)
        set_(self, "bounds", points.bounds)
        set_(self, "granularity", points.granularity)
        set_(self, "adjacency", checked_adjacency(self.adjacency))

    @cached_property
    def points(self) -> IntervalGrid:
        """The grid that data are rounded to."""
        return IntervalGrid.of(self.bounds, self.granularity)

    @property
    def answers(self) -> IntervalGrid:
        """The grid of answers, between the least and the largest value of the statistic."""
        return self.points

    @property
    @abstractmethod
    def global_steps(self) -> float:
        """A bound on the sensitivity at every data set, in steps of the grid of answers."""

    @abstractmethod
    def prepared(self, values: Any) -> D:
        """The data, read once."""

    @abstractmethod
    def exactly(self, data: D) -> Fraction:
        """The statistic, in steps of the grid of answers."""

    @abstractmethod
    def at_distance(self, data: D, k: int) -> float:
        """A_k, in steps of the grid of answers."""

    @property
    @abstractmethod
    def worst_pair(self) -> Neighbours:
        """Neighbours between which the statistic moves by its global sensitivity, or nearly so."""

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The worst pair, and one where the noise is stretched and not moved: all records in the middle."""
        low, high = self.bounds
        middle = low + (high - low) / 2
        replaced = [middle] * 4 if self.adjacency is ADD_REMOVE else [middle, middle, high]
        return self.worst_pair, Neighbours([middle] * 3, replaced)

    def smooth_steps(self, data: D, beta: float) -> float:
        """max over k of exp(-beta k) A_k, or 1, in steps of the grid of answers."""
        best, most = 1.0, self.global_steps
        for k in range(last_distance(beta, most) + 1):
            fade = math.exp(-beta * k)
            if fade * most <= best:
                break
            best = max(best, fade * min(self.at_distance(data, k), most))
        return best

    def measured(self, values: Any, beta: float) -> Measured:
        """The statistic and its smooth sensitivity."""
        data = self.prepared(values)
        return Measured(self.exactly(data), self.smooth_steps(data, beta))

    # -- for a look at data of one's own -----------------------------------------------------------

    def value(self, values: Any) -> float:
        """The statistic of these numbers, without noise.

        Parameters
        ----------
        values
            One number for each record; there may be none.

        Returns
        -------
        float
            The statistic of the numbers clamped and rounded to the grid.

        Raises
        ------
        InvalidParameter
            If the values are not finite numbers.
        """
        return float(self.exactly(self.prepared(values)) * self.answers.granularity)

    def local_sensitivity(self, values: Any, distance: int = 0) -> float:
        """A_k for k = `distance`: for 0 the local sensitivity. Not private.

        Parameters
        ----------
        values
            One number for each record.
        distance
            How many records away.

        Returns
        -------
        float
            The most that the statistic changes between neighbours, one of which is that far away.

        Raises
        ------
        InvalidParameter
            If the values are not finite numbers.
        """
        k = checks.count("distance", distance)
        steps = min(self.at_distance(self.prepared(values), k), self.global_steps)
        return steps * float(self.answers.granularity)

    def smooth_sensitivity(self, values: Any, beta: float) -> float:
        """The beta-smooth bound on the sensitivity. Not private.

        Parameters
        ----------
        values
            One number for each record.
        beta
            Its logarithm changes by at most this much between neighbours.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InvalidParameter
            If the values are not finite numbers, or beta is not between 1e-4 and 100.
        """
        return self.measured(values, checked_beta(beta)).sensitivity * float(self.answers.granularity)

    @property
    def global_sensitivity(self) -> float:
        """The most that the statistic changes between any two neighbours, or a bound on it."""
        return self.global_steps * float(self.answers.granularity)


class OfSorted(Statistic[Sorted]):
    """A statistic of the sorted numbers, between the bounds like the numbers themselves."""

    def prepared(self, values: Any) -> Sorted:
        return Sorted(self.points.nearest(records(values)), self.points.lowest, self.points.highest)

    @property
    def global_steps(self) -> float:
        return float(self.points.highest - self.points.lowest)

    def mean_of(self, data: Sorted, first: int, last: int) -> Fraction:
        """The mean of x_first, ..., x_last, in steps of the grid."""
        kept = data.at(np.arange(first, last + 1))
        return self.points.lowest + Fraction(int(kept.astype(np.int64).sum(dtype=object)), len(kept))


def checked_beta(beta: object) -> float:
    """A smoothness that can be computed with."""
    value = checks.positive("beta", beta)
    if not SMALLEST_BETA <= value <= LARGEST_BETA:
        raise InvalidParameter.of("beta", f"beta is {value:g}; it must be between {SMALLEST_BETA:g} and 100.")
    return value


def certain_beta(beta: float) -> float:
    """What log S changes by at most between neighbours, S as computed in doubles (`windows.discounted`)."""
    return beta + 2.0**-40 * (1 + 1 / beta)
