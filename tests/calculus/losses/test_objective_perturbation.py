"""The sharp bound on objective perturbation, against exact one-dimensional profiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp

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
