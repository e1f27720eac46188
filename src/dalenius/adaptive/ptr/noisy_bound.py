"""A number of the data with noise and a margin, so that it is a bound: the recipe by sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy.special import log_ndtr, ndtri_exp

from dalenius.adaptive.ptr.parts import PrivateBound
from dalenius.adaptive.user_function import asked, checked_function
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian, Laplace

SLACK = 2.0**-30
"""Of the noise. Its grid has steps below 2^-37 of it, and is wider than stated by a relative 2^-38 or so."""


@dataclass(frozen=True)
class NoisyUpperBound(PrivateBound):
    """statistic(data) + noise + margin, below the statistic with probability `failure` at most.

    Parameters
    ----------
    statistic
        A number of the data, which one record moves by the noise's sensitivity at most. It may not fail on any data.
    noise
        `Laplace` or `Gaussian`.
    failure
        How likely the bound may be to be false; numbers as small as 1e-300 will do.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import NoisyUpperBound
    >>> bound = NoisyUpperBound(len, dp.mechanisms.Laplace(sensitivity=1, scale=2.0), failure=1e-6)
    >>> round(bound.margin, 3), bound.release([0] * 100) > 100
    (26.245, True)
    """

    statistic: Callable[[Any], float]
    noise: Laplace | Gaussian
    failure: float

    def __post_init__(self) -> None:
        checked_function("statistic", self.statistic)
        if not isinstance(self.noise, Laplace | Gaussian):
            raise InvalidParameter.of(
                "noise", f"noise is {checks.shown(self.noise)}; it must be dp.mechanisms.Laplace or Gaussian."
            )
        object.__setattr__(self, "failure", checked_failure(self.failure))

    @property
    def loss(self) -> Loss:
        return self.noise.loss

    @property
    def margin(self) -> float:
        """What is added: the quantile of the noise, rounded up."""
        return upper_quantile(self.noise, self.failure)

    def _noisy(self, data: Any) -> float:
        return asked(lambda: float(self.noise.release(self.statistic(data))))

    def release(self, data: Any) -> float:
        return beyond(self._noisy(data) + self.margin, math.inf)


@dataclass(frozen=True)
class NoisyLowerBound(NoisyUpperBound):
    """statistic(data) + noise - margin, above the statistic with probability `failure` at most.

    Parameters
    ----------
    statistic
        A number of the data, which one record moves by the noise's sensitivity at most. It may not fail on any data.
    noise
        `Laplace` or `Gaussian`.
    failure
        How likely the bound may be to be false.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import NoisyLowerBound
    >>> NoisyLowerBound(len, dp.mechanisms.Gaussian(sensitivity=1, sigma=2.0), failure=1e-9).release([0] * 100) < 100
    True
    """

    def release(self, data: Any) -> float:
        return beyond(self._noisy(data) - self.margin, -math.inf)


def checked_failure(value: object) -> float:
    """How likely a bound may be to be false: less likely than not."""
    failure = checks.positive("failure", value)
    if not failure < 0.5:
        raise InvalidParameter(f"failure is {failure}; it must be a number above 0 and below 0.5.")
    return failure


def upper_quantile(noise: Laplace | Gaussian, failure: float) -> float:
    """A number that the noise exceeds with probability `failure` at most, for failures below 1/2.

    Works with the logarithm of the failure, so that one of 1e-22 is as good as any.
    """
    log_failure = math.log(failure)
    if isinstance(noise, Laplace):
        return noise.scale * (-log_failure - math.log(2.0) + SLACK) * (1 + SLACK)
    z = -float(ndtri_exp(log_failure)) * (1 + 1e-12)
    if log_ndtr(-z) > log_failure:
        raise ArithmeticError("a quantile of the normal law was not found; this is a defect")
    return noise.sigma * (z + SLACK) * (1 + SLACK)


def beyond(value: float, way: float) -> float:
    """Two floats further: the release and the sum with the margin are each rounded to the nearest one."""
    return math.nextafter(math.nextafter(value, way), way)
