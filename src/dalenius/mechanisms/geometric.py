"""The geometric mechanism: Laplace noise for whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.mechanisms._support.additive_noise import NoiseOnIntegers
from dalenius.mechanisms._support.grid_noise import coordinate_failure
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end
from dalenius.mechanisms._support.scaled_noise import ScaledIntegerNoise
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import discrete_laplace

MAX_ENUMERATED_SENSITIVITY = 10**6
"""Up to this sensitivity the loss is the exact discrete one."""


@dataclass(frozen=True, kw_only=True)
class Geometric(ScaledIntegerNoise, NoiseOnIntegers):
    """Releases f(X) + k for whole-numbered f, P(k) proportional to exp(-|k|/scale), in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity`, a whole number, in l1 norm. The noise is drawn
    exactly; the release is sensitivity/scale-DP and its loss is the exact law (Ghosh, Roughgarden and Sundararajan
    2012, with alpha = exp(-1/scale)). Beyond a sensitivity of 1e6 the loss is that of Laplace noise on a lattice,
    larger by 1/(4 scale^2) (docs/mechanisms-on-a-grid.md, Lemma 2).

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in l1 norm; a whole number.
    scale
        The scale of the noise.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import Geometric
    >>> m = Geometric(sensitivity=1, scale=5.0)
    >>> m.loss.epsilon(delta=0.0)
    0.2
    >>> type(m.release(41)).__name__, m.accuracy(confidence=0.95)
    ('int', 15.0)
    """

    sensitivity: int
    scale: float
    adjacency: Adjacency = ADD_REMOVE
    _stated_by = (PureDP,)

    @staticmethod
    def _checked_sensitivity(value: object) -> int:
        return checks.count("sensitivity", value, least=1)

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        if self.sensitivity <= MAX_ENUMERATED_SENSITIVITY:
            return losses.geometric(self.scale, self.sensitivity, self.adjacency)
        s = Fraction(self.scale)
        return losses.laplace(1.0, float_up(self.sensitivity / s + 1 / (4 * s * s)), self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The least whole m with (1 - P(|k| > m))^size >= confidence, P(|k| > m) = 2 q^(m+1)/(1+q) for
        q = exp(-1/scale): exact, where a union bound has scale ln(size/(1 - confidence)).

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
        q = math.exp(-1 / self.scale)
        exponent = math.log(2) - math.log1p(q) - math.log(t)
        return float(max(0, math.ceil(self.scale * exponent * (1 + 1e-13) - 1)))

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0, self.sensitivity)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, at_the_end(self.sensitivity, np.int64)

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return discrete_laplace(self.scale, shape)
