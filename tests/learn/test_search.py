"""Tuning that is paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.base import is_classifier, is_regressor

import dalenius as dp
from dalenius.calculus.errors import CannotMeet, InvalidParameter
from dalenius.learn import (
    GeometricTries,
    HuberRegression,
    LogisticRegression,
    NegativeBinomialTries,
    PoissonTries,
    PrivateSearch,
)
from dalenius.learn.tries import Tries, negative_binomial_mean
from dalenius.noise.seeded import seeded

CANDIDATES = [{"noise_ratio": 1.1}, {"noise_ratio": 1.5}]


def data(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2)) / 2
    return x, (x[:, 0] > 0).astype(int)


def number_law(tries: Tries, most: int = 4000) -> np.ndarray:
    """P(K = 0), P(K = 1), ... written down from the papers."""
    k = np.arange(most)
    if isinstance(tries, PoissonTries):
        return np.exp(k * math.log(tries.mean) - tries.mean - gammaln(k + 1))
    if isinstance(tries, GeometricTries):
        return np.where(k > 0, (1 - 1 / tries.mean) ** np.maximum(k - 1, 0) / tries.mean, 0.0)
    assert isinstance(tries, NegativeBinomialTries)
    eta, g = tries.eta, tries.g
    logs = k * math.log1p(-g) + gammaln(k + eta) - gammaln(k + 1) - gammaln(eta) - math.log(g**-eta - 1)
    return np.where(k > 0, np.exp(logs), 0.0)


def best_law(law: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The law of the largest of K outcomes, and of having none, outcomes being in increasing order."""
    below = np.concatenate(([0.0], np.cumsum(law)))
    k = np.arange(len(number))
    at_most = (number[1:, None] * below[None, :] ** k[1:, None]).sum(axis=0)
    return np.append(np.diff(at_most), number[0])


ALL = (
    PoissonTries(5.0),
    GeometricTries(5.0),
    NegativeBinomialTries(5.0, 0.5),
    NegativeBinomialTries(20.0, 2.0),
)


@pytest.mark.parametrize("tries", ALL, ids=repr)
def test_number_of_tries_follows_its_law(tries: Tries) -> None:
    """Means of draws lie within six standard errors: a false alarm has probability below 1e-8."""
    law = number_law(tries)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    mean = float(np.arange(len(law)) @ law)
    spread = math.sqrt(float(np.arange(len(law)) ** 2 @ law) - mean**2)
    assert mean == pytest.approx(tries.mean, rel=1e-6)  # type: ignore[attr-defined]
    with seeded(1):
        drawn = np.array(
            [tries.draw() for _ in range(4000 if not isinstance(tries, NegativeBinomialTries) else 100)]
        )
    assert abs(drawn.mean() - mean) < 6 * spread / math.sqrt(len(drawn))
    assert abs(1.15 * drawn.mean() - mean) > 6 * spread / math.sqrt(len(drawn)) or len(drawn) < 4000


@pytest.mark.parametrize("tries", ALL, ids=repr)
def test_bound_covers_exact_small_cases(tries: Tries) -> None:
    """The best of K draws from two neighbouring laws on a few outcomes, worked out exactly."""
    number = number_law(tries)
    rng = np.random.default_rng(2)
    for strength in (0.1, 0.5):
        for _ in range(3):
            p = rng.dirichlet(np.ones(5))
            q = p * np.exp(rng.uniform(-strength, strength, 5))
            q /= q.sum()
            epsilon = float(np.abs(np.log(p / q)).max())
            base = dp.losses.pure(epsilon)
            tuned = tries.loss(base)
            one, other = best_law(p, number), best_law(q, number)
            for a, b in ((one, other), (other, one)):
                keep = a > 0
                for order in (1.5, 2.0, 8.0, 40.0):
                    found = math.log((a[keep] ** order * b[keep] ** (1 - order)).sum()) / (order - 1)
                    if isinstance(tries, GeometricTries):
                        assert np.log(a[keep] / b[keep]).max() <= tuned.epsilon(0.0) + 1e-9
                    assert found <= tuned.renyi(order) + 1e-9 or not isinstance(tries, GeometricTries)
                for e in (0.3, 0.9):
                    assert np.maximum(a - math.exp(e) * b, 0).sum() <= tuned.delta(e) + 1e-12


def test_pure_costs_three_times() -> None:
    assert GeometricTries(7.0).loss(dp.losses.pure(0.5)).epsilon(0.0) == pytest.approx(1.5)


def test_mean_formula() -> None:
    assert negative_binomial_mean(1.0, 0.2) == pytest.approx(5.0)


@pytest.mark.parametrize("bad", [1.0, 0.5, -3, math.nan, 1e7, "ten"])
def test_mean_is_checked(bad: Any) -> None:
    for kind in (PoissonTries, GeometricTries, NegativeBinomialTries):
        with pytest.raises(InvalidParameter):
            kind(bad)


def test_search_keeps_its_promise_and_forgets_the_rest() -> None:
    x, y = data()
    for promise, tries in ((dp.PureDP(3.0), None), (dp.ApproxDP(3.0, 1e-5), PoissonTries(3.0))):
        search = PrivateSearch(LogisticRegression(dp.PureDP(1.0)), CANDIDATES, promise, tries=tries)
        with seeded(3):
            search.fit(x, y)
        assert promise.holds(search.loss_)
        assert search.loss_ is search.best_estimator_.loss_
        assert search.price().epsilon(1e-5) == search.loss_.epsilon(1e-5)
        held = set(vars(search)) - set(search.get_params(deep=False))
        assert held == {
            "best_estimator_",
            "best_score_",
            "best_params_",
            "loss_",
            "n_features_in_",
            "classes_",
        }
        assert search.best_params_ in CANDIDATES
        assert set(search.predict(x)) <= {0, 1}


def test_no_trial_returns_a_model_of_no_records() -> None:
    x, y = data()

    class Never(GeometricTries):
        def draw(self) -> int:
            return 0

    search = PrivateSearch(LogisticRegression(dp.PureDP(1.0)), CANDIDATES, dp.PureDP(3.0), tries=Never())
    with seeded(9):
        first = search.fit(x, y).best_estimator_.coef_
    with seeded(9):
        second = search.fit(-x[:7], y[:7]).best_estimator_.coef_
    np.testing.assert_array_equal(first, second)
    assert search.best_params_ == CANDIDATES[0]


def test_public_validation_costs_nothing() -> None:
    x, y = data()
    options: Any = {
        "estimator": LogisticRegression(dp.PureDP(1.0)),
        "candidates": CANDIDATES,
        "guarantee": dp.PureDP(3.0),
    }
    free = PrivateSearch(**options, validation=(x, y))
    with seeded(3):
        free.fit(x, y)
    assert free.best_estimator_.guarantee.epsilon == pytest.approx(1.0, rel=2e-2)
    assert 0 <= free.best_score_ <= 1
    paid = PrivateSearch(**options).fit(x, y)
    assert paid.best_estimator_.guarantee.epsilon == pytest.approx(1 / 1.1, rel=2e-2)


def test_regressors_are_scored_too() -> None:
    x, _ = data()
    search = PrivateSearch(HuberRegression(dp.PureDP(1.0)), [{"knee": 0.3}, {"knee": 1.0}], dp.PureDP(9.0))
    with seeded(3):
        assert np.isfinite(search.fit(x, x[:, 0]).best_score_)


def test_bad_parameters() -> None:
    x, y = data(20)
    model = LogisticRegression(dp.PureDP(1.0))
    for options in ({"candidates": []}, {"guarantee": 1.0}, {"score_share": 1.0}):
        made = {"candidates": CANDIDATES, "guarantee": dp.PureDP(1.0), **options}
        with pytest.raises(InvalidParameter):
            PrivateSearch(model, **made).fit(x, y)
    with pytest.raises(CannotMeet):
        PrivateSearch(model, CANDIDATES, dp.PureDP(1.0), tries=PoissonTries(3.0)).fit(x, y)


def test_a_search_is_an_estimator_of_its_kind() -> None:
    """It scores, and tells scikit-learn what it is; a score of one's own decides the winner."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2)) / 2
    y = (x[:, 0] > 0).astype(int)
    search = dp.learn.PrivateSearch(
        dp.learn.LogisticRegression(dp.PureDP(1.0)),
        [{"row_norm": 1.0}, {"row_norm": 2.0}],
        dp.PureDP(300.0),
        tries=dp.learn.GeometricTries(20.0),
        scoring=lambda model, x, y: np.full(len(x), float(model.row_norm == 2.0)),
    )
    with seeded(5):
        search.fit(x, y)
    assert search.best_params_ == {"row_norm": 2.0}
    assert search.score(x, y) == search.best_estimator_.score(x, y) > 0.8
    assert search.predict_proba(x).shape == (400, 2)
    assert search.decision_function(x).shape == (400,)
    assert is_classifier(search)
    values = dp.learn.PrivateSearch(dp.learn.HuberRegression(dp.GDP(1.0)), [{}], dp.ApproxDP(1.0, 1e-5))
    assert is_regressor(values)
    assert not hasattr(values, "predict_proba")
