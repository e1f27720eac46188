"""What is no part, no function, no promise or no number is refused in a sentence that names the parameter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import ptr
from dalenius.errors import CannotMeet, InvalidParameter

NONSENSE = (None, "x", 3, Ellipsis)
MEDIAN = dp.adaptive.LocalMedian(sensitivity=1.0, scale=2.0, bounds=(0.0, 100.0))
VOTE = dp.adaptive.GNMax(sigma=20.0, teachers=400, classes=10, queries=2)
LAPLACE = dp.mechanisms.Laplace(sensitivity=1, scale=1.0)
TEST = ptr.DistanceTest(mechanism=MEDIAN, epsilon=0.5, wrong_pass=1e-6)
STABLE: dict[str, Any] = {"function": len, "changes": len, "pair": ([1], [1, 2])}
BOUND = {"order": 8.0, "smoothness": 0.05, "noise": 2.0, "log_noise": 2.0, "failure": 1e-6}

PARTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mechanism": (ptr.ProposeTestRelease, {"test": TEST}),
    "test": (ptr.ProposeTestRelease, {"mechanism": MEDIAN}),
    "bound": (ptr.BoundTest, {"limit": 1.0}),
    "family": (ptr.CalibratedRelease, {"bound": ptr.NoisyLowerBound(len, LAPLACE, 1e-6)}),
    "vote": (dp.adaptive.ConsensusVote, {"epsilon": 0.1, "delta": 1e-5}),
    "function": (dp.adaptive.StableValue, STABLE),
    "changes": (dp.adaptive.StableValue, STABLE),
    "pair": (dp.adaptive.StableValue, STABLE),
    "statistic": (ptr.NoisyUpperBound, {"noise": LAPLACE, "failure": 1e-6}),
    "noise": (ptr.NoisyUpperBound, {"statistic": len, "failure": 1e-6}),
    "candidates": (dp.adaptive.BestRelease, {"score": float, "tries": dp.learn.GeometricTries(10)}),
    "score": (dp.adaptive.BestRelease, {"candidates": (LAPLACE,), "tries": dp.learn.GeometricTries(10)}),
    "coefficients": (dp.adaptive.LocalRegressionScale, {"sensitivity": 1.0, "scale": 2.0, "largest": 10.0}),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("nonsense", NONSENSE, ids=repr)
def test_parts(name: str, nonsense: object) -> None:
    make, others = PARTS[name]
    with pytest.raises(InvalidParameter, match=rf"\b{name}\b"):
        make(**others | {name: nonsense})


@pytest.mark.parametrize("nonsense", [*NONSENSE, LAPLACE], ids=repr)
def test_a_distance_needs_a_mechanism_that_knows_it(nonsense: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"mechanism is .*; it must be a Stable, such as"):
        ptr.ProposeTestRelease.by_distance(nonsense, epsilon=0.5, wrong_pass=1e-6)


@pytest.mark.parametrize("nonsense", NONSENSE, ids=repr)
def test_pairs_of_a_statistic(nonsense: Any) -> None:
    with pytest.raises(InvalidParameter, match="pair is"):
        dp.adaptive.statistics.Custom(function=max, sensitivity=max, bounds=(0, 1), pair=nonsense)


def test_a_bound_needs_noise_whose_tail_it_knows() -> None:
    """With Student's noise it would be false more often than stated: the margin is that of Laplace noise."""
    numbers = dp.adaptive.statistics.Median(bounds=(0, 100))
    noise: Any = dp.adaptive.SmoothStudentT(statistic=numbers, beta=0.05, scale=5.0)
    with pytest.raises(InvalidParameter, match=r"noise is .*SmoothLaplace"):
        ptr.SmoothUpperBound(noise=noise, epsilon=0.5, failure=1e-6)
    other: Any = dp.mechanisms.Geometric(sensitivity=1, scale=1.0)
    with pytest.raises(InvalidParameter, match=r"noise is .*Laplace or Gaussian"):
        ptr.NoisyUpperBound(len, other, 1e-6)


@pytest.mark.parametrize(
    ("name", "value"), [("vote", None), ("order", 1.0), ("order", math.nan), ("order", "x")]
)
def test_bounds_on_votes(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=name):
        dp.adaptive.VoteBound(**{"vote": VOTE, **BOUND, name: value})


@pytest.mark.parametrize("nonsense", NONSENSE, ids=repr)
def test_votes(nonsense: Any) -> None:
    with pytest.raises(InvalidParameter, match="vote is"):
        dp.adaptive.pate_ptr(nonsense, epsilon=0.1, delta=1e-5, test_epsilon=0.2)
    with pytest.raises(InvalidParameter, match="bound is"):
        dp.adaptive.pate_ptr_smooth(nonsense, epsilon=3.0, delta=1e-6)


@pytest.mark.parametrize("value", [None, "x", 0, -1, math.nan])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_claims(name: str, value: Any) -> None:
    bound = dp.adaptive.VoteBound(vote=VOTE, **BOUND)
    with pytest.raises(InvalidParameter, match=name):
        dp.adaptive.pate_ptr_smooth(bound, **{"epsilon": 3.0, "delta": 1e-6} | {name: value})


GOOD: dict[str, Any] = {"ridge": 10.0, "gradient_bound": 1.0, "smoothness": 0.25, "concordance": 1.0}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("value", [None, "x", 0, -0.2, math.nan, math.inf, True, (), 10**400], ids=repr)
def test_constants_of_a_regression(name: str, value: object) -> None:
    """A ridge that is NaN or below 0, or a gradient bound below 0, made noise for no data at all."""
    with pytest.raises(InvalidParameter, match=name):
        dp.adaptive.local_output_perturbation(dp.ApproxDP(1.0, 1e-5), **GOOD | {name: value})


def release_of(which: str, promise: Any) -> object:
    if which == "logistic":
        return dp.adaptive.local_output_perturbation(promise, **GOOD)
    return dp.adaptive.ops_ptr(promise, square=1.0, ridge=100.0)


@pytest.mark.parametrize("which", ["logistic", "posterior"])
def test_promises_of_a_regression(which: str) -> None:
    for nonsense in NONSENSE:
        with pytest.raises(InvalidParameter, match="promise is"):
            release_of(which, nonsense)
    for strict in (dp.PureDP(1.0), dp.ZCDP(0.5), dp.ApproxDP(1.0, 0.0), dp.ApproxDP(0.0, 1e-5)):
        with pytest.raises(CannotMeet, match="ask for ApproxDP"):
            release_of(which, strict)


def test_arrays_are_coefficients() -> None:
    kept = dp.adaptive.LocalRegressionScale(
        sensitivity=1.0, scale=2.0, largest=10.0, coefficients=np.array([1.0, 2.0])
    )
    assert kept.coefficients == (1.0, 2.0)
