"""Linear regression by one sample from its posterior, as sharp as the data allow."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import ndtr, ndtri

from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import CannotMeet
from dalenius.learn.bounded_regression import BoundedRegression
from dalenius.learn.curves import Reals
from dalenius.learn.linear_model import checked_guarantee
from dalenius.learn.rows import Rows, checked_norm, records, training
from dalenius.learn.targets import Bounds, Targets
from dalenius.mechanisms import Gaussian
from dalenius.noise import gaussian

SLACK = 1 + 1e-6
"""On sensitivities, for the rounding of eigenvalues and solutions."""
TOLERANCE = 1e-6
"""How far rounding may move the sample, in its largest standard deviations; output noise covers it."""


class AdaptivePosteriorSampleRegression(BoundedRegression):
    """One sample of N(theta*, (precision (X^T X + ridge))^-1), theta* the ridge solution (AdaOPS, Wang 2018; thesis
    Alg 14).

    Add/remove neighbours, ApproxDP only. A quarter of epsilon releases the smallest eigenvalue of X^T X, from which
    the ridge follows; a quarter log(1 + R |theta*|), which bounds residuals; half buys the sample, its precision
    the largest allowed by the exact profile of the two posteriors (docs/proofs/posterior-sample.md) instead of the
    printed bound, whose constant is too small to be private. Both releases are moved to the safe side by a normal
    quantile; delta pays for the chance that this was not enough.

    Targets and rows are treated as in `LinearRegression`, which is usually more accurate; kept for comparison.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        *,
        target_bounds: Bounds = (-1.0, 1.0),
        row_norm: float = 1.0,
        rows: Rows = "clip",
        intercept_scale: float = 0.3,
    ) -> None:
        self.guarantee = guarantee
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.rows = rows
        self.intercept_scale = intercept_scale

    def _shares(self) -> tuple[ApproxDP, float, float]:
        """The promise of each of the two releases, and epsilon and delta of the sample."""
        promise = approximate(self.guarantee)
        delta = promise.delta / 6 * (1 - 1e-6)
        return ApproxDP(promise.epsilon / 4, delta), 0.49 * promise.epsilon, delta

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        part, epsilon, delta = self._shares()
        release = least_noise(part).loss
        rounding = least_noise(ApproxDP(0.01 * epsilon / 0.49, delta)).loss
        return release * 2 + losses.approx(epsilon, 3 * delta) + rounding

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        features, targets = training(self, X), Targets(self.target_bounds)
        norm = checked_norm(self.row_norm)
        constant = norm * checks.nonnegative("intercept_scale", self.intercept_scale)
        part, epsilon, delta = self._shares()
        found, usable = targets.to_unit(y, len(features))
        data = records(features, found, usable, norm, self.rows, constant)
        square = (norm**2 + constant**2) * (1 + 1e-9)
        gram, product = data.gram(np.ones(len(data))), data.combined(data.labels)

        unit = least_noise(part).sigma
        safe = -float(ndtri(delta)) * unit * SLACK
        noisy = Gaussian(sensitivity=square * SLACK, sigma=unit * square * SLACK)
        least = float(noisy.release(float(np.linalg.eigvalsh(gram)[0]))) - safe * square * SLACK
        # A neighbour may have an eigenvalue smaller by `square`.
        least = max(0.0, least - square)
        ridge = max(0.0, 2 * square * (1 + math.log(2 / delta)) / epsilon - least) + square
        leverage = square / (least + ridge)

        lower = cholesky(gram + ridge * np.eye(data.size), lower=True)
        theta = cho_solve((lower, True), product)
        moved = math.log1p(leverage) * SLACK
        size = math.log1p(math.sqrt(square) * float(np.linalg.norm(theta)))
        residual = math.exp(
            float(Gaussian(sensitivity=moved, sigma=unit * moved).release(size)) + (safe + 1) * moved
        )

        precision = largest_precision(epsilon, delta, residual, leverage)
        deviation = 1 / math.sqrt(precision * (least + ridge))
        hide = least_noise(ApproxDP(0.01 * epsilon / 0.49, delta)).sigma
        sample = hidden(posterior(lower, theta, precision), deviation, hide)

        return self._set(sample, features.shape[1], self.price())


def approximate(guarantee: object) -> ApproxDP:
    """The promise, if a posterior sample can keep one of its kind."""
    promise = checked_guarantee(guarantee)
    if not isinstance(promise, ApproxDP) or promise.delta == 0 or promise.epsilon == 0:
        raise CannotMeet(f"a posterior sample cannot keep {promise} here; ask for ApproxDP(epsilon, delta).")
    return promise


@lru_cache(maxsize=64)
def least_noise(promise: ApproxDP) -> Gaussian:
    """Noise that keeps a promise for what one record moves by 1 at most."""
    return Gaussian.calibrated(promise, sensitivity=1.0)


def posterior(lower: Reals, theta: Reals, precision: float) -> Reals:
    """One sample of N(theta, (precision L L^T)^-1), rounded."""
    normal = np.asarray(gaussian(len(theta), bits=40))
    return np.asarray(theta + solve_triangular(lower.T, normal) / math.sqrt(precision))


def hidden(sample: Reals, deviation: float, noise: float) -> Reals:
    """The sample with Gaussian noise that hides its rounding; `deviation` is the largest it can have."""
    error = 2 * TOLERANCE * deviation
    return np.asarray(Gaussian(sensitivity=error, sigma=noise * error).release(sample))


def largest_precision(epsilon: float, delta: float, residual: float, leverage: float) -> float:
    """The sharpest posterior that keeps (epsilon, delta); delta grows with the precision."""
    low, high = 1e-12, 1e12
    for _ in range(100):
        middle = math.sqrt(low * high)
        kept = sample_delta(epsilon, middle, residual, leverage) * (1 + 1e-6) <= delta
        low, high = (middle, high) if kept else (low, middle)
    return low


def sample_delta(epsilon: float, precision: float, residual: float, leverage: float) -> float:
    """delta at epsilon of one sample from N(theta*, (precision H)^-1), H = X^T X + ridge, against one record more
    or less.

    `residual` bounds |y - x.theta*| of that record at the minimiser without it, `leverage` bounds x^T H^-1 x, H
    without it. docs/proofs/posterior-sample.md: the pair is dominated by N(0, 1) against N(nu, v), v = 1/(1 +
    leverage), nu^2 = precision residual^2 leverage/(1 + leverage), in both orders.
    """
    v = 1 / (1 + leverage)
    nu = math.sqrt(precision * leverage * v) * residual
    return max(_normal_delta(epsilon, nu, v), _normal_delta(epsilon, -nu / math.sqrt(v), 1 / v))


def _normal_delta(epsilon: float, nu: float, v: float) -> float:
    """H_{e^epsilon}(N(0, 1) || N(nu, v)): the mass where (z - nu)^2/v - z^2 + log v > 2 epsilon."""
    a, b, c = 1 / v - 1, -2 * nu / v, nu * nu / v + math.log(v) - 2 * epsilon
    root = b * b - 4 * a * c
    deviation = math.sqrt(v)

    def gap(low: float, high: float) -> float:
        p = ndtr(high) - ndtr(low) if high < 0 else ndtr(-low) - ndtr(-high)
        q_low, q_high = (low - nu) / deviation, (high - nu) / deviation
        q = ndtr(q_high) - ndtr(q_low) if q_high < 0 else ndtr(-q_low) - ndtr(-q_high)
        return float(p - math.exp(epsilon) * q)

    if a == 0:
        return max(0.0, gap(-c / b, math.inf) if b > 0 else gap(-math.inf, -c / b)) if b else 0.0
    if root <= 0:
        return max(0.0, -math.expm1(epsilon)) if a > 0 else 0.0
    ends = sorted(((-b - math.sqrt(root)) / (2 * a), (-b + math.sqrt(root)) / (2 * a)))
    inside = gap(ends[0], ends[1])
    outside = gap(-math.inf, ends[0]) + gap(ends[1], math.inf)
    return max(0.0, outside if a > 0 else inside)
