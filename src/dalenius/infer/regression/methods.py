"""The steps that count, from near the root to an estimate with its law: ours, and the published ones."""

from __future__ import annotations

import math
from collections.abc import Callable

from dalenius.core.arrays import Reals
from dalenius.infer.scores.averaged_newton import Shares, averaged_newton
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_descent import descent_noise, newton_noise, noisy_descent, noisy_newton
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.sandwich import Fit, Sandwich
from dalenius.infer.scores.score import Score

Method = Callable[[NoisySums, Score, Reals, float, Shares, float], Fit]
"""From rows, loss, start, mu, shares of mu^2 and number of rows to an estimate."""
DESCENT_STEPS, DESCENT_RATE = 10, 1.0
"""Rows have a curvature of about 0.55 in every direction: ten steps leave 1/3000 of the way to the root."""
NEWTON_STEPS = 3
DAMPED_STEPS, DAMPED_RATE = 6, 0.7


def descent(sums: NoisySums, score: Score, start: Reals, mu: float, shares: Shares, count: float) -> Fit:
    """Noisy gradient descent, then curvature and squared scores at its last iterate."""
    rate, spent = DESCENT_RATE / count, mu * math.sqrt(shares.steps)
    theta = noisy_descent(sums, score, start, spent, DESCENT_STEPS, rate)
    ends = sums.release(
        theta, score, bend_mu=mu * math.sqrt(shares.bend), square_mu=mu * math.sqrt(shares.square)
    )
    curvature = Curvature(ends.bend, ends.bend_sd)
    step_sd = sums.score_sd(score, spent / math.sqrt(DESCENT_STEPS))
    noise = descent_noise(curvature, step_sd, DESCENT_STEPS, rate)
    return Fit(theta, Sandwich(curvature, ends.square, ends.square_sd, noise, count))


def newton(
    sums: NoisySums,
    score: Score,
    start: Reals,
    mu: float,
    shares: Shares,
    count: float,
    steps: int = NEWTON_STEPS,
    rate: float = 1.0,
) -> Fit:
    """Noisy Newton steps, the curvature of the last one used in its law, then squared scores."""
    spent = mu * math.sqrt(shares.steps + shares.bend)
    theta, curvature = noisy_newton(sums, score, start, spent, steps, rate)
    ends = sums.release(theta, score, square_mu=mu * math.sqrt(shares.square))
    noise = newton_noise(curvature, sums.score_sd(score, spent / math.sqrt(2 * steps)), steps, rate)
    return Fit(theta, Sandwich(curvature, ends.square, ends.square_sd, noise, count))


def damped_newton(
    sums: NoisySums, score: Score, start: Reals, mu: float, shares: Shares, count: float
) -> Fit:
    """Newton's method with shorter steps, and more of them."""
    return newton(sums, score, start, mu, shares, count, DAMPED_STEPS, DAMPED_RATE)


METHODS: dict[str, tuple[Method, str]] = {
    "averaged_newton": (averaged_newton, "averaged noisy Newton steps"),
    "descent": (descent, "noisy gradient descent"),
    "newton": (newton, "noisy Newton steps"),
    "damped_newton": (damped_newton, "damped noisy Newton steps"),
}
