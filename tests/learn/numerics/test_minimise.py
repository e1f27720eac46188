"""How close to its minimum an objective is minimised, what is added to hide the rest, and how that shrinks beside it.

Nothing here is random but seeded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dalenius as dp
from dalenius.learn.data.rows import Records
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.learn.numerics.minimise import Objective, careful, left_over, minimiser
from dalenius.sums.curves import ClippedPoisson, Curve, Huber, HuberHinge, Logistic
from tests.noise.seeded import seeded

CURVES: list[Curve] = [Logistic(0.5), Logistic(1.0), Huber(0.5), HuberHinge(0.5), ClippedPoisson(3.0, 2.0)]


def objective(rows: int, curve: Curve, ridge: float = 0.5, equal: bool = False, seed: int = 0) -> Objective:
    rng = np.random.default_rng(seed)
    x = np.full((rows, 2), 0.5) if equal else rng.normal(size=(rows, 2)) / 3
    y = (np.arange(rows) < rows / 3).astype(float)
    return Objective(Records(x, np.ones(rows), 0.3, y), curve, ridge, rng.normal(size=3))


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_least_bend_is_the_least(curve: Curve) -> None:
    rng = np.random.default_rng(1)
    u, y, reach = rng.normal(size=500) * 2, rng.integers(0, 2, 500).astype(float), rng.uniform(0, 1, 500)
    least = curve.least_bend(u, y, reach)
    for share in np.linspace(-1, 1, 41):
        assert (least <= curve.bend(u + share * reach, y) + 1e-15).all()
    assert (least <= curve.bend(u, y)).all()


def test_accurate_gradient_of_rows_that_all_err_alike() -> None:
    """Equal rows: what a plain product loses adds up; exact fractions tell."""
    found = objective(300_000, Logistic(0.5), equal=True)
    theta = np.array([0.3, -1.2, 0.7])
    row = found.records.rows(slice(0, 1))[0]
    slopes = found.curve.slope(np.full(2, float(row @ theta)), np.array([1.0, 0.0]))
    ones = int(found.records.labels.sum())
    total = ones * Fraction(slopes[0]) + (300_000 - ones) * Fraction(slopes[1])
    exact = [float(total * Fraction(v)) for v in row] + found.ridge * theta + found.noise
    # To a few units in the last place of a sum of 300 000 slopes: 1e-16 of 1e5, with the score's own rounding.
    np.testing.assert_allclose(found.accurate_gradient(theta), exact, rtol=0, atol=1e-10)
    assert np.abs(found.gradient_at(theta) - exact).max() > 1e-10


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_what_is_left_over_bounds_the_distance(curve: Curve) -> None:
    """Points at random around the minimum: nowhere is the bound below the distance, and at times it is well below
    the gradient's own."""
    found = objective(400, curve, ridge=0.05)
    best, left = minimiser(found, 1e-12)
    assert left <= 1e-12
    sharper = 0
    rng = np.random.default_rng(2)
    for distance in np.geomspace(1e-8, 1.0, 60):
        way = rng.normal(size=3)
        theta = best + distance * way / np.linalg.norm(way)
        gradient = found.accurate_gradient(theta)
        bound = left_over(found, theta, gradient, 100 * distance * found.ridge) / found.ridge
        assert bound >= distance * (1 - 1e-3) - 1e-11
        sharper += bound < 0.3 * np.linalg.norm(gradient) / found.ridge
    assert sharper > 10


@pytest.mark.parametrize("equal", [False, True])
def test_many_rows_reach_the_tolerance(equal: bool) -> None:
    """Half a million, and a tolerance that the gradient itself cannot reach in doubles where all rows are equal."""
    found = objective(500_000, Logistic(0.5), ridge=0.3, equal=equal)
    tolerance = 1e-10
    theta, left = minimiser(found, tolerance)
    assert left <= tolerance
    if equal:
        assert np.linalg.norm(found.gradient_at(theta)) > tolerance


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("rows", [10**3, 10**6, 10**8])
def test_output_noise_is_small_beside_the_rest(epsilon: float, rows: int) -> None:
    """For rows of norm 1 in five directions and bends of 0.1: the noise in the objective moves theta by sigma/(n h),
    the sample by 1/sqrt(n h), h = 0.02. At a millionth of sigma, the tolerance was too large for that."""
    plan = ObjectivePerturbation.calibrated(dp.ApproxDP(epsilon, 1e-6), 0.5, 0.25)
    rest = math.hypot(plan.sigma / (0.02 * rows + plan.ridge), 1 / math.sqrt(0.02 * rows))
    assert plan.output_sigma < 0.05 * rest
    # What it is, in closed form: two tolerances over the ridge, for a fiftieth of the mu of the noise.
    assert plan.output_sigma == pytest.approx(2e-9 * plan.sigma / plan.ridge * 50 * plan.sigma / 0.5)
    if epsilon == 0.1 and rows == 10**8:
        assert 1000 * plan.output_sigma > rest
    pure = PureObjectivePerturbation.calibrated(dp.PureDP(epsilon), 0.5, 0.25)
    assert pure.output_scale < 0.05 * math.hypot(
        pure.scale / (0.02 * rows + pure.ridge), 1 / math.sqrt(0.02 * rows)
    )


def test_a_fit_of_many_rows_has_the_noise_of_its_objective() -> None:
    """The variance of 200 fits is that of H^-1 b, to within six standard errors (chi-square, below 1e-8), and not what
    it would be with twice as much of it and more."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1)) / 2
    y = np.clip(x[:, 0] * 0.3, -1, 1)
    model = dp.learn.HuberRegression(dp.ApproxDP(0.1, 1e-6), intercept_scale=0.0, row_norm=3.0)
    with seeded(4):
        drawn = np.array([model.fit(x, y).coef_[0] for _ in range(200)])
    plan = model.plan_
    expected = plan.sigma / (float((x**2).sum()) + plan.ridge)
    error = 6 * math.sqrt(2 / 199)
    assert abs(np.var(drawn) / expected**2 - 1) < error
    assert not abs(np.var(drawn) / (3 * expected**2) - 1) < error


def test_small_ridges_and_nasty_rows_reach_the_tolerance() -> None:
    """Rows that are alike, of sizes from 1e-30 to 1, labels all the same or far away; ridges down to 1e-14 of what one
    row bends. Newton's steps alone miss some of these; by way of larger ridges none is missed."""
    rng, continued = np.random.default_rng(1), 0
    for _ in range(300):
        rows, columns = int(rng.choice([1, 2, 3, 10, 100, 1000])), int(rng.choice([1, 2, 5, 20]))
        x = rng.normal(size=(rows, columns))
        x = (x, np.sign(x), np.repeat(x[:, :1], columns, 1), x * 10.0 ** rng.uniform(-30, 2, x.shape))[
            rng.integers(4)
        ]
        x /= np.maximum(np.linalg.norm(x, axis=1), 1)[:, None]
        y = (rng.random(rows) < rng.choice([0, 0.5, 1])).astype(float)
        curve = (Logistic(), Logistic(0.5), HuberHinge(0.5), HuberHinge(0.01), Huber(1.0))[rng.integers(5)]
        y = y * rng.choice([1, 100]) if isinstance(curve, Huber) else y
        ridge = curve.sharpest * 10.0 ** rng.uniform(-14, -6)
        found = Objective(Records(x, np.ones(rows), 0.5 * rng.integers(2), y), curve, ridge, np.zeros(0))
        found.noise = np.zeros(found.records.size)
        tolerance = 1e-6 * curve.steepest
        assert minimiser(found, 0.5 * tolerance)[1] <= 0.75 * tolerance
        continued += _missed_by_newton(found, 0.5 * tolerance)
    assert continued > 0


def _missed_by_newton(found: Objective, tolerance: float) -> bool:
    try:
        return careful(found, tolerance, np.zeros(len(found.noise)))[1] > tolerance
    except np.linalg.LinAlgError:
        return True
