"""The table of private query release: bounds for four methods beside measured errors, over k, n and |X|.

k counting queries, each a random half of the cells, about n rows of a domain of |X| cells; the error is the largest
over the queries, as a share of n. Curves have the constants that the proofs give, with probability 1 - beta:

- Laplace noise on the queries: k ln(k/beta) / (n epsilon), since each has scale k/(n epsilon).
- Laplace noise on the data: a query adds up c <= |X| cells. By Bernstein's inequality for sums of Laplace variables the
  error is at most sqrt(8 c ln(2k/beta)) / (n epsilon) if c >= 2 ln(2k/beta): the root of the logarithm, where the usual
  table has the logarithm itself.
- Private multiplicative weights: `predicted_error` of the mechanism, whose constants are in docs/proofs.
- SmallDB: ln|X| ln(k)/alpha^2 rows of a database of ln(k)/alpha^2 rows, least over alpha of
  alpha + 2 (ln|X| ln(k)/alpha^2 + ln(1/beta)) / (n epsilon).

Under an approximate promise: Gaussian noise of sigma sqrt(k) on the queries, sigma from the exact calibration for one,
so that the error is sigma sqrt(2 k ln(2k/beta)) / n.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import dalenius as dp
from experiments.tables import table

EPSILON, DELTA, BETA = 1.0, 1e-9, 0.05
CELLS, ROWS, QUERIES = 256, 10_000, 256
TABLES = 3
SWEEPS: dict[str, tuple[int, ...]] = {
    "k": (16, 64, 256, 1024, 4096),
    "n": (1_000, 10_000, 100_000, 1_000_000),
    "cells": (16, 64, 256, 1024, 4096, 16384),
}
STYLES = {
    "Laplace on queries": "C0",
    "Gaussian on queries": "C4",
    "Laplace on data": "C1",
    "PMW": "C2",
    "SmallDB": "C3",
}


def bounds(k: int, n: int, cells: int) -> dict[str, float]:
    """Errors as shares of n, with probability 1 - BETA."""
    tail = math.log(2 * k / BETA)
    sigma = dp.calibrate(lambda s: dp.losses.gaussian(sigma=s), dp.ApproxDP(EPSILON, DELTA))
    size = math.log(cells) * math.log(k)
    alphas = np.geomspace(1e-3, 10.0, 400)
    small = alphas + 2 * (size / alphas**2 + math.log(1 / BETA)) / (n * EPSILON)
    c = max(cells / 2, 2 * tail)
    return {
        "Laplace on queries": k * math.log(k / BETA) / (n * EPSILON),
        "Gaussian on queries": sigma * math.sqrt(2 * k * tail) / n,
        "Laplace on data": math.sqrt(8 * c * tail) / (n * EPSILON),
        "SmallDB": float(small.min()),
    }


def measured(k: int, n: int, cells: int, seeds: int) -> dict[str, list[float]]:
    """Largest errors as shares of n, one for each seed."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(cells, 0.3))
        histogram = rng.multinomial(n, share)
        masks = rng.random((k, cells)) < 0.5
        truth = masks @ histogram
        domain = dp.queries.Domain({"x": cells})
        workload = dp.queries.Workload.matrix(domain, masks)
        pure, approx = dp.PureDP(EPSILON), dp.ApproxDP(EPSILON, DELTA)
        mechanisms: dict[str, Any] = {
            "Laplace on queries": dp.queries.PerQuery(workload, pure),
            "Gaussian on queries": dp.queries.PerQuery(workload, approx),
            "Laplace on data": dp.queries.HistogramNoise(workload, pure),
        }
        for name, mechanism in mechanisms.items():
            errors = mechanism.release(histogram).answers() - truth
            found.setdefault(name, []).append(float(np.abs(errors).max()) / n)
        online = dp.queries.PrivateMultiplicativeWeights(domain, pure, n=n, queries=k)
        curator = online.open(histogram)
        answers = np.array([answer.value for answer in curator.ask_many(list(masks.astype(float)))])
        errors = np.append(answers, (masks @ curator.histogram())[len(answers) :]) - truth
        found.setdefault("PMW", []).append(float(np.abs(errors).max(initial=0.0)) / n)
        if seed == 0:
            found["PMW bound"] = [online.predicted_error(n) / n]
    return found


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write QUERY_RELEASE.md and query_release.png."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    pages = []
    for axis, (what, values) in zip(panels, SWEEPS.items(), strict=True):
        rows, theory, seen = [], [], []
        for value in values:
            setting = {"k": QUERIES, "n": ROWS, "cells": CELLS} | {what: value}
            k, n, cells = setting["k"], setting["n"], setting["cells"]
            errors = measured(k, n, cells, min(seeds, TABLES))
            curve = bounds(k, n, cells) | {"PMW": errors.pop("PMW bound")[0]}
            theory.append(curve)
            seen.append({name: float(np.mean(x)) for name, x in errors.items()})
            rows.append([f"{value:,}", *(_pair(seen[-1].get(name), curve[name]) for name in STYLES)])
        for name, colour in STYLES.items():
            axis.plot(values, [curve[name] for curve in theory], "--", color=colour, linewidth=1)
            if name in seen[0]:
                axis.plot(values, [one[name] for one in seen], "-o", color=colour, markersize=4, label=name)
            else:
                axis.plot([], [], "--", color=colour, label=f"{name} (bound)")
        axis.axhline(1.0, color="grey", linewidth=0.7)
        axis.set(xscale="log", yscale="log", xlabel=what)
        pages.append(f"## Over {what}\n\n" + table([what, *STYLES], rows))
    panels[0].set(ylabel="largest error / n")
    panels[0].legend(fontsize=8)
    figure.savefig(here / "query_release.png", dpi=120)
    (here / "QUERY_RELEASE.md").write_text("\n\n".join([TEXT, *pages]) + "\n", encoding="utf-8")


def _pair(seen: float | None, bound: float) -> str:
    stated = f"{bound:.2g}" if math.isfinite(bound) else "-"
    return stated if seen is None else f"{seen:.2g} of {stated}"


TEXT = f"""# Query release: bounds and measured errors

Written by `python -m experiments query_release`. The largest error over k counting queries (each a random half of the
cells), as a share of n: measured, mean of {TABLES} tables, "of" the bound that holds with probability {1 - BETA:g}.
Settings that are not varied: k = {QUERIES}, n = {ROWS:,}, |X| = {CELLS}; epsilon = {EPSILON:g}, and delta = {DELTA:g}
for Gaussian noise, pure otherwise. Queries that multiplicative weights no longer answered, because all updates were
spent, have the last hypothesis' answer; "-": no bound holds with that probability. An error above 1 (the grey line)
says nothing: any guess is better.

![bounds dashed, measured solid](query_release.png)

The summary table of lecture notes on this (Laplace on queries, on data, private multiplicative weights, SmallDB) is
right as printed, as a table of *normalised* counts (errors divided by n) up to constants, with these remarks:

- Laplace on data: the factor log(k/beta) is only a square root of it once a query adds up more cells than log(k/beta),
  as used here; "same under an approximate promise" is right, since Gaussian noise would be larger.
- Laplace on queries under an approximate promise: with Gaussian noise in place of Laplace noise the error is
  sqrt(k log(1/delta) log(k/beta)) / (n epsilon), a square root of the printed log(k/beta) less.
- SmallDB: the computational cost is not O(|X|) for a query. Sampling scores all |X|^m databases of
  m = log(k)/alpha^2 rows, once; afterwards a query takes O(m).

What one sees: noise on the data is hard to beat while the domain is moderate, and noise on queries comes close for few
queries. Multiplicative weights hardly notice k, and are level with noise on the data from ten thousand cells on; but
that is partly because random halves of so many cells hold about half of any table, which the uniform distribution they
begin with says, too. SmallDB is a bound only: its databases are far too many to be listed here."""
