"""Teachers and a student: the promise, refusals, and data that are not nice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn import PATEClassifier
from tests.noise.seeded import seeded

PROMISE = dp.ApproxDP(2.0, 1e-5)


def data(rows: int = 4000, queries: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2))
    public = rng.normal(size=(queries, 2))
    public[:, 0] += 2 * np.sign(public[:, 0])
    return x, np.where(x[:, 0] > 0, "yes", "no"), public


def build(**options: Any) -> PATEClassifier:
    given: dict[str, Any] = {"classes": ("no", "yes"), "teachers": 60, "sigma": 2.0, **options}
    return PATEClassifier(GaussianNB(), given.pop("guarantee", PROMISE), **given)


def test_student_learns_from_teachers_that_agree() -> None:
    x, y, public = data()
    with seeded(1):
        model = build(student=DecisionTreeClassifier(max_depth=2)).fit(x, y, public)
    assert not model.refused_
    assert model.score(x, y) > 0.9
    assert PROMISE.holds(model.loss_)
    assert model.loss_.epsilon(1e-5) == pytest.approx(model.price().epsilon(1e-5))
    held = set(vars(model)) - set(model.get_params(deep=False))
    assert held == {"classes_", "labels_", "loss_", "n_features_in_", "refused_", "student_"}


def test_teachers_that_disagree_are_refused_and_paid_for() -> None:
    x, _, public = data(600)
    y = np.where(np.random.default_rng(1).uniform(size=600) < 0.5, "yes", "no")
    with seeded(2):
        model = build(guarantee=dp.ApproxDP(0.3, 1e-5)).fit(x, y, public)
    assert model.refused_
    assert model.labels_ is None
    assert model.loss_.epsilon(1e-5) == pytest.approx(0.3, rel=1e-3)
    with pytest.raises(InvalidParameter, match="refused_"):
        model.predict(public)


def test_whatever_the_records_are_a_fit_ends() -> None:
    x, y, public = data(50)
    odd = y.astype(object)
    odd[:3] = [None, 3.5, "maybe"]
    for features, labels in ((x[:0], y[:0]), (x, odd), (x * np.nan, y), (np.full((50, 2), 1e308), y)):
        with seeded(3):
            assert build(teachers=10).fit(features, labels, public).refused_ in (True, False)


class Raises(BaseEstimator):  # type: ignore[misc]
    def fit(self, x: Any, y: Any) -> Any:
        raise RuntimeError(str(x))

    def predict(self, x: Any) -> Any:
        return x


def test_a_teacher_that_fails_votes_for_the_first_class() -> None:
    x, y, public = data(500)
    with seeded(4):
        model = PATEClassifier(Raises(), PROMISE, classes=("no", "yes"), teachers=40, sigma=1.0).fit(
            x, y, public
        )
    assert not model.refused_
    assert set(model.labels_) == {"no"}
    assert set(model.predict(x)) == {"no"}


def test_clone_and_parameters() -> None:
    model = build()
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_bad_parameters() -> None:
    x, y, public = data(50)
    for options in (
        {"classes": ("no",)},
        {"classes": ("no", "no")},
        {"teachers": 1},
        {"sigma": 0.0},
        {"test_share": 1.0},
        {"timeout": 0},
        {"guarantee": 1.0},
    ):
        with pytest.raises(InvalidParameter):
            build(**options).fit(x, y, public)
    for wrong in (public[:, :1], public[:0], public * np.nan):
        with pytest.raises(InvalidParameter, match="queries"):
            build().fit(x, y, wrong)
    for promise in (dp.PureDP(1.0), dp.GDP(1.0)):
        with pytest.raises(CannotMeet):
            build(guarantee=promise).price()
