"""OPS-PTR against what else there is for private linear regression: mean squared error on test rows, delta = 1e-6.

Rows are split 60 / 10 / 30 into training, validation and test rows. The validation rows are taken to be public, and
only the search for a ridge uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

import dalenius as dp
from experiments.data import Arrays, unit_rows, wine
from experiments.tables import interval, table

EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
DELTA = 1e-6
BOUNDS = (-3.0, 3.0)
RIDGES = tuple(float(r) for r in np.geomspace(10, 3000, 6))
HUGE = 100.0
"""Larger errors are written as this: some posteriors are nearly flat."""

NOTE = """Written by `python -m experiments ops_ptr`: means and 95 % intervals over {seeds} splits and noises. Errors
above 100 count as 100. delta = 1e-6 for every method, the search for a ridge included; targets in [-3, 3], rows of norm
1.

- "OPS-PTR": `PrivateSearch` over {ridges} ridges from 10 to 3000 of `CalibratedPosteriorSampleRegression`, scored on
  public validation rows. "ridge 300": one ridge for all, whatever epsilon is; that it is 300 was decided after
  a look at white wine.
- "OPS": `PosteriorSampleRegression`; "AdaOPS": `AdaptivePosteriorSampleRegression`; both with the exact profile of the
  posteriors, as OPS-PTR, not with the printed bound, which is not private.
- "output" and "objective": `HuberRegression`, output and objective perturbation; "statistics": `LinearRegression`.
"""

READ = """
What it says, plainly:

- OPS-PTR never wins. Objective perturbation is best everywhere, noisy statistics next, and from epsilon 0.5 on plain
  output perturbation of a Huber loss is better than OPS-PTR on all designs but the one with 100 000 rows.
- Among posterior samples it depends. OPS-PTR beats AdaOPS on the long design and on white wine (small eigenvalues,
  which AdaOPS meets with too small a ridge), and loses to it on the round one from epsilon 0.5 on. It beats OPS on
  white wine and, from epsilon 0.5 on, with many rows; it loses on the long design and, up to epsilon 1, on the round
  one. The lowest error of all posterior samples, which Redberg 2023 reports for it (Figure 3.1), is not found again
  with constants that hold.
- The search is what hurts: a trial has 0.43 of epsilon, and with one draw in ten there is a single trial, of a ridge
  taken at random. One ridge named in advance is better in 11 of the 20 rows below, by a factor of about 2 at epsilon
  0.5 and 1 on the round and the long design, if it is a good one.
- OPS-PTR was changed once after a first full run on the same data and splits: refusing flat posteriors was added. In
  the first run it had errors of 5.9 and 6.0 on white wine, of 6.4 on the long design, and of 100 with ridge 300 at
  epsilon 0.1. The conclusions against OPS-PTR stand in both runs.
"""


def designs(folder: Path | None) -> dict[str, Arrays]:
    """White wine and three made-up designs."""
    rng = np.random.default_rng(5)
    theta = unit_rows(rng.normal(size=(1, 10)))[0]
    round_ = unit_rows(rng.normal(size=(10_000, 10)))
    long = unit_rows(rng.normal(size=(10_000, 10)) * 0.6 ** np.arange(10))
    many = unit_rows(rng.normal(size=(100_000, 10)))
    found = {
        "Round: 10 000 rows in 10 dimensions, noise 0.3": (round_, 3 * round_ @ theta),
        "Long: the same with columns that shrink by 0.6 each": (long, 3 * long @ theta),
        "Many: 100 000 rows in 10 dimensions, noise 0.3": (many, 3 * many @ theta),
    }
    noisy = {name: (x, y + 0.3 * rng.normal(size=len(y))) for name, (x, y) in found.items()}
    return noisy | ({"White wine: 4 898 rows in 11 dimensions": wine(folder)} if folder else {})


def methods(epsilon: float, validation: Arrays) -> dict[str, Callable[[], Any]]:
    promise = dp.ApproxDP(epsilon, DELTA)
    learn: Any = dp.learn
    one = learn.CalibratedPosteriorSampleRegression(promise, target_bounds=BOUNDS, ridge=300.0)
    candidates = [{"ridge": ridge} for ridge in RIDGES]
    return {
        "OPS-PTR": lambda: learn.PrivateSearch(one, candidates, promise, validation=validation),
        "OPS-PTR, ridge 300": lambda: one,
        "OPS": lambda: learn.PosteriorSampleRegression(promise, target_bounds=BOUNDS),
        "AdaOPS": lambda: learn.AdaptivePosteriorSampleRegression(promise, target_bounds=BOUNDS),
        "output": lambda: learn.HuberRegression(promise, target_bounds=BOUNDS, method="output"),
        "objective": lambda: learn.HuberRegression(promise, target_bounds=BOUNDS),
        "statistics": lambda: learn.LinearRegression(promise, target_bounds=BOUNDS),
    }


def errors(data: Arrays, epsilon: float, seeds: int) -> dict[str, list[float]]:
    """Of every method, one for every split."""
    x, y = data
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        train, held, test = np.split(order, [int(0.6 * len(y)), int(0.7 * len(y))])
        for name, make in methods(epsilon, (x[held], y[held])).items():
            error = np.mean((make().fit(x[train], y[train]).predict(x[test]) - y[test]) ** 2)
            found.setdefault(name, []).append(float(min(error, HUGE)))
    return found


def free(data: Arrays) -> float:
    x, y = data
    cut = int(0.7 * len(y))
    return float(np.mean((Ridge(1e-3).fit(x[:cut], y[:cut]).predict(x[cut:]) - y[cut:]) ** 2))


def main(folder: Path, data: Path | None, seeds: int) -> None:
    parts, curves = [], {}
    for name, arrays in designs(data).items():
        found = {epsilon: errors(arrays, epsilon, seeds) for epsilon in EPSILONS}
        curves[name] = found
        rows = [[f"{e:g}", *(interval(values, 3) for values in found[e].values())] for e in EPSILONS]
        head = ["epsilon", *found[EPSILONS[0]]]
        always = f"always the mean: {np.var(arrays[1]):.3f}; not private: {free(arrays):.3f}"
        parts.append(f"## {name} ({always})\n\n{table(head, rows)}")
        print(parts[-1], flush=True)
    picture(folder / "ops_ptr.png", curves)
    note = NOTE.format(seeds=seeds, ridges=len(RIDGES))
    head = "# One sample from a posterior, as sharp as the data allow"
    (folder / "OPS_PTR.md").write_text(
        "\n\n".join([head, note + READ, "![errors](ops_ptr.png)", *parts]) + "\n"
    )


def picture(path: Path, curves: dict[str, dict[float, dict[str, list[float]]]]) -> None:
    """Mean errors against epsilon, a panel for each design."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(curves), figsize=(4.2 * len(curves), 4), squeeze=False, layout="constrained"
    )
    for axis, (name, found) in zip(axes[0], curves.items(), strict=True):
        for method in found[EPSILONS[0]]:
            means = np.array([np.mean(found[e][method]) for e in EPSILONS])
            bars = [2 * np.std(found[e][method]) / np.sqrt(len(found[e][method])) for e in EPSILONS]
            axis.errorbar(EPSILONS, means, yerr=np.minimum(bars, 0.9 * means), label=method, marker="o", ms=3)
        axis.set(xscale="log", yscale="log", xlabel="epsilon", title=name.split(":")[0])
    axes[0, 0].set_ylabel("mean squared error")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)
