"""The error of a private mean in [0, 1]: exponential mechanism and K-norm gradient mechanism against n."""

from __future__ import annotations

import numpy as np

import dalenius as dp
from experiments.tables import interval, table

SIZES = (100, 1000, 10_000, 100_000)


def run(seeds: int) -> str:
    rng = np.random.default_rng(0)
    rows, errors = [], {"exponential": [], "gradient": []}
    promise = dp.PureDP(1.0)
    for n in SIZES:
        row = [str(n)]
        for kind, model in (("exponential", dp.learn.ExponentialMean), ("gradient", dp.learn.GradientMean)):
            found = []
            for _ in range(10 * seeds):
                x = rng.beta(2, 3, size=n)
                found.append(abs(model(promise, bounds=(0.0, 1.0)).fit(x).value_ - x.mean()))
            errors[kind].append(float(np.mean(found)))
            row.append(interval(found, 6))
        rows.append(row)
    slopes = {k: np.polyfit(np.log(SIZES), np.log(v), 1)[0] for k, v in errors.items()}
    head = ["n", "exponential mechanism", "K-norm gradient"]
    return table(head, [*rows, ["slope", *(f"{slopes[k]:.2f}" for k in ("exponential", "gradient"))]])
