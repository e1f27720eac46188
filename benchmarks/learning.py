"""Private learning against its peers: python -m benchmarks.learning [--rows N].

Timings of a logistic fit (ours, scikit-learn's lbfgs without privacy, diffprivlib where it is installed) and of
DP-SGD (ours; Opacus where it is installed), with accuracies at the same epsilon. Each is the best of three runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as NotPrivate

import dalenius as dp
from dalenius.learn.curves import Logistic
from dalenius.learn.descent import NoisyDescent
from dalenius.learn.rows import records


def design(rows: int, columns: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm about 1; not private, 95 % of the labels can be told."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)) / np.sqrt(columns)
    score = x @ rng.normal(size=columns) * 12
    return x, (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


def best(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    seconds, result = [], None
    for _ in range(times):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    x, y = design(rows)
    print(f"| fit, {rows} x {x.shape[1]} | seconds | accuracy |\n|---|---|---|")
    seconds, model = best(lambda: NotPrivate().fit(x, y))
    print(f"| scikit-learn lbfgs, not private | {seconds:.3f} | {model.score(x, y):.4f} |")
    for epsilon in (0.1, 1.0):
        promise = dp.ApproxDP(epsilon, 1e-5)
        seconds, model = best(lambda promise=promise: dp.learn.LogisticRegression(promise).fit(x, y))
        print(f"| dalenius, epsilon {epsilon:g} | {seconds:.3f} | {model.score(x, y):.4f} |")
    try:
        from diffprivlib.models import LogisticRegression as Peer
    except ImportError:
        pass
    else:
        for epsilon in (0.1, 1.0):
            seconds, model = best(lambda epsilon=epsilon: Peer(epsilon=epsilon, data_norm=2.0).fit(x, y))
            print(f"| diffprivlib, epsilon {epsilon:g} | {seconds:.3f} | {model.score(x, y):.4f} |")
    batch, epochs = 256, 5
    rate = batch / rows
    steps = round(epochs / rate)
    plan = NoisyDescent(steps, rate, 1.0, 1.0, learning_rate=0.1)
    data = records(x, y.astype(float), np.ones(rows, dtype=bool), 1.0, "clip")
    seconds, theta = best(lambda: plan.fit(data, Logistic()), 1)
    accuracy = np.mean((data.scores(theta) > 0) == y)
    print(f"| dalenius DP-SGD, {epochs} epochs of batches of {batch} | {seconds:.3f} | {accuracy:.4f} |")


if __name__ == "__main__":
    main()
