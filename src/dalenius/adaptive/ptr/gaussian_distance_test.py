"""The classic test with normal noise: a larger distance is asked for, and less of a Gaussian budget is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy.special import ndtri

from dalenius.adaptive.ptr.parts import PrivateTest, Stable, checked_part
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian


@dataclass(frozen=True, kw_only=True)
class GaussianDistanceTest(PrivateTest):
    """Passes if mechanism.distance(data) + N(0, sigma^2) >= threshold: 1/sigma-GDP.

    As `DistanceTest`: the distance changes by at most 1 from one neighbour to the next, and is 0 for data that do not
    keep the budget. Those pass with probability at most `wrong_pass`. In a budget that is counted in mu, normal noise
    needs a threshold several times smaller than Laplace noise does.

    Parameters
    ----------
    mechanism
        The mechanism proposed, which knows the distance.
    sigma
        The standard deviation of the noise.
    wrong_pass
        At most how likely data that do not keep the budget are to pass.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import GaussianDistanceTest, StableMode
    >>> test = GaussianDistanceTest(mechanism=StableMode(), sigma=2.0, wrong_pass=1e-6)
    >>> round(test.threshold, 2), test.passes([100, 20, 30]), test.passes([100, 99, 30])
    (11.05, True, False)
    """

    mechanism: Stable
    sigma: float
    wrong_pass: float

    def __post_init__(self) -> None:
        checked_part("mechanism", self.mechanism, Stable, "dp.adaptive.LocalMedian(...)")
        object.__setattr__(self, "sigma", self._noise.sigma)
        wrong = checks.positive("wrong_pass", self.wrong_pass)
        if not wrong < 0.5:
            raise InvalidParameter(f"wrong_pass is {wrong}; it must be a number above 0 and below 0.5.")
        object.__setattr__(self, "wrong_pass", wrong)

    @cached_property
    def _noise(self) -> Gaussian:
        return Gaussian(sensitivity=1.0, sigma=self.sigma, adjacency=self.mechanism.budget.adjacency)

    @cached_property
    def threshold(self) -> float:
        """The least noisy distance that passes: on its grid the noise is above it at most twice as often as off it."""
        return 1 + self.sigma * -float(ndtri(self.wrong_pass / 4)) * (1 + 1e-9)

    @property
    def furthest(self) -> int:
        """A distance from which on data are refused with a probability below 1e-23: there is no need to know more."""
        return math.ceil(self.threshold + 10 * self.sigma)

    @property
    def loss(self) -> Loss:
        return self._noise.loss

    def passes(self, data: Any) -> bool:
        return self.answers(data, 1)[0]

    def answers(self, data: Any, times: int) -> list[bool]:
        distance = min(self.mechanism.distance(data), self.furthest)
        return [float(noisy) >= self.threshold for noisy in self._noise.releases(distance, times)]
