"""Fits inside other estimators' fits, checks of rows that are paid for, and types that tell of nobody."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import dalenius as dp
from dalenius.errors import InvalidParameter
from tests.noise.seeded import seeded

MODEL = dp.learn.LogisticRegression(dp.ZCDP(0.1))


def data(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(rows, 2)) / 2
    return x, (x[:, 0] > 0).astype(int)


WRAPPED: dict[str, Any] = {
    "search": lambda: GridSearchCV(MODEL, {"row_norm": [1.0, 2.0]}, cv=2, error_score="raise"),
    "rest": lambda: OneVsRestClassifier(MODEL),
    "bags": lambda: BaggingClassifier(MODEL, 3),
    "votes": lambda: VotingClassifier([("a", MODEL), ("b", clone(MODEL))]),
    "in a pipeline": lambda: BaggingClassifier(make_pipeline(dp.learn.PublicBounds([(-1, 1)] * 2), MODEL), 2),
    "our search inside": lambda: OneVsRestClassifier(dp.learn.PrivateSearch(MODEL, [{}], dp.ZCDP(0.1))),
    "parts": lambda: OneVsRestClassifier(
        dp.learn.SubsampleAggregate(MODEL, dp.ZCDP(0.1), size=3, bound=1.0, parts=2)
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrappers_that_refit_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match="PrivateSearch"):
        WRAPPED[name]().fit(*data())


@pytest.mark.parametrize(("name", "fits"), [("search", 5), ("rest", 1)])
def test_or_add_up(name: str, fits: int) -> None:
    with dp.learn.Refits() as refits:
        WRAPPED[name]().fit(*data())
    assert refits.loss.zcdp() == pytest.approx(0.1 * fits, rel=1e-3)
    with pytest.raises(InvalidParameter):
        WRAPPED[name]().fit(*data())


def test_ensembles_repeat_rows_and_are_refused_all_the_same() -> None:
    with dp.learn.Refits(), pytest.raises(InvalidParameter, match="ensemble"):
        WRAPPED["bags"]().fit(*data())


def test_a_search_of_ours_is_counted_once() -> None:
    with dp.learn.Refits() as refits:
        search = dp.learn.PrivateSearch(MODEL, [{}, {"row_norm": 2.0}], dp.ZCDP(0.1))
        cross_val_score(search, *data(), cv=2)
    assert len(refits.losses) == 2


def test_one_fit_is_one_fit() -> None:
    x, y = data()
    make_pipeline(dp.learn.PublicBounds([(-1, 1)] * 2), MODEL).fit(x, y)
    clone(MODEL).fit(x, y)
    dp.learn.PrivateSearch(MODEL, [{}], dp.ZCDP(0.1)).fit(x, y)
    assert dp.learn.Refits().loss.epsilon(0.0) == 0.0


# -- types --------------------------------------------------------------------------------------------


TIMES = pd.date_range("2020-01-01", periods=4)


@pytest.mark.parametrize(
    "x",
    [
        TIMES.to_numpy()[:, None],
        pd.DataFrame({"a": [1.0] * 4, "t": TIMES}),
        pd.DataFrame({"a": [1.0] * 4, "t": TIMES - TIMES[0]}),
        pd.DataFrame({"t": TIMES.tz_localize("UTC")}),
        pd.DataFrame({"t": TIMES.to_period("D")}),
    ],
)
def test_dates_are_not_numbers(x: Any) -> None:
    for model in (MODEL, dp.learn.LinearRegression(dp.ZCDP(0.1))):
        with pytest.raises(InvalidParameter, match="dates or times"):
            model.fit(x, [0, 1, 0, 1])


def test_labels_of_another_type_than_declared() -> None:
    x = np.zeros((2, 1))
    text = dp.learn.LogisticRegression(dp.ZCDP(0.1), classes=("no", "yes"))
    for model, y in (
        (MODEL, np.array(["no", "yes"])),
        (MODEL, pd.Series(["no", "yes"], dtype="string")),
        (MODEL, TIMES[:2].to_numpy()),
        (text, np.array([0, 1])),
        (text, pd.Series([0.0, 1.0])),
        (dp.learn.HuberRegression(dp.ZCDP(0.1)), np.array(["1", "2"])),
        (dp.learn.HuberRegression(dp.ZCDP(0.1)), TIMES[:2]),
        (dp.learn.PoissonRegression(dp.ZCDP(0.1)), np.array([1j, 2j])),
    ):
        with pytest.raises(InvalidParameter, match="y "):
            model.fit(x, y)


def test_a_list_has_the_types_of_its_values_and_is_never_refused() -> None:
    """One value decides the type of the array made of a list; so that decides nothing."""
    for y in (["no", "yes"], ["no", 1], [0, 1], [TIMES[0], 1]):
        MODEL.fit([[1.0], [2.0]], y)
    dp.learn.HuberRegression(dp.ZCDP(0.1)).fit([[1.0], [2.0]], ["1", "x"])


def test_no_rows_in_a_list() -> None:
    assert MODEL.fit([], []).coef_.shape == MODEL.fit([[1.0]], [1]).coef_.shape
    assert np.isfinite(dp.learn.LinearRegression(dp.ZCDP(0.1)).fit([], []).coef_).all()


class Bomb:
    """A value that will not be looked at."""

    def __float__(self) -> float:
        raise RuntimeError("this is about a person")

    __eq__ = __float__  # type: ignore[assignment]
    __array_ufunc__ = None


def test_what_a_value_raises_or_warns_about_is_not_heard() -> None:
    table = np.array([[1.0, 2.0], [3.0, Bomb()], [3.0, np.complex128(1j)]], dtype=object)
    labels = np.array([0, 1, Bomb()], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (labels, [0, 1, Bomb()], [0, np.complex128(1j), 1]):
            for kind in (dp.learn.LogisticRegression, dp.learn.HuberRegression, dp.learn.LinearRegression):
                kind(dp.ZCDP(0.1)).fit(table, y)


# -- checks -------------------------------------------------------------------------------------------


def test_check_counts_what_it_says() -> None:
    """With next to no noise; and one row moves the counts by the sensitivity at most."""
    x, y = data(50)
    x[0], x[1, 0] = 30.0, np.nan
    y = y.astype(object)
    y[2:5] = 7
    y[5] = "x"
    check = dp.learn.RowCheck(MODEL, dp.PureDP(1e3)).fit(x, y)
    assert {k: round(v) for k, v in check.counts_.items()} == {
        "rows": 50,
        "unreadable": 1,
        "undeclared": 4,
        "long": int(((x**2).sum(axis=1) > 1).sum()),
    }
    assert check.shares_["undeclared"] == pytest.approx(0.08, abs=1e-3)
    numbers = dp.learn.RowCheck(dp.learn.HuberRegression(dp.ZCDP(0.1)), dp.ZCDP(1e4))
    assert round(numbers.fit(x, [0.5] * 40 + [2.0, np.nan, "x"] + [-1.0] * 7).counts_["undeclared"]) == 3


@pytest.mark.parametrize("promise", [dp.PureDP(1.0), dp.ZCDP(0.5), dp.ApproxDP(1.0, 1e-3)], ids=repr)
def test_check_keeps_its_promise(promise: Any) -> None:
    """Audited on a row that is wrong in every way, or none; noise for one count instead of four is caught."""
    check = dp.learn.RowCheck(MODEL, promise)
    bad = (np.array([[np.nan]]), [7]), (np.zeros((0, 1)), [])
    with seeded(3):
        found = dp.audit.lower_bound(
            lambda pair: np.array(list(check.fit(*pair).counts_.values())).sum(),
            pair=bad,
            trials=800,
            delta=getattr(promise, "delta", 0.0 if isinstance(promise, dp.PureDP) else 1e-3),
            confidence=1 - 1e-9,
        )
    assert promise.holds(check.loss_)
    assert check.price() == check.loss_
    assert found.epsilon <= check.loss_.epsilon(getattr(promise, "delta", 1e-3))
    with pytest.raises(InvalidParameter, match="linear model"):
        dp.learn.RowCheck(dp.learn.GradientMean(promise), promise).fit(*bad[0])
