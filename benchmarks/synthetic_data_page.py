"""SYNTHETIC.md and its picture, from the lines of `synthetic_data.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import table
from benchmarks.synthetic_data_design import DELTA, EPSILONS, METHODS
from benchmarks.synthetic_data_limits import RESULTS

Runs = list[dict[str, Any]]

COLUMNS = {
    "2-way mean": "2-way, mean",
    "2-way worst": "2-way, worst",
    "3-way mean": "3-way, mean",
    "3-way worst": "3-way, worst",
    "ranges mean": "ranges, mean",
    "ranges worst": "ranges, worst",
    "accuracy": "accuracy, %",
    "cpu": "processor s",
    "seconds": "wall s",
    "peak": "memory, MB",
}
OURS = "dalenius AdaptiveMarginals"
COLOURS = {"dalenius": "#0b6e4f", "dpmm": "#c8553d", "smartnoise": "#3d5a80", "baseline": "#8d8d8d"}
MARKS = {"AIM": "o", "MST": "s", "PrivBayes": "^", "MWEM": "v", "AdaptiveMarginals": "D", "Gaussian": "x"}

HEAD = """# Benchmarks: synthetic data

Written by `python -m benchmarks.synthetic_data page` from the lines of `synthetic_data.jsonl`, one a run (`... run`
makes those that are missing). The training part of Adult, 32 561 rows, all 15 columns: categories by public lists,
numbers in 16 to 32 equal bins between public bounds, 4e16 cells in all. Every method gets the same codes, the same
public sizes, the same budget (epsilon below, delta {delta:g}, one row added or removed) and makes as many rows as it
got; graphical models of at most 80 MB where a method takes a limit. Environments: `requirements-dpmm.txt`,
`requirements-smartnoise.txt`; peers with their defaults, as shipped.

Errors are total variation distances between marginals of the synthetic and of the real rows: over all 105 pairs of
columns, and over 100 triples (one random choice for all). Ranges: |share - real share| of all ranges of each numeric
column and 200 random rectangles of each pair of them. Accuracy: gradient boosting trained on the synthetic rows, on
the test part (trained on the real rows in the same codes: 86.0 %). Each number is the mean over repetitions, with
plus or minus its standard error where there are at least two. Processor seconds are of all threads; wall-clock times
are of a machine that others used at the same time. "Independent" is every column as it is, without noise, and no
relation between columns; "Gaussian" is noise on all 105 pairs, each projected to the simplex: marginals, no rows. Our
model is fitted to all pairs, as the peers' AIM is, with our default limit of 0.5 MiB. Our runs at 0.1 are of the code
that measures pairs in groups and shrinks them; those at 1 and 10 were made before it, and there it does nothing.
Ours has up to five runs, peers one: differences below ours' standard errors say nothing. A run that was stopped had low
priority on a machine with the load beside it: it says how long we waited, not that the method fails.
"""

LIMITS = """## What is in the way at epsilon = 0.1

"Independent" sees the columns without noise, and a release does not: with the whole budget for single columns and
none for pairs its error is far above. So what the pairs tell must first make up for the noise of the columns. The
same release with parts of it made exact (`python -m benchmarks.synthetic_data_limits`), mean total variation of the
fitted model, before rows are drawn (which adds 0.001), {repetitions} repetitions each:

{table}

To choose the pairs is not the difficulty any more: with the largest scores for nothing the error is the same, within
what repetitions tell. What is left is the noise of single columns and pairs, which share one budget: what one gains
the other loses, and errors hardly change while single columns have between 65 and 75 % of it. In trials of four to
six repetitions that are not kept here none of these was better: Laplace noise (as pure differential privacy, with its
own likelihood), other shares among columns, posterior medians, more steps of the fit. Half of the columns' budget spent
again on those of which most was left unknown, in groups of neighbours, told single columns a tenth better, all pairs
no better (.0827 ± .0005), and would have widened the columns' intervals by sqrt(2).

Tried later, five runs as in the table above: pairs measured in groups may be measured once more value by value; what
a pair tells is the mean of two estimates (low rank, and counts as random multiples of those expected), and counts for
as much as is left of its noise. The worst pair is better (.2156 ± .0069); all pairs (.0827 ± .0011), triples (.1465 ±
.0013) and accuracy (81.21 ± .47 %) are what they were, at half as much time again: not kept. Before rows are drawn,
four trials of it with four runs each, with 65 or 72 % of the budget for single columns, had .0791 ± .0005 to .0810 ±
.0011, and the code as it is .0830 ± .0020 beside them. Columns of at most 16 values have a little less error as
nearest distributions than as posterior means, wider ones up to two thirds more; means of both, a prior that is flat
on the simplex, and longer Markov chains gain nothing.
"""

MISSED = "Failed, or not measured yet: {}."


def write(runs: Runs, out: Path) -> None:
    """The page and the picture."""
    parts = [HEAD.format(delta=DELTA)]
    for epsilon in EPSILONS:
        mine = [run for run in runs if run["epsilon"] == epsilon]
        parts.append(f"## epsilon = {epsilon:g}\n\n{_table(mine)}\n")
        failed = {f"{run['method']} ({run['error']}, load {run['load']:g})" for run in mine if "error" in run}
        absent = set(METHODS) - {run["method"] for run in mine}
        if failed or absent:
            parts.append(MISSED.format("; ".join([*sorted(failed), *sorted(absent)])) + "\n")
    parts.append(_limits())
    parts.append("![errors and accuracy against epsilon](synthetic.png)\n")
    (out / "SYNTHETIC.md").write_text("\n".join(parts), encoding="utf-8")
    draw(runs, out / "synthetic.png")


def _table(runs: Runs) -> str:
    rows = []
    for method in dict.fromkeys(run["method"] for run in runs):
        mine = [run for run in runs if run["method"] == method and "error" not in run]
        if mine:
            name = f"**{method}**" if method == OURS else method
            rows.append((mine, [name, str(len(mine)), *(_cell(mine, column) for column in COLUMNS)]))
    rows.sort(key=lambda row: np.mean([run["2-way mean"] for run in row[0]]))
    return table(["method", "runs", *COLUMNS.values()], [cells for _, cells in rows])


def _limits() -> str:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = []
    for name, values in found.items():
        ways = [list(way) for way in zip(*values, strict=True)]
        rows.append([name, *(f"{np.mean(way):.4f} ± {standard_error(way):.4f}" for way in ways)])
    shown = table(["what is noisy, and what is not", "1-way, mean", "2-way, mean"], rows)
    return LIMITS.format(table=shown, repetitions=len(values))


def _cell(runs: Runs, column: str) -> str:
    found = [run[column] for run in runs if column in run]
    if not found:
        return ""
    if column in ("cpu", "seconds", "peak"):
        return f"{np.mean(found):.0f}"
    scale, digits = (100, 2) if column == "accuracy" else (1, 4)
    mean, error = scale * np.mean(found), scale * standard_error(found)
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if len(found) > 1 else "")


def standard_error(values: list[float]) -> float:
    """Of the mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def draw(runs: Runs, path: Path) -> None:
    """A panel for each of three measures, a line for each method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    measures = {
        "2-way mean": "mean total variation, 2-way",
        "3-way mean": "mean total variation, 100 3-way",
        "accuracy": "accuracy on the test part",
    }
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for panel, (measure, title) in zip(panels, measures.items(), strict=True):
        for method in dict.fromkeys(run["method"] for run in runs):
            peer, kind = method.split()
            points = []
            for epsilon in EPSILONS:
                mine = [run for run in runs if run["method"] == method and run["epsilon"] == epsilon]
                values = [run[measure] for run in mine if measure in run]
                if values:
                    points.append((epsilon, np.mean(values), 2 * standard_error(values)))
            if not points:
                continue
            x, y, e = zip(*points, strict=True)
            panel.errorbar(
                x,
                y,
                yerr=e,
                label=method,
                color=COLOURS[peer],
                marker=MARKS.get(kind, "."),
                linestyle="--" if peer == "baseline" else "-",
                linewidth=2.2 if peer == "dalenius" else 1.2,
                capsize=2,
            )
        panel.set_xscale("log")
        if measure != "accuracy":
            panel.set_yscale("log")
        panel.set_xlabel("epsilon")
        panel.set_title(title, fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
