"""Tuning that is paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, log_ndtr, ndtr
from sklearn.base import is_classifier, is_regressor

import dalenius as dp
from dalenius.adaptive.selection.trial_counts import Tries
from dalenius.calculus.losses.best_of import negative_binomial_mean
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn import (
    FixedTries,
    GeometricTries,
    HuberRegression,
    LogisticRegression,
    NegativeBinomialTries,
    PoissonTries,
    PrivateSearch,
)
from tests.noise.seeded import seeded

CANDIDATES = [{"row_norm": 1.0}, {"row_norm": 2.0}]


def data(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2)) / 2
    return x, (x[:, 0] > 0).astype(int)


def number_law(tries: Tries, most: int = 1000) -> np.ndarray:
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


def profile(a: np.ndarray, b: np.ndarray, epsilon: float) -> float:
    return max(float(np.maximum(u - math.exp(epsilon) * v, 0).sum()) for u, v in ((a, b), (b, a)))


def normal_pair(mu: float, cells: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """N(mu, 1) and N(0, 1) in cells: less telling than the two themselves."""
    edges = np.concatenate(([-np.inf], np.linspace(-6, 6 + mu, cells - 1), [np.inf]))
    return np.diff(ndtr(edges - mu)), np.diff(ndtr(edges))


@pytest.mark.parametrize("tries", ALL, ids=repr)
@pytest.mark.parametrize("mu", [0.05, 0.4])
def test_bound_covers_the_best_of_gaussian_trials(tries: Any, mu: float) -> None:
    """For outcomes in the order of their losses, in the other order and in orders at random, worked out exactly: the
    loss is above all of them, and a bound that leaves out what K tells (the trial's own profile) is not."""
    number, tuned = number_law(tries), tries.loss(dp.losses.gaussian(1 / mu))
    trial = dp.losses.gaussian(1 / mu)
    p, q = normal_pair(mu)
    rng = np.random.default_rng(3)
    above = 0
    for order in (np.arange(150), np.arange(150)[::-1], rng.permutation(150)):
        one, other = best_law(p[order], number), best_law(q[order], number)
        for epsilon in (0.0, mu, 3 * mu, 5 * mu):
            true = profile(one, other, epsilon)
            assert true <= tuned.delta(epsilon) + 1e-12
            above += true > trial.delta(epsilon)
    assert above > 0


@pytest.mark.parametrize("tries", ALL, ids=repr)
def test_bound_covers_exact_small_cases(tries: Any) -> None:
    """The best of K draws from two neighbouring laws on five outcomes, worked out exactly; trials of both laws, and
    of two candidates whose laws differ."""
    number = number_law(tries)
    rng = np.random.default_rng(2)
    for strength in (0.1, 3.0):
        for _ in range(2):
            p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
            q = p * np.exp(rng.uniform(-strength, strength, 5)) if strength < 1 else q
            q /= q.sum()
            tuned = tries.loss(dp.losses.from_pair(p, q))
            one, other = best_law(p, number), best_law(q, number)
            for epsilon in (0.0, 0.3, 0.9, 2.0):
                assert profile(one, other, epsilon) <= tuned.delta(epsilon) + 1e-12
            mixed = tries.loss(dp.losses.from_pair(p, q), dp.losses.pure(0.01))
            one, other = best_law((p + 0.2) / 2, number), best_law((q + 0.2) / 2, number)
            assert profile(one, other, 0.3) <= mixed.delta(0.3) + 1e-12


def theorem(tries: Any, mu: float, orders: np.ndarray) -> np.ndarray:
    """Papernot and Steinke 2022, Theorems 2 and 6, for a Gaussian trial, written down anew: Renyi divergences."""
    own = mu**2 * orders / 2
    if isinstance(tries, PoissonTries):
        epsilon = np.log1p(1 / (orders - 1))
        delta = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        return own + tries.mean * delta + math.log(tries.mean) / (orders - 1)
    wide = np.geomspace(1.0001, 1e5, 4000)
    rest = ((1 - 1 / wide) * mu**2 * wide / 2 + math.log(1 / tries.g) / wide).min()
    return own + (1 + tries.eta) * rest + math.log(tries.mean) / (orders - 1)


@pytest.mark.parametrize("tries", ALL, ids=repr)
@pytest.mark.parametrize("mu", [0.03, 0.5])
def test_price_is_that_of_the_theorem_or_less(tries: Any, mu: float) -> None:
    """Epsilon at delta 1e-6, against the theorem's Renyi divergences converted (Canonne et al. 2020), all orders."""
    orders = 1 + np.geomspace(1e-3, 1e5, 20_000)
    logs = np.log1p(-1 / orders) - (math.log(1e-6) + np.log(orders)) / (orders - 1)
    published = float((theorem(tries, mu, orders) + logs).min())
    found = tries.loss(dp.losses.gaussian(1 / mu)).epsilon(1e-6)
    assert found < published
    assert found > dp.losses.gaussian(1 / mu).epsilon(1e-6)


@pytest.mark.parametrize("mu", [0.03, 0.3])
def test_concentrated_price_is_that_of_the_theorem(mu: float) -> None:
    """rho is the largest divergence over its order, divergences being bounded by those of higher orders."""
    tries = GeometricTries(5.0)
    orders = 1 + np.geomspace(1e-3, 1e6, 20_000)
    least = np.minimum.accumulate(theorem(tries, mu, orders)[::-1])[::-1]
    found = tries.loss(dp.losses.gaussian(1 / mu), promise=dp.ZCDP(1.0)).zcdp()
    assert (least / orders).max() <= found < 1.1 * (least / orders).max()
    with pytest.raises(CannotMeet, match="FixedTries"):
        PoissonTries(5.0).loss(dp.losses.gaussian(1 / mu), promise=dp.ZCDP(1.0))


def test_a_fixed_number_adds_up() -> None:
    one, other = dp.losses.gaussian(1.0), dp.losses.gaussian(2.0)
    assert FixedTries(4).loss(one).gdp() == pytest.approx(2.0)
    assert FixedTries(3).loss(one, other).gdp() == pytest.approx(1.5)
    assert FixedTries(1).loss(one, other) == one


@pytest.mark.parametrize(
    "promise", [dp.ZCDP(0.05), dp.GDP(0.5), dp.RDP(8.0, 0.5), dp.ApproxDP(1.0, 1e-5)], ids=repr
)
def test_every_promise_is_kept_at_the_price_of_its_trials(promise: Any) -> None:
    """Two candidates, a score: the sum of two trials, used up to a thousandth."""
    x, y = data()
    search = PrivateSearch(
        LogisticRegression(dp.PureDP(1.0)), [{"row_norm": 1.0}, {"row_norm": 2.0}], promise
    )
    search.fit(x, y)
    assert promise.holds(search.loss_)
    if isinstance(promise, dp.GDP):
        assert search.loss_.gdp() > 0.998 * promise.mu
    if isinstance(promise, dp.ZCDP):
        assert search.loss_.zcdp() > 0.998 * promise.rho
    if isinstance(promise, dp.ApproxDP):
        assert search.loss_.epsilon(promise.delta) > 0.99 * promise.epsilon
    if isinstance(promise, dp.GDP):
        with pytest.raises(CannotMeet, match="FixedTries"):
            PrivateSearch(search.estimator, CANDIDATES, promise, tries=GeometricTries()).fit(x, y)


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
        assert 0 <= search.best_score_ <= 1 or math.isnan(search.best_score_)


def test_score_is_the_share_that_is_right() -> None:
    """With next to no noise, on the records that can be scored; and the scale of what is added is that of the claim."""
    x, y = data()
    spoiled = np.vstack([x, [[np.nan, 0.0]]])
    search = PrivateSearch(LogisticRegression(dp.PureDP(1.0)), [{}], dp.PureDP(300.0), score_share=0.5)
    with seeded(1):
        search.fit(spoiled, np.append(y, 1))
    assert search.best_score_ == pytest.approx(search.best_estimator_.score(x, y), abs=1e-2)
    model = search.best_estimator_

    class Seen(Exception):
        pass

    class Noise:
        def release(self, value: Any) -> Any:
            raise Seen(value)

    sums = []
    for rows in (slice(0, 400), slice(0, 399)):
        with pytest.raises(Seen) as caught:
            search._score(model, x[rows], y[rows], Noise())  # type: ignore[arg-type]
        sums.append(caught.value.args[0])
    assert np.abs(sums[0] - sums[1]).sum() == 1 << 20


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
        "tries": GeometricTries(),
    }
    free = PrivateSearch(**options, validation=(x, y))
    with seeded(3):
        free.fit(x, y)
    assert free.best_estimator_.guarantee.epsilon == pytest.approx(1.0, rel=2e-2)
    assert 0 <= free.best_score_ <= 1
    paid = PrivateSearch(**options).fit(x, y)
    assert paid.best_estimator_.guarantee.epsilon == pytest.approx(1 / 1.1, rel=2e-2)
    assert paid.price().epsilon(0.0) == paid.loss_.epsilon(0.0)


def test_regressors_are_scored_too() -> None:
    x, _ = data()
    search = PrivateSearch(HuberRegression(dp.PureDP(1.0)), [{"knee": 0.3}, {"knee": 1.0}], dp.PureDP(9.0))
    with seeded(3):
        assert np.isfinite(search.fit(x, x[:, 0]).best_score_)


def test_bad_parameters() -> None:
    x, y = data(20)
    model = LogisticRegression(dp.PureDP(1.0))
    for options in ({"candidates": []}, {"guarantee": 1.0}, {"score_share": 1.0}, {"scoring": "accuracy"}):
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
        [{"classes": (0, 1)}, {"classes": (1, 0)}],
        dp.PureDP(300.0),
        tries=dp.learn.GeometricTries(20.0),
        scoring=lambda told, true: told != true,
    )
    with seeded(5):
        search.fit(x, y)
    assert search.score(x, y) == search.best_estimator_.score(x, y) > 0.8
    assert search.best_score_ == pytest.approx(1 - search.score(x, y), abs=0.02)
    assert search.predict_proba(x).shape == (400, 2)
    assert search.decision_function(x).shape == (400,)
    assert is_classifier(search)
    values = dp.learn.PrivateSearch(dp.learn.HuberRegression(dp.GDP(1.0)), [{}], dp.ApproxDP(1.0, 1e-5))
    assert is_regressor(values)
    assert not hasattr(values, "predict_proba")
