"""How often intervals of generalized linear models hold, and how wide they are; writes INFER_GLM.md.

What is done is kept in parts/infer_glm.json, by cell and number of replicates: a run that was stopped goes on there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from tests.noise.seeded import seeded

import dalenius as dp
from experiments.tables import table

SIZES = (200, 500, 2000, 10_000)
MUS = (0.25, 0.5, 1.0, 2.0)
COLUMNS = (1, 4, 10)
BAND, NOISY_BAND = (0.94, 0.965), (0.94, 0.98)
NOISY = 1.5
"""Intervals so many times as wide as without privacy are dominated by noise."""

HEAD = """# Intervals of generalized linear models

Written by `python -m experiments infer_glm --seeds N`, with 100 N replicates a cell of logistic regression and 25 N of
the others (50 N for the location), the same random numbers in every run. Cells of one row share their data, and are
high or low together. Standard normal features with public centres and scales unless said otherwise, ADD_REMOVE unless
said otherwise; mu is the whole of the promise, the count of the rows included.

A cell is the share of 95 % intervals that hold, in %, over all coefficients and over the replicates that gave an
interval, then the mean width over that without privacy (maximum likelihood with its information matrix; the robust
estimate itself for losses of residuals). In brackets the share of replicates without an interval, in %; "none" where
all refused. The Monte Carlo error of a cell is in the last column of each table, as its largest. A cell **fails**, and
is bold, if it misses 94 to 96.5 % (98 % where widths are {noisy} times those without privacy, or more) by more than
its simultaneous Monte Carlo error (Bonferroni over all cells, 99 %).

{judged} cells are judged, {low} too low, {high} too high.
"""


@dataclass(frozen=True)
class Family:
    """A model to simulate from and its private fit."""

    name: str
    draw: Callable[[Any, int, int], tuple[Any, Any, Any]]
    fit: Callable[[Any, Any, float], Any]
    plain: Callable[[Any, Any, Any], Any]
    """Widths without privacy."""


def _normal(rng: Any, n: int, p: int, strength: float = 1.0) -> tuple[Any, Any, Any]:
    beta = strength * np.append(np.linspace(0.8, -0.4, p) if p > 1 else [0.8], 0.3)
    X = rng.normal(size=(n, p))
    return X, np.column_stack([X, np.ones(n)]) @ beta, beta


def _logistic(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    X, u, beta = _normal(rng, n, p)
    return X, (rng.random(n) < 1 / (1 + np.exp(-u))).astype(int), beta


def _poisson(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    X, u, beta = _normal(rng, n, p, 0.5)
    return X, rng.poisson(np.exp(u)), beta


def _three(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    X, u, beta = _normal(rng, n, p)
    other = np.append(np.linspace(-0.4, 0.6, p) if p > 1 else [-0.4], -0.2)
    scores = np.column_stack([np.zeros(n), u, X @ other[:-1] + other[-1]]) + rng.gumbel(size=(n, 3))
    return X, scores.argmax(axis=1), np.concatenate([beta, other])


def _heavy(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    X, u, beta = _normal(rng, n, p)
    return X, u + rng.standard_t(3, size=n), beta


def _information(X: Any, weights: Any) -> Any:
    design = np.column_stack([X, np.ones(len(X))])
    return 2 * 1.96 * np.sqrt(np.diag(np.linalg.inv((design * weights[:, None]).T @ design)))


def _plain_logistic(X: Any, y: Any, beta: Any) -> Any:
    p = 1 / (1 + np.exp(-(X @ beta[:-1] + beta[-1])))
    return _information(X, p * (1 - p))


def _plain_three(X: Any, y: Any, beta: Any) -> Any:
    size = X.shape[1] + 1
    design = np.column_stack([X, np.ones(len(X))])
    u = np.exp(design @ beta.reshape(2, size).T)
    p = u / (1 + u.sum(axis=1))[:, None]
    blocks = [
        [(design * (p[:, i] * ((i == j) - p[:, j]))[:, None]).T @ design for j in range(2)] for i in range(2)
    ]
    return 2 * 1.96 * np.sqrt(np.diag(np.linalg.inv(np.block(blocks))))


def _plain_heavy(X: Any, y: Any, beta: Any) -> Any:
    r = (X @ beta[:-1] + beta[-1] - y) / 1.5
    efficiency = np.mean(np.tanh(r) ** 2) / np.mean(np.cosh(r) ** -2) ** 2
    return _information(X, np.full(len(X), 1 / (1.5**2 * efficiency)))


PUBLIC: dict[str, Any] = {"x_center": 0.0, "x_scale": 1.0}
LOGISTIC = Family(
    "logistic",
    _logistic,
    lambda X, y, mu: dp.infer.logistic_regression(X, y, dp.GDP(mu), **PUBLIC),
    _plain_logistic,
)
FAMILIES = (
    Family(
        "logistic, REPLACE_ONE",
        _logistic,
        lambda X, y, mu: dp.infer.logistic_regression(X, y, dp.GDP(mu), adjacency=dp.REPLACE_ONE, **PUBLIC),
        _plain_logistic,
    ),
    Family(
        "logistic, centres and scales found privately within bounds of -5 and 5",
        _logistic,
        lambda X, y, mu: dp.infer.logistic_regression(X, y, dp.GDP(mu), bounds=[(-5.0, 5.0)] * X.shape[1]),
        _plain_logistic,
    ),
    Family(
        "Poisson, counts cut off at 5",
        _poisson,
        lambda X, y, mu: dp.infer.poisson_regression(X, y, dp.GDP(mu), most=5, **PUBLIC),
        lambda X, y, beta: _information(X, np.exp(X @ beta[:-1] + beta[-1])),
    ),
    Family(
        "multinomial, three classes",
        _three,
        lambda X, y, mu: dp.infer.multinomial_regression(X, y, dp.GDP(mu), classes=(0, 1, 2), **PUBLIC),
        _plain_three,
    ),
    Family(
        "log-cosh with errors of Student's law with 3 degrees of freedom",
        _heavy,
        lambda X, y, mu: dp.infer.m_estimate(
            X, y, dp.GDP(mu), slope="log_cosh", scale=1.5, y_center=0.0, y_scale=2.0, **PUBLIC
        ),
        _plain_heavy,
    ),
)


def _bounded(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    """Rows of norm sqrt(p) at most, so that `row_norm` shortens none."""
    beta = np.append(np.linspace(0.8, -0.4, p) if p > 1 else [0.8], 0.3)
    X = rng.normal(size=(n, p))
    X *= np.minimum(1.0, math.sqrt(p) / np.linalg.norm(X, axis=1))[:, None]
    y = rng.random(n) < 1 / (1 + np.exp(-(X @ beta[:-1] + beta[-1])))
    return X, y.astype(int), beta


def _learned(X: Any, y: Any, mu: float) -> Any:
    """Three quarters of mu^2 for the fit (as RDP of the same Gaussian loss), one for the intervals."""
    norm = math.sqrt(X.shape[1])
    model = dp.learn.LogisticRegression(
        dp.ZCDP(0.75 * mu**2 / 2),
        row_norm=norm * (1 + 1e-9),
        intercept_scale=1 / norm,
        knee=1.0,
        method="objective",
    ).fit(X, y)
    return dp.infer.coefficients(model, X, y, dp.GDP(0.5 * mu))


LEARNED = Family(
    "dp.learn.LogisticRegression by objective perturbation under zCDP, and dp.infer.coefficients",
    _bounded,
    _learned,
    _plain_logistic,
)


def _location(rng: Any, n: int, p: int) -> tuple[Any, Any, Any]:
    return rng.standard_t(3, size=n), None, np.zeros(1)


def _plain_location(X: Any, y: Any, beta: Any) -> Any:
    inside = np.mean(np.abs(X) < 1.5)
    return np.array([2 * 1.96 * math.sqrt(np.mean(np.clip(X, -1.5, 1.5) ** 2) / len(X)) / inside])


LOCATION = Family(
    "Huber's location by propose-test-release, bounds of a billion; mu stands for epsilon, delta = 1e-6",
    _location,
    lambda X, y, mu: dp.infer.huber_location(
        X, dp.ApproxDP(mu, 1e-6), bounds=(-1e9, 1e9), c=1.5, size=len(X)
    ),
    _plain_location,
)


def cell(family: Family, n: int, p: int, mu: float, replicates: int) -> dict[str, float]:
    """Coverage with its Monte Carlo error, relative width and refusals."""
    held, ratio = [], []
    for each in range(replicates):
        rng = np.random.default_rng([each, n, p])
        X, y, beta = family.draw(rng, n, p)
        with seeded(int(rng.integers(2**60))):
            try:
                fit = family.fit(X, y, mu)
            except dp.errors.CannotMeet:  # said beforehand, for all data
                return {"given": 0.0}
        if fit.interval_available:
            limits = fit.conf_int()
            held.append(np.mean((limits[:, 0] <= beta) & (beta <= limits[:, 1])))
            ratio.append(np.mean((limits[:, 1] - limits[:, 0]) / family.plain(X, y, beta)))
    if len(held) < 20:
        return {"given": len(held) / replicates}
    # That of independent intervals at least: where all hold, their own deviation says nothing.
    error = max(float(np.std(held, ddof=1)), math.sqrt(0.05 * 0.95 / len(beta))) / math.sqrt(len(held))
    return {
        "given": len(held) / replicates,
        "held": float(np.mean(held)),
        "error": error,
        "ratio": float(np.median(ratio)),
    }


class Kept:
    """Cells that were done before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def cell(self, family: Family, n: int, p: int, mu: float, replicates: int) -> dict[str, float]:
        key = f"{family.name}|{n}|{p}|{mu}|{replicates}"
        if key not in self.cells:
            self.cells[key] = cell(family, n, p, mu, replicates)
            self.path.write_text(json.dumps(self.cells, indent=0, sort_keys=True))
            print(key, self.cells[key], flush=True)
        return dict(self.cells[key])


def verdict(found: dict[str, float], cells: int) -> str:
    """ "" if a cell is as it should be, else "low" or "high"."""
    if "held" not in found:
        return ""
    reach = stats.norm.ppf(1 - 0.005 / cells) * found["error"]
    band = NOISY_BAND if found["ratio"] >= NOISY else BAND
    if found["held"] + reach < band[0]:
        return "low"
    return "high" if found["held"] - reach > band[1] else ""


def section(
    kept: Kept,
    family: Family,
    columns: Sequence[int],
    replicates: int,
    cells: int,
    sizes: Sequence[int] = SIZES,
) -> tuple[str, list[str]]:
    """A table and its verdicts."""
    rows, verdicts = [], []
    for p in columns:
        for n in sizes:
            row, errors = [str(p), str(n)], [0.0]
            for mu in MUS:
                found = kept.cell(family, n, p, mu, replicates)
                if "held" not in found:
                    row.append("none")
                    continue
                word = verdict(found, cells)
                verdicts.append(word)
                share = f"{100 * found['held']:.1f}"
                refused = f" ({100 * (1 - found['given']):.0f})" if found["given"] < 0.9995 else ""
                row.append(f"{f'**{share}**' if word else share}, {found['ratio']:.2f}{refused}")
                errors.append(found["error"])
            rows.append([*row, f"{100 * max(errors):.1f}"])
    head = ["p", "n", *(f"mu = {mu:g}" for mu in MUS), "error"]
    return f"## {family.name}\n\n{replicates} replicates a cell.\n\n{table(head, rows)}\n", verdicts


def main(here: Path, data: Path | None, seeds: int) -> None:
    """Write INFER_GLM.md, as far as it goes after each section."""
    kept = Kept(here / "parts" / "infer_glm.json")
    asked = [
        (LOGISTIC, COLUMNS, 100 * seeds),
        *((family, COLUMNS, 25 * seeds) for family in FAMILIES),
        (LEARNED, COLUMNS[:2], 25 * seeds),
        (LOCATION, (1,), 50 * seeds),
    ]
    cells = sum(len(columns) for _, columns, _ in asked) * len(SIZES) * len(MUS)
    sections, verdicts = [], list[str]()
    for family, columns, replicates in asked:
        text, words = section(kept, family, columns, replicates, cells)
        sections.append(text)
        verdicts += words
        head = HEAD.format(
            noisy=NOISY, judged=len(verdicts), low=verdicts.count("low"), high=verdicts.count("high")
        )
        (here / "INFER_GLM.md").write_text("\n".join([head, *sections]))
