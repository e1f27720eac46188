"""Run by the Python of the peers' environment: one model to fit as JSON on stdin, one answer out.

    {"peer": "diffprivlib", "task": "logistic", "rows": 100000, "epsilon": 1.0, "test_rows": 50000}
    -> {"answer": 0.949, "seconds": [1.1, 1.1, 1.2], "error": null}

The answer is the accuracy on unseen rows, the mean of the timed fits. Only fits are timed: neither imports nor the
making of the data. This file imports nothing of this package but the design, which lies beside it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from learning_design import design


def diffprivlib(
    rows: int, epsilon: float, test_rows: int
) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    from diffprivlib.models import LogisticRegression

    (x, y), unseen = design(rows), design(test_rows, seed=1)
    return (
        lambda: LogisticRegression(epsilon=epsilon, data_norm=1.0).fit(x, y),
        lambda model: float(model.score(*unseen)),
    )


def opacus(
    rows: int, epochs: int, batch: int, noise: float, test_rows: int
) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    (x, y), (unseen, labels) = design(rows), design(test_rows, seed=1)
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    risk = torch.nn.BCEWithLogitsLoss()

    def fit() -> Any:
        model = torch.nn.Linear(x.shape[1], 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=optimizer,
            data_loader=DataLoader(data, batch_size=batch),
            noise_multiplier=noise,
            max_grad_norm=1.0,
            poisson_sampling=True,
        )
        for _ in range(epochs):
            for rows_of_step, labels_of_step in loader:
                optimizer.zero_grad()
                if len(rows_of_step):
                    risk(model(rows_of_step)[:, 0], labels_of_step).backward()
                    optimizer.step()
        return model

    def judge(model: Any) -> float:
        with torch.no_grad():
            scores = model(torch.tensor(unseen, dtype=torch.float32))[:, 0].numpy()
        return float(((scores > 0) == labels).mean())

    return fit, judge


TASKS: dict[tuple[str, str], Any] = {
    ("diffprivlib", "logistic"): diffprivlib,
    ("opacus", "descent"): opacus,
}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    peer, task = question.pop("peer"), question.pop("task")
    if task == "versions":
        names = ("diffprivlib", "scikit-learn", "numpy", "opacus", "torch")
        there = [name for name in names if importlib.util.find_spec(name.replace("scikit-", "sk"))]
        return {name: importlib.metadata.version(name) for name in there}
    try:
        fit, judge = TASKS[peer, task](**question)
        seconds, accuracies = [], []
        for _ in range(4):
            start = time.perf_counter()
            model = fit()
            seconds.append(time.perf_counter() - start)
            accuracies.append(judge(model))
    except Exception as failure:  # whatever a peer raises is its answer
        return {"answer": None, "error": f"{type(failure).__name__}: {failure}", "seconds": [0.0]}
    return {"answer": statistics.mean(accuracies[1:]), "error": None, "seconds": seconds[1:]}


def main() -> None:
    warnings.simplefilter("ignore")
    question = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(question)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
