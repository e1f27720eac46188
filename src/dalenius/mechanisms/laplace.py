"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.calculus import losses
from dalenius.calculus.guarantees import PureDP
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms._support.additive_noise import IndependentNoise
from dalenius.mechanisms._support.grid_noise import coordinate_failure, discrete_laplace_scale
from dalenius.noise import discrete_laplace


@dataclass(frozen=True, kw_only=True)
class Laplace(IndependentNoise):
    """Releases f(X) + Laplace noise of this scale, independent in every coordinate.

    Neighbours (`adjacency`) move f by at most `sensitivity` in l1 norm. The release is
    sensitivity/scale-DP; its loss is the exact law, which composes better (Dwork, McSherry, Nissim
    and Smith 2006; Dwork and Roth 2014, Theorem 3.6).

    Numbers are put on a grid of about 2^-40 of the noise and the noise is drawn exactly on that grid, wider
    by just as little as makes the stated loss an upper bound (docs/mechanisms-on-a-grid.md). Integers of
    any size and doubles are taken exactly.

    Parameters
    ----------
    sensitivity
        The most that one record changes f, in l1 norm.
    scale
        The scale of the noise; its variance is 2 scale^2.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
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
    _stated_by, _share = (PureDP,), 0.5

    @cached_property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return losses.laplace(self.scale, self.sensitivity, self.adjacency)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within.

        -scale ln(1 - confidence^(1/size)), exact for independent coordinates where Dwork and Roth
        (2014, Theorem 3.8) have the union bound scale ln(size/(1 - confidence)); plus the grid: P(|k| > m) = 2
        q^(m+1)/(1+q), so that an error of more than 1 + s t steps has probability at most exp(-t). The nearest
        double to the answer adds its own rounding.

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
        exponent = -math.log(coordinate_failure(confidence, size))
        return float(self._grid.granularity) * (1 + self._units(size) * exponent) * (1 + 1e-14)

    def _draw(self, size: int, shape: tuple[int, ...]) -> Any:
        return discrete_laplace(self._units(size), shape)

    def _units(self, size: int) -> float:
        return discrete_laplace_scale(self.sensitivity, self.scale, size, self._grid)
