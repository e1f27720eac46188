"""Canonical noise for (epsilon, delta)-DP: the truncated uniform-Laplace (Tulap) distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array
from dalenius.core.bisection import change_point
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms._support.grid_noise import check_noise_ratio, coordinate_failure
from dalenius.mechanisms._support.rounded_noise import RoundedNoise
from dalenius.noise import Grid, discrete_laplace, uniform_integers
from dalenius.noise.chunks import until_enough


@dataclass(frozen=True, kw_only=True)
class Tulap(RoundedNoise):
    """Releases f(X) + sensitivity * N, the least noise whose trade-off curve is that of (epsilon, delta)-DP.

    N = K + U given |N| <= L: K two-sided geometric of ratio exp(-epsilon), U uniform on [-1/2, 1/2], and L
    such that the loss is exactly that of (epsilon, delta)-DP: no part of the promise is left unused. (Awan
    and Slavkovic 2018; canonical noise: Awan and Vadhan 2023.) Tests and intervals built on it are optimal.

    A record changes at most `coordinates` entries of f, each by at most `sensitivity`; every entry has
    independent noise, and the loss is that of `coordinates` releases. (Noise of this kind has no l1 bound: half a
    change in each of two entries costs as much as a whole change in both.)

    Exact on the grid: the law of N is constant between grid points, so drawing K and a whole-numbered
    position in its cell is drawing N and cutting off its last digits. L is rounded up to the grid.

    Parameters
    ----------
    sensitivity
        The most that one record changes an entry of f.
    epsilon
        The epsilon of one entry.
    delta
        The delta of one entry; 0 for noise without bounds.
    coordinates
        The most entries that one record changes.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import Tulap
    >>> m = Tulap(sensitivity=1, epsilon=1.0, delta=0.01)
    >>> type(m.release(41)).__name__, round(m.width, 6)
    ('float', 4.402295)
    """

    sensitivity: float
    epsilon: float
    delta: float = 0.0
    coordinates: int = 1
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checks.positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", checks.failure_probability("delta", self.delta))
        check_noise_ratio("1 / epsilon", 1 / self.epsilon, 1.0)
        if self.delta > 1000 * self.epsilon:
            raise InvalidParameter(
                f"delta is {self.delta:g}, more than 1000 times epsilon; it must be less. So large a delta "
                "protects nobody."
            )
        _ = self.loss

    @cached_property
    def loss(self) -> Loss:
        return losses.approx(self.epsilon, self.delta, self.adjacency) * self.coordinates

    @property
    def width(self) -> float:
        """L: noise never exceeds this many sensitivities, rounded up; inf for delta = 0, and for an epsilon so large
        that doubles hold no mass to cut off: what is not cut off promises more."""
        return self._beyond(self._cut / 2) if self._cut / 2 > 0 else math.inf

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within: exact.

        The quantile of |N| times the sensitivity, plus one grid step.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The error, in the units of the value.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        t = coordinate_failure(confidence, size)
        return self._far(self._beyond((t * (1 - self._cut) + self._cut) / 2))

    def cdf(self, x: Any) -> Any:
        """The chance that the noise, sensitivity * N, is at most x: what exact tests and intervals are built on.

        Parameters
        ----------
        x
            A number or an array, in the units of the value.

        Returns
        -------
        float or ndarray
            Probabilities, to 1e-12 beyond one grid step.
        """
        t = np.asarray(x, dtype=np.float64) / self.sensitivity
        b = math.exp(-self.epsilon)
        k = np.floor(np.abs(t) + 0.5)  # the cell of -|t|, counted from the middle one
        lower = b ** (k + 1) / (1 + b) + (k + 0.5 - np.abs(t)) * (1 - b) / (1 + b) * b**k
        below = np.where(t > 0, 1 - lower, lower)
        return np.clip((below - self._cut / 2) / (1 - self._cut), 0.0, 1.0)[()]

    @classmethod
    def for_accuracy(
        cls, within: float, confidence: float = 0.95, *, sensitivity: float, size: int = 1, **options: Any
    ) -> Tulap:
        """The least epsilon with which all coordinates stay within an error.

        Parameters
        ----------
        within
            The error that no coordinate may exceed.
        confidence
            The probability with which that must hold.
        sensitivity
            As for the mechanism.
        size
            The number of coordinates.
        **options
            The other parameters of the mechanism.

        Returns
        -------
        Tulap
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no epsilon up to 600 is that accurate.
        """
        within = checks.positive("within", within)

        def build(noise: float) -> Tulap:
            return cls(sensitivity=sensitivity, epsilon=1 / noise, **options)

        def accurate(noise: float) -> bool:
            return build(noise).accuracy(confidence, size) <= within

        if not accurate(1 / 600):
            raise CannotMeet(
                f"no epsilon up to 600 stays within {within:g}; noise always fills half a sensitivity."
            )
        return build(change_point(accurate, 1 / 600, relative=1e-12)[0])

    @classmethod
    def calibrated(
        cls,
        guarantee: Guarantee,
        *,
        sensitivity: float,
        coordinates: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> Tulap:
        """The least noise of this kind that keeps a guarantee; all of that is used if one coordinate changes.

        Parameters
        ----------
        guarantee
            What one release must satisfy.
        sensitivity
            As for the mechanism.
        coordinates
            As for the mechanism.
        adjacency
            The neighbouring relation that the sensitivity is stated for.

        Returns
        -------
        Tulap
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no noise of this kind keeps the guarantee.
        """
        coordinates = checks.count("coordinates", coordinates, least=1)
        delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
        if isinstance(guarantee, PureDP | ApproxDP) and guarantee.epsilon == 0.0 and delta == 0.0:
            raise CannotMeet(
                f"no noise keeps {guarantee}; a release that uses the data needs an epsilon above 0."
            )
        if coordinates == 1 and isinstance(guarantee, PureDP | ApproxDP) and guarantee.epsilon > 0:
            epsilon = guarantee.epsilon
        else:
            delta = delta / (2 * coordinates)
            epsilon = calibrate(lambda e: losses.approx(e, delta, adjacency) * coordinates, guarantee)

        return cls(
            sensitivity=sensitivity,
            epsilon=epsilon,
            delta=delta,
            coordinates=coordinates,
            adjacency=adjacency,
        )

    @cached_property
    def _grid(self) -> Grid:
        return Grid.fine(self.sensitivity, self.sensitivity / self.epsilon)

    @property
    def _cut(self) -> float:
        """q: the mass of K + U that is cut off."""
        b = math.exp(-self.epsilon)
        return 2 * self.delta * b / (-math.expm1(-self.epsilon) + 2 * self.delta * b)

    def _beyond(self, p: float) -> float:
        """The x with P(K + U > x) = p, rounded up, for p < 1/2."""
        b, gap = math.exp(-self.epsilon), -math.expm1(-self.epsilon)
        # P(K + U > n - 1/2) = b^n/(1 + b), and the density of the cell above it is gap times that.
        n = max(0, math.floor(-(math.log(p) + math.log1p(b)) / self.epsilon))
        edge = math.exp(-n * self.epsilon) / (1 + b)
        return max(0.0, n - 0.5 + max(0.0, 1 - p / edge) / gap) * (1 + 1e-9) + 1e-12

    def _cells(self, count: int) -> Array:
        if self.width == math.inf:
            return self._attempt(count)
        last = math.ceil(self._wide * Fraction(self.width))

        def inside(n: int) -> Array:
            cells = self._attempt(n)
            return cells[(cells >= -last) & (cells < last)]

        return until_enough(count, inside)

    def _attempt(self, count: int) -> Array:
        k = np.asarray(discrete_laplace(1 / Fraction(self.epsilon), count))
        return self._placed(k, uniform_integers(0, self._wide, count) - self._wide // 2)
