"""Bounds found privately."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn.methods import noisy_bounds
from dalenius.learn.methods.noisy_bounds import bin_edges, counts
from dalenius.tables.measures.bins import Bins
from tests.learn.scaled_contract import DIFFERENT, EXPECTED, NASTY, ScaledContract
from tests.noise.seeded import seeded


class TestPrivateBounds(ScaledContract):
    module = noisy_bounds
    released = ("lower_", "upper_")
    expected: ClassVar = {**EXPECTED, **DIFFERENT}
    by_chance: ClassVar = set(DIFFERENT)

    def build(self, promise: Any, **options: Any) -> Any:
        return dp.learn.PrivateBounds(promise, **options)

    def fit_worst(self, model: Any, rows: int, columns: int) -> None:
        model.fit_counts([np.array([rows])] * columns)  # of one bin that they are in

    def numbers(self, columns: int) -> int:
        return columns


def test_what_is_found() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack(
        (
            rng.uniform(600, 4000, 20_000),
            rng.uniform(-4000, -600, 20_000),
            rng.uniform(-0.9, 0.9, 20_000),
            rng.uniform(1980, 2020, 20_000),
            np.zeros(20_000),
            np.abs(rng.normal(size=20_000)) * (rng.uniform(size=20_000) < 0.5),
        )
    )
    x[:20, 0] = np.inf  # a share of the values that is below what the bounds leave out
    with seeded(1):
        found = dp.learn.PrivateBounds(
            dp.ZCDP(0.05), within=[None, None, None, (1900, 2100), None, None]
        ).fit(x)
    assert found.ends_[:3] == [(512.0, 4096.0), (-4096.0, -512.0), (-1.0, 1.0)]
    assert found.ends_[3] == (1975.0, 2025.0)
    assert found.ends_[4] == (-(2.0**-40), 2.0**-40)
    assert found.ends_[5] == (0.0, 4.0)
    most = dp.learn.PrivateBounds(dp.ZCDP(0.05), share=0.6).fit(np.exp2(rng.uniform(0, 8, (20_000, 1))))
    assert most.ends_ == [(2.0, 128.0)]


def test_what_noise_hides() -> None:
    """Ten rows under a strong promise: what is public, or (-1, 1)."""
    rows = np.full((10, 2), 1234.5)
    hidden = dp.learn.PrivateBounds(dp.ZCDP(0.001), within=[(0, 1e6), None])
    with seeded(3):
        assert hidden.fit(rows).ends_ == [(0.0, 1e6), (-1.0, 1.0)]
    loud = dp.learn.PrivateBounds(dp.ZCDP(10.0), within=[(0, 1e6), None])
    with seeded(3):
        assert loud.fit(rows).ends_ == [(1024.0, 2048.0), (1024.0, 2048.0)]


def test_empty_bins_are_rarely_taken_for_full_ones() -> None:
    model = dp.learn.PrivateBounds(dp.GDP(0.5))
    with seeded(4):
        found = [model.fit(np.empty((0, 5))).ends_ != [(-1.0, 1.0)] * 5 for _ in range(200)]
    assert sum(found) == 0


@pytest.mark.parametrize(
    "within",
    [
        None,
        (0, 1e6),
        (1900, 2100),
        (-1.0, 1.0),
        (-1e100, 1e100),
        (0.0, 1e-90),
        (1e15, 1e15 + 1e7),
        (-3.3, 7.7),
    ],
)
def test_edges_can_all_be_bounds(within: Any) -> None:
    edges = bin_edges(within)
    assert len(edges) <= 257  # what the engines take
    for low, high in itertools.pairwise(edges):
        assert high - low >= 1e-11 * max(abs(low), abs(high)) > 0 or low == 0 or high == 0
        assert high > low
    assert within is None or (edges[0], edges[-1]) == within


def test_values_are_counted_as_the_engines_count_them() -> None:
    values = np.array([v for v in NASTY if not np.isnan(v)] + [2.0, np.nextafter(2.0, 0), -2.0, 1962.5])
    for within in (None, (1900.0, 2100.0)):
        edges = bin_edges(within)
        bins = Bins("x", edges[0], 0.0, len(edges) - 1, edges, "drop", True, False)
        for value in values:
            counted = counts(np.array([value, np.nan]), edges)
            assert counted.sum() == counted[bins.bin(value)] == 1


@pytest.mark.parametrize(
    "options",
    [
        {"share": 0.4},
        {"share": 1.0},
        {"share": "most"},
        {"within": (1, 0)},
        {"within": (0, 1e101)},
        {"within": (0, 1e-91)},
        {"within": (1e15, 1e15 + 1)},
        {"within": [(0, 1)]},
        {"within": [(0, 1), (0, 1), None]},
        {"within": "0"},
        {"within": []},
        {"within": (0, np.nan)},
    ],
    ids=str,
)
def test_parameters_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        dp.learn.PrivateBounds(dp.GDP(1.0), **options).fit(np.zeros((3, 2)))
