"""Output perturbation, and the planted mistakes that audits must catch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import TooLittleNoise
from dalenius.learn import HuberRegression, LogisticRegression
from dalenius.learn.data.rows import records
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.output_perturbation import OutputPerturbation
from dalenius.sums.curves import Huber, Logistic
from tests.noise.seeded import seeded

ONE = records(np.array([[1.0]]), np.array([1.0]), np.array([True]), 1.0, "clip")
NONE = records(np.empty((0, 1)), np.empty(0), np.empty(0, dtype=bool), 1.0, "clip")


class TestOutputPerturbation:
    @pytest.mark.parametrize("promise", [dp.ApproxDP(1.0, 1e-5), dp.PureDP(1.0), dp.GDP(0.5), dp.ZCDP(0.1)])
    def test_keeps_its_promise_and_learns(self, promise: Any) -> None:
        rng = np.random.default_rng(3)
        x = rng.normal(size=(20_000, 3)) / 3
        y = (x @ [1, -2, 3] > 0).astype(int)
        with seeded(8):
            model = LogisticRegression(promise, method="output").fit(x, y)
        assert isinstance(model.plan_, OutputPerturbation)
        assert promise.holds(model.loss_)
        assert model.score(x, y) > 0.9
        with seeded(8):
            assert (
                HuberRegression(promise, method="output").fit(x, x @ [1, 0, 0]).score(x, x @ [1, 0, 0]) > 0.4
            )

    @pytest.mark.parametrize("promise", [dp.GDP(9e3), dp.PureDP(9e3)])
    def test_the_ridge_is_never_too_small_for_a_minimiser(self, promise: Any) -> None:
        """The smallest there is; weaker promises are refused, since there is no noise to speak of."""
        assert OutputPerturbation.calibrated(promise, 1.0, 0.25).ridge > 0.16 * 0.25
        with pytest.raises(TooLittleNoise):
            OutputPerturbation.calibrated(type(promise)(2e4), 1.0, 0.25)

    def test_audit(self) -> None:
        plan = OutputPerturbation.calibrated(dp.ApproxDP(1.0, 1e-2), 1.0, 0.25)
        with seeded(1):
            found = dp.audit.lower_bound(
                lambda d: plan.fit(d, Logistic()),
                pair=(ONE, NONE),
                trials=2000,
                delta=1e-2,
                confidence=1 - 1e-9,
            )
        assert found.epsilon <= plan.loss.epsilon(1e-2)


class TestPlantedMistakes:
    @pytest.mark.slow
    def test_too_little_noise_in_the_objective_is_caught(self) -> None:
        """An audit of the same release with a fifth of the noise contradicts the claim; with all of it, never."""
        plan = ObjectivePerturbation.calibrated(dp.ApproxDP(1.0, 1e-2), 1.0, 1.0)
        wrong = replace(plan, sigma=plan.sigma / 5)
        for used, caught in ((plan, False), (wrong, True)):
            with seeded(2):
                found = dp.audit.lower_bound(
                    lambda d, used=used: used.fit(d, Huber(1.0)),
                    pair=(ONE, NONE),
                    trials=2000,
                    delta=1e-2,
                    confidence=1 - 1e-9,
                )
            assert (found.epsilon > plan.loss.epsilon(1e-2)) is caught
