"""The discrete Gaussian mechanism: Gaussian noise for whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.whole_vectors import WholeVectorNoise
from dalenius.noise import discrete_gaussian

MAX_SUMMED_SIGMA = 1e5
"""Up to this sigma quantiles are found by summing the law."""


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(WholeVectorNoise):
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

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        checks.moderate("sensitivity / sigma", self.sensitivity / self.sigma)
        return losses.discrete_gaussian_vector(self.sigma, self.squared, self.coordinates, self.adjacency)

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

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return discrete_gaussian(self.sigma, shape)
