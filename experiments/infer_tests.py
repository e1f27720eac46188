"""Size and power of every test beside its classical twin; writes experiments/INFER_TESTS.md and its picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, Philox
from scipy import stats
from tests.noise.seeded import seeded

import dalenius as dp
from dalenius.audit.clopper_pearson import upper
from dalenius.infer.hypotheses.hypothesis_test import HypothesisTest
from experiments.tables import table

LEVEL = 0.05
REPLICATES, RUNS, QUICK = 2000, 200, 10
"""Simulated p-values of a cell; whole runs, from rows to p-value, where the reference law is simulated; and how many
times as many where they take a few milliseconds."""
SIZES = (100, 1000)
PROMISES = (dp.PureDP(0.5), dp.GDP(0.5), dp.GDP(2.0))
FAILURE = 1e-3
"""The chance that any cell of the page is called too large though none is."""

NORMAL = stats.norm
SHARES = np.array([0.1, 0.2, 0.3, 0.4])
TABLE = np.outer((0.3, 0.7), (0.2, 0.3, 0.5))

HEAD = """# Size and power of tests

Written by `python -m experiments infer_tests`: {replicates} simulated data sets a cell, {runs} where every
p-value has a simulated reference law of its own ("runs": rows are drawn, released and judged as a user would),
{quick} for ANOVA and Kruskal-Wallis, with the same random numbers in every run. Level 5 %. Monte Carlo errors:
{error:.1f} points of size for {replicates} data sets, {run_error:.1f} for {runs}; {power_error:.1f} of power at most.

**{failed} of {cells} cells are too large**: a size fails, and is bold, when its simultaneous lower limit (all
cells together, 99.9 %) is above 5 %. Smaller sizes are the price of not knowing the number of rows
(ADD_REMOVE), or of a variance that noise hides. "classical" is the test without noise on the same rows. Cells of a
test have the same rows and are too large or too small by chance together. ANOVA may really be too large by half a
point where noise is as large as what it hides: at 100 rows, ADD_REMOVE, it rejects 5.4 % (PureDP(0.5)) and 5.5 %
(GDP(0.5)) of 9 500 data sets, these and others, and at 30 rows in groups of 24, 3 and 3, GDP(0.25), 7 % of 2 500: its
reference law is drawn at the released numbers, and knows of their noise only by drawing it once more.
"""

BESIDE = """## Beside published tests

REPLACE_ONE and PureDP, powers in %, effects as above. Test of tests: Kazan, Shi, Groce and Bray 2023 ("The Test of
Tests: A Framework for Differentially Private Hypothesis Testing"), with the best of 12 settings for each cell. F1:
Swanberg et al. 2019, with the true null law as reference. Absolute ranks: Couch et al. 2019, sensitivity 8, with the
true null law: the statistic is the one used here, which pays for the sizes of the groups as well. (The binomial test
needs no comparison: no test with its promise has more power.)
"""


@dataclass(frozen=True)
class Case:
    """A test, the truth under the hypothesis, and a truth for the power, by the number of rows."""

    make: Callable[..., HypothesisTest]
    null: dict[str, Any]
    effect: Callable[[int], dict[str, Any]]
    rows: Callable[[Generator, int], tuple[Any, ...]] | None = None
    """Rows under the hypothesis, for tests that are run as a whole."""
    times: int = 1
    """Whole runs in place of one, where they are quick."""


def _shifted(n: int) -> float:
    """An effect that the classical test sees about as often for every n."""
    return 3.0 / math.sqrt(n)


def _table(n: int) -> Any:
    d = 0.9 / math.sqrt(n)
    return TABLE + np.array([[d, 0.0, -d], [-d, 0.0, d]]) / 2


def _groups(generator: Generator, n: int) -> Any:
    return np.arange(n) % 3


CASES: dict[str, Case] = {
    "binomial": Case(
        lambda g, **k: dp.infer.BinomialTest(g, share=0.3, alternative="greater", **k),
        {"share": 0.3},
        lambda n: {"share": 0.3 + 1.2 / math.sqrt(n)},
    ),
    "mean": Case(
        lambda g, **k: dp.infer.MeanTest(g, bounds=(0, 1), mean=0.5, **k),
        {"mean": 0.5, "deviation": 0.2},
        lambda n: {"mean": 0.5 + 0.2 * _shifted(n), "deviation": 0.2},
    ),
    "mean (rows 0 or 1)": Case(
        lambda g, **k: dp.infer.MeanTest(g, bounds=(0, 1), mean=0.5, **k),
        {"mean": 0.5, "deviation": 1e3},
        lambda n: {"mean": 0.5 + 1e3 * 1.25 * _shifted(n), "deviation": 1e3},
    ),
    "two means": Case(
        lambda g, **k: dp.infer.TwoSampleMeanTest(g, bounds=(0, 1), **k),
        {"difference": 0.0, "deviation": 0.2},
        lambda n: {"difference": 0.4 * _shifted(n), "deviation": 0.2},
    ),
    "goodness of fit": Case(
        lambda g, **k: dp.infer.GoodnessOfFitTest(g, levels=range(4), shares=tuple(SHARES), **k),
        {"shares": SHARES},
        lambda n: {"shares": SHARES + np.array([1.0, 0.0, 0.0, -1.0]) / math.sqrt(n)},
        lambda generator, n: (generator.choice(4, n, p=SHARES),),
    ),
    "independence": Case(
        lambda g, **k: dp.infer.IndependenceTest(g, x_levels=range(2), y_levels=range(3), **k),
        {"shares": TABLE},
        lambda n: {"shares": _table(n)},
        lambda generator, n: tuple(np.divmod(generator.choice(6, n, p=TABLE.ravel()), 3)),
    ),
    "ANOVA": Case(
        lambda g, **k: dp.infer.AnovaTest(g, bounds=(0, 1), levels=range(3), **k),
        {"means": (0.5,) * 3, "deviation": 0.2},
        lambda n: {"means": tuple(0.5 + 0.3 * _shifted(n) * k for k in (-1, 0, 1)), "deviation": 0.2},
        lambda generator, n: (np.clip(generator.normal(0.5, 0.2, n), 0, 1), _groups(generator, n)),
        QUICK,
    ),
    "Kolmogorov-Smirnov": Case(
        lambda g, **k: dp.infer.KolmogorovSmirnovTest(g, cdf=NORMAL(), **k),
        {"population": NORMAL()},
        lambda n: {"population": NORMAL(_shifted(n))},
    ),
    "two-sample Kolmogorov-Smirnov": Case(
        lambda g, **k: dp.infer.TwoSampleKolmogorovSmirnovTest(g, **k),
        {"first": NORMAL(), "second": NORMAL()},
        lambda n: {"first": NORMAL(), "second": NORMAL(2 * _shifted(n))},
    ),
    "Mann-Whitney": Case(
        lambda g, **k: dp.infer.MannWhitneyTest(g, **k),
        {"first": NORMAL(), "second": NORMAL()},
        lambda n: {"first": NORMAL(), "second": NORMAL(2 * _shifted(n))},
    ),
    "signed ranks": Case(
        lambda g, **k: dp.infer.SignedRankTest(g, **k),
        {"population": stats.cauchy()},
        lambda n: {"population": stats.cauchy(1.6 * _shifted(n))},
    ),
    "Kruskal-Wallis": Case(
        lambda g, **k: dp.infer.KruskalWallisTest(g, levels=range(3), **k),
        {"populations": [NORMAL()] * 3},
        lambda n: {"populations": [NORMAL(1.5 * _shifted(n) * k) for k in (-1, 0, 1)]},
        lambda generator, n: (generator.normal(size=n), _groups(generator, n)),
        QUICK,
    ),
}


CELLS = len(CASES) * len(SIZES) * len(PROMISES) * 2


def sizes(case: Case, test: HypothesisTest, n: int, replicates: int, runs: int) -> tuple[int, int]:
    """How many p-values are at most the level under the hypothesis, and of how many."""
    generator = Generator(Philox(key=10**6 + n))  # not the bits that the noise is made of
    with seeded(n):
        if case.rows is None:
            p = test.simulated_pvalues(n, replicates, generator, True, **case.null)
        else:
            p = np.array([test.run(*case.rows(generator, n)).pvalue for _ in range(runs * case.times)])
    return int(np.count_nonzero(p <= LEVEL)), len(p)


def measured(name: str, replicates: int, runs: int) -> tuple[list[list[str]], int]:
    """The rows of one test, and how many of its sizes are too large."""
    case, failed, rows = CASES[name], 0, []
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        for n in SIZES:
            test = case.make(dp.GDP(1.0), adjacency=adjacency)
            plain = dp.infer.power(test, n, private=False, replicates=replicates, **case.effect(n))
            row = [name, adjacency.name, str(n)]
            for promise in PROMISES:
                sized = replace(test, guarantee=promise)
                many, of = sizes(case, sized, n, replicates, runs)
                bad = 1 - upper(of - many, of, FAILURE / CELLS) > LEVEL
                failed += bad
                power = dp.infer.power(sized, n, replicates=replicates, **case.effect(n))
                size = f"{100 * many / of:.1f}"
                row.append(f"{f'**{size}**' if bad else size} / {100 * power:.0f}")
            rows.append([*row, f"{100 * plain:.0f}"])
    return rows, failed


def main(
    here: Path, data: Path | None = None, seeds: int = 20, replicates: int = REPLICATES, runs: int = RUNS
) -> None:
    """Write the page and the picture."""
    with ProcessPoolExecutor(2) as pool:
        beside = pool.submit(published, replicates)
        parts = {name: pool.submit(measured, name, replicates, runs) for name in CASES}
        drawing = pool.submit(_picture, here / "infer_tests.png")
        rows, failed = [], 0
        for name, part in parts.items():
            found, bad = part.result()
            rows, failed = rows + found, failed + bad
            print(name, flush=True)
        drawing.result()
    head = HEAD.format(
        replicates=replicates,
        runs=runs,
        quick=runs * QUICK,
        failed=failed,
        cells=CELLS,
        error=100 * math.sqrt(0.05 * 0.95 / replicates),
        run_error=100 * math.sqrt(0.05 * 0.95 / runs),
        power_error=100 * math.sqrt(0.25 / replicates),
    )
    titles = [
        "test",
        "adjacency",
        "rows",
        *(f"{promise}: size / power" for promise in PROMISES),
        "classical: power",
    ]
    text = [head, table(titles, rows), "", beside.result(), "", "![Power](infer_tests.png)", ""]
    (here / "INFER_TESTS.md").write_text("\n".join(text))
    _picture(here / "infer_tests.png")


# -- published alternatives -------------------------------------------------------------------------


def published(replicates: int) -> str:
    """Power of the best published private tests on the same effects, each with the promise it was made for."""
    rows = []
    for n in SIZES:
        for epsilon in (0.5, 1.0):
            promise = dp.PureDP(epsilon)
            rows.append([str(n), f"{epsilon:g}", *_beside(n, promise, replicates)])
    titles = [
        "rows",
        "epsilon",
        "mean: here / test of tests",
        "ANOVA: here / F1",
        "Kruskal-Wallis: here / absolute ranks",
    ]
    return f"{BESIDE}\n{table(titles, rows)}"


def _beside(n: int, promise: dp.PureDP, replicates: int) -> list[str]:
    out = []
    for name, other in (("mean", _test_of_tests), ("ANOVA", _f1), ("Kruskal-Wallis", _absolute_ranks)):
        case = CASES[name]
        test = case.make(promise, adjacency=dp.REPLACE_ONE)
        ours = dp.infer.power(test, n, replicates=replicates, **case.effect(n))
        out.append(f"{100 * ours:.0f} / {100 * other(n, promise.epsilon, case.effect(n), replicates):.0f}")
    return out


def _test_of_tests(n: int, epsilon: float, effect: dict[str, Any], replicates: int) -> float:
    """m parts, a t-test at level a in each, and the optimal binomial test of how many reject."""
    best = 0.0
    for m in (5, 10, 20, 40):
        size = n // m
        if size < 4:
            continue
        for a in (0.05, 0.15, 0.3):
            moved = (effect["mean"] - 0.5) / effect["deviation"] * math.sqrt(size)
            edge = stats.t.isf(a / 2, size - 1)
            truth = stats.nct.sf(edge, size - 1, moved) + stats.nct.cdf(-edge, size - 1, moved)
            test = dp.infer.BinomialTest(
                dp.PureDP(epsilon), share=a, alternative="greater", adjacency=dp.REPLACE_ONE
            )
            best = max(best, dp.infer.power(test, m, share=float(min(truth, 1.0))))
    return best


def _f1(n: int, epsilon: float, effect: dict[str, Any], replicates: int) -> float:
    generator = Generator(Philox(key=9))
    size = n // 3

    def statistics(means: Any) -> Any:
        x = np.clip(
            generator.normal(np.array(means)[:, None], effect["deviation"], (replicates, 3, size)), 0, 1
        )
        group, grand = x.mean(axis=2, keepdims=True), x.mean(axis=(1, 2))[:, None]
        sa = size * np.abs(group[..., 0] - grand).sum(axis=1) + generator.laplace(
            0, 4 / (epsilon / 2), replicates
        )
        se = np.abs(x - group).sum(axis=(1, 2)) + generator.laplace(0, 3 / (epsilon / 2), replicates)
        return (sa / 2) / np.maximum(se / (3 * size - 3), 1e-9)

    null = np.quantile(statistics((0.5,) * 3), 1 - LEVEL)
    return float(np.mean(statistics(effect["means"]) > null))


def _absolute_ranks(n: int, epsilon: float, effect: dict[str, Any], replicates: int) -> float:
    generator = Generator(Philox(key=9))
    size = n // 3
    n = 3 * size

    def statistics(populations: Any) -> Any:
        x = np.concatenate([p.rvs((replicates, size), random_state=generator) for p in populations], axis=1)
        ranks = x.argsort(axis=1).argsort(axis=1) + 1.0
        means = ranks.reshape(replicates, 3, size).mean(axis=2)
        h = 4 * (n - 1) / n**2 * (size * np.abs(means - (n + 1) / 2)).sum(axis=1)
        return h + generator.laplace(0, 8 / epsilon, replicates)

    null = np.quantile(statistics([NORMAL()] * 3), 1 - LEVEL)
    return float(np.mean(statistics(effect["populations"]) > null))


def _picture(path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    chosen = ("binomial", "mean", "independence", "ANOVA", "Mann-Whitney", "Kolmogorov-Smirnov")
    numbers = np.unique(np.geomspace(30, 1500, 9).round().astype(int)).tolist()
    for axes, name in zip(figure.subplots(2, 3).ravel(), chosen, strict=True):
        case = CASES[name]
        test = case.make(dp.GDP(1.0), adjacency=dp.ADD_REMOVE)
        effect = case.effect(150)
        curve = dp.infer.power_curve(
            test, numbers, [dp.GDP(2.0), dp.GDP(0.5), dp.PureDP(0.5)], replicates=400, **effect
        )
        for name_of, values in curve.powers.items():
            axes.plot(numbers, values, "--" if name_of == "without noise" else "-", label=name_of)
        axes.set(xscale="log", title=name, ylim=(0, 1.02), xlabel="rows")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel("power at level 5 %")
    figure.savefig(path, dpi=110)
