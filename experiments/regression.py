"""Linear regression on the white wine data: mean squared error against epsilon, delta = 1e-6."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

import dalenius as dp
from experiments.data import split, unit_rows, wine
from experiments.tables import interval, table

EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)


def methods(epsilon: float) -> dict[str, Callable[[], Any]]:
    promise, bounds = dp.ApproxDP(epsilon, 1e-6), (-3.0, 3.0)
    found: dict[str, Callable[[], Any]] = {
        "Huber, objective": lambda: dp.learn.HuberRegression(promise, target_bounds=bounds),
        "statistics": lambda: dp.learn.LinearRegression(promise, target_bounds=bounds),
    }
    found["Huber, output"] = lambda: dp.learn.HuberRegression(promise, target_bounds=bounds, method="output")
    for label, name in (
        ("one posterior sample", "PosteriorSampleRegression"),
        ("adaptive posterior sample", "AdaptivePosteriorSampleRegression"),
    ):
        if hasattr(dp.learn, name):
            kind = getattr(dp.learn, name)
            found[label] = lambda kind=kind: kind(promise, target_bounds=bounds)
    return found


def synthetic(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """10 000 rows of norm 1 in 10 dimensions, coefficients of norm 1, noise 0.3."""
    rng = np.random.default_rng(seed)
    x = unit_rows(rng.normal(size=(10_000, 10)))
    theta = unit_rows(rng.normal(size=(1, 10)))[0]
    return x, 3 * (x @ theta) + 0.3 * rng.normal(size=len(x))


def run(folder: Path | None, seeds: int) -> str:
    sets = {"Synthetic, 10 000 x 10": synthetic()} | ({"White wine": wine(folder)} if folder else {})
    parts = []
    for name, (x, y) in sets.items():
        rows = []
        for epsilon in EPSILONS:
            row = [f"{epsilon:g}"]
            for make in methods(epsilon).values():
                found = []
                for seed in range(seeds):
                    train, test = split(len(y), seed, 0.7)
                    found.append(np.mean((make().fit(x[train], y[train]).predict(x[test]) - y[test]) ** 2))
                row.append(interval(found, 4))
            rows.append(row)
        free = np.mean(
            [
                np.mean((Ridge(1e-3).fit(x[train], y[train]).predict(x[test]) - y[test]) ** 2)
                for train, test in (split(len(y), seed, 0.7) for seed in range(seeds))
            ]
        )
        parts.append(
            f"### {name} (always the mean: {np.var(y):.3f}; not private: {free:.4f})\n\n"
            + table(["epsilon", *methods(1.0)], rows)
        )
    return "\n\n".join(parts)
