"""Models say the same with fixed seeds and with fresh rows, and their conjugate laws are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.models.normal_seeds import Cells, Sorted

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


@pytest.mark.parametrize("z", [-4.0, -1.003, -0.01, 0.5, 1.2371, 3.3])
def test_grids_of_many_numbers_have_the_law_of_sorted_ones(z: float) -> None:
    """Number, sum and squares below a place: means and spreads within five standard errors, and their correlation."""
    rng, n, size = np.random.default_rng(4), 1000, 2000
    exact, grid = (np.array(kind.drawn(rng, n, size).below(z)) for kind in (Sorted, Cells))
    error = np.sqrt(2 / size) * exact.std(axis=1) + 1e-12
    assert (np.abs(grid.mean(axis=1) - exact.mean(axis=1)) < 5 * error).all()
    assert (np.abs(grid.std(axis=1) - exact.std(axis=1)) < 5 * np.sqrt(1.5) * error).all()
    assert np.abs(np.corrcoef(exact) - np.corrcoef(grid)).max() < 5 * np.sqrt(2 / size)


def test_grids_move_without_steps() -> None:
    """Common random numbers: a small move of the place moves what is below it by little, across edges too."""
    seeds = Cells.drawn(np.random.default_rng(5), 10_000, 3)
    near = np.array([seeds.below(z) for z in np.linspace(0.985, 1.015, 3001)])
    assert np.abs(np.diff(near, axis=0)).max() < 4.0


@pytest.mark.parametrize(
    ("upper", "n", "rate"), [(6, 2000, 3.0), (1, 5000, 1e-4), (40, 300, 70.0), (5, 2, 9.0)]
)
def test_sums_of_cut_off_counts_against_the_whole_convolution(upper: int, n: int, rate: float) -> None:
    u = np.random.default_rng(6).random(500)
    k = np.arange(upper)
    row = np.append(stats.poisson.pmf(k, rate), stats.poisson.sf(upper - 1, rate))
    law = np.fft.irfft(np.fft.rfft(row, 2 * upper * n + 2) ** n, 2 * upper * n + 2)[: upper * n + 1]
    expected = np.searchsorted(np.cumsum(np.maximum(law, 0)), u)
    found = M.Poisson(upper=upper).sample(np.array([rate]), n, u)[:, 0]
    assert np.abs(found - expected).max() <= 1  # a tie of rounding at most
    assert (found == expected).mean() > 0.99


def test_memory_does_not_grow_with_rows() -> None:
    model = M.Normal(bounds=(-1.0, 2.0))
    seeds = model.seeds(np.random.default_rng(7), 10**9, 50)
    found = model.sample(np.array([0.5, 1.5]), 10**9, seeds)
    assert (found.std(axis=0) < 1e5).all()


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
