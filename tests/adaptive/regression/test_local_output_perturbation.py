"""How far one record moves a logistic regression and its curvature: against the data themselves, and print."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

import dalenius as dp
from dalenius import theorems
from dalenius.adaptive import local_output_perturbation
from dalenius.adaptive.regression.local_output_perturbation import Minimum
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

PROMISE = dp.ApproxDP(1.0, 1e-6)


def minimum(x: np.ndarray, y: np.ndarray, ridge: float) -> Minimum:
    """The minimiser of the log-loss with labels -1 and 1, by Newton steps."""

    def value(theta: np.ndarray) -> float:
        return float(np.logaddexp(0, -y * (x @ theta)).sum() + ridge / 2 * theta @ theta)

    def hessian(theta: np.ndarray) -> np.ndarray:
        p = expit(x @ theta)
        return (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1])

    def gradient(theta: np.ndarray) -> np.ndarray:
        return -(y * expit(-y * (x @ theta))) @ x + ridge * theta

    theta = minimize(
        value, np.zeros(x.shape[1]), jac=gradient, hess=hessian, method="trust-exact", tol=1e-12
    ).x
    for _ in range(5):
        theta = theta - np.linalg.solve(hessian(theta), gradient(theta))
    return Minimum(theta, float(np.linalg.eigvalsh(hessian(theta))[0]))


def cases() -> list[tuple[np.ndarray, np.ndarray, float]]:
    rng = np.random.default_rng(0)
    found = []
    for k in range(150):
        n, d = int(rng.integers(0, 60)), int(rng.integers(1, 4))
        x = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1)
        x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
        y = np.where(rng.uniform(size=n) < rng.uniform(), 1.0, -1.0)
        if k % 3 == 0:
            y = np.sign(x[:, 0] + 1e-9)
        found.append((x, y, 10 ** rng.uniform(-1.5, 1)))
    return found


def test_bounds_hold_for_one_record_more_and_less() -> None:
    """Over 150 data sets, the record being the one that pulls hardest: along the least eigenvector or against theta."""
    far = near = 0.0
    for x, y, ridge in cases():
        here = minimum(x, y, ridge)
        family = local_output_perturbation(
            PROMISE, ridge=ridge, gradient_bound=1.0, smoothness=0.25, concordance=1.0
        ).family
        directions = [np.eye(x.shape[1])[0], here.theta / (np.linalg.norm(here.theta) + 1e-12)]
        for direction in directions:
            for sign in (-1.0, 1.0):
                there = minimum(np.vstack((x, direction)), np.append(y, sign), ridge)
                moved = float(np.linalg.norm(there.theta - here.theta))
                assert moved <= family.choose(here.curvature)
                assert moved <= family.choose(there.curvature)
                change = abs(here.curvature - there.curvature)
                assert change <= 1.25
                far, near = max(far, moved / family.choose(here.curvature)), max(near, change)
    assert far > 0.6  # not much is given away
    assert near > 0.2


def test_a_smaller_bound_would_be_exceeded() -> None:
    """Half the distance is contradicted by some of these data."""
    broken = False
    for x, y, ridge in cases():
        here = minimum(x, y, ridge)
        family = local_output_perturbation(
            PROMISE, ridge=ridge, gradient_bound=1.0, smoothness=0.25, concordance=1.0
        ).family
        there = minimum(np.vstack((x, np.eye(x.shape[1])[0])), np.append(y, -1.0), ridge)
        broken |= float(np.linalg.norm(there.theta - here.theta)) > 0.5 * family.choose(here.curvature)
    assert broken


def test_printed_price_is_wrong() -> None:
    """Redberg 2023, Theorem B.3.6, at a large curvature: epsilon = m^2 + m sqrt(log(2/delta)) for a shift of m."""
    delta, m = 1e-9, 0.3
    printed = m**2 + m * math.sqrt(math.log(2 / delta))
    assert theorems.gaussian_delta(m, printed) > 40 * delta
    right = m**2 / 2 + m * math.sqrt(2 * math.log(1 / delta))
    assert theorems.gaussian_delta(m, right) <= delta


def test_determinants_of_hessians_differ_by_the_dimension() -> None:
    """What Theorem B.3.6 leaves out: one record changes all d eigenvalues, so log determinants by d times as much."""
    found = []
    for d in (2, 8, 32):
        x = np.repeat(np.eye(d), 50, axis=0) * math.sqrt(0.5) + math.sqrt(0.5 / d)
        x /= np.linalg.norm(x, axis=1)[:, None]
        y = np.ones(len(x))
        direction = np.full((1, d), 1 / math.sqrt(d))
        logs = []
        for rows, labels in ((x, y), (np.vstack((x, direction)), np.append(y, -1.0))):
            theta = minimum(rows, labels, 1.0).theta
            p = expit(x @ theta)
            logs.append(np.linalg.slogdet((x * (p * (1 - p))[:, None]).T @ x + np.eye(d))[1])
        found.append(abs(logs[1] - logs[0]))
    assert found[2] > 1.2 * found[1] > 1.2**2 * found[0]


def test_law_and_price() -> None:
    release = local_output_perturbation(
        PROMISE, ridge=1.0, gradient_bound=1.0, smoothness=0.25, concordance=1.0
    )
    assert PROMISE.holds(release.loss)
    assert release.loss.delta(1.0) > 0.9 * PROMISE.delta
    family, moved = release.family, release.family.choose(400.0)
    with seeded(1):
        drawn = np.array([family.release(Minimum(np.zeros(1), 400.0), moved)[0] for _ in range(3000)])
    assert follows(drawn, norm(0, moved / family.mu).cdf)
    assert not follows(drawn, norm(0, 1.25 * moved / family.mu).cdf)
    assert family.choose(0.0) == pytest.approx(1.0, rel=1e-6)  # nothing but the ridge is known


def test_audit_of_the_worst_pair_and_a_planted_bug() -> None:
    promise = dp.ApproxDP(1.0, 0.05)
    release = local_output_perturbation(
        promise, ridge=1.0, gradient_bound=1.0, smoothness=0.25, concordance=1.0
    )
    first, second = release.worst_pair
    with seeded(2):
        found = dp.audit.lower_bound(release.release, pair=(first, second), trials=2000, delta=0.05)
    assert found.epsilon <= 1.0
    wide = Minimum(8 * second.theta, second.curvature)
    with seeded(3):
        caught = dp.audit.lower_bound(release.release, pair=(first, wide), trials=2000, delta=0.05)
    assert caught.epsilon > 1.0


def test_ridges_with_which_a_minimiser_may_not_be_found_are_refused() -> None:
    parts = {"gradient_bound": 1.0, "smoothness": 0.25, "concordance": 1.0}
    with pytest.raises(dp.errors.InvalidParameter, match=r"at least 2\.5e-07"):
        local_output_perturbation(dp.ApproxDP(1.0, 1e-6), ridge=1e-7, **parts)
    assert local_output_perturbation(dp.ApproxDP(1.0, 1e-6), ridge=1e-6, **parts).loss.delta(1.0) <= 1e-6
