"""Intervals of models fitted by objective perturbation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from tests.noise.seeded import seeded

TRUTH = np.array([1.0, -0.5, 0.3])


def data(n: int, key: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(key)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ TRUTH[:2] + 0.3)))).astype(int)


def fitted(X: Any, y: Any, guarantee: Any, **options: Any) -> Any:
    settings = {"row_norm": 1.42, "intercept_scale": 0.7, "knee": 1.0, **options}
    return dp.learn.LogisticRegression(guarantee, **settings).fit(X, y)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Neither ridge nor noise may be left out: without either, fewer than 85 % of these would hold."""
    held = []
    with seeded(3):
        for key in range(40):
            X, y = data(1500, key)
            model = fitted(X, y, dp.ApproxDP(1.0, 1e-5))
            limits = dp.infer.coefficients(model, X, y, dp.GDP(0.5)).conf_int()
            held.append((limits[:, 0] <= TRUTH) & (limits[:, 1] >= TRUTH))
    assert 0.9 <= np.mean(held) <= 0.995


def test_the_ridge_is_taken_back() -> None:
    X, y = data(20_000)
    model = fitted(X, y, dp.ApproxDP(1.0, 1e-5))
    fit = dp.infer.coefficients(model, X, y, dp.GDP(1.0))
    assert fit.names == ("x1", "x2", "const")
    assert abs(fit.params[0]) > abs(model.coef_[0, 0])
    assert fit.bse.max() < 0.2
    assert dp.GDP(1.0).holds(fit.loss)


def test_a_clipped_slope_says_what_it_estimates() -> None:
    X, y = data(3000)
    fit = dp.infer.coefficients(fitted(X, y, dp.ApproxDP(1.0, 1e-5), knee=0.5), X, y, dp.GDP(1.0))
    assert any("clipped" in note for note in fit.notes)


def test_weights_of_classes_move_the_constant() -> None:
    """Rows of label 1 count four times: the log-odds are log 4 higher, the slopes what they were; and it is said."""
    X, y = data(40_000)
    model = fitted(X, y, dp.ApproxDP(1.0, 1e-5), class_weight={1: 4})
    with seeded(1):
        fit = dp.infer.coefficients(model, X, y, dp.GDP(1.0))
    away = (fit.params - TRUTH - [0, 0, np.log(4)]) / fit.bse
    assert np.abs(away).max() < 4
    assert fit.bse.max() < 0.2
    assert any("Classes have weights" in note for note in fit.notes)


def test_other_units_of_the_target_are_those_of_the_model() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(20_000, 1))
    y = 50 + 20 * X[:, 0] + rng.normal(size=20_000) * 5
    model = dp.learn.HuberRegression(
        dp.ApproxDP(2.0, 1e-5), row_norm=1.0, intercept_scale=1.0, target_bounds=(0, 100), method="objective"
    ).fit(X, y)
    fit = dp.infer.coefficients(model, X, y, dp.GDP(1.0))
    assert np.abs(fit.params - [20, 50]).max() < 2
    assert (np.abs(fit.params - [20, 50]) < 5 * fit.bse).all()


def test_too_little_curvature_gives_no_interval() -> None:
    X, y = data(60)
    fit = dp.infer.coefficients(fitted(X, y, dp.ApproxDP(0.2, 1e-6)), X, y, dp.GDP(0.1))
    assert not fit.interval_available
    assert np.isfinite(fit.params).all()


def test_other_models_are_refused() -> None:
    X, y = data(200)
    pure = fitted(X, y, dp.PureDP(1.0))
    newton = fitted(X, y, dp.GDP(1.0))
    for model in (None, 5, dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)), pure, newton):
        with pytest.raises((InvalidParameter, ValueError)):
            dp.infer.coefficients(model, X, y, dp.GDP(1.0))
