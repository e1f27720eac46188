"""OPS-PTR as an estimator, alone and under a search for its ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet
from dalenius.learn import CalibratedPosteriorSampleRegression, PrivateSearch
from tests.learn.contract import EXPECTED, NOISE, RANDOM
from tests.learn.models.test_regressors import Bounded, RegressorContract
from tests.noise.seeded import seeded


class TestCalibratedPosteriorSample(Bounded):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(0.1, 1e-6), dp.ApproxDP(8.0, 1e-5))
    fitted = RegressorContract.fitted
    expected = EXPECTED | {
        "check_regressors_int": RANDOM,
        "check_regressors_train": NOISE,
        "check_regressor_data_not_an_array": RANDOM,
    }
    trials = 300

    def build(self, promise: Any, **options: Any) -> CalibratedPosteriorSampleRegression:
        return CalibratedPosteriorSampleRegression(promise, **{"ridge": 1000.0, **options})

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.normal(size=(20_000, 4)) / 4
        y = 50 + 30 * x @ [1, -1, 0.5, 0] + rng.normal(size=len(x))
        with seeded(8):
            model = self.build(dp.ApproxDP(1.0, 1e-5), target_bounds=(0, 100), ridge=150.0).fit(x, y)
        assert model.score(x, y) > 0.9

    def test_other_promises_cannot_be_kept(self) -> None:
        x, y = self.data()
        for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0)):
            with pytest.raises(CannotMeet):
                self.build(promise).fit(x, y)

    def test_too_small_a_ridge_is_refused_and_paid_for(self) -> None:
        x, y = self.data(20)
        model = self.build(dp.ApproxDP(1.0, 1e-5), ridge=0.01).fit(x, y)
        assert model.refused_
        assert not model.coef_.any()
        assert model.loss_ == self.build(dp.ApproxDP(1.0, 1e-5), ridge=0.01).price()


def test_search_for_the_ridge_keeps_its_promise() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20_000, 2)) / 2
    y = x @ [0.8, -0.4]
    promise = dp.ApproxDP(4.0, 1e-5)
    search = PrivateSearch(
        CalibratedPosteriorSampleRegression(dp.ApproxDP(1.0, 1e-6), intercept_scale=0.0),
        [{"ridge": r} for r in (10.0, 100.0, 1000.0)],
        promise,
        validation=(x[:200], y[:200]),
    )
    with seeded(3):
        search.fit(x, y)
    assert promise.holds(search.loss_)
    assert search.best_estimator_.score(x, y) > 0.5
