"""The local model: measured risk of every randomizer beside the minimax rates.

Shares. People are drawn from shares in proportion to 1/j, j = 1 .. k. The squared l2 risk of the best randomizer there
can be is, for many people, that of subset selection at equal shares, (k-1)^2 (d e^eps + k - d)^2 / (n k d (k-d)
(e^eps - 1)^2) for the best d (Ye and Barg, "Optimal locally private estimation under lp loss", 2019): the line "best".
It is of the order k/(n eps^2) for eps below 1, where without privacy it is 1/n; the l1 risk is of the order
k/sqrt(n eps^2), and the largest error sqrt(log k/(n eps^2)) (Duchi, Jordan and Wainwright 2018).

Means. Of distributions with E|X|^m <= 1 the minimax squared error is of the order (n eps^2)^(-(m-1)/m), and
1/(n eps^2) for bounded ones (Duchi, Jordan and Wainwright 2018; Awan 2025, section 4.3). Numbers are clamped to
[-T, T], T = (n eps^2)^(1/(2m)), and reported by `Hybrid`. X is 2T with probability (2T)^-m and 0 otherwise: as much as
the moments allow is beyond the bounds.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dalenius import local
from experiments.tables import interval, table

ORACLES = (
    local.RandomizedResponse, local.SymmetricUnaryEncoding, local.OptimizedUnaryEncoding, local.HadamardResponse,
    local.LocalHashing, local.SubsetSelection,
)  # fmt: skip
PEOPLE, ANSWERS, EPSILON = 50_000, 100, 1.0
SIZES, EPSILONS, NUMBERS = (10, 30, 100, 300, 1000), (0.25, 0.5, 1.0, 2.0, 4.0), (1000, 5000, 20_000, 100_000)
REPEATS, TRIALS = 6, 200
MOMENTS = (2, 4, math.inf)


def shares(k: int) -> Any:
    weights = 1 / np.arange(1, k + 1)
    return weights / weights.sum()


def optimum(k: int, epsilon: float, n: int) -> float:
    """The squared l2 risk of the best randomizer, for many people."""
    e = math.exp(epsilon)
    d = np.arange(1, k)
    return float(((k - 1) ** 2 * (d * e + k - d) ** 2 / (n * k * d * (k - d) * (e - 1) ** 2)).min())


def risks(oracle: Any, k: int, epsilon: float, n: int, rng: np.random.Generator) -> Any:
    """l2^2, l1 and largest error, and l2^2 of the nearest distribution, in each of the repeats."""
    m, truth = oracle(epsilon=epsilon, k=k), shares(k)
    rows = []
    for _ in range(REPEATS):
        found = m.frequencies(m.release(rng.choice(k, n, p=truth)))
        off, near = found.estimate - truth, found.consistent() - truth
        rows.append(((off**2).sum(), np.abs(off).sum(), np.abs(off).max(), (near**2).sum()))
    return np.array(rows)


def mean_errors(moment: float, epsilon: float, n: int, rng: np.random.Generator) -> Any:
    """Squared errors of the clamped mean, in each trial."""
    if math.isinf(moment):
        bound, chance, height = 1.0, 0.5, 1.0
    else:
        bound = (n * epsilon**2) ** (1 / (2 * moment))
        height = 2 * bound
        chance = height**-moment
    m = local.Hybrid(epsilon=epsilon, bounds=(-bound, bound))
    trials = max(30, min(TRIALS, 4_000_000 // n))
    values = np.where(rng.random((trials, n)) < chance, height, 0.0)
    return (m.decode(m.release(values)).mean(axis=1) - chance * height) ** 2


def rate(moment: float, epsilon: float, n: int) -> float:
    return (n * epsilon**2) ** -(1.0 if math.isinf(moment) else (moment - 1) / moment)


def choices(path: Path) -> None:
    """Standard errors of all randomizers, from their variances: a picture for the documentation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024]
    for oracle in ORACLES:
        errors = [oracle(epsilon=1.0, k=k).noise_variance(1 / k, 10_000) ** 0.5 for k in sizes]
        left.plot(sizes, [100 * error for error in errors], marker=".", label=oracle.__name__)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="possible answers, k",
        ylabel="standard error of a share, in points",
    )
    left.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    left.set_title("10 000 people, epsilon 1", fontsize=10)
    epsilons = np.geomspace(0.2, 8, 60)
    for kind in (local.Laplace, local.Duchi, local.Piecewise, local.Hybrid):
        worst = [kind(epsilon=float(e)).worst_variance ** 0.5 for e in epsilons]
        right.plot(epsilons, worst, label=kind.__name__)
    right.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="worst standard deviation of one report")
    right.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    right.set_xticks([], minor=True)
    right.set_title("a number in [-1, 1]", fontsize=10)
    for axis in (left, right):
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write LOCAL_MODEL.md and local_model.png."""
    from matplotlib.figure import Figure

    choices(here.parent / "docs" / "images" / "local-model.png")
    rng = np.random.default_rng(1)
    figure = Figure(figsize=(12, 8), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    pages = []
    for axis, name, settings, at in (
        (panels[0], "answers, k", [(k, EPSILON, PEOPLE) for k in SIZES], 0),
        (panels[1], "epsilon", [(ANSWERS, e, PEOPLE) for e in EPSILONS], 1),
        (panels[2], "people, n", [(ANSWERS, EPSILON, n) for n in NUMBERS], 2),
    ):
        x = [setting[at] for setting in settings]
        rows = []
        for oracle in ORACLES:
            found = [risks(oracle, *setting, rng) for setting in settings]
            axis.plot(x, [f[:, 0].mean() for f in found], marker=".", label=oracle.__name__)
            for value, setting, f in zip(x, settings, found, strict=True):
                best = optimum(*setting)
                rows.append(
                    [
                        f"{value:g}",
                        oracle.__name__,
                        interval((f[:, 0] / best).tolist()),
                        f"{f[:, 0].mean():.3g}",
                        f"{f[:, 3].mean():.3g}",
                        f"{f[:, 1].mean():.3g}",
                        f"{f[:, 2].mean():.3g}",
                    ]
                )
        axis.plot(x, [optimum(*setting) for setting in settings], "k--", label="best there can be")
        axis.plot(x, [1 / n for _, _, n in settings], "k:", label="without privacy")
        axis.set(xscale="log", yscale="log", xlabel=name, ylabel="squared l2 error of shares")
        if name == "epsilon":
            axis.set_xticks(x, [f"{e:g}" for e in x])
            axis.set_xticks([], minor=True)
        rows.sort(key=lambda row: float(row[0]))
        head = [name, "randomizer", "l2² / best", "l2²", "l2², simplex", "l1", "largest"]
        pages.append(table(head, rows))
    panels[0].legend(fontsize=7)
    rows = []
    for moment in MOMENTS:
        label = "bounded" if math.isinf(moment) else f"m = {moment}"
        found = [mean_errors(moment, EPSILON, n, rng) for n in NUMBERS]
        means = [float(f.mean()) for f in found]
        line = panels[3].plot(NUMBERS, means, marker=".", label=label)[0]
        panels[3].plot(
            NUMBERS, [rate(moment, EPSILON, n) for n in NUMBERS], "--", color=line.get_color(), lw=1
        )
        slope = float(np.polyfit(np.log(NUMBERS), np.log(means), 1)[0])
        wanted = -1.0 if math.isinf(moment) else -(moment - 1) / moment
        for n, f in zip(NUMBERS, found, strict=True):
            rows.append([label, f"{n}", f"{f.mean():.3g}", f"{rate(moment, EPSILON, n):.3g}", "", ""])
        rows[-1][-2:] = [f"{slope:.2f}", f"{wanted:.2f}"]
    panels[3].set(xscale="log", yscale="log", xlabel="people, n", ylabel="squared error of a mean")
    panels[3].legend()
    figure.savefig(here / "local_model.png", dpi=130)
    head = ["moments", "n", "squared error", "rate (n eps²)^-(m-1)/m", "measured slope", "slope of the rate"]
    text = f"""# The local model: measured risk and minimax rates

Written by `python -m experiments local_model`; {REPEATS} collections for each line, means with 95 % intervals.
{__doc__.split(chr(10), 2)[2]}
![risk in the local model](local_model.png)

Dashed in the last picture: the rates, whose constants are not known.

## Shares: the number of answers varies (epsilon {EPSILON:g}, {PEOPLE} people)

{pages[0]}

## Shares: epsilon varies ({ANSWERS} answers, {PEOPLE} people)

{pages[1]}

## Shares: the number of people varies ({ANSWERS} answers, epsilon {EPSILON:g})

{pages[2]}

## Means (epsilon {EPSILON:g}, `Hybrid`)

{table(head, rows)}

What we see. Subset selection is at the optimum everywhere, and local hashing within a few per cent of it with reports
of a few bytes; randomized response is there only while k is below about 3 e^eps + 2, and Hadamard response with one
block costs a constant factor. Risk grows with k where without privacy it would not, and falls as 1/n. For small eps it
falls as 1/eps²; printed rates of 1/sqrt(n eps) for an error are wrong by sqrt(eps). The nearest distribution
("simplex") has less squared error than the unbiased shares, most of all where the noise is larger than the shares.
Means follow the slopes of the rates: halving the error of a mean of numbers with two moments takes sixteen times as
many people.
"""
    (here / "LOCAL_MODEL.md").write_text(text)
    print(text)
