"""The classic test: is the data set far from every data set on which the mechanism would cost too much?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.adaptive.ptr.parts import PrivateTest, Stable, checked_part
from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.noise import discrete_laplace

FAR = 1 << 60
"""Larger distances are as good as this one."""


@dataclass(frozen=True, kw_only=True)
class DistanceTest(PrivateTest):
    """Passes if mechanism.distance(data) + k >= threshold, P(k) proportional to exp(-epsilon |k|).

    The distance to a set of data sets changes by at most 1 from one neighbour to the next (Dwork and Lei 2009), so
    that the answer is epsilon-DP. A data set that does not keep the budget has the distance 0 and passes with
    probability q^threshold/(1 + q), q = exp(-epsilon): the threshold is the least whole number for which that is at
    most `wrong_pass`.

    Parameters
    ----------
    mechanism
        The mechanism proposed, which knows the distance.
    epsilon
        The privacy parameter of the test.
    wrong_pass
        At most how likely data that do not keep the budget are to pass.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import DistanceTest, StableMode
    >>> test = DistanceTest(mechanism=StableMode(), epsilon=0.5, wrong_pass=1e-6)
    >>> test.threshold, test.passes([100, 20, 30]), test.passes([100, 95, 30])
    (27, True, False)
    """

    mechanism: Stable
    epsilon: float
    wrong_pass: float

    def __post_init__(self) -> None:
        checked_part("mechanism", self.mechanism, Stable, "dp.adaptive.LocalMedian(...)")
        object.__setattr__(
            self, "epsilon", checks.moderate("epsilon", checks.positive("epsilon", self.epsilon))
        )
        wrong = checks.positive("wrong_pass", self.wrong_pass)
        if not wrong < 0.5:
            raise InvalidParameter(f"wrong_pass is {wrong}; it must be a number above 0 and below 0.5.")
        object.__setattr__(self, "wrong_pass", wrong)

    @cached_property
    def threshold(self) -> int:
        """The least noisy distance that passes."""
        reach = (-math.log(self.wrong_pass) - math.log1p(math.exp(-self.epsilon))) / self.epsilon
        return max(1, math.ceil(reach * (1 + 1e-12)))

    @property
    def _scale(self) -> float:
        return checks.ratio_up(1.0, self.epsilon)

    @cached_property
    def loss(self) -> Loss:
        return losses.geometric(self._scale, adjacency=self.mechanism.budget.adjacency)

    def passes(self, data: Any) -> bool:
        return self.answers(data, 1)[0]

    def answers(self, data: Any, times: int) -> list[bool]:
        distance = min(self.mechanism.distance(data), FAR)
        return [distance + int(k) >= self.threshold for k in discrete_laplace(self._scale, times)]
