"""Influence functions against closed forms and against the limit they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer import gross_error_sensitivity, influence_function, sensitivity_curve

C = 1.345
X = np.random.default_rng(1).normal(size=4001)


def huber(x: Any, theta: Any) -> Any:
    return np.clip(x - theta, -C, C)


def logistic(rows: Any, theta: Any) -> Any:
    x, y = rows[:, :-1], rows[:, -1]
    return (1 / (1 + np.exp(-x @ theta)) - y)[:, None] * x


def test_hubers_influence_is_psi_over_the_share_within_c() -> None:
    points = np.array([-30.0, -1.0, 0.0, 0.5, 30.0])
    influence = influence_function(huber, points, X)
    theta = float(X.mean())
    for _ in range(100):
        theta += huber(X, theta).mean()
    share = np.mean(np.abs(X - theta) <= C)
    np.testing.assert_allclose(influence, huber(points, theta) / share, rtol=2e-3, atol=1e-6)
    assert gross_error_sensitivity(huber, points, X) == pytest.approx(C / share, rel=2e-3)


def test_the_fixed_scale_tends_to_the_limit_and_does_not_mind_the_sign() -> None:
    points = np.array([-3.0, 0.3, 9.0])
    limit = influence_function(huber, points, X)
    np.testing.assert_allclose(influence_function(huber, points, X, mass=1e-3), limit, rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(influence_function(lambda x, t: -huber(x, t), points, X), limit)
    assert gross_error_sensitivity(huber, points, X, mass=0.1) > gross_error_sensitivity(huber, points, X)


def test_several_parameters() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    rows = np.column_stack([x, rng.random(2000) < 1 / (1 + np.exp(-x @ [0.3, -0.5]))])
    points = np.array([[1.0, 2.0, 0.0], [1.0, -1.0, 1.0]])
    limit = influence_function(logistic, points, rows, start=[0.0, 0.0])
    assert limit.shape == (2, 2)
    np.testing.assert_allclose(
        influence_function(logistic, points, rows, start=[0.0, 0.0], mass=1e-4), limit, rtol=0.02
    )


def test_the_sensitivity_curve_of_the_mean_is_the_point_and_of_hubers_is_bounded() -> None:
    np.testing.assert_allclose(sensitivity_curve(np.mean, X[:3], X - X.mean()), X[:3], atol=1e-9)

    def estimator(x: Any) -> float:
        theta = 0.0
        for _ in range(60):
            theta += float(huber(x, theta).mean())
        return theta

    curve = sensitivity_curve(estimator, [1e3, 1e6], X)
    assert curve[0] == pytest.approx(curve[1])
    assert curve[0] == pytest.approx(gross_error_sensitivity(huber, [1e3], X), rel=0.01)


def test_odd_arguments_are_errors_of_ours() -> None:
    for call in (
        lambda: influence_function(huber, [np.nan], X),
        lambda: influence_function(huber, [], X),
        lambda: influence_function(lambda x, t: np.ones(len(x)), [1.0], X),
        lambda: influence_function(5, [1.0], X),  # type: ignore[arg-type]
        lambda: influence_function(lambda x, t: np.full(len(x), np.nan), [1.0], X),
        lambda: dp.infer.sensitivity_curve(5, [1.0], X),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.parametrize(
    ("estimator", "points", "words"),
    [
        (lambda x: "a", [1.0], "estimator must return a number"),
        (lambda x: x, [1.0], "as many numbers"),
        (np.mean, [[1.0, 2.0]], "same number of columns"),
        (3, [1.0], "must be a function"),
    ],
)
def test_sensitivity_curves_of_what_is_no_estimator_are_refused(estimator, points, words):
    with pytest.raises(InvalidParameter, match=words):
        dp.infer.sensitivity_curve(estimator, points, np.arange(5.0))
