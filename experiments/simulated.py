"""Releases of made-up tables without an engine: the integers an engine would sum, for thousands of tables at once.

Every group of a question is one table of `rows` rows. The plan, the noise and the estimates are those of a session;
only the exact integers are computed here, with numpy (`tests/tables/test_coverage.py` compares them with an engine's).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import dalenius as dp
from dalenius.tables import Field, Schema, Table
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.exact import ExactTable
from dalenius.tables.gridding import Value
from dalenius.tables.measures import Measure
from dalenius.tables.plan import Plan, plan

Reals = np.ndarray[Any, Any]

COLUMNS = {"x": "number", "y": "number", "b": "integer"}


@dataclass(frozen=True)
class Population:
    """Where x is drawn from; y is 0.6 x + 0.4 times another draw, b is 1 where x is above `cut`."""

    name: str
    law: Any
    judged: bool = True
    cut: float = 0.5

    def draw(self, rng: np.random.Generator, tables: int, rows: int) -> dict[str, Reals]:
        x, z = (self.law.rvs((tables, rows), random_state=rng) for _ in range(2))
        return {"x": x, "y": 0.6 * x + 0.4 * z, "b": (x > self.cut).astype(int)}


def bernoulli(p: float) -> Population:
    return Population(f"Bernoulli {p:g}", stats.bernoulli(p))


UNIFORM = Population("uniform", stats.uniform(0, 1))
NORMAL = Population("truncated normal", stats.truncnorm(-2.5, 2.5, 0.5, 0.2))
ASIDE = Population("truncated normal, aside", stats.truncnorm(-0.5, 3.5, 0.125, 0.25))
SKEWED = Population("exponential, cut off", stats.truncexpon(10, scale=0.1), judged=False)
LONG = Population("Beta(0.5, 6)", stats.beta(0.5, 6), judged=False)


def planned(tables: int, price: Any, asked: Mapping[str, Aggregate]) -> Plan:
    fields = [Field("g", "int64", "integer", False)]
    fields += [
        Field(name, "int64" if kind == "integer" else "float64", kind, False)
        for name, kind in COLUMNS.items()
    ]
    table = Table("made up", tuple(fields), Schema(nulls="never"))
    return plan(table.group_by("g", keys=list(range(tables))).agg(**asked), dp.Unit.rows(), price)


def exact(made: Plan, data: Mapping[str, Reals]) -> ExactTable:
    """The integers of every table."""
    tables, _ = data["x"].shape
    keys = [(k,) for k in range(tables)]
    return ExactTable(("g",), keys, {measure: _integers(measure, data) for measure in made.query.measures})


def _integers(measure: Measure, data: Mapping[str, Reals]) -> Reals:
    rows = data["x"].shape[1]
    if measure.kind == "count":
        return np.full(len(data["x"]), rows)
    if measure.kind == "sum":
        (value,) = measure.values
        return _total(units(value, data)) + (value.centre - measure.origin) * rows
    if measure.kind == "product":
        first, second = (units(value, data) for value in measure.values)
        return _total(first * second)  # at most 2^58
    assert measure.bins is not None
    edges = np.array(measure.bins.edges)
    places = np.searchsorted(edges[1:-1], _column(measure.bins.text, data), side="right")
    found = np.zeros((len(places), measure.size), dtype=np.int64)
    for row, place in zip(found, places, strict=True):
        row += np.bincount(place, minlength=measure.size)
    return found


def units(value: Value, data: Mapping[str, Reals]) -> Reals:
    """What `Value.unit` gives, for arrays."""
    x = np.clip(_column(value.text, data), value.lower, value.upper)
    if value.exact:
        return np.rint(x * float(1 / value.granularity)).astype(np.int64) - value.centre
    magic, scale = value._constants
    return (((x + magic) - magic) * scale).astype(np.int64) - value.centre


def _total(numbers: Reals) -> Reals:
    """Row sums of any size: in halves of 32 bits."""
    high, low = numbers >> 32, numbers & (2**32 - 1)
    return high.sum(axis=1).astype(object) * 2**32 + low.sum(axis=1).astype(object)


def _column(text: str, data: Mapping[str, Reals]) -> Reals:
    names = [name for name in data if f'"{name}"' in text]
    assert len(names) == 1, text
    return data[names[0]]


@dataclass(frozen=True)
class Statistic:
    """An aggregate, what it is of a table, and of a population."""

    asked: Aggregate
    of_table: Callable[[Mapping[str, Reals]], Reals]
    of_population: Callable[[Population], float] | None = None
    everything: float = np.inf
    """How wide the whole range is."""


def _deviations(a: Reals, b: Reals) -> Reals:
    found = (a - a.mean(axis=1, keepdims=True)) * (b - b.mean(axis=1, keepdims=True))
    return np.asarray(found.sum(axis=1) / (a.shape[1] - 1))


def _correlation(data: Mapping[str, Reals]) -> Reals:
    x, y = data["x"], data["y"]
    spread = np.sqrt(_deviations(x, x) * _deviations(y, y))
    return np.where(spread > 0, _deviations(x, y) / np.where(spread > 0, spread, 1.0), 0.0)


def _quantile(level: float) -> Statistic:
    return Statistic(
        dp.quantile("x", level, (0, 1)),
        lambda data: np.quantile(data["x"], level, axis=1, method="inverted_cdf"),
        lambda population: float(population.law.ppf(level)),
        1.0,
    )


UNIT = (0.0, 1.0)
STATISTICS: dict[str, Statistic] = {
    "count": Statistic(dp.count(), lambda data: np.full(len(data["x"]), data["x"].shape[1])),
    "sum": Statistic(dp.sum("x", UNIT), lambda data: data["x"].sum(axis=1)),
    "histogram": Statistic(
        dp.histogram("x", 5, UNIT), lambda data: ((data["x"] >= 0.2) & (data["x"] < 0.4)).sum(axis=1)
    ),
    "mean": Statistic(
        dp.mean("x", UNIT), lambda data: data["x"].mean(axis=1), lambda p: float(p.law.mean()), 1.0
    ),
    "proportion": Statistic(
        dp.proportion("b = 1"),
        lambda data: data["b"].mean(axis=1),
        lambda p: float(p.law.sf(p.cut)),
        1.0,
    ),
    "mean (0/1)": Statistic(
        dp.mean("b", UNIT), lambda data: data["b"].mean(axis=1), lambda p: float(p.law.sf(p.cut)), 1.0
    ),
    "variance (0/1)": Statistic(
        dp.variance("b", UNIT),
        lambda data: _deviations(data["b"], data["b"]),
        lambda p: float(p.law.sf(p.cut) * p.law.cdf(p.cut)),
        0.5,
    ),
    "variance": Statistic(
        dp.variance("x", UNIT),
        lambda data: _deviations(data["x"], data["x"]),
        lambda p: float(p.law.var()),
        0.5,
    ),
    "std": Statistic(
        dp.std("x", UNIT),
        lambda data: np.sqrt(_deviations(data["x"], data["x"])),
        lambda p: float(p.law.std()),
        0.5**0.5,
    ),
    "covariance": Statistic(
        dp.covariance("x", "y", UNIT, UNIT),
        lambda data: _deviations(data["x"], data["y"]),
        lambda p: 0.6 * float(p.law.var()),
        1.0,
    ),
    "correlation": Statistic(
        dp.correlation("x", "y", UNIT, UNIT), _correlation, lambda p: 0.6 / 0.52**0.5, 2.0
    ),
}
QUANTILES = {"quantile 0.1": 0.1, "median": 0.5, "quantile 0.75": 0.75}
STATISTICS |= {name: _quantile(level) for name, level in QUANTILES.items()}
