"""The piecewise mechanism for means, on a grid."""

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
from dalenius.local.mean_randomizer import MeanRandomizer, rounded
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.answers import as_answers
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.noise import bernoulli, uniform_integers

STEPS = 1 << 16
"""N: numbers are one of N + 1 places. Rounding to them adds at most N^-2 to a variance that is above e^-epsilon."""


@dataclass(frozen=True, kw_only=True)
class Piecewise(MeanRandomizer):
    """Reports one of M places: the w places from the number's own on weigh 1 each, all others e^-epsilon.

    Numbers are rounded to one of N + 1 = 2^16 + 1 places i, at random, so that the mean is kept; there are M = N + w
    places to report, and i has the window i .. i + w - 1. A report's mean is a straight line in i, so that a report,
    rescaled, is unbiased. With w = N e^(-epsilon/2) this is the piecewise mechanism of Wang, Xiao, Yang et al.
    ("Collecting and analyzing multidimensional data with local differential privacy", 2019) on a grid. Its chances
    are two exact numbers whose ratio is at most e^epsilon: there is no rounding to prove anything about.

    Better than one bit (`Duchi`) when epsilon is above about 1.3: its variance falls to 0 as epsilon grows.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    bounds
        Where numbers lie: public. They are scaled to [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.Piecewise(epsilon=2.0)
    >>> m.decode(m.release(np.linspace(-1, 1, 5))).shape, round(m.worst_variance, 4)
    ((5,), 1.2276)
    """

    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    @cached_property
    def window(self) -> int:
        """w, the places that fit a number."""
        return max(1, round(STEPS * math.exp(-self.epsilon / 2)))

    @property
    def places(self) -> int:
        """M, the places to report."""
        return STEPS + self.window

    @cached_property
    def _other(self) -> Fraction:
        return exp_minus(Fraction(self.epsilon))

    @cached_property
    def _fits(self) -> Fraction:
        """The probability of the window."""
        return self.window / (self.window + STEPS * self._other)

    @cached_property
    def loss(self) -> Loss:
        """Windows of the least and the greatest number are disjoint: N >= w."""
        return two_level_loss(self.epsilon, self._fits, call("piecewise", epsilon=self.epsilon))

    @cached_property
    def _slope(self) -> float:
        """Units for one place away from the middle one."""
        return 2 / STEPS / max(float(self._fits * (1 - self._other)), 1e-300)

    def _draw(self, units: Reals) -> Array:
        place, n = rounded(units, STEPS), len(units)
        inside = place + np.asarray(uniform_integers(0, self.window, n))
        outside = np.asarray(uniform_integers(0, STEPS, n))
        outside = np.where(outside < place, outside, outside + self.window)
        return np.where(np.asarray(bernoulli(self._fits, n)), inside, outside)

    def _decode(self, reports: Any) -> Reals:
        return np.asarray(self._slope * (as_answers(reports, self.places, "reports") - (self.places - 1) / 2))

    def _variance(self, unit: float) -> float:
        w, m, other = self.window, self.places, float(self._other)
        place = (unit + 1) / 2 * STEPS
        part = place - math.floor(place)
        away = (place - STEPS / 2) ** 2 + part * (1 - part)
        squares = (1 - other) * w * (away + (w * w - 1) / 12) + other * m * (m * m - 1) / 12
        return self._slope**2 * squares / (w + STEPS * other) - unit**2
