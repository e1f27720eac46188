"""Output perturbation of a generalized linear model, with as little noise as its curvature at the minimum allows.

F(theta) = sum f(x.theta; y) + (ridge/2)|theta|^2 has the minimiser theta*, one record more or less the minimiser
theta'. |f'| |x| <= L, f'' |x|^2 <= B, and |f'''| |x| <= R f'' (logistic: L = R = |x|, B = |x|^2/4): within t of a point
the Hessian changes by factors between exp(-R t) and exp(R t) (Bach 2010). Let a be the least eigenvalue of the Hessian
of F at theta*, ridge included.

**How far the minimiser moves.** The gradient of F at theta' is that of the one record, up to its sign, so
|grad F(theta')| <= L. With D = |theta' - theta*|, integrating the Hessian along the segment gives |grad F(theta')| >=
a (1 - exp(-R D))/R. So D <= -log(1 - R L/a)/R where a > R L; and D <= L/ridge in any case.

**How far the curvature moves**: by R L + B at most. The Hessian of F at theta' is at least exp(-R D) a >= a - R L (if
a <= R L there is nothing to show), and the one record takes away B at most: a' >= a - R L - B for every neighbour.
Exchanging the two gives the other inequality. (Redberg 2023, Theorem B.3.11, has 2 R L + B, for ridges above R L only.)

So a private lower bound on a gives a bound on how far one record moves theta*, and Gaussian noise for that. The noise
has one scale in all directions: with the inverse of the Hessian as its covariance (Redberg 2023, Theorem B.3.6)
neighbours would have different covariances, whose determinants differ by up to exp(d R D) in d dimensions, which the
printed bound does not have; its root also lacks a factor 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.noisy_bound import NoisyLowerBound
from dalenius.adaptive.ptr.parts import Family
from dalenius.adaptive.regression.promise import with_delta
from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian
from dalenius.mechanisms.mechanism import Neighbours

LEAST_RIDGE = 1e-6
"""Of the smoothness. Minimisers were not found for some hostile data with ridges of 1e-12 and less."""

TOLERANCE = 1e-9
"""The gradient that a solver may leave, in units of L."""
SLACK = 1.01
"""On what a record moves the curvature by: for the tolerance, and for eigenvalues in floating point."""
MOST = 1e6
"""Larger curvatures count as this, in units of what one record moves them by: then rounding stays within the slack."""
BOUND_SHARE = 0.1
"""Of mu^2: what the bound on the curvature costs."""
FAILURE_SHARE = 0.1
"""Of delta: how likely the bound may be to be false."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """A minimiser, and the least eigenvalue of the Hessian there, ridge included."""

    theta: Reals
    curvature: float


@dataclass(frozen=True)
class Curvature:
    """The curvature of a minimum, cut off above."""

    most: float

    def __call__(self, data: Minimum) -> float:
        return min(data.curvature, self.most)


@dataclass(frozen=True)
class NoisyMinimum(Family):
    """theta* + N(0, (D/mu)^2 I), D being how far one record moves theta* given a lower bound on the curvature."""

    ridge: float
    gradient_bound: float
    concordance: float
    mu: float

    @cached_property
    def budget(self) -> Loss:
        return losses.gdp(self.mu)

    def choose(self, statement: float) -> float:
        """D, solver's tolerance included."""
        low = max(statement * (1 - 1e-6), self.ridge)
        moved = self.gradient_bound / self.ridge
        part = self.concordance * self.gradient_bound / low
        if part < 1:
            moved = min(moved, -math.log1p(-part) / self.concordance)
        return moved * (1 + 1e-9) + 2 * TOLERANCE * self.gradient_bound / self.ridge

    def release(self, data: Minimum, phi: float) -> Reals:
        noise = Gaussian(sensitivity=phi, sigma=phi / self.mu * (1 + 1e-12))
        return np.asarray(noise.release(data.theta))

    @property
    def worst_pair(self) -> Neighbours:
        """Minimisers as far apart as they may be, at the largest curvature that is told apart."""
        curvature = 1e3 * self.concordance * self.gradient_bound
        moved = -math.log1p(-1e-3) / self.concordance
        return Neighbours(Minimum(np.zeros(1), curvature), Minimum(np.array([moved]), curvature))


def local_output_perturbation(
    promise: ApproxDP, *, ridge: float, gradient_bound: float, smoothness: float, concordance: float
) -> CalibratedRelease:
    """The minimiser of a generalized linear model plus noise for its curvature, bounded privately.

    Redberg 2023, Example B.3.8, with the constants above. A tenth of mu^2 releases a lower bound on the curvature.

    Parameters
    ----------
    promise
        What the whole release keeps; its delta must be above 0.
    ridge
        The ridge; public, and at least a millionth of `smoothness`: with a smaller one rounding may keep the minimiser
        of some data from being found, and not that of their neighbours.
    gradient_bound
        L, the largest gradient of one record.
    smoothness
        B, the largest second derivative of one record.
    concordance
        R, how fast the Hessian may change.

    Returns
    -------
    CalibratedRelease
        `release(Minimum(theta, curvature))` gives theta with noise; `loss` is what that costs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If the promise has no delta.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from dalenius.adaptive.regression.local_output_perturbation import Minimum
    >>> fit = dp.adaptive.local_output_perturbation(
    ...     dp.ApproxDP(1.0, 1e-6), ridge=1.0, gradient_bound=1.0, smoothness=0.25, concordance=1.0)
    >>> bool(fit.loss.delta(1.0) <= 1e-6), round(fit.family.choose(500.0), 4)
    (True, 0.002)
    """
    promise = with_delta(promise)
    ridge, gradient_bound = checks.positive("ridge", ridge), checks.positive("gradient_bound", gradient_bound)
    smoothness = checks.positive("smoothness", smoothness)
    concordance = checks.positive("concordance", concordance)
    if not ridge >= LEAST_RIDGE * smoothness:
        raise InvalidParameter.of(
            "ridge",
            f"ridge is {ridge:g}; at least {LEAST_RIDGE * smoothness:g} is needed to find a minimiser.",
        )
    moved = (concordance * gradient_bound + smoothness) * SLACK
    return _parts(promise.delta, _mu(promise), moved, NoisyMinimum(ridge, gradient_bound, concordance, 1.0))


def _parts(delta: float, mu: float, moved: float, family: NoisyMinimum) -> CalibratedRelease:
    """mu and delta divided among the bound and the minimiser; one record moves the curvature by `moved`."""
    noise = Gaussian(sensitivity=moved, sigma=moved / (mu * math.sqrt(BOUND_SHARE)))
    return CalibratedRelease(
        bound=NoisyLowerBound(Curvature(MOST * moved), noise, FAILURE_SHARE * delta),
        family=replace(family, mu=mu * math.sqrt(1 - BOUND_SHARE)),
    )


@lru_cache(maxsize=256)
def _mu(promise: ApproxDP) -> float:
    """The largest mu of both together with which the whole keeps the promise."""
    most = 1 / calibrate(lambda sigma: losses.gaussian(sigma), promise)
    family = NoisyMinimum(1.0, 1.0, 1.0, 1.0)

    def keeps(mu: float) -> bool:
        return _parts(promise.delta, mu, 1.0, family).loss.delta(promise.epsilon) <= promise.delta * (
            1 - 1e-6
        )

    return last_true(keeps, 1e-3 * most, most, relative=1e-4)[0]
