"""One sample from the posterior of a linear model: how sharp it may be, and how it is drawn."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.bisection import last_true
from dalenius.mechanisms import Gaussian
from dalenius.noise import gaussian

SLACK = 1 + 1e-6
"""On sensitivities, for the rounding of eigenvalues and solutions."""
TOLERANCE = 1e-6
"""How far rounding may move the sample, in its largest standard deviations; output noise covers it."""

LEAST = 1e-12
"""The least precision."""


@lru_cache(maxsize=64)
def least_noise(promise: ApproxDP) -> Gaussian:
    """Noise that keeps a promise for what one record moves by 1 at most."""
    return Gaussian.calibrated(promise, sensitivity=1.0)


def posterior(root: Reals, theta: Reals, precision: float) -> Reals:
    """One sample of N(theta, root root^T / precision), rounded."""
    normal = np.asarray(gaussian(len(theta), bits=40))
    return np.asarray(theta + root @ normal / math.sqrt(precision))


def hidden(sample: Reals, deviation: float, noise: float) -> Reals:
    """The sample with Gaussian noise that hides its rounding; `deviation` is the largest it can have."""
    error = 2 * TOLERANCE * deviation
    return np.asarray(Gaussian(sensitivity=error, sigma=noise * error).release(sample))


def largest_precision(epsilon: float, delta: float, residual: float, leverage: float) -> float:
    """The sharpest posterior that keeps (epsilon, delta); delta grows with the precision."""

    def kept(log_precision: float) -> bool:
        return sample_delta(epsilon, math.exp(log_precision), residual, leverage) * (1 + 1e-6) <= delta

    return math.exp(last_true(kept, math.log(LEAST), math.log(1e12))[0])


def sample_delta(epsilon: float, precision: float, residual: float, leverage: float) -> float:
    """delta at epsilon of one sample from N(theta*, (precision H)^-1), H = X^T X + ridge, against one record more
    or less.

    `residual` bounds |y - x.theta*| of that record at the minimiser without it, `leverage` bounds x^T H^-1 x, H
    without it. docs/proofs/posterior-sample.md: the pair is dominated by N(0, 1) against N(nu, v), v = 1/(1 +
    leverage), nu^2 = precision residual^2 leverage/(1 + leverage), in both orders.
    """
    v = 1 / (1 + leverage)
    nu = math.sqrt(precision * leverage * v) * residual
    if not nu < 1e6:  # squares of such numbers may overflow; all is revealed
        return 1.0
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
