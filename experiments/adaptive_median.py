"""Private medians side by side: smooth sensitivity, propose-test-release, exponential mechanism, K-norm gradient.

Every method keeps the same (epsilon, delta) in total. Settings come from the number of records and from a guess at the
interquartile range, never from the data. The error is the distance from the same data's median without privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import dalenius as dp
from dalenius.adaptive.median import candidates, made_up_numbers
from experiments.tables import table

BOUNDS = (-100.0, 100.0)
GUESS = 2.0
"""At the interquartile range, which is 1.35 for the light tails and 2 for the heavy ones."""
DELTA = 1e-6
EPSILONS = (0.5, 1.0, 4.0)
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
DRAWS = 4
TAILS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "light tails (normal)": lambda rng, n: rng.normal(size=n),
    "heavy tails (Cauchy)": lambda rng, n: rng.standard_cauchy(n),
}
NAMES = {
    "SmoothStudentT": "smooth, Student",
    "SmoothLaplace": "smooth, Laplace",
    "SmoothGaussian": "smooth, Gaussian",
    "SmoothLaplaceLogNormal": "smooth, Laplace-log-normal",
    "ProposeTestRelease": "propose-test-release",
    "InverseSensitivity": "inverse sensitivity",
    "Quantile": "K-norm gradient",
}
EXPONENTIAL = "exponential"
CHOSEN = "`dp.adaptive.median` chooses"
Releases = Callable[[np.ndarray, int], Any]


def methods(epsilon: float, n: int) -> tuple[dict[str, Releases], str]:
    """For each name what draws releases, and the name of the one that is expected to err least."""
    budget = dp.ApproxDP(epsilon, DELTA)
    options = {"bounds": BOUNDS, "granularity": 2.0**-24, "adjacency": dp.ADD_REMOVE}
    best: dict[str, Any] = {}
    for found in candidates(budget, made_up_numbers(BOUNDS, n, GUESS), GUESS / n, options):
        name = NAMES.get(type(found.mechanism).__name__)
        if name and (name not in best or found.error < best[name].error):
            best[name] = found
    choice = dp.adaptive.median_mechanism(
        BOUNDS, budget, size=n, spread=GUESS, granularity=options["granularity"]
    )
    chosen = NAMES[type(choice).__name__]
    draw: dict[str, Releases] = {name: found.mechanism.releases for name, found in best.items()}
    learner = dp.learn.ExponentialQuantile(budget, bounds=BOUNDS)
    draw[EXPONENTIAL] = lambda x, times: [learner.fit(x).value_]
    return draw, chosen


def errors(draw: Releases, data: np.ndarray) -> tuple[float, float]:
    """The mean error of the answers, and the share of refusals."""
    drawn = list(draw(data, DRAWS))
    answers = [a for a in drawn if not isinstance(a, dp.adaptive.Refusal)]
    centre = np.median(np.clip(data, *BOUNDS))
    mean = float(np.mean([abs(a - centre) for a in answers])) if answers else np.nan
    return mean, 1 - len(answers) / len(drawn)


def cell(found: np.ndarray) -> str:
    """Mean and 95 % interval of the errors; refusals, if any."""
    known = found[~np.isnan(found[:, 0]), 0]
    refused = found[:, 1].mean()
    if len(known) < 2:
        return "refused"
    half = t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():.2g} ± {half:.1g}" + (f" ({refused:.0%} refused)" if refused else "")


def run(picture: Path, seeds: int) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    axes = figure.subplots(len(TAILS), len(EPSILONS), sharex=True)
    text = []
    for column, epsilon in enumerate(EPSILONS):
        drawers = {n: methods(epsilon, n) for n in SIZES}
        for row, (tails, sample) in enumerate(TAILS.items()):
            names = list(drawers[SIZES[0]][0])
            lines: dict[str, list[float]] = {name: [] for name in names}
            rows, sampling = [], []
            for n in SIZES:
                draw, chosen = drawers[n]
                replicates = seeds * (8 if n <= 10_000 else 1)
                data = [sample(np.random.default_rng([row, n, i]), n) for i in range(replicates)]
                found = {name: np.array([errors(draw[name], x) for x in data]) for name in names}
                sampling.append(float(np.mean([abs(np.median(x)) for x in data])))
                for name in names:
                    lines[name].append(float(np.nanmean(found[name][:, 0])))
                rows.append([f"{n:,}", *(cell(found[name]) for name in names), f"{sampling[-1]:.2g}", chosen])
            print(f"epsilon {epsilon:g}, {tails}: done", flush=True)
            text.append(f"### epsilon = {epsilon:g}, {tails}\n")
            text.append(table(["n", *names, "sampling error", CHOSEN], rows) + "\n")
            axis = axes[row, column]
            for name, values in lines.items():
                axis.loglog(SIZES, values, marker=".", label=name)
            axis.loglog(SIZES, sampling, "k:", label="sampling error of the median")
            axis.set_title(f"epsilon {epsilon:g}, {tails}", fontsize=10)
            axis.grid(alpha=0.3)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    figure.supxlabel("records")
    figure.supylabel("mean absolute error")
    figure.savefig(picture, dpi=120)
    return "\n".join(text)


HEAD = f"""# Private medians side by side

Written by `python -m experiments adaptive_median`. Mean absolute error of one private median of n numbers, add/remove
neighbours, delta = {DELTA:g}, bounds {BOUNDS[0]:g} to {BOUNDS[1]:g}, 95 % intervals over data sets (four releases of
each). All methods keep (epsilon, delta)-DP in total; smooth sensitivity with Student's noise, inverse sensitivity, the
exponential mechanism and the K-norm gradient mechanism do so without using delta. Settings come from n and from a
guess of {GUESS:g} at the interquartile range, not from the data. "exponential" is the exponential mechanism for the
absolute deviations (`dp.learn.ExponentialQuantile`), on 4097 candidates; "K-norm gradient" is the exponential
mechanism for ranks (`dp.mechanisms.Quantile`). "sampling error" is that of the median without privacy, for comparison.

![Errors against n](adaptive_median.png)

{{verdict}}
"""


def main(folder: Path, data: Path | None, seeds: int) -> None:
    found = run(folder / "adaptive_median.png", seeds)
    page = folder / "ADAPTIVE_MEDIAN.md"
    # What is said about the numbers is written by hand, and kept.
    said = page.read_text() if page.exists() else ""
    start, stop = said.find("## What it says"), said.find("## Tables")
    verdict = said[start:stop].strip() if 0 <= start < stop else "## What it says"
    page.write_text(HEAD.format(verdict=verdict) + "\n## Tables\n\n" + found)
