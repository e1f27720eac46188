"""Exact ex-post losses against differences of log densities, the Jacobian by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import laplace, multivariate_normal, norm

from dalenius.adaptive import (
    gaussian_loss,
    glm_losses,
    laplace_loss,
    objective_perturbation_loss,
    posterior_sample_loss,
)
from dalenius.errors import InvalidParameter

SIGMA, RIDGE = 1.7, 0.8


def test_gaussian_and_laplace() -> None:
    rng = np.random.default_rng(0)
    out, first, second = rng.normal(size=(3, 4))
    by_density = norm(first, 2.0).logpdf(out).sum() - norm(second, 2.0).logpdf(out).sum()
    assert gaussian_loss(out, first, second, 2.0) == pytest.approx(by_density, abs=1e-12)
    by_density = laplace(first, 2.0).logpdf(out).sum() - laplace(second, 2.0).logpdf(out).sum()
    assert laplace_loss(out, first, second, 2.0) == pytest.approx(by_density, abs=1e-12)


def test_a_published_raw_loss_gives_a_count_away() -> None:
    """Redberg 2023, Example 2.2.4: whoever is not in the data solves for the count, one root being whole."""
    count, sigma, out = 7, 3.0, 9.3
    loss = abs(gaussian_loss(out, count, count + 1, sigma))
    roots = [out - 0.5 + sign * sigma**2 * loss for sign in (1, -1)]
    assert [round(r) for r in roots if abs(r - round(r)) < 1e-9] == [count]


def log_density(gradient: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> float:
    """Of the perturbed minimiser at theta, by the change of variables b = -gradient."""
    d, h = len(theta), 1e-5
    jacobian = np.column_stack(
        [(gradient(theta + h * e) - gradient(theta - h * e)) / (2 * h) for e in np.eye(d)]
    )
    b = -gradient(theta)
    return float(norm(0, SIGMA).logpdf(b).sum() + np.linalg.slogdet(jacobian)[1])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_glm(d: int) -> None:
    rng = np.random.default_rng(d)
    x, y, theta = rng.normal(size=(12, d)), rng.integers(0, 2, 12), rng.normal(size=d)

    def gradient(rows: slice) -> Callable[[np.ndarray], np.ndarray]:
        return lambda t: x[rows].T @ (expit(x[rows] @ t) - y[rows]) + RIDGE * t

    def hessian(rows: slice) -> np.ndarray:
        p = expit(x[rows] @ theta)
        return (x[rows] * (p * (1 - p))[:, None]).T @ x[rows] + RIDGE * np.eye(d)

    every, less, one = slice(None), slice(1, None), slice(0, 1)
    p = expit(x[one] @ theta)
    own = (x[one], p - y[one], p * (1 - p))
    removed = glm_losses(*own, hessian(every), gradient(every)(theta), SIGMA, member=True)[0]
    added = glm_losses(*own, hessian(less), gradient(less)(theta), SIGMA, member=False)[0]
    direct = log_density(gradient(every), theta) - log_density(gradient(less), theta)
    assert removed == pytest.approx(direct, abs=1e-6)
    assert added == pytest.approx(-removed, abs=1e-10)
    whole = objective_perturbation_loss(
        hessian(every),
        gradient(every)(theta),
        own[2][0] * np.outer(x[0], x[0]),
        own[1][0] * x[0],
        SIGMA,
        member=True,
    )
    assert whole == pytest.approx(removed, abs=1e-10)


def test_a_loss_that_is_no_glm() -> None:
    """Three classes: the Hessian of a record has rank 2, and rank-one formulas do not apply."""
    rng = np.random.default_rng(1)
    x, y, theta = rng.normal(size=(9, 2)), rng.integers(0, 3, 9), rng.normal(size=4)

    def probabilities(t: np.ndarray, rows: list[int]) -> np.ndarray:
        scores = np.column_stack([x[rows] @ t[:2], x[rows] @ t[2:], np.zeros(len(rows))])
        return softmax(scores, axis=1)

    def gradient(t: np.ndarray, rows: list[int]) -> np.ndarray:
        off = probabilities(t, rows)[:, :2] - (y[rows][:, None] == [0, 1])
        return (off[:, :, None] * x[rows][:, None, :]).sum(axis=0).ravel()

    def hessian(t: np.ndarray, rows: list[int]) -> np.ndarray:
        p = probabilities(t, rows)[:, :2]
        return sum(
            np.kron(np.diag(q) - np.outer(q, q), np.outer(row, row))
            for q, row in zip(p, x[rows], strict=True)
        )

    every, less = list(range(9)), list(range(1, 9))
    densities = [log_density(lambda t, r=rows: gradient(t, r) + RIDGE * t, theta) for rows in (every, less)]
    args = (hessian(theta, [0]), gradient(theta, [0]), SIGMA)
    removed = objective_perturbation_loss(
        hessian(theta, every) + RIDGE * np.eye(4), gradient(theta, every) + RIDGE * theta, *args, member=True
    )
    added = objective_perturbation_loss(
        hessian(theta, less) + RIDGE * np.eye(4), gradient(theta, less) + RIDGE * theta, *args, member=False
    )
    assert removed == pytest.approx(densities[0] - densities[1], abs=1e-6)
    assert added == pytest.approx(-removed, abs=1e-10)


@pytest.mark.parametrize("member", [True, False])
def test_posterior_sample(member: bool) -> None:
    rng = np.random.default_rng(3)
    x, y, theta, gamma = rng.normal(size=(8, 3)), rng.normal(size=8), rng.normal(size=3), 2.3

    def law(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        h = x[rows].T @ x[rows] + RIDGE * np.eye(3)
        return h, np.linalg.solve(h, x[rows].T @ y[rows])

    (h, mean), (h_less, mean_less) = law(slice(None)), law(slice(1, None))
    direct = multivariate_normal(mean, np.linalg.inv(gamma * h)).logpdf(theta) - multivariate_normal(
        mean_less, np.linalg.inv(gamma * h_less)
    ).logpdf(theta)
    known = (h, mean) if member else (h_less, mean_less)
    found = posterior_sample_loss(theta, x[0], y[0], *known, gamma, member=member)
    assert found == pytest.approx(direct if member else -direct, abs=1e-9)


def test_a_record_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(InvalidParameter, match="positive definite"):
        objective_perturbation_loss(np.eye(2), [0, 0], 2 * np.eye(2), [0, 0], 1.0, member=True)
