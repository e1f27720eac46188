"""How often intervals hold: every aggregate, size, budget and population; writes experiments/COVERAGE.md."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from tests.noise.seeded import seeded

import dalenius as dp
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.column import Column
from dalenius.tables.estimates import Wanted, columns
from dalenius.tables.released import release
from experiments.simulated import (
    ASIDE,
    LONG,
    NORMAL,
    QUANTILES,
    SKEWED,
    STATISTICS,
    UNIFORM,
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
FEW_BUDGETS = (dp.ZCDP(0.05), dp.ZCDP(5.0), dp.PureDP(0.5), dp.PureDP(10.0))
SHARES = (bernoulli(0.5), bernoulli(0.1), bernoulli(0.02), bernoulli(0.005))

HEAD = """# Coverage of 95 % intervals

Written by `python -m experiments coverage`: {replicates} simulated releases a cell. A cell is the share of
intervals, in %, that hold the statistic of the table (first part) or of the population (`sampling=True`, second
part). It **fails**, and is bold, when its 99.9 % binomial interval misses 93.5 to 97.5 %. Over-coverage is excused,
and the cell is marked, in two cases only:

- `d`: the noise is on whole numbers and its standard deviation is below 1/2: no interval of whole numbers has less;
- `w`: many of the intervals are the whole range, and those that are not hold no more often than they should.

Tables are drawn anew for every replicate. Populations lie between 0 and 1, which are the bounds: uniform; normal with
mean 0.5 and deviation 0.2, cut off at the bounds; normal with mean 0.125 and deviation 0.25, cut off ("aside");
Bernoulli. Two skewed ones are reported, not judged (*italics* where they would fail): exponential with mean 0.1, and
Beta(0.5, 6). The second column of covariances and correlations is 0.6 x + 0.4 z, z another draw. A histogram is judged
by its second bin of five. Proportions are of a condition on a column of 0 and 1, "mean (0/1)" and "variance (0/1)" of
that column of whole numbers; means and variances of Bernoulli populations without that mark are of a column of
floating-point numbers, of which nobody says that they are 0 and 1.

{judged} cells are judged: {failed} fail, {excused} are excused. Of {reported} reported cells {missed} would fail.

Why some do. With 30 rows and a small budget the spread of the rows is hardly seen, and what is put in its place is too
much for some populations (over-coverage) and too little for others; intervals also end at a bound on one side, where
they cannot miss. A few rows at the far bound, under noise that hides them, look like none. Of skewed populations the
first two moments do not tell how much sums of squares vary.
"""


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


def cells(
    names: Sequence[str], population: Population, rows: int, prices: Sequence[Any], replicates: int, seed: int
) -> Cells:
    """The cells of the table's statistic, and of the population's (where there is one)."""
    rng = np.random.default_rng([seed, rows])
    kept: dict[tuple[bool, str, str, int], list[tuple[Any, Any]]] = {}
    tiny = {}
    left = replicates
    while left:
        tables = min(left, 250 if any(name in QUANTILES for name in names) else 1000)
        data = population.draw(rng, tables, rows)
        groups = [tuple(names)] if set(names) <= set(QUANTILES) else [(name,) for name in names]
        for group in groups:
            counted = None
            for number, price in enumerate(prices):
                made = planned(tables, price, asked(group))
                counted = exact(made, data) if counted is None else counted
                with seeded(rng.integers(2**60).item() + number):
                    told = release(made, counted)
                for sampling in (False, True):
                    found = columns(made.query, told, Wanted(sampling=sampling))
                    for name, column in zip(
                        group, found[1:2] if group == ("histogram",) else found, strict=True
                    ):
                        statistic = STATISTICS[name]
                        if sampling and statistic.of_population is None:
                            continue
                        truth = statistic.of_table(data)
                        if sampling and statistic.of_population is not None:
                            truth = np.full(tables, statistic.of_population(population))
                        key = sampling, name, repr(price), rows
                        kept.setdefault(key, []).append(_held(column, truth, statistic.everything))
                        tiny[key] = all(noise.is_whole and noise.sigma < 0.5 for noise in made.noises)
        left -= tables
    return {key: _cell(parts, tiny[key]) for key, parts in kept.items()}


def asked(names: Sequence[str]) -> dict[str, Aggregate]:
    """One question; several quantiles are one."""
    if len(names) == 1:
        return {"a": STATISTICS[names[0]].asked}
    return {"a": dp.quantiles("x", [QUANTILES[name] for name in names], (0, 1))}


def _held(column: Column, truth: Any, everything: float) -> tuple[Any, Any]:
    hair = 1e-9 * np.maximum(np.abs(truth), 1e-3)  # the statistic itself is rounded
    inside = (column.low <= truth + hair) & (truth - hair <= column.high)
    return inside, column.high - column.low >= everything * (1 - 1e-9)


def _cell(parts: list[tuple[Any, Any]], tiny: bool) -> Cell:
    inside, whole = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Cell(int(inside.sum()), int(whole.sum()), int((inside & ~whole).sum()), len(inside), tiny)


def questions() -> Iterator[tuple[Sequence[str], Population, tuple[Any, ...]]]:
    """Aggregates, populations and budgets."""
    moments = ("mean", "variance", "std", "covariance", "correlation")
    yield ("count", "sum", "histogram", *moments), UNIFORM, BUDGETS
    for population in (NORMAL, ASIDE, SKEWED, LONG):
        yield moments, population, BUDGETS
    for population in SHARES:
        yield ("proportion", "mean (0/1)", "variance (0/1)", "mean", "variance"), population, BUDGETS
    for population in (UNIFORM, NORMAL, SKEWED):
        yield tuple(QUANTILES), population, FEW_BUDGETS


Found = dict[tuple[str, str, bool, bool], dict[tuple[str, int], Cell]]
"""By statistic, population, whether it is judged, and sampling; then by price and rows."""


def run(replicates: int = REPLICATES, only: Container[int] = range(100)) -> Found:
    started = time.time()
    found: Found = {}
    for seed, (names, population, prices) in enumerate(questions()):
        if seed not in only:
            continue
        for rows in SIZES:
            made = cells(names, population, rows, prices, replicates, seed)
            for (sampling, name, price, _), cell in made.items():
                key = name, population.name, population.judged or not sampling, sampling
                found.setdefault(key, {})[price, rows] = cell
        print(f"{', '.join(names)} of {population.name}: {time.time() - started:.0f} s", flush=True)
    return found


def written(found: Found, replicates: int) -> str:
    every = [(key[2], cell) for key, row in found.items() for cell in row.values()]
    judged, reported = ([cell for which, cell in every if which is wanted] for wanted in (True, False))
    bad = ("low", "high")
    parts = [
        HEAD.format(
            replicates=replicates,
            judged=len(judged),
            failed=sum(cell.verdict in bad for cell in judged),
            excused=sum(cell.verdict in ("d", "w") for cell in judged),
            reported=len(reported),
            missed=sum(cell.verdict in bad for cell in reported),
        )
    ]
    for sampling, title in (
        (False, "The statistic of the table"),
        (True, "The population's: `sampling=True`"),
    ):
        rows = {key[:3]: row for key, row in found.items() if key[3] is sampling}
        parts.append(f"## {title}\n\n{_table(rows)}\n")
    return "\n".join(parts)


def _table(rows: Mapping[tuple[str, str, bool], Mapping[tuple[str, int], Cell]]) -> str:
    lines = []
    for (name, population, judged), row in rows.items():
        for price in dict.fromkeys(price for price, _ in row):
            told = [row[price, size].text(judged) for size in SIZES]
            lines.append([name, population if judged else f"{population} (reported)", price, *told])
    return table(["aggregate", "population", "budget", *(f"n = {size}" for size in SIZES)], lines)


def main(target: Path, replicates: int = REPLICATES) -> None:
    target.write_text(written(run(replicates), replicates))
