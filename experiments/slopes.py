"""The error of the exponential mechanism and of the K-norm gradient mechanism against n: means, medians, regressions.

The error is the distance from the same data's answer without privacy (of the slope, for a regression).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, QuantileRegressor

import dalenius as dp
from experiments.tables import interval, table

PROMISE = dp.PureDP(1.0)


@dataclass(frozen=True)
class Problem:
    """Data of a size, the two private answers and the one without privacy."""

    name: str
    data: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
    exponential: Callable[..., float]
    gradient: Callable[..., float]
    free: Callable[..., float]
    sizes: tuple[int, ...] = (100, 1000, 10_000, 100_000)
    draws: int = 10
    """For every seed."""


def numbers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return (rng.beta(2, 3, size=n),)


def line(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.clip(0.2 + 0.4 * x[:, 0] + 0.1 * rng.normal(size=n), -1, 1)


def value(kind: Any) -> Callable[..., float]:
    return lambda x: float(kind(PROMISE, bounds=(0.0, 1.0)).fit(x).value_)


def slope(kind: Any) -> Callable[..., float]:
    return lambda x, y: float(kind(PROMISE).fit(x, y).coef_[0])


PROBLEMS = (
    Problem(
        "mean",
        numbers,
        value(dp.learn.ExponentialMean),
        value(dp.learn.GradientMean),
        lambda x: float(x.mean()),
    ),
    Problem(
        "median",
        numbers,
        value(dp.learn.ExponentialQuantile),
        value(dp.learn.GradientQuantile),
        lambda x: float(np.median(x)),
    ),
    Problem(
        "least squares",
        line,
        slope(dp.learn.ExponentialLeastSquares),
        slope(dp.learn.GradientLeastSquares),
        lambda x, y: float(LinearRegression().fit(x, y).coef_[0]),
        (1000, 10_000, 100_000),
        2,
    ),
    Problem(
        "median regression",
        line,
        slope(dp.learn.ExponentialQuantileRegression),
        slope(dp.learn.GradientQuantileRegression),
        lambda x, y: float(QuantileRegressor(alpha=0, solver="highs").fit(x, y).coef_[0]),
        (1000, 3000, 10_000),
        1,
    ),
)


def run(seeds: int) -> str:
    return "\n\n".join(
        f"### {problem.name.capitalize()}\n\n{measured(problem, seeds)}" for problem in PROBLEMS
    )


def measured(problem: Problem, seeds: int) -> str:
    rng = np.random.default_rng(0)
    rows: list[list[str]] = []
    means: list[list[float]] = []
    for n in problem.sizes:
        errors: list[list[float]] = [[], []]
        for _ in range(seeds):
            data = problem.data(rng, n)
            truth = problem.free(*data)
            for found, private in zip(errors, (problem.exponential, problem.gradient), strict=True):
                found += [abs(private(*data) - truth) for _ in range(problem.draws)]
        rows.append([str(n), *(interval(found, 6) for found in errors)])
        means.append([float(np.mean(found)) for found in errors])
    slopes = np.polyfit(np.log(problem.sizes), np.log(means), 1)[0]
    return table(
        ["n", "exponential mechanism", "K-norm gradient"], [*rows, ["slope", *(f"{s:.2f}" for s in slopes)]]
    )
