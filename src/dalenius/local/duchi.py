"""The randomizer of Duchi, Jordan and Wainwright for means: one bit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.intervals.binomial import binomial_limits
from dalenius.local.mean_randomizer import MeanRandomizer, rounded
from dalenius.mechanisms._support.answers import as_answers
from dalenius.mechanisms.randomized_response import RandomizedResponse


@dataclass(frozen=True, kw_only=True)
class Duchi(MeanRandomizer):
    """Reports a bit: 1 with probability 1/2 + x (e^epsilon - 1)/(2 (e^epsilon + 1)), for x in [-1, 1].

    It is drawn as randomized response to a coin of bias (1 + x)/2, which is exactly that. A bit stands for
    (e^epsilon + 1)/(e^epsilon - 1) or minus that, whose mean is x. The least variance there can be while epsilon is
    small, and never below 1 (Duchi, Jordan and Wainwright, "Minimax optimal procedures for locally private
    estimation", 2018).

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
    >>> m = dp.local.Duchi(epsilon=1.0)
    >>> sorted(set(m.decode([0, 1]).round(6).tolist())), round(m.worst_variance, 6)
    ([-2.163953, 2.163953], 4.682694)
    """

    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    @cached_property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon)

    @cached_property
    def loss(self) -> Loss:
        return self._response.loss

    @cached_property
    def _height(self) -> float:
        """What a bit stands for."""
        return 1 / max(float(1 - 2 * self._response._chance), 1e-300)

    def _draw(self, units: Reals) -> Array:
        return np.asarray(self._response.release(rounded(units, 1)))

    def _decode(self, reports: Any) -> Reals:
        return np.asarray(self._height * (2.0 * as_answers(reports, 2, "reports") - 1.0))

    def _variance(self, unit: float) -> float:
        return self._height**2 - unit**2

    def limits(self, decoded: Reals, alpha: float) -> tuple[float, float]:
        """From those for the chance of a 1, of which the mean is a straight line."""
        ones = float((decoded > self._middle).sum())
        ends = binomial_limits(np.array([ones]), len(decoded), alpha)[0]
        low, high = self._middle + self._half * self._height * (2 * ends - 1)
        return float(low), float(high)
