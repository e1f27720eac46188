"""Releases of made-up tables without an engine: the integers an engine would sum, for thousands of tables at once.

Every group of a question is one table of `rows` rows. The plan, the noise and the estimates are those of a session;
only the exact integers are computed here, with numpy (`tests/tables/release/test_coverage.py` compares them with those
of an engine).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import dalenius as dp
from dalenius.tables import Field, Schema, Table
from dalenius.tables.aggregates import Aggregate
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.measures import tree
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import Measure
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.released import Released
from dalenius.tables.release.released import asked as wanted
from dalenius.tables.statistics.ranks import read

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


class CutOff:
    """A normal law cut off at 0 and 1, drawn by rejection: scipy's own draws take twenty times as long."""

    def __init__(self, mean: float, deviation: float) -> None:
        self._whole = mean, deviation
        self._law = stats.truncnorm(-mean / deviation, (1 - mean) / deviation, mean, deviation)

    def rvs(self, shape: tuple[int, ...], random_state: np.random.Generator) -> Reals:
        found = random_state.normal(*self._whole, shape)
        while (outside := (found < 0) | (found > 1)).any():
            found[outside] = random_state.normal(*self._whole, int(outside.sum()))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._law, name)


UNIFORM = Population("uniform", stats.uniform(0, 1))
NORMAL = Population("truncated normal", CutOff(0.5, 0.2))
ASIDE = Population("truncated normal, aside", CutOff(0.125, 0.25))
SKEWED = Population("exponential, cut off", stats.truncexpon(10, scale=0.1), judged=False)
LONG = Population("Beta(0.5, 6)", stats.beta(0.5, 6), judged=False)


class Points:
    """A few values, each with a probability."""

    def __init__(self, values: Sequence[float], chances: Sequence[float]) -> None:
        self._values, self._chances = np.array(values), np.array(chances)

    def rvs(self, shape: tuple[int, ...], random_state: np.random.Generator) -> Reals:
        return np.asarray(random_state.choice(self._values, size=shape, p=self._chances))

    def mean(self) -> float:
        return float(self._values @ self._chances)

    def var(self) -> float:
        return float((self._values - self.mean()) ** 2 @ self._chances)


OTHERS = tuple(
    Population(name, law, judged=False)
    for name, law in (
        ("Beta(2, 5)", stats.beta(2, 5)),
        ("triangular, peak 0.3", stats.triang(0.3)),
        ("Beta(0.5, 0.5)", stats.beta(0.5, 0.5)),
        ("normal 0.4, deviation 0.05", CutOff(0.4, 0.05)),
        ("0, 0.3 or 1", Points((0.0, 0.3, 1.0), (0.6, 0.3, 0.1))),
        ("0, 0.5 or 1", Points((0.0, 0.5, 1.0), (0.25, 0.5, 0.25))),
        ("Bernoulli 0.3", stats.bernoulli(0.3)),
        ("Bernoulli 0.95", stats.bernoulli(0.95)),
    )
)
"""Populations that are not judged; they were looked at while the method was made."""


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
    places += measure.size * np.arange(len(places))[:, None]
    found = np.bincount(places.ravel(), minlength=measure.size * len(places))
    return found.reshape(len(places), measure.size)


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


class Errors:
    """The noise of the bins of quantiles: drawn once, and added to as many tables as one likes.

    Least squares is linear: what it makes of counts and noise is the counts plus what it makes of the noise.
    """

    def __init__(self, made: Plan) -> None:
        (self._noise,) = made.noises
        tables = len(made.query.keys or ())
        nothing = tree.coarser(np.zeros((tables, self._noise.measure.size), dtype=np.int64))
        self._errors = tree.consistent([self._noise.release(part) for part in nothing])

    def added(self, made: Plan, exact: ExactTable) -> Released:
        """What `release` makes of these tables with this noise."""
        noise = self._noise
        counts = self._errors.copy()
        counts[:, : noise.measure.size] += exact[noise.measure]
        ranks = {
            (noise.measure, levels): read(counts, noise.measure.size, levels, noise.law.smooth)
            for levels in wanted(made, noise)
        }
        return Released(exact.columns, list(exact.keys), {}, ranks)


@dataclass(frozen=True)
class Statistic:
    """An aggregate, what it is of a table, and of a population."""

    asked: Aggregate
    of_table: Callable[[Mapping[str, Reals]], Reals]
    of_population: Callable[[Population], float] | None = None
    everything: float = np.inf
    """How wide the whole range is, of a table; of a population where it is less (n / (n - 1) comes in with tables)."""
    of_populations: float | None = None

    @property
    def of_any_population(self) -> float:
        return self.everything if self.of_populations is None else self.of_populations


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
        0.25,
    ),
    "variance": Statistic(
        dp.variance("x", UNIT),
        lambda data: _deviations(data["x"], data["x"]),
        lambda p: float(p.law.var()),
        0.5,
        0.25,
    ),
    "std": Statistic(
        dp.std("x", UNIT),
        lambda data: np.sqrt(_deviations(data["x"], data["x"])),
        lambda p: float(p.law.std()),
        0.5**0.5,
        0.5,
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
