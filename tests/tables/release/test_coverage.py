"""Intervals hold as often as they say, no less and no more: a quick part of `experiments/coverage.py`, with mistakes
planted that must be found.

What is counted: of 1000 tables of 300 rows, how many intervals hold. That is refused when so few would have a chance
below 1e-9 for a coverage of 93.5 %, or so many for one of 97.5 %. Noise and data are seeded: a test fails always or
never.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments import coverage, simulated
from scipy import stats

import dalenius as dp
from dalenius.tables.compute import exact as engine
from dalenius.tables.compute.source import Source
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.released import Released, release
from dalenius.tables.statistics.column import Column
from tests.noise.seeded import seeded
from tests.tables.release.test_estimates import truth

TABLES, ROWS = 1000, 300
PRICES = [dp.ZCDP(0.5), dp.PureDP(2.0)]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


def right(held: Any) -> bool:
    """Whether so many of them are neither too few nor too many."""
    number, hits = len(held), int(np.sum(held))
    low, high = coverage.BAND
    few, many = stats.binom.cdf(hits, number, low), stats.binom.sf(hits - 1, number, high)
    return bool(min(few, many) >= 1e-9)


def holds(column: Column, true: Any) -> Any:
    return (column.low <= true + 1e-9) & (true - 1e-9 <= column.high)


def claiming(released: Released, factor: float) -> Released:
    """The same numbers with standard errors that are said to be so many times what they are."""
    measures = {
        measure: replace(noisy, law=replace(noisy.law, sigma=noisy.sigma * factor))
        for measure, noisy in released.measures.items()
    }
    ranks = {
        key: replace(kept, law=replace(kept.law, sigma=kept.law.sigma * factor))
        for key, kept in released.ranks.items()
    }
    return replace(released, measures=measures, ranks=ranks)


@cache
def drawn(population: simulated.Population) -> dict[str, Any]:
    return population.draw(np.random.default_rng(17), TABLES, ROWS)


def told(name: str, population: simulated.Population, price: Any) -> tuple[Plan, Released]:
    asked = simulated.STATISTICS[name].asked
    if name in simulated.QUANTILES:
        asked = dp.quantile("x", simulated.QUANTILES[name], (0, 1), bins=2**10)
    made = simulated.planned(TABLES, price, {"a": asked})
    with seeded(sum(map(ord, name))):
        return made, release(made, simulated.exact(made, drawn(population)))


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize("name", simulated.STATISTICS)
def test_the_statistic_of_the_table(name: str, price: Any) -> None:
    made, found = told(name, simulated.UNIFORM, price)
    true = simulated.STATISTICS[name].of_table(drawn(simulated.UNIFORM))
    which = 1 if name == "histogram" else 0
    verdicts = [
        right(holds(columns(made.query, claiming(found, factor), Wanted())[which], true))
        for factor in (0.6, 4)
    ]
    assert right(holds(columns(made.query, found, Wanted())[which], true))
    assert verdicts == [False, False]


@pytest.mark.parametrize("population", [simulated.UNIFORM, simulated.NORMAL], ids=lambda p: p.name)
@pytest.mark.parametrize("name", ["mean", "variance", "std", "covariance", "correlation", "median"])
def test_the_statistic_of_the_population(name: str, population: simulated.Population) -> None:
    made, found = told(name, population, dp.ZCDP(50.0))
    of_population = simulated.STATISTICS[name].of_population
    assert of_population is not None
    true = np.full(TABLES, of_population(population))
    assert right(holds(columns(made.query, found, Wanted(sampling=True))[0], true))
    assert not right(holds(columns(made.query, found, Wanted())[0], true))


@pytest.mark.parametrize("p", [0.3, 0.01])
@pytest.mark.parametrize("name", ["proportion", "mean (0/1)", "mean"])
def test_shares(p: float, name: str) -> None:
    """Rare ones, too; Wald's interval, which once was here, does not hold."""
    population = simulated.bernoulli(p)
    made, found = told(name, population, dp.ZCDP(50.0))
    (column,) = columns(made.query, found, Wanted(sampling=True))
    assert right(holds(column, np.full(TABLES, p)))
    share = np.clip(column.estimate, 0.0, 1.0)
    away = 1.96 * np.sqrt(share * (1 - share) / ROWS)
    wald = replace(column, low=share - away, high=share + away)
    assert right(holds(wald, np.full(TABLES, p))) is (p == 0.3)


def test_what_is_simulated_is_what_an_engine_computes() -> None:
    """Certain: the integers are the same, of every measure."""
    data = simulated.ASIDE.draw(np.random.default_rng(3), 3, 40)
    frame = pd.DataFrame({name: column.ravel() for name, column in data.items()})
    frame.insert(0, "g", np.repeat(np.arange(3), 40))
    source = Source.open(frame, schema=dp.Schema(nulls="never"))
    asked = {f"a{k}": s.asked for k, s in enumerate(simulated.STATISTICS.values())}
    query = source.table().group_by("g", keys=[0, 1, 2]).agg(**asked)
    found = engine.evaluate(source, query, dp.Unit.rows())
    made = simulated.planned(3, dp.ZCDP(1.0), asked)
    for ours, theirs in zip(made.query.measures, query.measures, strict=True):
        assert replace(ours, given=()) == replace(theirs, given=())
        simulation = simulated.exact(made, data)[ours]
        assert np.array_equal(simulation.astype(object), found[theirs].astype(object)), ours


@pytest.mark.parametrize("price", PRICES, ids=repr)
def test_all_at_once(price: Any) -> None:
    """300 releases of 16 intervals at joint confidence 0.8: seven deviations below are allowed, less than 1e-9."""
    rng = np.random.default_rng(17)
    frame = pd.DataFrame({"g": np.repeat(np.arange(4), 300), "x": rng.exponential(size=1200)})
    bounds = {"x": {"bounds": (0, 12)}}
    source = Source.open(frame, schema=dp.Schema(bounds, nulls="never"))
    query = (
        source.table()
        .group_by("g", keys=[0, 1, 2, 3])
        .agg(n=dp.count(), m=dp.mean("x"), h=dp.histogram("x", bins=2))
    )
    made = plan(query, dp.Unit.rows(), price)
    table = engine.evaluate(source, query, made.unit)
    true = columns(query, truth(source, made), Wanted())
    held: dict[str, list[bool]] = {"right": [], "boasting": [], "one at a time": []}
    with seeded(31):
        for _ in range(300):
            found = release(made, table)
            ways = {
                "right": columns(query, found, Wanted(0.8, simultaneous=True)),
                "boasting": columns(query, claiming(found, 1 / 3), Wanted(0.8, simultaneous=True)),
                "one at a time": columns(query, found, Wanted(0.8)),
            }
            for way, made_so in ways.items():
                pairs = zip(made_so, true, strict=True)
                held[way].append(all(holds(a, b.estimate).all() for a, b in pairs))
    least = 0.8 - 7 * (0.16 / 300) ** 0.5
    assert sum(len(column.estimate) for column in true) == 16
    assert np.mean(held["right"]) >= least
    assert np.mean(held["boasting"]) < least
    assert np.mean(held["one at a time"]) < least


@pytest.mark.parametrize("n", [-40.0, 0.0, 0.4, 1.0, 3.0, 1e15])
def test_nothing_odd_fails(n: float) -> None:
    """Certain: any noisy numbers give ends in order, within what can be, and no warning."""
    asked = {
        f"a{k}": s.asked for k, (name, s) in enumerate(simulated.STATISTICS.items()) if name != "histogram"
    }
    made = simulated.planned(2, dp.PureDP(1.0), asked)
    data = simulated.UNIFORM.draw(np.random.default_rng(1), 2, 3)
    found = release(made, simulated.exact(made, data))
    rng = np.random.default_rng(2)
    measures = {
        measure: replace(noisy, values=np.array([n, rng.normal() * n * float(measure.high)]))
        for measure, noisy in found.measures.items()
    }
    for sampling in (False, True):
        for column in columns(made.query, replace(found, measures=measures), Wanted(sampling=sampling)):
            ends = np.stack((column.low, column.estimate, column.high))
            assert np.isfinite(ends).all()
            assert np.isfinite(column.error).all()
            if column.name not in ("a0", "a1"):
                assert (np.diff(ends, axis=0) >= -1e-12).all(), column.name
