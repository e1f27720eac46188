"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support import grid_noise
from dalenius.mechanisms._support.additive_noise import NoiseOnReals
from dalenius.mechanisms._support.noise_calibration import least_noise, most_noise
from dalenius.mechanisms.mechanism import Neighbours, spread
from dalenius.noise import Grid, discrete_laplace


@dataclass(frozen=True, kw_only=True)
class Laplace(NoiseOnReals):
    """Releases f(X) + Laplace noise of this scale, independent in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity` in l1 norm. The release is
    sensitivity/scale-DP; its loss is the exact law, which composes better (seed 000 Theorem 3.2, seed 001
    Theorem 2.5).

    Numbers are put on a grid of about 2^-40 of the noise and the noise is drawn exactly on that grid, wider
    by just as little as makes the stated loss an upper bound (docs/mechanisms-on-a-grid.md). Integers of
    any size and doubles are taken exactly.

    >>> import dalenius as dp
    >>> from dalenius.mechanisms import Laplace
    >>> m = Laplace(sensitivity=1, scale=2.0)
    >>> m.loss.epsilon(delta=0.0)
    0.5
    >>> type(m.release(41)).__name__
    'float'
    """

    sensitivity: float
    scale: float
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        object.__setattr__(
            self, "scale", checks.positive("scale", self.scale, "Noise of scale 0 hides nothing.")
        )
        grid_noise.sane("scale", self.scale, self.sensitivity)
        _ = self.loss

    @cached_property
    def loss(self) -> Loss:
        return losses.laplace(self.scale, self.sensitivity, self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        -scale ln(1 - confidence^(1/size)), exact for independent coordinates where seed 001 Theorem 2.5 has
        the union bound scale ln(size/(1 - confidence)); plus the grid: P(|k| > m) = 2 q^(m+1)/(1+q), so that
        an error of more than 1 + s t steps has probability at most exp(-t). The nearest double to the answer
        adds its own rounding.
        """
        exponent = -math.log(grid_noise.share(confidence, size))
        return float(self._grid.granularity) * (1 + self._units(size) * exponent) * (1 + 1e-14)

    @classmethod
    def for_accuracy(
        cls,
        within: float,
        confidence: float = 0.95,
        *,
        sensitivity: float,
        size: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> Laplace:
        """The most noise with which all of `size` coordinates stay within an error."""
        guess = checks.positive("within", within) / -math.log(grid_noise.share(confidence, size))
        return most_noise(
            lambda scale: cls(sensitivity=sensitivity, scale=scale, adjacency=adjacency),
            within,
            confidence,
            size,
            guess,
        )

    @classmethod
    def calibrated(
        cls, guarantee: Guarantee, *, sensitivity: float, adjacency: Adjacency = ADD_REMOVE
    ) -> Laplace:
        """The least noise that keeps a promise."""
        sensitivity = checks.positive("sensitivity", sensitivity)
        if isinstance(guarantee, PureDP) and guarantee.epsilon > 0:
            scale = grid_noise.up(Fraction(sensitivity) / Fraction(guarantee.epsilon))
        else:
            scale = least_noise(losses.laplace, guarantee, sensitivity)
        return cls(sensitivity=sensitivity, scale=scale, adjacency=adjacency)

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0.0, self.sensitivity)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, spread(self.sensitivity / 2)

    @cached_property
    def _grid(self) -> Grid:
        return Grid.fine(self.sensitivity, self.scale)

    def _draw(self, size: int, shape: tuple[int, ...]) -> Any:
        return discrete_laplace(self._units(size), shape)

    def _units(self, size: int) -> float:
        return grid_noise.discrete_laplace_scale(self.sensitivity, self.scale, size, self._grid)
