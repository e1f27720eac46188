"""Generalized linear models: without noise the weighted root, with noise the law that is claimed, and total."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from tests.noise.seeded import seeded

PUBLIC: dict[str, Any] = {"x_center": 0.0, "x_scale": 1.0}
REACH = 1.3
NEAR: dict[str, Any] = {**PUBLIC, "reach": REACH}


def logistic_data(n: int, p: int, key: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(key)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ np.linspace(0.8, -0.4, p) + 0.3)))).astype(int)


def weighted_root(X: Any, slope: Any) -> Any:
    """The root of sum w x slope(x.theta)."""
    design, weights = weighted(X)
    return optimize.root(
        lambda t: (design * weights[:, None]).T @ slope(design @ t), np.zeros(design.shape[1]), tol=1e-12
    ).x


def weighted(X: Any) -> tuple[Any, Any]:
    """Rows with a constant, and w = min(1, REACH^2 p/|x|^2)."""
    design = np.column_stack([X, np.ones(len(X))])
    return design, np.minimum(1.0, REACH**2 * design.shape[1] / (design**2).sum(axis=1))


def test_with_hardly_any_noise_the_estimates_are_the_weighted_roots() -> None:
    X, y = logistic_data(3000, 3)
    fit = dp.infer.logistic_regression(X, y, dp.GDP(80.0), **NEAR)
    root = weighted_root(X, lambda u: 1 / (1 + np.exp(-u)) - y)
    assert np.abs((fit.params - root) / fit.bse).max() < 0.2

    counts = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0] + 0.2))
    poisson = dp.infer.PoissonRegression(guarantee=dp.GDP(80.0), most=6, **NEAR)
    fit = poisson.release(X, counts)
    root = weighted_root(X, lambda u: poisson.score.slopes(u, counts))
    assert np.abs((fit.params - root) / fit.bse).max() < 0.2

    fit = dp.infer.m_estimate(
        X, X[:, 0] + y, dp.GDP(80.0), slope="log_cosh", scale=0.5, y_center=0.0, y_scale=1.0, **NEAR
    )
    root = weighted_root(X, lambda u: np.tanh((u - X[:, 0] - y) / 0.5))
    assert np.abs((fit.params - root) / fit.bse).max() < 0.2


def test_several_classes_have_the_root_of_their_score() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 1))
    utility = np.column_stack([np.zeros(4000), X[:, 0], 0.5 - X[:, 0]]) + rng.gumbel(size=(4000, 3))
    labels = np.array(["a", "b", "c"])[utility.argmax(axis=1)]
    model = dp.infer.MultinomialRegression(guarantee=dp.GDP(80.0), classes=("a", "b", "c"), **NEAR)
    fit, codes = model.release(X, labels), model.responses(labels)
    design, weights = weighted(X)

    def gradient(theta: Any) -> Any:
        slopes = model.score.slopes(design @ theta.reshape(2, 2).T, codes)
        return np.ravel((slopes * weights[:, None]).T @ design)

    root = optimize.root(gradient, np.zeros(4), tol=1e-12).x
    assert fit.names == ("b: x1", "b: const", "c: x1", "c: const")
    assert np.abs((fit.params - root) / fit.bse).max() < 0.3


def test_the_noise_has_the_claimed_law() -> None:
    """On one table the noise alone moves the estimate: 250 fits, whose deviation is known to 4.5 %."""
    X, y = logistic_data(6000, 1)
    model = dp.infer.LogisticRegression(guarantee=dp.GDP(0.15), **NEAR)
    root = weighted_root(X, lambda u: 1 / (1 + np.exp(-u)) - y)
    design, weights = weighted(X)
    p = 1 / (1 + np.exp(-design @ root))
    bread = np.linalg.inv((design * (weights * p * (1 - p))[:, None]).T @ design)
    slopes = design * (weights * (p - y))[:, None]
    sampling = np.diag(bread @ slopes.T @ slopes @ bread)
    with seeded(5):
        fits = [model.release(X, y) for _ in range(250)]
    claimed = np.mean([fit.bse**2 for fit in fits], axis=0) - sampling
    ratio = np.sqrt(np.mean([(fit.params - root) ** 2 for fit in fits], axis=0) / claimed)
    assert (np.abs(ratio - 1) < 0.1).all(), ratio


@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_separable_outcomes_have_no_estimate_and_no_interval(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 2))
    with seeded(n):
        fit = dp.infer.logistic_regression(X, X[:, 0] > 0, dp.GDP(1.0), **PUBLIC)
    assert not fit.interval_available


def test_strong_effects_are_reached() -> None:
    """Coefficients of 4 in standardised coordinates: steps that stop early would be off by tens of errors."""
    truth, rng = np.array([4.0, -2.0, 0.5]), np.random.default_rng(3)
    X = rng.normal(size=(20_000, 2))
    y = rng.random(20_000) < 1 / (1 + np.exp(-(X @ truth[:2] + 0.5)))
    with seeded(1):
        fit = dp.infer.logistic_regression(X, y, dp.GDP(1.0), **PUBLIC)
    assert (np.abs(fit.params - truth) < 4 * fit.bse).all()
    assert fit.bse.max() < 0.2


def test_a_saturated_loss_is_reached_from_far_away() -> None:
    """Responses vary ten times as much as the errors: Newton's steps from zero would swing about the root for ever."""
    rng = np.random.default_rng(5)
    X = rng.normal(50, 10, size=(5000, 2))
    y = X @ [1.0, -0.5] + rng.standard_t(3, 5000)
    with seeded(2):
        fit = dp.infer.m_estimate(X, y, dp.GDP(1.0), slope=np.tanh, scale=1.5, bounds=[(0, 100), (0, 100)])
    assert (np.abs(fit.params - [1.0, -0.5, 0.0]) < 4 * fit.bse).all()
    assert fit.bse[:2].max() < 0.01


def test_what_cannot_be_had_is_said_beforehand() -> None:
    X, y = logistic_data(200, 10)
    fit = dp.infer.logistic_regression(X, y, dp.GDP(0.25), **PUBLIC)
    assert not fit.interval_available
    assert "too few rows" in fit.reason
    assert np.isnan(fit.conf_int()).all()


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_coverage_of_a_decisive_cell(adjacency: dp.Adjacency) -> None:
    """Without the noise's share 95 % intervals would hold in 80 % or less."""
    truth, held = np.array([0.8, -0.4, 0.3]), []
    with seeded(8):
        for key in range(80):
            X, y = logistic_data(800, 2, key)
            fit = dp.infer.logistic_regression(X, y, dp.GDP(0.8), adjacency=adjacency, **PUBLIC)
            limits = fit.conf_int()
            held.append((limits[:, 0] <= truth) & (truth <= limits[:, 1]))
    assert 0.92 <= np.mean(held) <= 0.985


NASTY: list[Any] = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-320]


@pytest.mark.parametrize("value", NASTY)
def test_no_value_makes_a_fit_fail(value: float) -> None:
    X, y = logistic_data(300, 2)
    X[7, 1] = value
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        for extra in (PUBLIC, {}):
            options = {"adjacency": adjacency, **extra}
            assert len(dp.infer.logistic_regression(X, y, dp.GDP(1.0), **options).params) == 3
            counts = np.where(np.arange(300) == 9, value, y)
            assert len(dp.infer.poisson_regression(X, counts, dp.GDP(1.0), most=3, **options).params) == 3
            assert len(dp.infer.m_estimate(X, counts, dp.GDP(1.0), slope="log_cosh", **options).params) == 3


def test_labels_of_any_kind_are_read_one_by_one() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    X, y = logistic_data(60, 1)
    labels: list[Any] = ["yes" if each else "no" for each in y]
    labels[3], labels[4], labels[5] = None, Odd(), 3.5
    model = dp.infer.LogisticRegression(guarantee=dp.GDP(1.0), classes=("no", "yes"))
    codes = model.responses(labels)
    assert np.isnan(codes[3:6]).all()
    np.testing.assert_array_equal(np.delete(codes, [3, 4, 5]), np.delete(y, [3, 4, 5]))
    assert len(model.release(X, labels).params) == 2


def test_odd_settings_are_errors_of_ours() -> None:
    X, y = logistic_data(50, 2)
    gdp = dp.GDP(1.0)
    for call in (
        lambda: dp.infer.logistic_regression(X, y[:-1], gdp),
        lambda: dp.infer.logistic_regression(X, y, gdp, classes=(0, 0)),
        lambda: dp.infer.logistic_regression(X, y, gdp, classes=5),  # type: ignore[arg-type]
        lambda: dp.infer.logistic_regression(X, y, gdp, x_center=0.0),
        lambda: dp.infer.logistic_regression(X, y, gdp, x_center=[0.0] * 3, x_scale=1.0),
        lambda: dp.infer.logistic_regression(X, y, gdp, bounds=[(0, 1)]),
        lambda: dp.infer.logistic_regression(X, None, gdp),
        lambda: dp.infer.poisson_regression(X, y, gdp, most=0),
        lambda: dp.infer.poisson_regression(X, y, gdp, most=10**9),
        lambda: dp.infer.multinomial_regression(X, y, gdp, classes=(0, 1)),
        lambda: dp.infer.m_estimate(X, y, gdp, slope="hubert"),
        lambda: dp.infer.m_estimate(X, y, gdp, slope="log_cosh", outcomes=(0, 1)),
        lambda: dp.infer.m_estimate(X, y, gdp, slope="log_cosh", y_scale=1.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
    with pytest.raises(CannotMeet):
        dp.infer.logistic_regression(X, y, dp.PureDP(1.0))


@pytest.mark.parametrize("guarantee", [dp.GDP(0.5), dp.ZCDP(0.2), dp.ApproxDP(1.0, 1e-6)])
def test_the_loss_keeps_the_promise(guarantee: Any) -> None:
    assert guarantee.holds(dp.infer.LogisticRegression(guarantee=guarantee).loss)


@pytest.mark.parametrize("public", [{}, {"x_center": 5.0, "x_scale": 1.0}], ids=["private", "public"])
def test_without_a_constant_nothing_is_shifted(public) -> None:
    """The noise is small: an interval fails once in a thousand times."""
    random, gdp, known = np.random.default_rng(7), dp.GDP(20.0), {"intercept": False, **public}
    X = random.normal(5.0, 1.0, size=(5000, 1))
    u = 0.3 * X[:, 0]
    fits = (
        dp.infer.logistic_regression(X, random.random(5000) < 1 / (1 + np.exp(-u)), gdp, **known),
        dp.infer.poisson_regression(X, random.poisson(np.exp(u)), gdp, most=40, **known),
        dp.infer.m_estimate(X, u + random.normal(size=5000), gdp, slope="log_cosh", **known),
    )
    for fit in fits:
        ((low, high),) = fit.conf_int(0.001)
        assert low < 0.3 < high
        assert high - low < 0.2


@pytest.mark.parametrize(
    ("y", "classes"), [(np.array(["no", "yes"] * 50), (0, 1)), (np.array([0, 1] * 50), ("no", "yes"))]
)
def test_labels_of_another_type_than_the_classes_are_refused(y: Any, classes: Any) -> None:
    with pytest.raises(InvalidParameter, match="classes="):
        dp.infer.logistic_regression(np.ones((100, 1)), y, dp.GDP(1.0), classes=classes, **PUBLIC)
