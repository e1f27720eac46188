"""Private linear classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn import Descent, LinearSVC, LogisticRegression
from dalenius.learn.methods.noisy_newton import NoisyNewton
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from tests.learn.contract import EXPECTED, NOISE, PUBLIC, RANDOM, EstimatorContract
from tests.noise.seeded import seeded

EVERYTHING = (
    dp.ApproxDP(1.0, 1e-5),
    dp.ApproxDP(0.05, 1e-7),
    dp.ApproxDP(8.0, 1e-5),
    dp.ZCDP(0.1),
    dp.PureDP(0.5),
    dp.ApproxDP(1.0, 0.0),
    dp.GDP(0.5),
    dp.RDP(8.0, 0.5),
)


class ClassifierContract(EstimatorContract):
    promises = EVERYTHING
    fitted = EstimatorContract.fitted | {"classes_"}
    expected = EXPECTED | {
        "check_classifiers_classes": PUBLIC,
        "check_classifiers_one_label": PUBLIC,
        "check_classifiers_regression_target": PUBLIC,
        "check_classifiers_train": NOISE,
        "check_class_weight_classifiers": NOISE,
        "check_classifier_data_not_an_array": RANDOM,
    }
    by_chance = EstimatorContract.by_chance | {"check_classifiers_one_label"}
    audited = (dp.ApproxDP(1.0, 1e-2), dp.PureDP(1.0))

    def target(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (x[:, 0] + rng.normal(size=len(x)) / 4 > 0).astype(int)

    def worst_pair(self) -> Any:
        # One record with the largest gradient, or none at all.
        return (np.array([[1.0]]), np.array([1])), (np.empty((0, 1)), np.empty(0, dtype=int))

    def worst_options(self) -> dict[str, Any]:
        return {"intercept_scale": 0.0}

    def test_labels_outside_the_classes_count_as_absent(self) -> None:
        x, y = self.data()
        model = self.build(self.promises[0])
        odd = np.append(y.astype(object), ["?", None, 7])
        with seeded(5):
            there = self.released(model.fit(np.vstack([x, x[:3]]), odd))
        with seeded(5):
            absent = self.released(model.fit(x, y))
        np.testing.assert_allclose(there, absent, atol=1e-6)

    def test_one_class_only(self) -> None:
        x, y = self.data()
        model = self.build(self.promises[0]).fit(x, np.ones_like(y))
        assert model.classes_.tolist() == [0, 1]

    def test_classes_are_declared(self) -> None:
        x, y = self.data()
        names = np.array(["no", "yes"])[y]
        model = self.build(dp.ApproxDP(8.0, 1e-5), classes=("no", "yes")).fit(x, names)
        assert set(model.predict(x)) <= {"no", "yes"}
        assert model.score(x, names) > 0.8
        for bad in ((0,), (0, 0), (0, 1, 2), 1):
            with pytest.raises(InvalidParameter, match="classes"):
                self.build(self.promises[0], classes=bad).fit(x, y)

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.normal(size=(20_000, 5)) / 3
        y = (x @ [1, -2, 3, 0, 0] > 0.3).astype(int)
        for promise in (dp.ApproxDP(1.0, 1e-5), dp.PureDP(1.0), dp.GDP(0.25)):
            with seeded(8):
                assert self.build(promise).fit(x, y).score(x, y) > 0.93, promise

    def test_method_follows_the_promise(self) -> None:
        x, y = self.data()
        for promise, kind in (
            (dp.ApproxDP(1.0, 1e-5), ObjectivePerturbation),
            (dp.ZCDP(0.1), ObjectivePerturbation),
            (dp.PureDP(1.0), PureObjectivePerturbation),
            (dp.GDP(1.0), NoisyNewton),
        ):
            assert isinstance(self.build(promise).fit(x, y).plan_, kind)
        assert isinstance(self.build(dp.ApproxDP(1.0, 1e-5), method="descent").fit(x, y).plan_, NoisyNewton)
        with pytest.raises(InvalidParameter, match="method"):
            self.build(dp.ApproxDP(1.0, 1e-5), method="newton").fit(x, y)

    def test_descent_as_asked(self) -> None:
        """The plan is the one described, its loss that of its sampling; anything wrong in it is refused."""
        x, y = self.data(2000)
        promise = dp.ApproxDP(2.0, 1e-5)
        for optimiser, rate in (("adam", 0.1), ("momentum", 0.001)):
            method = Descent(steps=200, rate=0.1, optimiser=optimiser, learning_rate=rate, momentum=0.5)  # type: ignore[arg-type]
            with seeded(3):
                model = self.build(promise, method=method).fit(x, y)
            assert (model.plan_.steps, model.plan_.rate, model.plan_.momentum) == (200, 0.1, 0.5)
            noise = dp.losses.gaussian(model.plan_.noise_multiplier)
            assert (
                model.loss_.epsilon(1e-5)
                == (dp.losses.poisson_sampled(noise, 0.1) * 200).epsilon(1e-5)
                <= 2.0
            )
            assert model.score(x, y) > 0.8, optimiser
            assert clone(model).method == method
        for bad in (
            Descent(rate=0.0),
            Descent(rate=1.5),
            Descent(steps=0),
            Descent(learning_rate=-1.0),
            Descent(momentum=1.0),
        ):
            with pytest.raises(InvalidParameter):
                self.build(promise, method=bad).fit(x, y)

    def test_kifer(self) -> None:
        """Keeps what is asked for, with room to spare, by more noise than we need."""
        x, y = self.data()
        for promise in (dp.ApproxDP(0.1, 1e-6), dp.ApproxDP(1.0, 1e-5), dp.ApproxDP(4.0, 1e-5)):
            theirs, ours = self.build(promise, method="kifer").fit(x, y), self.build(promise).fit(x, y)
            assert promise.holds(theirs.loss_)
            assert theirs.loss_.epsilon(promise.delta) < 0.9 * promise.epsilon
            assert theirs.plan_.sigma > 1.3 * ours.plan_.sigma
        for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ApproxDP(1.0, 0.0)):
            with pytest.raises(CannotMeet):
                self.build(promise, method="kifer").fit(x, y)


class TestLogisticRegression(ClassifierContract):
    def build(self, promise: Any, **options: Any) -> LogisticRegression:
        return LogisticRegression(promise, **options)

    def test_probabilities(self) -> None:
        x, y = self.data()
        model = self.build(dp.ApproxDP(8.0, 1e-5)).fit(x, y)
        p = model.predict_proba(x)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert ((p[:, 1] > 0.5) == (model.predict(x) == 1)).all()


class TestLinearSVC(ClassifierContract):
    def build(self, promise: Any, **options: Any) -> LinearSVC:
        return LinearSVC(promise, **options)
