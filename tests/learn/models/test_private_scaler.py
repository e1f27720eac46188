"""Means and standard deviations found privately."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn.methods import noisy_moments
from tests.learn.scaled_contract import DIFFERENT, EXPECTED, NASTY, ScaledContract
from tests.noise.seeded import seeded


class TestPrivateScaler(ScaledContract):
    module = noisy_moments
    released = ("mean_", "scale_")
    expected: ClassVar = {**EXPECTED, **DIFFERENT}
    by_chance: ClassVar = {"check_fit_idempotent"}

    def build(self, promise: Any, **options: Any) -> Any:
        return dp.learn.PrivateScaler(promise, **{"bounds": (-1.0, 1.0), **options})

    def fit_worst(self, model: Any, rows: int, columns: int) -> None:
        model.fit(np.ones((rows, columns)))

    def unit(self) -> float:
        return 2.0**40

    def numbers(self, columns: int) -> int:
        return 1 + 2 * columns


def test_what_is_found() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack((rng.normal(40, 5, 20_000), rng.uniform(-1, 0, 20_000), rng.integers(0, 2, 20_000)))
    with seeded(2):
        found = dp.learn.PrivateScaler(dp.ZCDP(0.05), bounds=[(0, 100), (-1, 1), (0, 1)]).fit(x)
    assert np.allclose(found.mean_, x.mean(axis=0), atol=[0.2, 0.01, 0.005])
    assert np.allclose(found.scale_, x.std(axis=0), rtol=0.05)
    out = found.transform(x) * 3 * np.sqrt(3)
    assert np.allclose(out.mean(axis=0), 0, atol=0.05)
    assert np.allclose(out.std(axis=0), 1, atol=0.07)
    wide = dp.learn.PrivateScaler(dp.ZCDP(0.05), bounds=(0, 100), deviations=0.5).fit(x[:, :1])
    assert wide.transform([[0.0], [100.0]]).tolist() == [[-1.0], [1.0]]


def test_what_noise_hides() -> None:
    """Of no rows nothing is known: the deviation is much of half the bounds, and the mean somewhere between them."""
    for key in range(20):
        with seeded(key):
            found = dp.learn.PrivateScaler(dp.GDP(0.5), bounds=(10, 30)).fit(np.empty((0, 1)))
        assert 4 <= found.scale_[0] <= 10
        assert 10 <= found.mean_[0] <= 30
    constant = dp.learn.PrivateScaler(dp.GDP(0.5), bounds=(0, 1)).fit(np.full((100_000, 1), 0.25))
    assert 2.0**-11 <= constant.scale_[0] < 0.02


def test_sums_are_exact() -> None:
    """Against fractions, for nasty values and more rows than one block has."""
    rng = np.random.default_rng(1)
    rows = rng.choice([v for v in NASTY if not np.isnan(v)], size=(200, 2))
    rows = np.vstack([rows, rng.uniform(-9, 9, size=(200, 2)), [[np.nan, 1.0]]])
    plan = noisy_moments.NoisyMoments(dp.GDP(1.0), ((-3.0, 5.0), (0.0, 2000.0)))
    number, sums, squares = plan._totals([rows[:130], rows[130:]])
    assert number == 400
    for n, (low, high) in enumerate(plan.bounds):
        middle, half = Fraction(low + high) / 2, Fraction(high - low) / 2
        us = [(Fraction(min(max(x, low), high)) - middle) / half for x in rows[:400, n].tolist()]
        assert abs(sums[n] / Fraction(2**20) - sum(us)) <= Fraction(400, 2**21) * (1 + Fraction(1, 10**6))
        steps = [round(u * 2**20) for u in us]
        assert abs(squares[n] - sum(s * s for s in steps)) <= 400 * 2**21
        assert plan._steps(rows[:5])[:, n].tolist() == steps[:5]


def test_a_default_that_fits_what_bounds_hand_on() -> None:
    x = np.random.default_rng(3).uniform(20, 30, size=(50_000, 2))
    scaled = dp.learn.PublicBounds([(0, 100)] * 2).fit().transform(x)
    found = dp.learn.PrivateScaler(dp.GDP(1.0)).fit(scaled)
    assert np.allclose(found.mean_, scaled.mean(axis=0), atol=0.005)
    assert np.allclose(found.scale_, scaled.std(axis=0), rtol=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {"deviations": 0.4},
        {"deviations": 101},
        {"deviations": np.nan},
        {"bounds": (1, 0)},
        {"bounds": (0, 1e101)},
        {"bounds": [(0, 1)]},
        {"bounds": "01"},
        {"bounds": (1e15, 1e15 + 1)},
    ],
    ids=str,
)
def test_parameters_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        dp.learn.PrivateScaler(dp.GDP(1.0), **options).fit(np.zeros((3, 2)))
