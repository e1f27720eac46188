"""Quantiles are as often too low as too high, intervals hold where there is little to see; few bins, shared bins;
clipped moments have the standard error of the noise.

False alarms: noise is seeded, so a test fails always or never; the allowances are six standard deviations or more of
what the noise does (less than 1e-8 each), but where a test says that it is certain.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.measures import tree
from dalenius.tables.plan.plan import Plan, plan
from dalenius.tables.release.estimates import Column, Wanted, columns
from dalenius.tables.release.record import answer_record, read_answer
from dalenius.tables.release.released import Released, release
from tests.noise.seeded import seeded
from tests.sample import sampled

GROUPS = 300
PRICES = [dp.PureDP(1.0), dp.ZCDP(0.5)]
SHAPES = [(16, 1.0), (16, 2.0), (2**10, 2.0), (2**10, 1.0), (2**14, 1.0), (2**14, 2.0)]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis about its own engines


def released(price: Any, values: dict[str, Any], seed: int, **asked: Any) -> tuple[Plan, Released]:
    """The same values in every group, and the noise of one release."""
    (rows,) = {len(column) for column in values.values()}
    frame = pd.DataFrame({name: np.tile(column, GROUPS) for name, column in values.items()})
    frame["g"] = np.repeat(np.arange(GROUPS), rows)
    source = Source.open(frame, schema=dp.Schema(nulls="never"))
    query = source.table().group_by("g", keys=list(range(GROUPS))).agg(**asked)
    made = plan(query, dp.Unit.rows(), price)
    with seeded(seed):
        return made, release(made, exact.evaluate(source, query, made.unit))


def told(made: Plan, found: Released, confidence: float = 0.95) -> list[Column]:
    return columns(made.query, found, Wanted(confidence))


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize(("bins", "power"), sampled(SHAPES))
def test_neither_too_low_nor_too_high(price: Any, bins: int, power: float) -> None:
    """The mean of 300 estimates is off by less than a third of one standard error, or half a bin."""
    x = 10 * ((np.arange(300) + 0.5) / 300) ** power
    levels = [0.1, 0.5, 0.9]
    made, found = released(price, {"x": x}, 1, q=dp.quantiles("x", levels, (0, 10), bins=bins))
    half = 2.0 ** math.ceil(math.log2(10 / bins)) / 2
    for column, level in zip(told(made, found, 0.8), levels, strict=True):
        true = 10 * level**power
        off = column.estimate - true
        assert abs(off.mean()) <= max(column.error.mean() / 3, half), column.name
        # 300 squares: the root of their mean is within a fifth of what it should be, the error within a quarter.
        assert np.sqrt(np.mean(off**2)) <= max(1.4 * column.error.mean(), half), column.name
        assert np.sqrt(np.mean(off**2)) >= 0.5 * column.error.mean() - 2 * half, column.name
        assert np.mean((column.low <= true) & (true <= column.high)) >= 0.8 - 6 * math.sqrt(0.16 / GROUPS)
        assert ((column.low <= column.estimate) & (column.estimate <= column.high)).all()


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize("place", [0.0, 9.999])
def test_intervals_of_small_groups_hold_at_the_ends(price: Any, place: float) -> None:
    made, found = released(
        price, {"x": [place] * 4}, 2, q=dp.quantiles("x", [0.1, 0.5, 0.9], (0, 10), bins=256)
    )
    for column in told(made, found, 0.8):
        inside = (column.low <= place) & (place <= column.high)
        assert inside.mean() >= 0.8 - 6 * math.sqrt(0.16 / GROUPS), column.name


def test_a_block_that_an_interval_ends_with_is_without_its_end() -> None:
    """Certain: a row at 5 is of the block after it, which is ruled out where so many rows are before 5."""
    made, found = released(dp.ZCDP(0.5), {"x": [4.9] * 20}, 6, q=dp.quantile("x", 0.5, (0, 10), bins=16))
    (column,) = told(made, found)
    assert (column.high != 5.0).all()
    assert (column.high == np.nextafter(5.0, 0.0)).mean() > 0.5
    assert (column.high <= 10.0).all()


@pytest.mark.parametrize("bins", [5, 16, 20, 64, 300])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.99])
def test_ranks_are_as_far_off_as_said(bins: int, level: float) -> None:
    """Sample deviations of 2000 draws are within a tenth of the true ones, but for 1e-9 each."""
    rng, depth = np.random.default_rng(3), tree.levels(bins)
    counts = tree.consistent([rng.normal(size=(2000, tree.FAN ** (depth - k))) for k in range(depth)])
    off = np.cumsum(counts[:, :bins], axis=1) - level * tree.totals(counts, bins)[:, None]
    variance = sum(part for part, _ in tree.variances(bins, level, np.arange(1, bins + 1)))
    ratio = off.std(axis=0) / np.sqrt(variance)
    assert ratio.max() < 1.1
    assert ratio.min() > 0.9


def test_where_isotonic_regression_crosses() -> None:
    """Certain: against the regression itself."""
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng(4)
    prefixes = np.cumsum(rng.normal(0.3, 2, (50, 40)), axis=1)
    ranks = rng.uniform(-3, 15, (50, 3))
    smooth = np.array([isotonic_regression(row).x for row in prefixes])
    right = [np.searchsorted(row, wanted) for row, wanted in zip(smooth, ranks, strict=True)]
    assert np.array_equal(tree.reached(tree.climbing(prefixes), ranks), np.minimum(right, 39))


@pytest.mark.parametrize("price", [dp.PureDP(50.0), dp.ZCDP(50.0)], ids=repr)
def test_few_bins_and_shared_bins(price: Any) -> None:
    """Certain: what is written is read back; medians within a bin, counts within 10, but for 1e-9."""
    x = np.arange(100) % 64 + 0.5
    cases: list[dict[str, Any]] = [
        {"m": dp.median("k", (-3, 3))},
        {"m": dp.median("x", (0, 64), bins=16), "q": dp.quantiles("x", [0.2, 0.8], (0, 64), bins=16)},
        {"h": dp.histogram("x", 8, (0, 64)), "m": dp.median("x", (0, 64), bins=8)},
        {"h": dp.histogram("x", 64, (0, 64)), "m": dp.median("x", (0, 64), bins=64), "n": dp.count()},
    ]
    right = {"k": 0.0, "x": float(np.sort(x)[49])}
    for asked in cases:
        made, found = released(price, {"x": x, "k": np.arange(100) % 7 - 3}, 5, **asked)
        query, read = read_answer(answer_record(made.query, found), made.query)
        here, again = told(made, found), told(replace(made, query=query), read)
        for a, b in zip(here, again, strict=True):
            assert all(
                np.array_equal(getattr(a, k), getattr(b, k)) for k in ("estimate", "error", "low", "high")
            )
        middle = {column.name: column for column in here}["m"]
        bin_width = 64 / asked["m"].bins if asked["m"].column == "x" else 1.0
        assert abs(np.median(middle.estimate) - right[asked["m"].column]) <= bin_width
        if "h" in asked:
            counts = np.array([column.estimate for column in here if column.name.startswith("h")])
            sizes = np.histogram(x, len(counts), (0, 64))[0]
            assert np.abs(counts - sizes[:, None]).max() < 10


def test_bins_of_width_one() -> None:
    """Certain: a bin of whole numbers stands for them, another for its middle."""
    made, _ = released(
        dp.ZCDP(1.0), {"x": [0.5], "k": [3]}, 6, a=dp.median("x", (0, 4), bins=4), b=dp.median("k", (0, 3))
    )
    a, b = (noise.measure.bins for noise in made.noises)
    assert a is not None
    assert b is not None
    assert a.middles == (0.5, 1.5, 2.5, 3.5)
    assert b.middles == (0.0, 1.0, 2.0, 3.0)


@pytest.mark.parametrize("price", [dp.PureDP(2.0), dp.ZCDP(1.0)], ids=repr)
def test_clipped_moments_have_errors(price: Any) -> None:
    """A constant column and one that leans on another: half of the estimates are at the end of what is possible."""
    x = np.linspace(0, 1, 100)
    asked = {
        "r": dp.correlation("x", "y", (0, 1), (0, 1)),
        "c": dp.covariance("x", "y", (0, 1), (0, 1)),
        "v": dp.variance("z", (0, 1)),
        "s": dp.std("z", (0, 1)),
    }
    made, found = released(price, {"x": x, "y": x, "z": np.full(100, 0.5)}, 7, **asked)
    right = {"r": 1.0, "c": float(np.cov(x, x)[0, 1]), "v": 0.0, "s": 0.0}
    for column in told(made, found):
        clipped = column.estimate == right[column.name]
        if column.name != "c":
            assert clipped.mean() > 0.2, column.name
        assert column.error.min() > 0, column.name
        away = np.sqrt(np.mean((column.estimate - right[column.name]) ** 2))
        assert 0.3 * away < np.median(column.error), column.name
        assert away < 1.3 * np.sqrt(np.mean(column.error**2)), column.name


@pytest.mark.parametrize("price", PRICES, ids=repr)
@pytest.mark.parametrize(
    ("values", "bounds"), [([0.11, 0.5, 0.89], (0.1, 0.9)), ([0, 3, 7, 10], (0, 10)), ([-1.0], (-1.3, -0.7))]
)
def test_quantiles_stay_within_the_bounds(price: Any, values: list[Any], bounds: tuple[float, float]) -> None:
    """Certain: the bins are a grid of powers of two, and the outer ones may reach beyond. Bounds are given with the
    question, or in the schema."""
    frame = pd.DataFrame({"x": values * 3})
    given = Source.open(frame, schema=dp.Schema(nulls="never")).table().agg(q=dp.median("x", bounds))
    declared = Source.open(frame, schema=dp.Schema({"x": {"bounds": bounds}}, nulls="never"))
    for source, query in ((declared, given), (declared, declared.table().agg(q=dp.median("x")))):
        made = plan(query, dp.Unit.rows(), price)
        (column,) = told(made, release(made, exact.evaluate(source, query, made.unit)))
        assert bounds[0] <= column.low[0] <= column.estimate[0] <= column.high[0] <= bounds[1]


def test_bounds_of_what_is_not_negative_start_at_zero() -> None:
    """Certain but for 1e-9: 1000 rows stand out of noise of 2."""
    for values, low, high in (([0.0, 3.0], 0.0, 4.0), ([0.0, -3.0], -4.0, 0.0), ([0.0], 0.0, 2.0**-40)):
        frame = pd.DataFrame({"x": np.repeat(values, 1000)})
        source = Source.open(frame, schema=dp.Schema(nulls="never"))
        query = source.table().agg(b=dp.bounds("x"))
        made = plan(query, dp.Unit.rows(), dp.PureDP(1.0))
        lower, upper = told(made, release(made, exact.evaluate(source, query, made.unit)))
        assert (lower.estimate[0], upper.estimate[0]) == (low, high)
