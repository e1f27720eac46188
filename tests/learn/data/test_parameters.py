"""Numbers of other types as parameters: exact ones are taken as they are, those beyond floats are refused."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import dalenius as dp
from dalenius.errors import InvalidParameter
from tests.sample import sampled

X = np.linspace(-1, 1, 64)[:, None] * [1.0, -0.5]
Y = (X[:, 0] > 0).astype(int)
APPROX, PURE = dp.ApproxDP(2.0, 1e-3), dp.PureDP(2.0)
MODELS = {
    "LogisticRegression": lambda **p: dp.learn.LogisticRegression(APPROX, **p),
    "LinearSVC": lambda **p: dp.learn.LinearSVC(APPROX, **p),
    "HuberRegression": lambda **p: dp.learn.HuberRegression(APPROX, **p),
    "PoissonRegression": lambda **p: dp.learn.PoissonRegression(APPROX, **p),
    "LinearRegression": lambda **p: dp.learn.LinearRegression(APPROX, **p),
    "PosteriorSampleRegression": lambda **p: dp.learn.PosteriorSampleRegression(APPROX, **p),
    "AdaptivePosteriorSampleRegression": lambda **p: dp.learn.AdaptivePosteriorSampleRegression(APPROX, **p),
    "GradientLeastSquares": lambda **p: dp.learn.GradientLeastSquares(PURE, **p),
    "ExponentialQuantileRegression": lambda **p: dp.learn.ExponentialQuantileRegression(PURE, **p),
    "SubsampleAggregate": lambda **p: dp.learn.SubsampleAggregate(
        Ridge(), APPROX, **{"size": 3, "bound": 1.0, "parts": 2, **p}
    ),
    "ExponentialMean": lambda **p: dp.learn.ExponentialMean(PURE, **p),
    "GradientQuantile": lambda **p: dp.learn.GradientQuantile(PURE, **p),
    "ExponentialQuantile": lambda **p: dp.learn.ExponentialQuantile(PURE, **p),
    "PrivateSearch": lambda **p: dp.learn.PrivateSearch(dp.learn.LinearSVC(APPROX), [{}], APPROX, **p),
    "Descent": lambda **p: dp.learn.LogisticRegression(APPROX, method=dp.learn.Descent(**p)),
    "GeometricTries": lambda **p: dp.learn.PrivateSearch(
        dp.learn.LinearSVC(APPROX), [{}], APPROX, tries=dp.learn.GeometricTries(**p)
    ),
}


def numbers(name: str) -> dict[str, Any]:
    """The parameters of a model that are numbers, or pairs of them, with their defaults."""
    given = {"SubsampleAggregate": {"bound": 1.0}, "Descent": {"steps": 5}}.get(name, {})
    defaults = {k: p.default for k, p in inspect.signature(getattr(dp.learn, name)).parameters.items()}
    found = {k: v for k, v in defaults.items() if isinstance(v, float) or k.endswith("bounds")}
    return found | {k: v for k, v in given.items() if isinstance(v, float)}


CASES = [(name, parameter) for name in MODELS for parameter in numbers(name)]


def with_all(value: Any, change: Any) -> Any:
    return tuple(change(float(v)) for v in value) if isinstance(value, tuple) else change(float(value))


def fitted(name: str, **parameters: Any) -> Any:
    model = MODELS[name](**parameters)
    one_column = "Mean" in name or name.endswith("Quantile")
    return model.fit(X[:, 0]) if one_column else model.fit(X, Y)


@pytest.mark.parametrize("kind", [Decimal, Fraction], ids=["decimal", "fraction"])
@pytest.mark.parametrize(("name", "parameter"), sampled(CASES))
def test_exact_numbers_are_taken_as_they_are(name: str, parameter: str, kind: Any) -> None:
    default = numbers(name)[parameter]
    model = fitted(name, **{parameter: with_all(default, kind)})
    assert model.loss_ == MODELS[name](**{parameter: default}).price()


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_numbers_beyond_floats_are_refused(name: str, parameter: str) -> None:
    default = numbers(name)[parameter]
    for beyond in (10**400, Fraction(10**400), Decimal(10) ** 400, float("inf"), Decimal("NaN")):
        value = (0.0, beyond) if isinstance(default, tuple) else beyond
        with pytest.raises(InvalidParameter):
            fitted(name, **{parameter: value})
