"""The sharp bound on objective perturbation, against exact one-dimensional profiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.half_normal import ChiPair

GRID = 40_001


def profiles(rng: np.random.Generator, kind: str) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Densities of the minimiser with and without one record, on a fine grid of theta (cell masses)."""
    ridge, sigma = float(10 ** rng.uniform(-0.5, 1.5)), float(10 ** rng.uniform(-0.3, 1.0))
    count = int(rng.integers(0, 6))
    x, y = rng.uniform(-1, 1, count + 1), rng.integers(0, 2, count + 1)
    x[-1] = 1.0
    width = float(rng.uniform(0.2, 2.0))
    theta = np.linspace(-1, 1, GRID) * (8 * sigma + count + 2) / ridge

    def slope(i: int) -> np.ndarray:
        u = x[i] * theta
        if kind == "logistic":
            return x[i] * (1 / (1 + np.exp(-u)) - y[i])
        return x[i] * np.clip((u - y[i]) / width, -1, 1)  # Huber: smoothness 1/width, gradient at most 1

    b = -(sum((slope(i) for i in range(count)), np.zeros(GRID)) + ridge * theta)
    both = []
    for shifted in (b - slope(count), b):  # with the record, without it
        edges = np.concatenate(([np.inf], (shifted[1:] + shifted[:-1]) / 2, [-np.inf])) / sigma
        tail = 0.5 * np.array([math.erfc(-e / math.sqrt(2)) for e in edges])
        both.append(-np.diff(tail))
    facts = {"sigma": sigma, "ridge": ridge, "gradient_bound": 1.0}
    facts["smoothness"] = 0.25 if kind == "logistic" else 1 / width
    return facts, both[0], both[1]


@pytest.mark.parametrize("kind", ["logistic", "huber"])
@pytest.mark.parametrize("seed", range(12))
def test_exact_profiles_stay_below(kind: str, seed: int) -> None:
    facts, with_it, without = profiles(np.random.default_rng(seed), kind)
    loss = dp.losses.objective_perturbation(**facts, bound="sharp")
    for epsilon in np.linspace(-1.0, 2.0, 25):
        alpha = math.exp(epsilon)
        # Putting outcomes into cells is post-processing: the discrete profile is at most the true one.
        remove = float(np.maximum(with_it - alpha * without, 0).sum())
        add = float(np.maximum(without - alpha * with_it, 0).sum())
        assert remove <= loss.remove.delta(float(epsilon)).upper + 1e-12
        assert add <= loss.add.delta(float(epsilon)).upper + 1e-12


def test_the_factor_two_is_real() -> None:
    """A Huber loss, no other data, L = 1, sigma = 5, beta = 1, lambda = 20."""
    loss = dp.losses.objective_perturbation(5, 20, 1, 1, bound="sharp")
    for epsilon, add in ((0.1, 7.0597e-3), (0.5, 9.3101e-5), (1.0, 3.5093e-8)):
        assert loss.add.delta(epsilon).upper >= add * (1 - 1e-4)  # printed with five digits
        gaussian = dp.losses.gaussian(5.0).delta(epsilon)
        assert loss.remove.delta(epsilon).upper < 4 * gaussian
    assert loss.remove.delta(0.0).upper >= 2.3607e-2


@pytest.mark.parametrize(("numbers", "epsilon"), [((5, 20, 1, 1), 0.7743), ((10, 5, 1, 1), 0.5230)])
def test_golden_numbers(numbers: tuple[float, ...], epsilon: float) -> None:
    sharp = dp.losses.objective_perturbation(*numbers, bound="sharp").epsilon(1e-5)
    assert sharp == pytest.approx(epsilon, abs=5e-5)
    assert sharp < dp.losses.objective_perturbation(*numbers).epsilon(1e-5)
    assert sharp > dp.losses.gaussian(numbers[0]).epsilon(1e-5)


def test_any_ridge_will_do() -> None:
    assert dp.losses.objective_perturbation(5, 0.1, 1, 1, bound="sharp").epsilon(1e-5) < 3.5
    several = dp.losses.objective_perturbation(5, 0.1, 1, 0.1, dimension=3, bound="sharp")
    leading = several.terms_remove[0][0].start - several.terms_add[0][0].start  # type: ignore[attr-defined]
    assert abs(leading - 3 * math.log(2)) < 1e-12
    # The Gaussian release of an approximate minimum is in the same pair: no less than their sum, and hardly more.
    given: dict[str, Any] = {"tolerance": 0.01, "output_sigma": 0.15, "dimension": 3, "bound": "sharp"}
    joined = dp.losses.approximate_minima(5, 20, 1, 1, **given).epsilon(1e-5)
    apart = dp.losses.objective_perturbation(5, 20, 1, 1, dimension=3, bound="sharp") + dp.losses.gaussian(
        0.15, 1e-3
    )
    assert apart.epsilon(1e-5) <= joined * (1 + 1e-9) <= 1.001 * apart.epsilon(1e-5)
    with pytest.raises(dp.errors.InvalidParameter, match="sharp"):
        dp.losses.objective_perturbation(5, 20, 1, 1, bound="best")  # type: ignore[arg-type]


def test_ball_arithmetic_agrees() -> None:
    run = dp.losses.objective_perturbation(5, 20, 1, 1, bound="sharp") * 4
    at = run.epsilon(1e-6)
    proof, line = run.delta_bounds(at, engine="proof"), run.delta_bounds(at)
    assert proof.lower <= line.upper
    assert line.lower <= proof.upper


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (losses.approximate_minima(3.43, 42.0, 0.574, 0.578, 1.68e-4, 0.2315, dimension=66), 2.36e-8),
        (losses.approximate_minima(2.01, 0.392, 1.97, 0.237, 2.34e-6, 0.0864, dimension=62), 6.3e-12),
        (
            losses.objective_perturbation(13.29, 19.97, 0.52, 0.0604, dimension=20) * 2
            + losses.staircase(0.0758, 0.827) * 372,
            2e-10,
        ),
    ],
)
def test_sums_of_many_dimensions_have_digits(loss: losses.Loss, delta: float) -> None:
    """The transform was known to fall like 1/t only, and ends were up to 4 % apart, on a lattice."""
    lower, upper = loss.epsilon_bounds(delta)
    assert 0 < upper - lower < 1e-6 * upper
    coarse = loss.delta_bounds(upper, engine="grid")
    assert coarse.lower * (1 - 1e-6) <= delta <= coarse.upper * (1 + 1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 66, 500])
def test_a_transform_is_below_its_envelope(dimension: int) -> None:
    for mu in (0.01, 0.2, 1.0, 5.0):
        pair = ChiPair(0.1, mu, dimension)
        for c in (0.01, 1.0, 10.0, 40.0):
            t = np.unique(np.concatenate([np.linspace(0.0, 40.0 / mu, 300), np.linspace(0.0, 2.0, 50)]))
            found = pair.tilted(c, t)
            assert found is not None
            real = float(pair.log_mgf(np.array([c]))[0])
            size = np.abs(found.values) * math.exp(found.log_scale - real) - 2 * found.error
            assert (size <= pair.envelope(c, t)).all()
            # The old bound was about 1/(mu t); the true one falls like the power -d of that, far out.
            if dimension > 2 and mu >= 0.2:
                assert pair.envelope(c, t)[-1] * mu * t[-1] < 0.01
