"""Noisy Newton steps with one early curvature, averaged by what was spent on them, and their law.

Let theta^ be the root of the sum of scores, M its curvature there, M~ = M + W the curvature released at the start, P
its inverse. Step j releases g_j = g(theta_j) + xi_j, xi_j ~ N(0, s^2/f_j) with f_1 + ... + f_K = 1, and proposes

    u_j = theta_j - P g_j = theta^ + E (theta_j - theta^) - P xi_j,      E = I - P M = P W,

up to the curvature of g. The next theta is the mean of u_1, ..., u_j with weights f, and so is the answer:

    theta - theta^ = -P sum_j f_j xi_j + E sum_j f_j (theta_j - theta^).

The first term has covariance s^2 P^2 exactly, that of a single step with the whole budget: nothing is lost by taking
several. The second is a product of two noises. With e_j = theta_j - theta^ = -P sum_{i<j} (f_i/F_{j-1}) xi_i + ...,
F_j = f_1 + ... + f_j, the noise in sum_j f_j e_j has covariance kappa s^2 P^2 with kappa = sum_i f_i (sum_{j>i}
f_j/F_{j-1})^2, and the start adds f_1 (theta_1 - theta^). As W has independent entries, E d has covariance
sd(W)^2 P (|d|^2 I + d d^T) P for a fixed d, at most 2 sd(W)^2 |d|^2 P^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from dalenius.core.arrays import Reals
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.sandwich import Fit, Sandwich
from dalenius.infer.scores.score import Score

STEPS = (0.3, 0.7)
"""The squared mu of the steps, each as a share. A small first share takes the second step where its noise threw it."""


@dataclass(frozen=True)
class Shares:
    """How mu^2 is divided between curvature, steps and squared scores. They add up to 1 or less."""

    bend: float
    steps: float
    square: float


def averaged_steps(
    sums: NoisySums, score: Score, start: Reals, inverse: Reals, mu: float, shares: tuple[float, ...] = STEPS
) -> Reals:
    """The mean of the proposals of `len(shares)` noisy Newton steps; mu-GDP in all."""
    return _steps(sums, score, start, inverse, mu, shares)[0]


def _steps(
    sums: NoisySums, score: Score, start: Reals, inverse: Reals, mu: float, shares: tuple[float, ...]
) -> tuple[Reals, Reals]:
    """The mean of the proposals, and the last noisy sum of scores."""
    theta, total, weight, last = start, np.zeros(len(start)), 0.0, np.zeros(len(start))
    for share in shares:
        released = sums.release(theta, score, score_mu=mu * math.sqrt(share))
        last = released.score
        total = total + share * (released.theta - inverse @ last)
        weight += share
        theta = total / weight
    return theta, last


def settled(last: Reals, step_sd: float) -> bool:
    """Whether the last step was no longer than noise makes it: else the way to the root was not done.

    Its sum of scores is its own noise plus, to first order, that of the steps before, of variance s^2/f_K and
    s^2/(1 - f_K). The bound on its squared length is half as large again as chance exceeds once in 10 000 times.
    """
    variance = step_sd**2 * (1 / STEPS[-1] + 1 / (1 - STEPS[-1]))
    return float(last @ last) <= 1.5 * variance * float(chdtri(len(last), 1e-4))


def averaged_newton(
    sums: NoisySums, score: Score, start: Reals, mu: float, shares: Shares, count: float
) -> Fit:
    """Curvature at the start, averaged steps, squared scores at the end: an estimate with its law.

    Parameters
    ----------
    sums
        The rows.
    score
        The loss.
    start
        Where the curvature is taken: near the root, and a function of what is released or public.
    mu
        What is spent, as for GDP.
    shares
        How mu^2 is divided.
    count
        The number of rows, public or released: for the corrections for few rows.

    Returns
    -------
    Fit
        The estimate and its law.
    """
    bend = sums.release(start, score, bend_mu=mu * math.sqrt(shares.bend))
    curvature = Curvature(bend.bend, bend.bend_sd)
    theta, last = _steps(sums, score, start, curvature.inverse, mu * math.sqrt(shares.steps), STEPS)
    square = sums.release(theta, score, square_mu=mu * math.sqrt(shares.square))
    step_sd = sums.score_sd(score, mu * math.sqrt(shares.steps))
    moved = STEPS[0] ** 2 * float(np.sum((theta - start) ** 2))
    away = moved + spread(STEPS) * step_sd**2 * float(np.sum(curvature.inverse**2))
    noise = step_sd**2 + curvature.sd**2 * away * (1 + 1 / len(theta))
    twice = noise * curvature.inverse @ curvature.inverse
    law = Sandwich(curvature, square.square, square.square_sd, twice, count)
    return Fit(theta, law, settled(last, step_sd))


def spread(shares: tuple[float, ...]) -> float:
    """kappa of the module: how much the noise of early steps moves the points where later ones are taken."""
    total = 0.0
    for i, share in enumerate(shares):
        later = sum(shares[j] / sum(shares[:j]) for j in range(i + 1, len(shares)))
        total += share * later**2
    return total
