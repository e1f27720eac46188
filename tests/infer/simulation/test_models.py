"""Models say the same with fixed seeds and with fresh rows, and their conjugate laws are right."""

from __future__ import annotations

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter

M = dp.infer.models
CASES = [
    (M.Bernoulli(), [0.3]),
    (M.Poisson(upper=4), [3.0]),
    (M.Multinomial(3), [0.5, 0.2]),
    (M.Normal(bounds=(-1.0, 2.0)), [0.5, 1.5]),
    (M.Normal(bounds=(-1.0, 2.0), sd=2.0), [0.5]),
]
SIZE, N = 4000, 30


@pytest.mark.parametrize(("model", "theta"), CASES, ids=lambda case: type(case).__name__)
def test_sums_of_seeds_and_of_rows(model: object, theta: list[float]) -> None:
    """Means and spreads within five standard errors, clipping included."""
    rng = np.random.default_rng(0)
    at = np.array(theta)
    seeded = model.sample(at, N, model.seeds(rng, N, SIZE))  # type: ignore[attr-defined]
    whole = np.append(at, 1 - at.sum()) if isinstance(model, M.Multinomial) else at
    rows = model.rows(np.tile(whole, (SIZE, 1)), N, rng)  # type: ignore[attr-defined]
    fresh = model.contributions(rows).sum(axis=1)  # type: ignore[attr-defined]
    error = np.sqrt(2 / SIZE) * fresh.std(axis=0)
    assert (np.abs(seeded.mean(axis=0) - fresh.mean(axis=0)) < 5 * error).all()
    assert (np.abs(seeded.std(axis=0) / fresh.std(axis=0) - 1) < 5 * np.sqrt(1.5 / SIZE)).all()


@pytest.mark.parametrize(
    "family",
    [*(model for model, _ in CASES), M.LinearRegression(bounds=[(-2, 2), (-3, 3)])],
    ids=lambda family: type(family).__name__,
)
def test_moments_of_a_row(family: M.Family) -> None:
    rng = np.random.default_rng(1)
    theta = family.prior(rng, 1)
    rows = family.sufficient(family.rows(theta, 200_000, rng))[0]
    mean, covariance = family.moments(theta)
    spread = rows.std(axis=0)
    assert (np.abs(rows.mean(axis=0) - mean[0]) < 6 * spread / np.sqrt(len(rows)) + 1e-12).all()
    seen = np.atleast_2d(np.cov(rows, rowvar=False))
    assert (np.abs(seen - covariance[0]) < 0.08 * np.outer(spread, spread) + 1e-12).all()


@pytest.mark.parametrize(
    "family",
    [*(model for model, _ in CASES), M.LinearRegression(bounds=[(-2, 2), (-3, 3)])],
    ids=lambda family: type(family).__name__,
)
def test_conjugate_parameters_come_near_the_truth(family: M.Family) -> None:
    rng = np.random.default_rng(2)
    theta = family.prior(rng, 1)
    totals = family.sufficient(family.rows(theta, 100_000, rng)).sum(axis=1)
    drawn = family.reported(family.parameter(np.repeat(totals, 500, axis=0), 100_000, rng))
    truth = family.reported(theta)[0]
    assert (np.abs(drawn.mean(axis=0) - truth) < 6 * drawn.std(axis=0)).all()
    assert (drawn.std(axis=0) < 0.05 * (1 + np.abs(truth))).all()


def test_possible_sums() -> None:
    normal = M.Normal(bounds=(0, 1))
    low = normal.possible(np.array([[10.0, 1.0]]), 10)
    assert low.tolist() == [[10.0, 10.0]]
    line = M.LinearRegression(bounds=[(-1, 1), (-1, 1)])
    possible = line.possible(np.array([[0.0, 0.0, -5.0, 2.0, 3.0]]), 10)[0]
    assert possible[2] * possible[4] >= possible[3] ** 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: M.Bernoulli(prior_counts=(0, 1)),
        lambda: M.Poisson(upper=0),
        lambda: M.Multinomial(1),
        lambda: M.Normal(bounds=(1, 0)),
        lambda: M.Normal(bounds=(0, 1), space=[(0, 1)]),
        lambda: M.Normal(bounds=(0, 1), space=[(0, 1), (0, 1)]),
        lambda: M.LinearRegression(bounds=[(0, 1)]),
        lambda: dp.infer.SimulationModel("ab", [(0, 1)], len),  # type: ignore[arg-type]
        lambda: dp.infer.SimulationModel(["a"], [(0, 1), (0, 1)], len),  # type: ignore[arg-type]
        lambda: dp.infer.SimulationModel(["a"], [(0, 1)], 5),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_model(make: object) -> None:
    with pytest.raises(InvalidParameter):
        make()  # type: ignore[operator]
