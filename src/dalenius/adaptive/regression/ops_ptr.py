"""OPS-PTR: one sample from the posterior of a ridge regression, as sharp as private bounds on the data allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.parts import Family, PrivateBound
from dalenius.adaptive.regression.posterior_sample import (
    LEAST,
    SLACK,
    hidden,
    largest_precision,
    least_noise,
    posterior,
    sample_delta,
)
from dalenius.adaptive.regression.promise import with_delta
from dalenius.adaptive.regression.ridge import RidgeBounds, Squares
from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.mechanisms.mechanism import Neighbours

SHARES = (0.12, 0.75, 0.01)
"""Of epsilon: each of the two bounds, the sample, and what hides its rounding."""

FLAT = 1 / 3
"""The largest deviation of a prediction, targets being between -1 and 1."""


@dataclass(frozen=True)
class Statement:
    """What is known of the data once the bounds are released."""

    least: float
    residual: float


@dataclass(frozen=True)
class RidgeStatement(PrivateBound):
    """Both bounds, for one ridge."""

    bounds: RidgeBounds
    ridge: float

    @property
    def loss(self) -> Loss:
        return self.bounds.loss

    @property
    def failure(self) -> float:  # type: ignore[override]
        return 2 * self.bounds.failure

    def release(self, data: Squares) -> Statement:
        least = self.bounds.eigenvalue(data)
        leverage = self.bounds.square / (least + self.ridge)
        return Statement(least, self.bounds.residual(data, self.ridge, leverage))


@dataclass(frozen=True)
class PosteriorSamples(Family):
    """N(theta*, (precision (X^T X + ridge))^-1), theta* the ridge solution, for every precision.

    The precision is the largest for which the exact profile of the two posteriors (docs/proofs/posterior-sample.md)
    keeps (epsilon, delta), given the bounds; there is none where the leverage alone costs more. A posterior so flat
    that predictions would deviate by more than a third of the largest target is no use, and refused, too.
    """

    square: float
    ridge: float
    epsilon: float
    delta: float
    rounding: ApproxDP

    @cached_property
    def budget(self) -> Loss:
        return losses.approx(self.epsilon, self.delta) + least_noise(self.rounding).loss

    def choose(self, statement: Statement) -> tuple[float, float] | None:
        """The precision, and the largest deviation that the sample can have with it."""
        leverage = self.square / (statement.least + self.ridge) * SLACK
        if not sample_delta(self.epsilon, LEAST, statement.residual, leverage) * (1 + 1e-6) <= self.delta:
            return None
        precision = largest_precision(self.epsilon, self.delta, statement.residual, leverage)
        deviation = 1 / math.sqrt(precision * (statement.least + self.ridge))
        return (precision, deviation) if math.sqrt(self.square) * deviation <= FLAT else None

    def release(self, data: Squares, phi: Any) -> Reals:
        precision, deviation = phi
        sample = posterior(*data.solved(self.ridge), precision)
        return hidden(sample, deviation, least_noise(self.rounding).sigma)

    @property
    def worst_pair(self) -> Neighbours:
        """A thousand records (1, 1), and one more with the opposite target."""
        return Neighbours(
            Squares(np.array([[1000.0]]), np.array([1000.0])),
            Squares(np.array([[1001.0]]), np.array([999.0])),
        )


def ops_ptr(promise: ApproxDP, *, square: float, ridge: float) -> CalibratedRelease:
    """One sample from the posterior of a linear regression, or a refusal (Redberg 2023, Algorithms 14 and 15).

    A private lower bound on the least eigenvalue of X^T X and a private upper bound on residuals decide how sharp the
    posterior may be. What is in print is corrected: the bounds are on the safe side (both inequalities are printed the
    other way round), their noise is that of the exact Gaussian mechanism, and the sample's cost is the exact profile of
    the two posteriors (Theorem 3.6.1 lacks a factor 2 under a root, and promises more than it keeps). The ridge must
    not depend on the data: to choose one of many, use `dp.learn.PrivateSearch`.

    Parameters
    ----------
    promise
        What the whole release keeps; its delta must be above 0.
    square
        The largest |x|^2 of a row; targets are between -1 and 1.
    ridge
        The ridge, above 0; public.

    Returns
    -------
    CalibratedRelease
        `release(Squares(gram, product))` gives the sample, or `Refusal()`; `loss` is what that costs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If the promise has no delta.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from dalenius.adaptive.regression.ridge import Squares
    >>> sample = dp.adaptive.ops_ptr(dp.ApproxDP(1.0, 1e-6), square=1.0, ridge=100.0)
    >>> bool(sample.loss.delta(1.0) <= 1e-6)
    True
    >>> theta = sample.release(Squares(np.array([[50_000.0]]), np.array([20_000.0])))
    >>> bool(abs(theta[0] - 0.4) < 0.1)
    True
    """
    promise = with_delta(promise)
    square, ridge = checks.positive("square", square), checks.positive("ridge", ridge)
    return _parts(promise.delta, _epsilon(promise), square, ridge)


def _parts(delta: float, epsilon: float, square: float, ridge: float) -> CalibratedRelease:
    """`epsilon` and delta divided among the parts; the whole costs less than their sum."""
    bound, sample, rounding = (share * epsilon for share in SHARES)
    each = delta / 6 * (1 - 1e-6)
    bounds = RidgeBounds(square, ApproxDP(bound, each), each)
    family = PosteriorSamples(square, ridge, sample, each, ApproxDP(rounding, each))
    return CalibratedRelease(bound=RidgeStatement(bounds, ridge), family=family)


@lru_cache(maxsize=256)
def _epsilon(promise: ApproxDP) -> float:
    """The largest epsilon to be divided with which the whole keeps the promise; the same for all data."""

    def keeps(epsilon: float) -> bool:
        return _parts(promise.delta, epsilon, 1.0, 1.0).loss.delta(promise.epsilon) <= promise.delta

    return last_true(keeps, promise.epsilon, 3 * promise.epsilon, relative=1e-3)[0]
