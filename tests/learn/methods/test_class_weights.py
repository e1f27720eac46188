"""Fits with class weights: a row of the heaviest class is paid for, and the weights do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Plain

import dalenius as dp
from dalenius import learn
from dalenius.learn.methods.noisy_newton import NoisyNewton
from dalenius.learn.methods.output_perturbation import OutputPerturbation
from dalenius.learn.models import classifiers, several_classes
from dalenius.learn.numerics.links import Multinomial
from dalenius.mechanisms import Gaussian
from dalenius.sums.curves import Weighted
from tests.learn.exact_law import delta
from tests.noise.seeded import seeded

WEIGHTS = {0: 1, 1: 6}
HEAVY = (np.array([[1.0]]), np.array([1]))
NONE = (np.empty((0, 1)), np.empty(0, dtype=int))
APPROX, PURE = dp.ApproxDP(1.0, 1e-2), dp.PureDP(1.0)
MODELS = {
    "logistic": learn.LogisticRegression,
    "hinge": learn.LinearSVC,
    "multinomial": learn.MultinomialRegression,
    "one against the rest": learn.OneVsRest,
}


def forgotten(patch: pytest.MonkeyPatch) -> None:
    """The mistake: rows count as many times as they weigh, with noise for rows that count once."""
    raw = lambda given, classes: tuple(float(given.get(label, 1)) for label in classes)  # noqa: E731
    for room in (classifiers, several_classes):
        patch.setattr(room, "relative_weights", raw)
    patch.setattr(Weighted, "steepest", property(lambda self: self.curve.steepest))
    patch.setattr(Weighted, "sharpest", property(lambda self: self.curve.sharpest))
    largest = (Multinomial.steepest, Multinomial.sharpest)
    for name, bound in zip(("steepest", "sharpest"), largest, strict=True):
        once = property(lambda self, bound=bound: bound.fget(self) / max(self.weights))
        patch.setattr(Multinomial, name, once)


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "forgotten"])
@pytest.mark.parametrize("promise", [APPROX, PURE], ids=["gaussian", "k_norm"])
@pytest.mark.parametrize("name", MODELS)
def test_a_record_of_the_heaviest_class_is_paid_for(
    name: str, promise: Any, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law of the coefficient, with and without the record, against the claim; the mistake is caught."""
    if wrong:
        forgotten(monkeypatch)
    options = {} if name in ("logistic", "hinge") else {"classes": (0, 1)}
    model = MODELS[name](promise, intercept_scale=0.0, class_weight=WEIGHTS, **options)
    plan = model._plan()
    claimed = getattr(plan, "inner", plan).loss  # one against the rest: of one of the two
    monkeypatch.setattr(type(model), "_plan", lambda self: plan)
    pure = promise is PURE
    epsilon = claimed.epsilon(0.0) if pure else 1.0
    found = delta(lambda data: float(model.fit(*data).coef_.ravel()[-1]), (HEAVY, NONE), epsilon, pure)
    assert (found > (1e-4 if pure else claimed.delta(1.0))) is wrong


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "forgotten"])
def test_output_perturbation(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wrong:
        forgotten(monkeypatch)
    model = learn.LogisticRegression(APPROX, intercept_scale=0.0, class_weight=WEIGHTS, method="output")
    plan = model._plan()
    assert isinstance(plan, OutputPerturbation)
    monkeypatch.setattr(Gaussian, "release", lambda self, value: value)
    moved = abs(float(model.fit(*HEAVY).coef_[0, 0] - model.fit(*NONE).coef_[0, 0]))
    assert (moved > plan.mechanism.sensitivity) is wrong


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "forgotten"])
def test_local_output_perturbation(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far one record moves the minimum and its curvature, against the bounds that the noise is for."""
    if wrong:
        forgotten(monkeypatch)
    model = learn.LocalLogisticRegression(APPROX, intercept_scale=0.0, class_weight=WEIGHTS, ridge=1.0)
    plan, seen = model._plan(), []
    monkeypatch.setattr(type(model), "_plan", lambda self: plan)
    monkeypatch.setattr(
        type(plan.release), "release", lambda self, minimum: seen.append(minimum) or minimum.theta
    )
    model.fit(*HEAVY), model.fit(*NONE)
    there, absent = seen
    bound = plan.gradient_bound / plan.ridge
    assert bool(abs(there.theta[0] - absent.theta[0]) > bound) is wrong


def test_noise_and_price_are_those_without_weights() -> None:
    """Only ratios matter: the largest weight is 1."""
    for name, kind in MODELS.items():
        for promise in (APPROX, PURE):
            plain, heavy, more = (
                kind(promise, classes=(0, 1), class_weight=weights)
                for weights in (None, WEIGHTS, {0: 50, 1: 300})
            )
            assert plain.price() == heavy.price() == more.price(), name
            assert getattr(plain._plan(), "inner", plain._plan()) == getattr(
                heavy._plan(), "inner", heavy._plan()
            )
            x = np.linspace(-1, 1, 200)[:, None]
            y = (x[:, 0] > 0.3).astype(int)
            with seeded(3):
                first = heavy.fit(x, y)
            with seeded(3):
                second = more.fit(x, y)
            np.testing.assert_array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize(
    ("promise", "method"),
    [
        (dp.ApproxDP(9.0, 1e-5), "auto"),
        (dp.PureDP(9.0), "auto"),
        (dp.GDP(2.0), "auto"),
        (dp.ApproxDP(9.0, 1e-5), learn.Descent(steps=200, learning_rate=0.1)),
    ],
    ids=["gaussian", "k_norm", "newton", "descent"],
)
def test_the_minimum_is_that_of_weighted_rows(promise: Any, method: Any) -> None:
    """scikit-learn's own solution with these weights, which is far from the one without."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30_000, 2)) / 3
    y = (rng.random(30_000) < 1 / (1 + np.exp(-(3 * x[:, 0] - 2)))).astype(int)
    options = {"knee": 1.0, "row_norm": 2.0, "intercept_scale": 0.5}
    with seeded(2):
        found = learn.LogisticRegression(promise, class_weight=WEIGHTS, method=method, **options).fit(x, y)
    ours = np.append(found.coef_, found.intercept_)
    theirs = [Plain(C=np.inf, class_weight=weights).fit(x, y) for weights in (WEIGHTS, None)]
    right, without = (np.append(model.coef_, model.intercept_) for model in theirs)
    assert np.abs(ours - right).max() < 0.2 < 1.5 < np.abs(without - right).max()


def test_several_classes_count_as_they_weigh() -> None:
    """The heavier class of three is predicted more often, and probabilities are scikit-learn's with these weights."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(8000, 2)) / 2
    y = np.where(x[:, 0] + rng.normal(size=8000) / 2 > 0.9, 2, (x[:, 1] > 0).astype(int))
    for kind, promise in (
        (learn.MultinomialRegression, dp.PureDP(9.0)),
        (learn.OneVsRest, dp.PureDP(9.0)),
        (learn.OneVsRest, dp.GDP(3.0)),
    ):
        shares = []
        for weights in (None, {2: 8}):
            with seeded(6):
                model = kind(promise, class_weight=weights, intercept_scale=1.0).fit(x, y)
            shares.append(float(np.mean(model.predict(x) == 2)))
        assert shares[1] > 1.5 * shares[0], kind
        right, without = (
            Plain(C=np.inf, class_weight=weights).fit(x, y).predict_proba(x) for weights in ({2: 8}, None)
        )
        away = [float(np.abs(model.predict_proba(x) - theirs).mean()) for theirs in (right, without)]
        assert away[0] < 0.6 * away[1], (kind, away)


def test_descent_does_not_cut_heavy_rows() -> None:
    """Slopes of the heaviest class are within what descent adds exactly: none is clipped to the bound."""
    model = learn.LogisticRegression(dp.GDP(1.0), class_weight=WEIGHTS)
    plan, curve = model._plan(), model._curve()
    assert isinstance(plan, NoisyNewton)
    far = np.array([-50.0, 0.0, 50.0])
    for label in (0.0, 1.0):
        assert np.abs(curve.slope(far, np.full(3, label))).max() <= curve.steepest == 0.5
