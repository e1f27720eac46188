"""Laplace noise that everybody adds alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import PureDP
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.local.mean_randomizer import MeanRandomizer
from dalenius.mechanisms import laplace as mechanisms
from dalenius.mechanisms._support.exact_arrays import real_numbers


@dataclass(frozen=True, kw_only=True)
class Laplace(MeanRandomizer):
    """Reports the number, scaled to [-1, 1], with Laplace noise of scale 2/epsilon.

    `dalenius.mechanisms.Laplace` of sensitivity 2, for which numbers are put on a grid and the noise is drawn exactly
    on it (Dwork, McSherry, Nissim and Smith 2006). The variance, 8/epsilon^2, is above that of `Hybrid` for every
    epsilon; the law of a report is the simplest.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    bounds
        Where numbers lie: public. They are scaled to [-1, 1].

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.Laplace(epsilon=2.0, bounds=(0, 100))
    >>> round(m.variance(50.0), 6), m.loss.epsilon(delta=0.0)
    (5000.0, 2.0)
    """

    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    @cached_property
    def _noise(self) -> mechanisms.Laplace:
        return mechanisms.Laplace.calibrated(PureDP(self.epsilon), sensitivity=2, adjacency=REPLACE_ONE)

    @cached_property
    def loss(self) -> Loss:
        return self._noise.loss

    def _draw(self, units: Reals) -> Array:
        return np.asarray(self._noise.release(units))

    def _decode(self, reports: Any) -> Reals:
        return np.asarray(real_numbers(reports, "reports").astype(np.float64))

    def _variance(self, unit: float) -> float:
        return 2 * self._noise.scale**2
