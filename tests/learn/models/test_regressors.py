"""Private regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import HuberRegression, LinearRegression, PoissonRegression
from dalenius.learn.data.rows import records
from dalenius.learn.methods.noisy_statistics import NoisyStatistics
from tests.learn.contract import EXPECTED, NOISE, RANDOM, EstimatorContract
from tests.noise.seeded import seeded


class RegressorContract(EstimatorContract):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(0.1, 1e-6), dp.ZCDP(0.1), dp.GDP(0.5))
    expected = EXPECTED | {
        "check_regressors_int": RANDOM,
        "check_regressors_train": NOISE,
        "check_regressor_data_not_an_array": RANDOM,
    }
    by_chance = EstimatorContract.by_chance | {"check_regressors_train"}

    def target(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(x[:, 0] + rng.normal(size=len(x)) / 4, -1, 1)

    def worst_pair(self) -> Any:
        return (np.array([[1.0]]), np.array([1.0])), (np.empty((0, 1)), np.empty(0))

    def worst_options(self) -> dict[str, Any]:
        return {"intercept_scale": 0.0}

    def test_targets_that_are_not_numbers_count_as_absent(self) -> None:
        x, y = self.data()
        model = self.build(self.promises[0])
        odd = np.append(y.astype(object), [None, "many", np.nan])
        with seeded(5):
            there = self.released(model.fit(np.vstack([x, x[:3]]), odd))
        with seeded(5):
            absent = self.released(model.fit(x, y))
        np.testing.assert_allclose(there, absent, atol=1e-6)


class Bounded(RegressorContract):
    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.normal(size=(20_000, 4)) / 4
        y = 50 + 30 * x @ [1, -1, 0.5, 0] + rng.normal(size=len(x))
        with seeded(8):
            model = self.build(dp.ApproxDP(1.0, 1e-5), target_bounds=(0, 100)).fit(x, y)
        assert model.score(x, y) > 0.9

    @pytest.mark.parametrize("bad", [(1, 0), (0, np.nan), 3, (0, 1, 2), ("a", "b"), (0, 0)])
    def test_bounds_are_checked(self, bad: Any) -> None:
        x, y = self.data()
        with pytest.raises(InvalidParameter, match="target_bounds"):
            self.build(self.promises[0], target_bounds=bad).fit(x, y)

    def test_targets_beyond_the_bounds_are_clipped(self) -> None:
        x, y = self.data()
        model = self.build(self.promises[0])
        with seeded(5):
            beyond = self.released(model.fit(x, np.where(y > 0.5, 1e300, y)))
        with seeded(5):
            at = self.released(model.fit(x, np.where(y > 0.5, 1.0, y)))
        np.testing.assert_array_equal(beyond, at)


class TestHuberRegression(Bounded):
    def build(self, promise: Any, **options: Any) -> HuberRegression:
        return HuberRegression(promise, **options)


class TestLinearRegression(Bounded):
    def build(self, promise: Any, **options: Any) -> LinearRegression:
        return LinearRegression(promise, **options)

    def test_statistics_are_exact_sums(self) -> None:
        """With and without a record the exact sums differ by that record's products, wherever it stands."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(40_000, 3)), rng.uniform(-1, 1, 40_000)
        plan = NoisyStatistics(1.0, 1.0)

        def sums(keep: Any) -> Any:
            held = []
            data = records(x[keep], y[keep], np.ones(len(y[keep]), dtype=bool), 1.0, "clip")
            gram, product = plan.gram(3), plan.product(3)
            object.__setattr__(gram, "release", lambda v: held.append(v) or np.zeros((3, 3)))
            object.__setattr__(product, "release", lambda v: held.append(v) or np.zeros(3))
            fake = NoisyStatistics(1.0, 1.0)
            object.__setattr__(fake, "gram", lambda size: gram)
            object.__setattr__(fake, "product", lambda size: product)
            fake.release(data)
            return held

        everyone = sums(slice(None))
        order = rng.permutation(len(y))
        shuffled = sums(order)
        assert (everyone[0] == shuffled[0]).all()
        assert (everyone[1] == shuffled[1]).all()
        without = sums(slice(1, None))
        moved = np.sqrt(float(((everyone[0] - without[0]) ** 2).sum()))
        assert 0 < moved <= plan.gram(3).sensitivity

    def test_share_is_checked(self) -> None:
        x, y = self.data()
        with pytest.raises(InvalidParameter, match="share"):
            self.build(self.promises[0], share=1.0).fit(x, y)


class TestPoissonRegression(RegressorContract):
    expected = EXPECTED | {
        "check_regressors_int": RANDOM,
        "check_regressors_train": NOISE,
        "check_regressor_data_not_an_array": RANDOM,
    }

    def build(self, promise: Any, **options: Any) -> PoissonRegression:
        return PoissonRegression(promise, **options)

    def target(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(np.exp(x[:, 0])).astype(float)

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.uniform(-1, 1, size=(30_000, 2)) / 1.5
        y = rng.poisson(np.exp(0.5 + x @ [1, -1]))
        with seeded(8):
            model = self.build(dp.ApproxDP(2.0, 1e-5)).fit(x, y)
        assert abs(model.coef_ - [1, -1]).max() < 0.2
        assert abs(model.intercept_ - 0.5) < 0.2

    def test_negative_counts_count_as_absent(self) -> None:
        x, y = self.data()
        model = self.build(self.promises[0])
        with seeded(5):
            there = self.released(model.fit(np.vstack([x, x[:1]]), np.append(y, -3)))
        with seeded(5):
            absent = self.released(model.fit(x, y))
        np.testing.assert_allclose(there, absent, atol=1e-6)
