"""Estimates on one fixed table, drawn many times: around the root, with the covariance that is claimed.

Variance ratios of 200 draws of 3 numbers have a standard deviation of sqrt(2/600) = 0.058 or, for the correlated ones
of a matrix, a little more; bounds are six of these. Every wrong factor in use (1/2, 2, sqrt(K)) is far beyond.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalenius as dp
from dalenius.infer.scores import (
    ArraySource,
    Curvature,
    CurveScore,
    NoisySums,
    Shares,
    Standard,
    averaged_newton,
)
from dalenius.infer.scores.averaged_newton import spread
from dalenius.infer.scores.noisy_descent import descent_noise, newton_noise, noisy_descent, noisy_newton
from dalenius.sums.curves import Huber
from tests.noise.seeded import seeded

N, DRAWS = 2000, 200
SCORE = CurveScore(Huber(1.345))


@pytest.fixture(scope="module")
def fixed():
    random = np.random.default_rng(7)
    X = random.normal(size=(N, 2))
    y = X @ [0.5, -1.0] + 0.25 + random.standard_t(4, N)
    standard = Standard(np.zeros(2), np.ones(2), 1.0, np.sqrt(3))
    rows = ArraySource(X, y).rows(standard)
    z, v = standard.weighted(X)
    x, theta = z / v[:, None], np.zeros(3)
    for _ in range(50):
        r = x @ theta - y
        bend = z.T @ (z * (np.abs(r) <= 1.345)[:, None])
        theta = theta - np.linalg.solve(bend, z.T @ (np.clip(r, -1.345, 1.345) * v))
    scores = z * (np.clip(x @ theta - y, -1.345, 1.345) * v)[:, None]
    return rows, theta, bend, scores.T @ scores


def ratio(draws: np.ndarray, root: np.ndarray, covariance: np.ndarray) -> float:
    """Mean of e^T C^-1 e over its number of coordinates."""
    away = draws - root
    return float(np.mean(np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)) / len(root))


def test_averaged_newton_loses_nothing_to_the_number_of_steps(fixed):
    rows, root, bend, square = fixed
    shares = Shares(0.2, 0.7, 0.1)
    with seeded(5):
        fits = [
            averaged_newton(NoisySums(rows, dp.REPLACE_ONE), SCORE, root + 0.1, 1.0, shares, N)
            for _ in range(DRAWS)
        ]
    draws = np.array([fit.theta for fit in fits])
    step_sd = NoisySums(rows, dp.REPLACE_ONE).score_sd(SCORE, np.sqrt(0.7))
    inverse = np.linalg.inv(bend)
    whole = step_sd**2 * inverse @ inverse
    assert abs(ratio(draws, root, whole) - 1) < 0.38
    claimed = np.mean([fit.law.noise for fit in fits], axis=0)
    assert abs(ratio(draws, root, claimed) - 1) < 0.38
    sampling = np.mean([fit.law.sampling for fit in fits], axis=0)
    assert np.allclose(sampling, inverse @ square @ inverse * N / (N - 3), rtol=0.2, atol=4e-5)
    assert all(fit.clear and (fit.law.degrees(np.eye(3)) > 100).all() for fit in fits)


@pytest.mark.parametrize(("steps", "rate"), [(8, 0.4), (5, 2.5)])
def test_descent_accumulates_noise(fixed, steps, rate):
    rows, root, bend, _ = fixed
    sums = NoisySums(rows, dp.REPLACE_ONE)
    with seeded(6):
        draws = np.array([noisy_descent(sums, SCORE, root, 1.0, steps, rate / N) for _ in range(DRAWS)])
    step_sd = sums.score_sd(SCORE, 1.0 / np.sqrt(steps))
    assert abs(ratio(draws, root, descent_noise(Curvature(bend, 0.0), step_sd, steps, rate / N)) - 1) < 0.38


@pytest.mark.parametrize(("steps", "rate"), [(2, 1.0), (3, 0.6)])
def test_newton_accumulates_noise_only_when_damped(fixed, steps, rate):
    rows, root, bend, _ = fixed
    sums = NoisySums(rows, dp.REPLACE_ONE)
    with seeded(7):
        draws = np.array([noisy_newton(sums, SCORE, root, 2.0, steps, rate)[0] for _ in range(DRAWS)])
    step_sd = sums.score_sd(SCORE, 2.0 / np.sqrt(2 * steps))
    noise = newton_noise(Curvature(bend, 0.0), step_sd, steps, rate)
    assert abs(ratio(draws, root, noise) - 1) < 0.38


def test_the_spread_of_the_points_where_steps_are_taken():
    """kappa against a direct simulation of e_j = -sum_{i < j} (f_i/F_{j-1}) xi_i."""
    shares = (0.2, 0.3, 0.5)
    xi = np.random.default_rng(0).normal(size=(200_000, 3)) / np.sqrt(shares)
    points = [np.zeros(len(xi))]
    for j in (1, 2):
        points.append(-(xi[:, :j] * shares[:j]).sum(axis=1) / sum(shares[:j]))
    total = sum(share * point for share, point in zip(shares, points, strict=True))
    assert spread(shares) == pytest.approx(total.var(), rel=0.02)


def test_an_unclear_curvature_says_so():
    assert not Curvature(np.eye(4), 0.3).clear
    assert Curvature(np.eye(4), 0.1).clear
    assert (np.linalg.eigvalsh(Curvature(-np.eye(2), 1.0).inverse) > 0).all()
