"""Private classifiers of several classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn import MultinomialRegression, OneVsRest
from tests.learn.contract import EXPECTED, NOISE, PUBLIC, RANDOM, EstimatorContract
from tests.noise.seeded import seeded


class SeveralClassesContract(EstimatorContract):
    fitted = EstimatorContract.fitted | {"classes_"}
    expected = EXPECTED | {
        "check_classifiers_classes": PUBLIC,
        "check_classifiers_one_label": PUBLIC,
        "check_classifiers_regression_target": PUBLIC,
        "check_classifiers_train": NOISE,
        "check_class_weight_classifiers": NOISE,
        "check_classifier_data_not_an_array": RANDOM,
        "check_decision_proba_consistency": "of three classes, the share of one is no function of its own score",
    }
    by_chance = EstimatorContract.by_chance | {"check_classifiers_one_label"}
    trials = 300

    def target(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(x[:, 0] > 0.3, 2, (x[:, 1] > 0).astype(int))

    def worst_pair(self) -> Any:
        return (np.array([[1.0]]), np.array([1])), (np.empty((0, 1)), np.empty(0, dtype=int))

    def worst_options(self) -> dict[str, Any]:
        return {"intercept_scale": 0.0}

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.normal(size=(20_000, 2)) / 2
        y = self.target(x, rng)
        with seeded(8):
            model = self.build(dp.ApproxDP(1.0, 1e-5)).fit(x, y)
        assert model.score(x, y) > 0.85
        shares = model.predict_proba(x)
        assert np.allclose(shares.sum(axis=1), 1)
        assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(x))

    def test_classes_are_declared(self) -> None:
        x, y = self.data()
        names = np.array(["a", "b", "c"])
        model = self.build(dp.ApproxDP(8.0, 1e-5), classes=("a", "b", "c"))
        with seeded(5):
            there = self.released(model.fit(np.vstack([x, x[:2]]), [*names[y], "?", None]))
        with seeded(5):
            assert np.allclose(there, self.released(model.fit(x, names[y])), atol=1e-6)
        for bad in ((0,), (0, 0, 1), (0, "a", 1), 1, "abc"[:1]):
            with pytest.raises(InvalidParameter, match="classes"):
                self.build(self.promises[0], classes=bad).fit(x, y)

    def test_a_person_is_told_the_worst_case(self) -> None:
        """A record's share is known for one score only; here it is what was charged, and nothing less."""
        x, y = self.data()
        model = self.build(dp.ApproxDP(1.0, 1e-5)).fit(x, y)
        assert model.privacy_report_.epsilon(x[:1], y[:1], failure=1e-5) >= model.loss_.epsilon(1e-5) * 0.999
        with pytest.raises(InvalidParameter, match="sharper"):
            model.sharper_report(x, y, dp.ZCDP(0.1))


class TestMultinomialRegression(SeveralClassesContract):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.PureDP(0.5))
    audited = (dp.ApproxDP(1.0, 1e-2), dp.PureDP(1.0))

    def build(self, promise: Any, **options: Any) -> Any:
        return MultinomialRegression(promise, **options)

    def test_what_it_cannot_keep(self) -> None:
        with pytest.raises(CannotMeet, match="OneVsRest"):
            self.build(dp.GDP(0.5)).price()


class TestOneVsRest(SeveralClassesContract):
    promises = (dp.ApproxDP(1.0, 1e-5), dp.PureDP(0.5), dp.GDP(0.5), dp.ZCDP(0.1))

    def build(self, promise: Any, **options: Any) -> Any:
        return OneVsRest(promise, **options)

    def test_methods(self) -> None:
        for method in ("output", "kifer", dp.learn.Descent(steps=3)):
            with pytest.raises(CannotMeet, match="two classes"):
                self.build(dp.ApproxDP(1.0, 1e-5), method=method).price()


def test_too_little_noise_is_caught() -> None:
    """The audit of a fit whose noise is a twelfth of what is claimed finds more than is claimed."""
    from dataclasses import replace

    from dalenius.learn.methods.several_classes import AllAtOnce
    from dalenius.learn.numerics.links import Multinomial

    link, empty = Multinomial(3), np.empty((0, 1))
    plan = MultinomialRegression(dp.ApproxDP(1.0, 1e-2), intercept_scale=0.0)._plan()
    less = AllAtOnce(replace(plan.inner, sigma=plan.inner.sigma / 12))  # type: ignore[type-var]
    model = MultinomialRegression(dp.ApproxDP(1.0, 1e-2), intercept_scale=0.0)

    def release(data: Any) -> np.ndarray:
        codes = data[1].astype(float)
        return less.fit(model._records(data[0], codes, codes >= 0), link).ravel()

    with seeded(4):
        found = dp.audit.lower_bound(
            release,
            pair=((np.array([[1.0]]), np.array([1])), (empty, np.empty(0, dtype=int))),
            trials=400,
            delta=1e-2,
            confidence=1 - 1e-9,
        )
    assert found.epsilon > 1.0
