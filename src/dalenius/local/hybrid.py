"""The hybrid of the piecewise mechanism and one bit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.local.duchi import Duchi
from dalenius.local.mean_randomizer import MeanRandomizer
from dalenius.local.piecewise import Piecewise
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.answers import as_answers
from dalenius.noise import bernoulli

ROOT = math.sqrt(241.0)
LEAST = math.log((-5 + 2 * math.cbrt(6353 - 405 * ROOT) + 2 * math.cbrt(6353 + 405 * ROOT)) / 27)
"""Up to this epsilon, about 0.61, one bit alone has the least worst variance."""


@dataclass(frozen=True, kw_only=True)
class Hybrid(MeanRandomizer):
    """Reports with probability 1 - e^(-epsilon/2) as `Piecewise` does, else as `Duchi`; only so if epsilon <= 0.61.

    Which of the two is a coin that knows nothing of the number. The worst variance is below that of either (Wang,
    Xiao, Yang et al. 2019). A report below M is a place of the piecewise mechanism; M and M + 1 are bits.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    bounds
        Where numbers lie: public. They are scaled to [-1, 1].

    Examples
    --------
    >>> import dalenius as dp
    >>> h, p, d = (m(epsilon=2.0) for m in (dp.local.Hybrid, dp.local.Piecewise, dp.local.Duchi))
    >>> h.worst_variance < min(p.worst_variance, d.worst_variance)
    True
    """

    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    @cached_property
    def _piecewise(self) -> Piecewise:
        return Piecewise(epsilon=self.epsilon)

    @cached_property
    def _bit(self) -> Duchi:
        return Duchi(epsilon=self.epsilon)

    @cached_property
    def share(self) -> float:
        """The probability of a report by the piecewise mechanism."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > LEAST else 0.0

    @cached_property
    def loss(self) -> Loss:
        share = Fraction(self.share)
        telling = share * self._piecewise._fits + (1 - share) * (1 - self._bit._response._chance)
        return two_level_loss(self.epsilon, telling, call("hybrid", epsilon=self.epsilon))

    def _draw(self, units: Reals) -> Array:
        first = np.asarray(bernoulli(self.share, len(units)))
        bits = self._bit._draw(units) + self._piecewise.places
        return np.where(first, self._piecewise._draw(units), bits)

    def _decode(self, reports: Any) -> Reals:
        m = self._piecewise.places
        given = as_answers(reports, m + 2, "reports")
        place = self._piecewise._decode(np.minimum(given, m - 1))
        return np.where(given < m, place, self._bit._decode(np.maximum(given - m, 0)))

    def _variance(self, unit: float) -> float:
        """Both are unbiased: the mixture of their variances."""
        return self.share * self._piecewise._variance(unit) + (1 - self.share) * self._bit._variance(unit)
