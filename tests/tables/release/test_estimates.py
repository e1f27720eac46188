"""Intervals cover what they promise, standard errors are those of the noise, quantiles are near the truth.

False alarms: each coverage test counts covered cells among at least 2000 independent ones and allows 6
standard deviations below the nominal rate: less than 1e-8 each under the promised coverage.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.intervals.laws import Noisy, Normal
from dalenius.tables.ask.query import Query
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.measures import tree
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.record import answer_record, read_answer
from dalenius.tables.release.released import Released, asked, release
from dalenius.tables.statistics.ranks import read
from tests.noise.seeded import seeded

GROUPS = 400
PRICES = [dp.ZCDP(0.5), dp.PureDP(1.0), dp.GDP(1.0)]


@pytest.fixture(scope="module")
def source() -> Source:
    rng = np.random.default_rng(11)
    rows = GROUPS * 150
    frame = pd.DataFrame(
        {"g": np.arange(rows) % GROUPS, "x": rng.normal(3, 2, rows), "y": rng.uniform(0, 1, rows)}
    )
    return Source.open(
        frame, schema=dp.Schema({"x": {"bounds": (-5, 10)}, "y": {"bounds": (0, 1)}}, nulls="never")
    )


def question(source: Source, **aggregates: object) -> Query:
    return source.table().group_by("g", keys=list(range(GROUPS))).agg(**aggregates)  # type: ignore[arg-type]


def truth(source: Source, made: Plan) -> Released:
    """The same answer without noise."""
    table = exact.evaluate(source, made.query, made.unit)
    measures = {m: Noisy(table[m].astype(float), Normal(1e-9)) for m in made.query.measures}
    ranks = {}
    for noise in made.noises:
        for levels in asked(made, noise):
            counts = tree.coarser(table[noise.measure])[0].astype(float)
            ranks[noise.measure, levels] = read(counts, noise.measure.size, levels, Normal(1e-9))
    return Released(table.columns, list(table.keys), measures, ranks)


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_cover(source: Source, price: dp.Guarantee, confidence: float) -> None:
    query = question(
        source,
        n=dp.count(),
        total=dp.sum("x"),
        mean=dp.mean("x"),
        part=dp.proportion("y > 0.3"),
        spread=dp.variance("x"),
        deviation=dp.std("y"),
    )
    made = plan(query, dp.Unit.rows(), price)
    table = exact.evaluate(source, query, made.unit)
    true = columns(query, truth(source, made), Wanted(confidence))
    covered: dict[str, list[float]] = {}
    with seeded(5):
        for _ in range(6):
            for told, right in zip(
                columns(query, release(made, table), Wanted(confidence)), true, strict=True
            ):
                inside = (told.low <= right.estimate + 1e-9) & (right.estimate - 1e-9 <= told.high)
                covered.setdefault(told.name, []).append(float(inside.mean()))
    cells = 6 * GROUPS
    for name, shares in covered.items():
        least = confidence - 6 * math.sqrt(confidence * (1 - confidence) / cells)
        assert np.mean(shares) >= least, name


def test_intervals_are_not_idle(source: Source) -> None:
    """An interval that covers everything would pass the test above; this one would not."""
    query = question(source, n=dp.count(), mean=dp.mean("x"))
    made = plan(query, dp.Unit.rows(), dp.ZCDP(0.5))
    table = exact.evaluate(source, query, made.unit)
    true = columns(query, truth(source, made), Wanted())
    with seeded(6):
        told = columns(query, release(made, table), Wanted(0.8))
    for column, right in zip(told, true, strict=True):
        inside = (column.low <= right.estimate) & (right.estimate <= column.high)
        assert inside.mean() < 0.9


def test_standard_errors_are_those_of_the_noise(source: Source) -> None:
    query = question(source, n=dp.count(), total=dp.sum("x"), mean=dp.mean("x"), spread=dp.variance("x"))
    made = plan(query, dp.Unit.rows(), dp.GDP(2.0))
    table = exact.evaluate(source, query, made.unit)
    true = columns(query, truth(source, made), Wanted())
    with seeded(7):
        told = columns(query, release(made, table), Wanted())
    for column, right in zip(told, true, strict=True):
        away = (column.estimate - right.estimate) / column.error
        # 400 squares of about standard normal numbers: the mean is within 0.35 of 1 but for 1e-6.
        assert abs(float(np.mean(away**2)) - 1) < 0.35, column.name


def test_simultaneous_intervals_are_wider_and_hold_together(source: Source) -> None:
    query = question(source, n=dp.count())
    made = plan(query, dp.Unit.rows(), dp.ZCDP(0.1))
    with seeded(8):
        noisy = release(made, exact.evaluate(source, query, made.unit))
    (each,) = columns(query, noisy, Wanted(0.95))
    (together,) = columns(query, noisy, Wanted(0.95, simultaneous=True))
    assert (together.high - together.low > each.high - each.low).all()
    assert (np.abs(together.high - 150) < 200).all()


def test_quantiles_and_their_intervals(source: Source) -> None:
    query = source.table().agg(q=dp.quantiles("x", [0.1, 0.5, 0.9]))
    made = plan(query, dp.Unit.rows(), dp.ZCDP(0.1))
    table = exact.evaluate(source, query, made.unit)
    right = [column.estimate[0] for column in columns(query, truth(source, made), Wanted())]
    covered = []
    with seeded(9):
        for _ in range(200):
            told = columns(query, release(made, table), Wanted(0.9))
            covered += [column.low[0] <= x <= column.high[0] for column, x in zip(told, right, strict=True)]
            assert all(abs(column.estimate[0] - x) < 0.2 for column, x in zip(told, right, strict=True))
    assert np.mean(covered) >= 0.9 - 6 * math.sqrt(0.09 / 200)


def test_what_is_written_is_what_is_read(source: Source) -> None:
    query = question(source, n=dp.count(), q=dp.median("x", bins=64), h=dp.histogram("y", bins=3))
    made = plan(query, dp.Unit.rows(), dp.ZCDP(0.5))
    kept = release(made, exact.evaluate(source, query, made.unit))
    query, again = read_answer(answer_record(query, kept), query)
    for a, b in zip(columns(query, kept, Wanted()), columns(query, again, Wanted()), strict=True):
        assert a.name == b.name
        assert np.array_equal(a.estimate, b.estimate)
        assert np.array_equal(a.low, b.low)


def test_the_price_is_kept() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "g": [0, 1]})
    source = Source.open(frame, schema=dp.Schema({"x": {"bounds": (0, 5)}}, nulls="never"))
    query = (
        source.table()
        .group_by("g", keys=[0, 1])
        .agg(n=dp.count(), s=dp.sum("x"), v=dp.variance("x"), q=dp.median("x"))
    )
    for unit in (dp.Unit.rows(), dp.Unit("g", max_rows=3)):
        if unit.column == "g":
            query = source.table().agg(n=dp.count(), s=dp.sum("x"))
        assert plan(query, unit, dp.ZCDP(0.3)).loss.zcdp() <= 0.3
        assert plan(query, unit, dp.GDP(0.7)).loss.gdp() <= 0.7
        assert plan(query, unit, dp.PureDP(0.9)).loss.epsilon(0.0) <= 0.9
        assert plan(query, unit, dp.ZCDP(0.3)).loss.zcdp() > 0.2999


def test_noise_hides_one_row() -> None:
    """The audit cannot tell a table from its neighbour beyond the price (failure below 1e-9)."""
    one = pd.DataFrame({"x": [5.0] * 20})
    other = pd.DataFrame({"x": [5.0] * 19})
    schema = dp.Schema({"x": {"bounds": (0, 5)}}, nulls="never")
    sources = {len(frame): Source.open(frame, schema=schema) for frame in (one, other)}
    query = sources[20].table().agg(s=dp.sum("x"))
    made = plan(query, dp.Unit.rows(), dp.PureDP(1.0))
    tables = {size: exact.evaluate(source, query, made.unit) for size, source in sources.items()}

    def run(size: int) -> float:
        return float(next(iter(release(made, tables[size]).measures.values())).values[0])

    with seeded(3):
        found = dp.audit.lower_bound(run, pair=(20, 19), trials=4000, confidence=1 - 1e-9)
    assert found.epsilon <= 1.0
