"""The discrete Gaussian mechanism: Gaussian noise for whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.additive_noise import NoiseOnIntegers
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.lattice_gaussian import lattice_gaussian
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end, spread
from dalenius.mechanisms._support.scaled_noise import ScaledIntegerNoise
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import discrete_gaussian

MAX_SUMMED_SIGMA = 1e5
"""Up to this sigma quantiles are found by summing the law."""


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(ScaledIntegerNoise, NoiseOnIntegers):
    """Releases f(X) + k for whole-numbered f, P(k) proportional to exp(-k^2/(2 sigma^2)), per coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity` in l2 norm: math.sqrt(2) for one unit moved
    from one cell of a histogram to another. A whole-numbered vector of squared length D^2 differs from 0 in
    at most D^2 places; `coordinates` says so if one record changes fewer (1: one cell of many, or a single
    number).

    The noise is drawn exactly. The release is D^2/(2 sigma^2)-zCDP (Canonne, Kamath and Steinke 2020).
    Where only one coordinate changes the loss is the exact law; else it is also bounded as nearly that of
    Gaussian noise (docs/mechanisms-on-a-grid.md, Lemma 3).

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in l2 norm.
    sigma
        The parameter of the noise, about its standard deviation.
    coordinates
        The most coordinates that one record changes, if that is less than sensitivity^2.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import DiscreteGaussian
    >>> m = DiscreteGaussian(sensitivity=1, sigma=10.0)
    >>> type(m.release(41)).__name__, m.loss.zcdp() <= 0.0050000001
    ('int', True)
    """

    sensitivity: float
    sigma: float
    coordinates: int | None = None
    adjacency: Adjacency = ADD_REMOVE
    _size = "sigma"

    def __post_init__(self) -> None:
        if self.coordinates is not None:
            object.__setattr__(self, "coordinates", checks.count("coordinates", self.coordinates, least=1))
        super().__post_init__()

    @staticmethod
    def _checked_sensitivity(value: object) -> float:
        sensitivity = checks.positive("sensitivity", value)
        if not 1 <= _squared(sensitivity) <= checks.MOST:
            raise InvalidParameter.of(
                "sensitivity",
                f"sensitivity is {sensitivity}; whole numbers that move at all move by 1 or more, and here by 1e150 "
                "at most.",
            )
        return sensitivity

    @property
    def squared(self) -> int:
        """The most a neighbour can move, squared: a whole number."""
        return _squared(self.sensitivity)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        checks.moderate("sensitivity / sigma", self.sensitivity / self.sigma)
        return lattice_gaussian(self.sigma, self.squared, self.coordinates or self.squared, self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The least whole m with P(|k| <= m)^size >= confidence, found by summing the law; beyond sigma = 1e5
        from P(|k| > m) <= 2 (1 - Phi(m/sigma)), which is at most 1 larger.

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
        bound = max(0, math.ceil(-float(ndtri(t / 2)) * self.sigma * (1 + 1e-13)))
        if self.sigma > MAX_SUMMED_SIGMA:
            return float(bound)
        far = bound + math.ceil(10 * self.sigma) + 10
        weights = np.exp(-0.5 * (np.arange(far + 1.0) / self.sigma) ** 2)
        beyond = np.cumsum(weights[:0:-1])[::-1]  # of 1.., 2.., ...
        tail = 2 * beyond / (1 + 2 * beyond[0])
        return float(np.argmax(np.append(tail, 0.0) <= t * (1 - 1e-12)))

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        if self.coordinates == 1 or self.squared < 2:
            return self.worst_pair, at_the_end(math.isqrt(self.squared), np.int64)
        return self.worst_pair, spread(math.isqrt(self.squared // 2), np.int64)

    @property
    def worst_pair(self) -> Neighbours:
        whole = math.isqrt(self.squared)
        if whole**2 == self.squared or self.coordinates == 1:
            return Neighbours(0, whole)
        parts: list[int] = []
        rest = self.squared
        while rest and len(parts) < (self.coordinates or self.squared):
            parts.append(math.isqrt(rest))
            rest -= parts[-1] ** 2
        return Neighbours(np.zeros(len(parts), dtype=np.int64), np.array(parts, dtype=np.int64))

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return discrete_gaussian(self.sigma, shape)


def _squared(sensitivity: float) -> int:
    # math.sqrt(3) is a little below the root of 3: a rounding more makes its square 3 again.
    return math.floor(Fraction(sensitivity) ** 2 * (1 + Fraction(1, 10**12)))
