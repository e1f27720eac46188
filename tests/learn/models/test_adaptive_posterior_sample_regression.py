"""Linear regression by one sample from its posterior."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dalenius as dp
from dalenius.adaptive.regression.posterior_sample import least_noise, sample_delta
from dalenius.errors import CannotMeet
from dalenius.learn import AdaptivePosteriorSampleRegression
from tests.learn.contract import EXPECTED, NOISE, RANDOM
from tests.learn.models.test_regressors import Bounded, RegressorContract


class TestAdaptivePosteriorSample(Bounded):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(0.1, 1e-6), dp.ApproxDP(8.0, 1e-5))
    fitted = RegressorContract.fitted
    expected = EXPECTED | {
        "check_regressors_int": RANDOM,
        "check_regressors_train": NOISE,
        "check_regressor_data_not_an_array": RANDOM,
    }
    trials = 400

    def build(self, promise: Any, **options: Any) -> AdaptivePosteriorSampleRegression:
        return AdaptivePosteriorSampleRegression(promise, **options)

    def test_other_promises_are_refused(self) -> None:
        x, y = self.data()
        for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0)):
            with pytest.raises(CannotMeet):
                self.build(promise).fit(x, y)


def test_the_chance_of_a_false_bound_is_added_to_the_whole_profile() -> None:
    """Two bounds, each false with probability delta, cost 2 delta at any epsilon near it."""
    for promise in (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(1.0, 0.05)):
        model = AdaptivePosteriorSampleRegression(promise, target_bounds=(0, 1))
        part, epsilon, delta = model._shares()
        hiding = least_noise(dp.ApproxDP(0.01 * epsilon / 0.49, delta)).loss
        otherwise = least_noise(part).loss * 2 + dp.losses.approx(epsilon, delta) + hiding
        for at in (0.6, 1.0):
            assert model.price().delta(at) >= otherwise.delta_bounds(at).lower + 2 * delta
        assert model.price().delta(promise.epsilon) <= promise.delta


def exact(epsilon: float, precision: float, m: float, leverage: float) -> float:
    """Both orders of the true pair N(0, 1), N(nu, 1/(1 + leverage)), by quadrature."""
    z = np.linspace(-40, 40, 400_001)
    p = norm.pdf(z)
    q = norm.pdf(z, -math.sqrt(precision * leverage) * m / (1 + leverage), math.sqrt(1 / (1 + leverage)))
    step = z[1] - z[0]
    grow = math.exp(epsilon)
    return max(np.maximum(p - grow * q, 0).sum(), np.maximum(q - grow * p, 0).sum()) * step


def test_bound_covers_every_smaller_pair() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        epsilon, precision = rng.uniform(0.05, 2), 10 ** rng.uniform(-1, 2)
        most, largest = rng.uniform(0.2, 3), 10 ** rng.uniform(-3, 0)
        claim = sample_delta(epsilon, precision, most, largest)
        for _ in range(4):
            m, leverage = most * rng.uniform(0, 1), largest * rng.uniform(0, 1)
            assert exact(epsilon, precision, m, leverage) <= claim + 1e-7
        assert exact(epsilon, precision, most, largest) >= claim * 0.3 - 1e-6 or largest > 0.2


def test_printed_bound_is_caught() -> None:
    """Theorem 3.6.1 of Redberg 2023 as printed claims delta = 1e-6 here; the truth is more than ten times that."""
    assert sample_delta(4.3163, 250, 2, 1 / 1000) == pytest.approx(1.33e-5, rel=0.02)
