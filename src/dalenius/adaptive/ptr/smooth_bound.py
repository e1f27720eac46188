"""A number of the data with noise in proportion to its smooth sensitivity, and a margin, so that it is a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.adaptive.ptr.noisy_bound import beyond, checked_failure, upper_quantile
from dalenius.adaptive.ptr.parts import PrivateBound, checked_part
from dalenius.adaptive.smooth.laplace import SmoothLaplace
from dalenius.adaptive.statistics.statistic import certain_beta
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.mechanisms import Laplace

ROUNDING = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class SmoothUpperBound(PrivateBound):
    """statistic + noise + margin, below the statistic with probability `failure` at most.

    For a loss that depends on the data in a complicated way: its own local sensitivity at distance k is all that must
    be known (`dp.adaptive.statistics.Custom`). The noise has the size scale S, S being the beta-smooth sensitivity, and
    so must the margin, which tells of S. But log S moves by at most beta between neighbours, so that it can be released
    with Laplace noise as well, for `epsilon`, and with a margin of its own (Redberg 2023, Algorithm 6, has this with
    Gaussian noise). Each of the two margins fails with probability failure/2: the noise is below -log(1/failure) scale
    S, or the bound on S is below S.

    Parameters
    ----------
    noise
        The statistic and its noise.
    epsilon
        The privacy parameter of the bound on the smooth sensitivity.
    failure
        How likely the bound may be to be false.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import SmoothUpperBound
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
    >>> noise = dp.adaptive.SmoothLaplace.calibrated(dp.ApproxDP(1.0, 1e-6), statistic=median, beta=0.04)
    >>> bound = SmoothUpperBound(noise=noise, epsilon=0.5, failure=1e-3)
    >>> 50 < bound.release([x / 50 for x in range(5000)]) < 60
    True
    """

    noise: SmoothLaplace
    epsilon: float
    failure: float

    def __post_init__(self) -> None:
        checked_part("noise", self.noise, SmoothLaplace, "dp.adaptive.SmoothLaplace(...)")
        object.__setattr__(self, "epsilon", checks.positive("epsilon", self.epsilon))
        object.__setattr__(self, "failure", checked_failure(self.failure))

    @cached_property
    def _log_noise(self) -> Laplace:
        beta = certain_beta(self.noise.beta) * ROUNDING  # and the logarithm is rounded
        return Laplace(sensitivity=beta, scale=beta / self.epsilon, adjacency=self.noise.adjacency)

    @property
    def loss(self) -> Loss:
        return self.noise.loss + self._log_noise.loss

    def release(self, data: Any) -> float:
        statistic = self.noise.statistic
        log_size = math.log(statistic.measured(data, self.noise.beta).sensitivity)
        log_bound = self._log_noise.release(log_size) + upper_quantile(self._log_noise, self.failure / 2)
        reach = self.noise.scale * math.exp(min(log_bound, 700.0)) * -math.log(self.failure) * ROUNDING
        # The answer was rounded to its grid, which may be finer than doubles are.
        return beyond(self.noise.release(data) + (reach + 1) * float(statistic.answers.granularity), math.inf)
