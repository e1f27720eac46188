"""Intervals cover, by simulation: all at once, of a population, of second moments and of histograms.

False alarms: a share of N covered is allowed seven standard deviations below what is promised, less than 1e-9 each for
these N, and noise and data are seeded: a test fails always or never. Every test is repeated with standard errors that
claim less noise than there is, and must then fail.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.noise.seeded import seeded
from dalenius.tables import exact
from dalenius.tables.estimates import Wanted, columns
from dalenius.tables.plan import Plan, plan
from dalenius.tables.released import Released, release
from dalenius.tables.source import Source
from tests.tables.test_estimates import truth

PRICES = [dp.ZCDP(2.0), dp.PureDP(2.0)]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


def enough(covered: Any, promised: float) -> bool:
    """Whether the share of those covered is what was promised, or seven standard deviations below it at worst."""
    share, number = float(np.mean(covered)), np.size(covered)
    return share >= promised - 7 * math.sqrt(promised * (1 - promised) / number)


def boasting(released: Released, factor: float) -> Released:
    """The same numbers with standard errors that much too small."""
    measures = {m: replace(noisy, sigma=noisy.sigma / factor) for m, noisy in released.measures.items()}
    return replace(released, measures=measures)


@cache
def groups(number: int, rows: int) -> Source:
    """So many samples of a population: x is exponential with mean 1, y leans on it, z is 1 with probability 0.3."""
    rng = np.random.default_rng(17)
    x = rng.exponential(size=number * rows)
    y = 0.6 * x + rng.uniform(0, 2, number * rows)
    z = rng.uniform(size=number * rows) < 0.3
    frame = pd.DataFrame({"g": np.repeat(np.arange(number), rows), "x": x, "y": y, "z": z.astype(int)})
    bounds = {"x": {"bounds": (0, 12)}, "y": {"bounds": (0, 9)}}
    return Source.open(frame, schema=dp.Schema(bounds, nulls="never"))


def planned(source: Source, number: int, price: Any, **asked: Any) -> tuple[Plan, Any]:
    query = source.table().group_by("g", keys=list(range(number))).agg(**asked)
    made = plan(query, dp.Unit.rows(), price)
    return made, exact.evaluate(source, query, made.unit)


@pytest.mark.parametrize("price", PRICES, ids=repr)
def test_all_at_once(price: Any) -> None:
    """300 releases of 16 intervals at joint confidence 0.8; one at a time they all hold far less often."""
    source = groups(4, 300)
    made, table = planned(source, 4, price, n=dp.count(), m=dp.mean("x"), h=dp.histogram("y", bins=2))
    query, true = made.query, columns(made.query, truth(source, made), Wanted())
    held: dict[str, list[bool]] = {"right": [], "boasting": [], "one at a time": []}
    with seeded(31):
        for _ in range(300):
            told = release(made, table)
            ways = {
                "right": columns(query, told, Wanted(0.8, simultaneous=True)),
                "boasting": columns(query, boasting(told, 3), Wanted(0.8, simultaneous=True)),
                "one at a time": columns(query, told, Wanted(0.8)),
            }
            for way, found in ways.items():
                inside = [
                    ((a.low <= b.estimate + 1e-9) & (b.estimate - 1e-9 <= a.high)).all()
                    for a, b in zip(found, true, strict=True)
                ]
                held[way].append(all(inside))
    assert sum(len(column.estimate) for column in true) == 16
    assert enough(held["right"], 0.8)
    assert not enough(held["boasting"], 0.8)
    assert not enough(held["one at a time"], 0.8)


@pytest.mark.parametrize("price", PRICES, ids=repr)
def test_a_population(price: Any) -> None:
    """500 samples of 200: `sampling` covers the population's mean and share, the noise's own intervals do not.

    The intervals are normal ones, and a share of 200 draws is not quite normal: 0.02 is allowed for that on top.
    """
    source = groups(500, 200)
    made, table = planned(source, 500, price, m=dp.mean("x", bounds=(0, 12)), p=dp.proportion("z = 1"))
    with seeded(32):
        told = release(made, table)
    for population, wanted, released, right in (
        ((1.0, 0.3), Wanted(0.95, sampling=True), told, True),
        ((1.0, 0.3), Wanted(0.95), boasting(told, 10), False),
        # Not a mean that the population does not have.
        ((3.0, 0.6), Wanted(0.95, sampling=True), told, False),
    ):
        for column, value in zip(columns(made.query, released, wanted), population, strict=True):
            inside = (column.low <= value) & (value <= column.high)
            assert enough(inside, 0.95 - 0.02) is right, column.name


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_second_moments_and_histograms(price: Any, confidence: float) -> None:
    """300 groups, twice. Intervals of moments are wide on purpose; with a twentieth of the error they fail, too."""
    source = groups(300, 200)
    made, table = planned(
        source,
        300,
        price,
        c=dp.covariance("x", "y"),
        r=dp.correlation("x", "y"),
        h=dp.histogram("y", edges=[0, 1, 2, 9]),
    )
    query, true = made.query, columns(made.query, truth(source, made), Wanted())
    covered: dict[tuple[str, bool], list[Any]] = {}
    with seeded(33):
        for _ in range(2):
            told = release(made, table)
            for right, released in ((True, told), (False, boasting(told, 20))):
                for a, b in zip(columns(query, released, Wanted(confidence)), true, strict=True):
                    inside = (a.low <= b.estimate + 1e-9) & (b.estimate - 1e-9 <= a.high)
                    covered.setdefault((a.name, right), []).extend(inside)
    assert len(covered) == 10
    for (name, right), inside in covered.items():
        assert enough(inside, confidence) is right, (name, np.mean(inside))
