"""Noisy gradient descent and noisy Newton steps as published, with the law that their last iterates have.

Avella-Medina, Bradshaw and Loh, "Differentially private inference via noisy optimization" (2023): every step has noise
for mu/sqrt(K), and the last iterate is the estimate. Given the data, and to first order around the root, it has

    descent:  Cov = rate^2 s^2 sum_{j < K} (I - rate M)^(2 j),
    Newton:   Cov = rate^2 s^2 sum_{j < K} (1 - rate)^(2 j) P^2,     s^2 the variance of the noise on a sum of scores,

with M the curvature, P its inverse and rate the step. The printed correction for descent is 8 rate^2 s'^2 in place of
the sum (s' for one sum of 2 B sqrt(K)/mu; one step alone gives 4), right where rate h is about 0.29 and short or wide
elsewhere. That for Newton's method, rate^2 s^2 P^2 of the last step, is exact for undamped steps.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.score import Score


def noisy_descent(sums: NoisySums, score: Score, start: Reals, mu: float, steps: int, rate: float) -> Reals:
    """The last of `steps` steps theta - rate (sum of scores + noise); mu-GDP in all.

    Parameters
    ----------
    sums
        The rows.
    score
        The loss.
    start
        Public, or a function of what was released.
    mu
        What is spent on all steps together.
    steps
        Their number: a privacy parameter, fixed beforehand.
    rate
        The step for a *sum* of scores: a step for means over the number of rows.

    Returns
    -------
    ndarray
        The last iterate.
    """
    theta = start
    for _ in range(steps):
        released = sums.release(theta, score, score_mu=mu / math.sqrt(steps))
        theta = released.theta - rate * released.score
    return theta


def descent_noise(curvature: Curvature, step_sd: float, steps: int, rate: float) -> Reals:
    """The covariance that the noise of all steps, of `step_sd` each, gives the last iterate of a descent."""
    values, vectors = np.linalg.eigh(curvature.matrix)
    # Beyond a contraction of 1 the formula explodes: a curvature of noise, or a rate that was too large.
    shrink = np.clip(1 - rate * values, -1.0, 1.0) ** 2
    total = np.zeros(len(values))
    for _ in range(steps):
        total = 1 + shrink * total
    return np.asarray((vectors * (rate * step_sd) ** 2 * total) @ vectors.T)


def noisy_newton(
    sums: NoisySums, score: Score, start: Reals, mu: float, steps: int, rate: float = 1.0
) -> tuple[Reals, Curvature]:
    """The last of `steps` steps theta - rate (curvature + noise)^-1 (sum of scores + noise), and its curvature.

    Each step spends half of its mu^2 on either; mu-GDP in all. A rate below 1 is damped Newton's method.

    Parameters
    ----------
    sums
        The rows.
    score
        The loss.
    start
        Public, or a function of what was released; near the root.
    mu
        What is spent on all steps together.
    steps
        Their number: a privacy parameter, fixed beforehand.
    rate
        At most 1.

    Returns
    -------
    tuple
        The last iterate, and the curvature released for the last step.
    """
    theta, part = start, mu / math.sqrt(2 * steps)
    curvature = Curvature(np.eye(len(start)), 0.0)
    for _ in range(steps):
        released = sums.release(theta, score, score_mu=part, bend_mu=part)
        curvature = Curvature(released.bend, released.bend_sd)
        theta = released.theta - rate * curvature.inverse @ released.score
    return theta, curvature


def newton_noise(curvature: Curvature, step_sd: float, steps: int, rate: float = 1.0) -> Reals:
    """The covariance that the noise of all steps, of `step_sd` each, gives the last iterate of Newton's method."""
    total = sum((1 - rate) ** (2 * j) for j in range(steps))
    return np.asarray((rate * step_sd) ** 2 * total * curvature.inverse @ curvature.inverse)
