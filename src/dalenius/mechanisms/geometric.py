"""The geometric mechanism: Laplace noise for whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support import grid_noise
from dalenius.mechanisms._support.additive_noise import NoiseOnIntegers
from dalenius.mechanisms._support.noise_calibration import bisected, kept
from dalenius.mechanisms.mechanism import Neighbours, at_the_end
from dalenius.noise import discrete_laplace

ENUMERATED = 10**6
"""Up to this sensitivity the loss is the exact discrete one."""


@dataclass(frozen=True, kw_only=True)
class Geometric(NoiseOnIntegers):
    """Releases f(X) + k for whole-numbered f, P(k) proportional to exp(-|k|/scale), in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity`, a whole number, in l1 norm. The noise is drawn
    exactly; the release is sensitivity/scale-DP and its loss is the exact law (seed 001 Theorem 2.8 with
    alpha = exp(1/scale)). Beyond a sensitivity of 1e6 the loss is that of Laplace noise on a lattice,
    larger by 1/(4 scale^2) (docs/mechanisms-on-a-grid.md, Lemma 2).

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", checks.count("sensitivity", self.sensitivity, least=1))
        object.__setattr__(
            self, "scale", checks.positive("scale", self.scale, "Noise of scale 0 hides nothing.")
        )
        grid_noise.sane("scale", self.scale, self.sensitivity)
        _ = self.loss

    @cached_property
    def loss(self) -> Loss:
        return _loss(self.scale, self.sensitivity, self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        The least whole m with (1 - P(|k| > m))^size >= confidence, P(|k| > m) = 2 q^(m+1)/(1+q) for
        q = exp(-1/scale): exact, where seed 001 Theorem 2.8 has scale ln(size/(1 - confidence)).
        """
        t = grid_noise.share(confidence, size)
        q = math.exp(-1 / self.scale)
        exponent = math.log(2) - math.log1p(q) - math.log(t)
        return float(max(0, math.ceil(self.scale * exponent * (1 + 1e-13) - 1)))

    @classmethod
    def for_accuracy(
        cls,
        within: float,
        confidence: float = 0.95,
        *,
        sensitivity: int,
        size: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> Geometric:
        """The most noise with which all of `size` coordinates stay within an error."""
        whole = math.floor(checks.nonnegative("within", within))
        t = grid_noise.share(confidence, size)

        def build(scale: float) -> Geometric:
            return cls(sensitivity=sensitivity, scale=scale, adjacency=adjacency)

        # P(|k| > m) lies between q^(m+1) and 2 q^(m+1).
        low, high = (whole + 1) / (math.log(2.01) - math.log(t)), (whole + 1) / -math.log(t) * 1.01
        return build(bisected(lambda scale: build(scale).accuracy(confidence, size) <= whole, low, high))

    @classmethod
    def calibrated(
        cls, guarantee: Guarantee, *, sensitivity: int, adjacency: Adjacency = ADD_REMOVE
    ) -> Geometric:
        """The least noise that keeps a promise."""
        sensitivity = checks.count("sensitivity", sensitivity, least=1)
        if isinstance(guarantee, PureDP) and guarantee.epsilon > 0:
            scale = grid_noise.up(sensitivity / Fraction(guarantee.epsilon))
        else:
            scale = calibrate(lambda s: _loss(s, sensitivity, adjacency), guarantee, start=float(sensitivity))
        return kept(lambda s: cls(sensitivity=sensitivity, scale=s, adjacency=adjacency), scale, guarantee)

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0, self.sensitivity)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, at_the_end(self.sensitivity, np.int64)

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return discrete_laplace(self.scale, shape)


def _loss(scale: float, sensitivity: int, adjacency: Adjacency) -> Loss:
    if sensitivity <= ENUMERATED:
        return losses.geometric(scale, sensitivity, adjacency)
    s = Fraction(scale)
    return losses.laplace(1.0, grid_noise.up(sensitivity / s + 1 / (4 * s * s)), adjacency)
