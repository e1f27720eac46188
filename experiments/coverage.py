"""How often intervals hold: every aggregate, size, budget and population; writes experiments/COVERAGE.md."""

from __future__ import annotations

import pickle
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from tests.noise.seeded import seeded

import dalenius as dp
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.plan.plan import Plan
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.released import Released, release
from dalenius.tables.statistics.column import Column
from experiments.simulated import (
    ASIDE,
    LONG,
    NORMAL,
    OTHERS,
    QUANTILES,
    SKEWED,
    STATISTICS,
    UNIFORM,
    Errors,
    Population,
    bernoulli,
    exact,
    planned,
)
from experiments.tables import table

BAND = (0.935, 0.975)
REPLICATES = 2000
SIZES = (30, 300, 5000)
BUDGETS = (
    dp.ZCDP(0.05),
    dp.ZCDP(0.5),
    dp.ZCDP(5.0),
    dp.ZCDP(50.0),
    dp.PureDP(0.5),
    dp.PureDP(2.0),
    dp.PureDP(10.0),
)
OTHER_SIZES = (60, 1000)
OTHER_BUDGETS = (dp.ZCDP(0.02), dp.ZCDP(1.0), dp.PureDP(1.0))
FEW_BUDGETS = (dp.ZCDP(0.05), dp.ZCDP(5.0), dp.PureDP(0.5), dp.PureDP(10.0))
SHARES = (bernoulli(0.5), bernoulli(0.1), bernoulli(0.02), bernoulli(0.005))

HEAD = """# Coverage of 95 % intervals

Written by `python -m experiments coverage`, in one run on commit {commit}: {replicates} simulated releases a cell, with
the same random numbers in every run. A cell is the share of intervals, in %, that hold the statistic of the table or of
the population (`sampling=True`). It **fails**, and is bold, when its 99.9 % binomial interval misses 93.5 to 97.5 %.
Over-coverage is excused, and the cell is marked, in two cases only:

- `d`: the noise is on whole numbers and its standard deviation is below 1/2: no interval of whole numbers has less;
- `w`: many of the intervals are the whole range, and those that are not hold no more often than they should.

| cells | number | too low | too high | excused (`d`) | excused (`w`) |
|---|---|---|---|---|---|
| judged | {judged} | {low} | {high} | {tiny} | {whole} |
| reported, would fail | {reported} | {missed} in all | | | |
| other populations, would fail | {held} | {held_low} | {held_high} | | |

Tables are drawn anew for every replicate. Populations lie between 0 and 1, which are the bounds: uniform; normal with
mean 0.5 and deviation 0.2, cut off at the bounds; normal with mean 0.125 and deviation 0.25, cut off ("aside");
Bernoulli. Two skewed ones are reported, not judged (*italics* where they would fail): exponential with mean 0.1, and
Beta(0.5, 6). The second column of covariances and correlations is 0.6 x + 0.4 z, z another draw. A histogram is judged
by its second bin of five. Proportions are of a condition on a column of 0 and 1, "mean (0/1)" and "variance (0/1)" of
that column of whole numbers; means and variances of Bernoulli populations without that mark are of a column of
floating-point numbers, of which nobody says that they are 0 and 1. Cells of quantiles that differ in population or size
alone share the noise of their bins.

Why some miss. Count, sum and sum of squares say nothing of the fourth moment, by which a variance varies: it is taken
from the smoothest population with the same mean and variance, which is right for those judged, and wrong for others
(three values, say), however large n is. With 30 rows and a small budget the sum of squares hardly tells rows at both
bounds from rows in between; what is between the two is too much for one and too little for the other. Quantiles of 30
rows under noise of as many reach an end of the range on one side, where they cannot miss. The median of a population
that is itself the end of the largest blocks of bins, the middle of the bounds, is held more often than others: where
the noisy count up to it rules out all that lies before, what is left are the values from there on, and an interval that
begins with it still holds it. (One that ends before it does not.)
"""

WORST = 25
OTHER_NAMES = {population.name for population in OTHERS}


@dataclass(frozen=True)
class Cell:
    """How often intervals held."""

    held: int
    whole: int
    held_not_whole: int
    number: int
    tiny: bool

    @property
    def verdict(self) -> str:
        """ "" if it is as it should be, "d" or "w" if excused, "low" or "high" if it fails."""
        low, high = _binomial(self.held, self.number)
        if high < BAND[0]:
            return "low"
        if low <= BAND[1]:
            return ""
        if self.tiny:
            return "d"
        rest = self.number - self.whole
        if self.whole and (rest == 0 or _binomial(self.held_not_whole, rest)[0] <= BAND[1]):
            return "w"
        return "high"

    def text(self, judged: bool) -> str:
        share = f"{100 * self.held / self.number:.1f}"
        if self.verdict in ("d", "w"):
            return f"{share} {self.verdict}"
        if self.verdict:
            return f"**{share}**" if judged else f"*{share}*"
        return share


def _binomial(held: int, number: int) -> tuple[float, float]:
    """The 99.9 % interval of a share (Clopper and Pearson 1934)."""
    low = stats.beta.ppf(0.0005, held, number - held + 1) if held else 0.0
    high = stats.beta.ppf(0.9995, held + 1, number - held) if held < number else 1.0
    return float(low), float(high)


Cells = dict[tuple[bool, str, str, int], Cell]
"""By sampling, statistic, price and rows."""


Kept = dict[tuple[bool, str, str, int], list[tuple[Any, Any]]]


def cells(
    names: Sequence[str], population: Population, rows: int, prices: Sequence[Any], replicates: int, seed: int
) -> Cells:
    """The cells of the table's statistic, and of the population's (where there is one)."""
    rng = np.random.default_rng([seed, rows])
    kept: Kept = {}
    tiny: dict[str, bool] = {}
    for tables in _chunks(replicates, 1000):
        data = population.draw(rng, tables, rows)
        for name in names:
            counted, true = None, [STATISTICS[name].of_table(data)]
            for price in prices:
                made = planned(tables, price, asked((name,)))
                counted = exact(made, data) if counted is None else counted
                with seeded(rng.integers(2**60).item()):
                    told = release(made, counted)
                tiny[name + repr(price)] = _is_tiny(made)
                _keep(kept, made, told, (name,), true, (population, rows, price))
    return {key: _cell(parts, tiny[key[1] + key[2]]) for key, parts in kept.items()}


def quantile_cells(populations: Sequence[Population], price: Any, replicates: int, seed: int) -> list[Cells]:
    """The cells of quantiles, of one list of populations. All of them, and all sizes, have the same noise: a cell is of
    independent releases, but cells are not independent of one another."""
    rng = np.random.default_rng([seed, 7])
    kept: list[Kept] = [{} for _ in populations]
    names = tuple(QUANTILES)
    for tables in _chunks(replicates, 250):
        made = planned(tables, price, asked(names))
        with seeded(rng.integers(2**60).item()):
            errors = Errors(made)
        for population, found in zip(populations, kept, strict=True):
            for rows in SIZES:
                data = population.draw(rng, tables, rows)
                told = errors.added(made, exact(made, data))
                true = [STATISTICS[name].of_table(data) for name in names]
                _keep(found, made, told, names, true, (population, rows, price))
    return [{key: _cell(parts, _is_tiny(made)) for key, parts in found.items()} for found in kept]


def _chunks(replicates: int, most: int) -> Iterator[int]:
    for start in range(0, replicates, most):
        yield min(most, replicates - start)


def _is_tiny(made: Plan) -> bool:
    return all(noise.law.whole and noise.sigma < 0.5 for noise in made.noises)


def _keep(
    kept: Kept,
    made: Plan,
    told: Released,
    names: Sequence[str],
    of_table: Sequence[Any],
    where: tuple[Population, int, Any],
) -> None:
    population, rows, price = where
    for sampling in (False, True):
        if sampling and all(STATISTICS[name].of_population is None for name in names):
            continue
        found = columns(made.query, told, Wanted(sampling=sampling))
        found = found[1:2] if names == ("histogram",) else found
        for name, column, true in zip(names, found, of_table, strict=True):
            statistic, everything = STATISTICS[name], STATISTICS[name].everything
            if sampling and statistic.of_population is not None:
                true, everything = statistic.of_population(population), statistic.of_any_population
            # A quantile is a value, and no sum of them: it is not rounded.
            hair = 0.0 if name in QUANTILES else 1e-9 * np.maximum(np.abs(true), 1e-3)
            kept.setdefault((sampling, name, repr(price), rows), []).append(
                _held(column, true, everything, hair)
            )


def asked(names: Sequence[str]) -> dict[str, Aggregate]:
    """One question; several quantiles are one."""
    if len(names) == 1:
        return {"a": STATISTICS[names[0]].asked}
    return {"a": dp.quantiles("x", [QUANTILES[name] for name in names], (0, 1))}


def _held(column: Column, truth: Any, everything: float, hair: Any) -> tuple[Any, Any]:
    """hair: how far the statistic itself may be off, as it is rounded."""
    inside = (column.low <= truth + hair) & (truth - hair <= column.high)
    return inside, column.high - column.low >= everything * (1 - 1e-9)


def _cell(parts: list[tuple[Any, Any]], tiny: bool) -> Cell:
    inside, whole = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Cell(int(inside.sum()), int(whole.sum()), int((inside & ~whole).sum()), len(inside), tiny)


MOMENTS = ("mean", "variance", "std", "covariance", "correlation")
OF_BITS = ("proportion", "mean (0/1)", "variance (0/1)", "mean", "variance")
QUESTIONS: list[tuple[Sequence[str], Population, Sequence[int], Sequence[Any]]] = [
    (("count", "sum", "histogram", *MOMENTS), UNIFORM, SIZES, BUDGETS),
    *((MOMENTS, population, SIZES, BUDGETS) for population in (NORMAL, ASIDE, SKEWED, LONG)),
    *((OF_BITS, population, SIZES, BUDGETS) for population in SHARES),
    *((("mean", "variance"), population, OTHER_SIZES, OTHER_BUDGETS) for population in OTHERS),
]
OF_QUANTILES = (UNIFORM, NORMAL, SKEWED)


Found = dict[tuple[str, str, bool, bool], dict[tuple[str, int], Cell]]
"""By statistic, population, whether it is judged, and sampling; then by price and rows."""

Task = tuple[int, int | None]
"""Of QUESTIONS, by position and rows; or of quantiles, by the position of the price, and no rows."""


def tasks() -> list[Task]:
    of_quantiles = [(len(QUESTIONS) + k, None) for k in range(len(FEW_BUDGETS))]
    return [*of_quantiles, *((k, rows) for k, (_, _, sizes, _) in enumerate(QUESTIONS) for rows in sizes)]


def done(task: Task, replicates: int) -> Found:
    """The cells of one task. Each has its own random numbers, whoever does it and when."""
    seed, rows = task
    if rows is None:
        price = FEW_BUDGETS[seed - len(QUESTIONS)]
        parts = list(zip(OF_QUANTILES, quantile_cells(OF_QUANTILES, price, replicates, seed), strict=True))
    else:
        names, population, _, prices = QUESTIONS[seed]
        parts = [(population, cells(names, population, rows, prices, replicates, seed))]
    found: Found = {}
    for population, made in parts:
        for (sampling, name, price_, size), cell in made.items():
            key = name, population.name, population.judged or not sampling, sampling
            found.setdefault(key, {})[price_, size] = cell
    return found


def _kept(task: Task, replicates: int, keep: Path | None) -> Found:
    if keep is None:
        return done(task, replicates)
    path = keep / f"{task[0]}-{task[1]}-{replicates}.pickle"
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_bytes(pickle.dumps(done(task, replicates)))
        part.rename(path)
    found: Found = pickle.loads(path.read_bytes())
    return found


def run(replicates: int = REPLICATES, jobs: int = 1, keep: Path | None = None) -> Found:
    """All tasks. keep: a folder for those that are done; what is there already is not done again."""
    started = time.time()
    every: dict[Task, Found] = {}
    with ProcessPoolExecutor(jobs) as pool:
        made = {pool.submit(_kept, task, replicates, keep): task for task in tasks()}
        for future in as_completed(made):
            every[made[future]] = future.result()
            print(f"{len(every)} of {len(made)}: {time.time() - started:.0f} s", flush=True)
    found: Found = {}
    for task in sorted(every, key=lambda task: (task[0], task[1] or 0)):
        for key, row in every[task].items():
            found.setdefault(key, {}).update(row)
    return found


def written(found: Found, replicates: int, commit: str) -> str:
    every = {key: row for key, row in found.items() if key[1] not in OTHER_NAMES}
    counts = {which: Counter(cell.verdict for key, row in every.items() if key[2] is which for cell in row.values())
        for which in (True, False)}  # fmt: skip
    held = Counter(
        cell.verdict
        for key, row in found.items()
        if key[1] in OTHER_NAMES and key[3]
        for cell in row.values()
    )
    judged, reported = counts[True], counts[False]
    parts = [
        HEAD.format(
            replicates=replicates,
            commit=commit,
            judged=judged.total(),
            low=judged["low"],
            high=judged["high"],
            tiny=judged["d"],
            whole=judged["w"],
            reported=reported.total(),
            missed=reported["low"] + reported["high"],
            held=held.total(),
            held_low=held["low"],
            held_high=held["high"],
        ),
        f"## The {WORST} cells furthest from 95 %, of those judged and not excused\n\n{_worst(every)}\n",
    ]
    for sampling, title in (
        (False, "The statistic of the table"),
        (True, "The population's: `sampling=True`"),
    ):
        rows = {key[:3]: row for key, row in every.items() if key[3] is sampling}
        parts.append(f"## {title}\n\n{_table(rows, SIZES)}\n")
    rows = {key[:3]: row for key, row in found.items() if key[1] in OTHER_NAMES and key[3]}
    title = "Other populations, sizes and budgets, looked at while the method was made, not judged: `sampling=True`"
    parts.append(f"## {title}\n\n{_table(rows, OTHER_SIZES)}\n")
    return "\n".join(parts)


def _worst(found: Found) -> str:
    judged = [
        (name, population, sampling, price, size, cell)
        for (name, population, counts, sampling), row in found.items()
        for (price, size), cell in row.items()
        if counts and cell.verdict not in ("d", "w")
    ]
    judged.sort(key=lambda each: -abs(each[-1].held / each[-1].number - 0.95))
    lines = [
        [name, population, "population" if sampling else "table", price, str(size), cell.text(True)]
        for name, population, sampling, price, size, cell in judged[:WORST]
    ]
    return table(["aggregate", "population", "of the", "budget", "n", "held"], lines)


def _table(rows: Mapping[tuple[str, str, bool], Mapping[tuple[str, int], Cell]], sizes: Sequence[int]) -> str:
    lines = []
    for (name, population, judged), row in rows.items():
        for price in dict.fromkeys(price for price, _ in row):
            told = [row[price, size].text(judged) for size in sizes]
            lines.append([name, population if judged else f"{population} (reported)", price, *told])
    return table(["aggregate", "population", "budget", *(f"n = {size}" for size in sizes)], lines)


def main(target: Path, replicates: int = REPLICATES, jobs: int = 1, keep: Path | None = None) -> None:
    commit = _commit(target.parent)
    if keep is not None:  # of this commit alone
        keep = keep / commit.replace(" ", "-")
        keep.mkdir(parents=True, exist_ok=True)
    target.write_text(written(run(replicates, jobs, keep), replicates, commit))


def _commit(where: Path) -> str:
    """What the numbers are of; read before the run."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=where, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + (" and changes not committed" if git("status", "-s") else "")
