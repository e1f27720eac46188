"""The weight of a model is a function of its public parameters, and of nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.pipeline import make_pipeline

import dalenius as dp
from dalenius.session.travel.weights import FIT, INFERENCE, weight

PROMISE = dp.GDP(1.0)


def logistic(**given: Any) -> Any:
    return dp.learn.LogisticRegression(PROMISE, **given)


def descent(steps: int) -> Any:
    return dp.learn.Descent(steps=steps, rate=0.05)


def search(*candidates: dict[str, Any], tries: Any) -> Any:
    return dp.learn.PrivateSearch(logistic(), list(candidates), PROMISE, tries=tries)


@pytest.mark.parametrize(
    ("model", "columns", "times"),
    [
        (logistic(), 3, 1),
        (logistic(classes=(0, 1)), 3, 1),
        (logistic(), 64, 3),
        (logistic(method=descent(50)), 3, 1),
        (logistic(method=descent(700)), 3, 7),
        (dp.learn.OneVsRest(PROMISE, classes=(0, 1, 2, 3, 4)), 3, 4),
        (make_pipeline(dp.learn.PublicBounds({"a": (0, 1)}), logistic(method=descent(700))), 3, 7),
        (search({"method": descent(300)}, {}, tries=dp.learn.FixedTries(5)), 3, 15),
        (search({}, tries=dp.learn.GeometricTries(20)), 3, 20),
        (dp.learn.SubsampleAggregate(logistic(), PROMISE, size=3, bound=1.0, parts=200), 3, 20),
    ],
)
def test_what_takes_longer_weighs_more(model: Any, columns: int, times: float) -> None:
    assert weight(model, columns, FIT) == FIT * times


def test_an_inference() -> None:
    assert weight(dp.infer.Mean(PROMISE, bounds=(0, 1)), 1, INFERENCE) == INFERENCE


def test_parameters_of_wrong_types_are_no_failure() -> None:
    """They are refused by the model itself, in better words."""
    for classes, steps in ((3, "many"), ("ab", None), (None, float("inf"))):
        odd = logistic(classes=classes)
        odd.method = type("Odd", (), {"steps": steps})()
        assert weight(odd, 1, FIT) >= FIT
