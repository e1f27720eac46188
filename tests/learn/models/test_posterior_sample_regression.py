"""Linear regression by one sample from its posterior, nothing adapted to the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import cholesky
from scipy.stats import norm

import dalenius as dp
from dalenius.adaptive.regression.posterior_sample import posterior, sample_delta
from dalenius.errors import CannotMeet
from dalenius.learn import PosteriorSampleRegression
from dalenius.learn.models import posterior_sample_regression
from dalenius.learn.models.posterior_sample_regression import plan, residual
from tests.learn.contract import EXPECTED, NOISE, RANDOM
from tests.learn.models.test_regressors import Bounded, RegressorContract
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded


class TestPosteriorSample(Bounded):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(0.1, 1e-6), dp.ApproxDP(8.0, 1e-5))
    fitted = RegressorContract.fitted
    expected = EXPECTED | {
        "check_regressors_int": RANDOM,
        "check_regressors_train": NOISE,
        "check_regressor_data_not_an_array": RANDOM,
    }
    trials = 300

    def build(self, promise: Any, **options: Any) -> PosteriorSampleRegression:
        return PosteriorSampleRegression(promise, **options)

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.uniform(-1, 1, size=(20_000, 1))
        y = 50 + 30 * x[:, 0] + rng.normal(size=len(x))
        with seeded(8):
            model = self.build(dp.ApproxDP(4.0, 1e-5), target_bounds=(0, 100)).fit(x, y)
        assert model.score(x, y) > 0.9

    def test_other_promises_are_refused(self) -> None:
        x, y = self.data()
        for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0)):
            with pytest.raises(CannotMeet):
                self.build(promise).fit(x, y)

    def test_too_sharp_a_posterior_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a thousandth of the deviation that was paid for, an audit contradicts the claim."""
        promise = dp.ApproxDP(1.0, 1e-2)

        def sharp(*given: Any) -> tuple[float, float]:
            ridge, precision = plan(*given)
            return ridge, 1e6 * precision

        monkeypatch.setattr(posterior_sample_regression, "plan", sharp)
        with seeded(4):
            found = dp.audit.lower_bound(
                lambda data: self.released(self.build(promise, intercept_scale=0.0).fit(*data)),
                pair=self.worst_pair(),
                trials=600,
                delta=promise.delta,
                confidence=1 - 1e-9,
            )
        assert found.epsilon > 1.0


def test_the_chance_of_a_false_bound_is_added_to_the_whole_profile() -> None:
    """A count that was too small, with probability delta, costs delta at any epsilon near the promise."""
    for promise in (dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(1.0, 0.05)):
        model = PosteriorSampleRegression(promise, target_bounds=(0, 1))
        count, epsilon, delta, rounding = model._shares()
        otherwise = count.loss + dp.losses.approx(epsilon, delta) + rounding.loss
        for at in (0.95, 1.0):
            assert model.price().delta(at) >= otherwise.delta_bounds(at).lower + delta
        assert model.price().delta(promise.epsilon) <= promise.delta


def test_law_of_the_sample() -> None:
    """Along two directions, against the normal law (DKW at 1e-10); a deviation off by 25 % is rejected."""
    square, theta, precision = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.5, -1.0]), 4.0
    root = np.linalg.inv(cholesky(square))
    with seeded(1):
        drawn = np.array([posterior(root, theta, precision) for _ in range(4000)])
    for direction in (np.array([1.0, 0.0]), np.array([1.0, 2.0])):
        deviation = math.sqrt(direction @ np.linalg.solve(square, direction) / precision)
        along, middle = drawn @ direction, float(direction @ theta)
        for factor, right in ((1.0, True), (1.25, False), (0.8, False)):
            assert follows(along, norm(middle, factor * deviation).cdf) is right


def test_residuals_stay_within_their_bound() -> None:
    """Also for the data that push the solution as far as they can: rows of length sqrt(ridge/n) all alike."""
    rng = np.random.default_rng(0)
    for n, ridge in ((1, 0.5), (50, 3.0), (400, 20.0)):
        for k in range(20):
            x = rng.normal(size=(n, 2))
            x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
            y = rng.choice([-1.0, 1.0], n)
            if k == 0:
                x, y = np.tile([[math.sqrt(ridge / n), 0.0]], (n, 1)), np.ones(n)
            theta = np.linalg.solve(x.T @ x + ridge * np.eye(2), x.T @ y)
            found = 1 + float(np.linalg.norm(theta))
            assert found <= residual(1.0, n, ridge)
            if k == 0 and ridge <= n:
                assert found > residual(1.0, n, ridge) * 0.999


def test_plan_keeps_its_delta_and_the_printed_one_does_not() -> None:
    epsilon, delta = 1.0, 1e-9
    for most in (1.0, 1e4, 1e6):
        ridge, precision = plan(epsilon, delta, 1.0, most, 5)
        far = residual(1.0, most, ridge)
        assert delta * 0.9 < sample_delta(epsilon, precision, far, 1 / ridge) <= delta
    # Theorem 3.6.1 of Redberg 2023 without the factor 2 under the root, solved for the precision.
    far, third = residual(1.0, most, ridge), (1 + math.log(2 / delta)) / (2 * ridge)
    a, b = far * math.sqrt(math.log(2 / delta) / ridge), far**2 / (2 * (ridge + 1))
    printed = ((-a + math.sqrt(a * a + 4 * b * (epsilon - third))) / (2 * b)) ** 2
    assert sample_delta(epsilon, printed, far, 1 / ridge) > 5 * delta
