"""Attacks on fitted coefficients: subsample-and-aggregate, tuning, and Kifer's constants, each on a worst pair.

False alarms. Every attack is run at confidence 1 - 1e-9 with seeded bits: it fails always or never. Each release is
attacked twice: as it is, where the attack must stay within the claim, and with a mistake, where it must not.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import dalenius as dp
from dalenius.calculus.loss import Loss
from dalenius.learn import GeometricTries, LogisticRegression, PrivateSearch, SubsampleAggregate
from dalenius.learn.methods import isolated
from dalenius.learn.methods import objective_perturbation as objective
from dalenius.mechanisms import Gaussian, Geometric, KNorm
from dalenius.noise import gaussian
from tests.noise.seeded import seeded

ONE = np.array([[1.0]]), np.array([1])
NONE = np.empty((0, 1)), np.empty(0, dtype=int)


def attacked(release: Callable[[Any], Any], trials: int, delta: float = 0.0) -> float:
    """What one record gives away at least, by an attack that errs once in 1e9."""
    with seeded(21):
        return dp.audit.lower_bound(
            release, pair=(ONE, NONE), trials=trials, delta=delta, confidence=1 - 1e-9
        ).epsilon


# -- subsample and aggregate -----------------------------------------------------------------------


class Anyone(BaseEstimator):  # type: ignore[misc]
    """Whether there is a record at all: one record moves this as far as anything can."""

    def fit(self, x: Any, y: Any) -> Any:
        self.coef_, self.intercept_ = np.array([1.0 if len(x) else -1.0]), np.empty(0)
        return self


def in_this_process(task: bytes, parts: Any, size: int, timeout: float) -> Iterator[Any]:
    return (np.asarray(pickle.loads(task)(*part)) for part in parts)


AGGREGATES = [(dp.ApproxDP(1.0, 1e-2), Gaussian), (dp.PureDP(1.0), KNorm)]


@pytest.mark.parametrize(("promise", "kind"), AGGREGATES, ids=["gaussian", "knorm"])
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "noise_for_a_sixth_of_it"])
def test_subsample_aggregate(promise: Any, kind: Any, wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record turns a part from -bound to bound. Noise for a sixth of that is caught."""
    model = SubsampleAggregate(Anyone(), promise, size=1, bound=1.0, parts=2)
    claimed = model.price()
    delta = getattr(promise, "delta", 0.0)
    assert promise.holds(claimed)
    mechanism = model._mechanism()
    if wrong:
        mechanism = kind.calibrated(promise, sensitivity=1.0 / 6)
    # Worked out once, not in every fit; and thousands of fits without a process for each.
    monkeypatch.setattr(SubsampleAggregate, "_mechanism", lambda self: mechanism)
    monkeypatch.setattr(isolated, "results", in_this_process)
    found = attacked(lambda data: model.fit(*data).value_, 1200, delta)
    assert (found > claimed.epsilon(delta)) is wrong


# -- tuning ----------------------------------------------------------------------------------------


class NoisySum(BaseEstimator):  # type: ignore[misc]
    """The simplest private model, so that many fits take no time: a sum with geometric noise."""

    def __init__(self, guarantee: Any = None) -> None:
        self.guarantee = guarantee

    @property
    def _noise(self) -> Geometric:
        return Geometric(sensitivity=1, scale=1 / self.guarantee.epsilon)

    def price(self) -> Loss:
        return self._noise.loss

    def fit(self, x: Any, y: Any) -> Any:
        self.coef_ = np.array([self._noise.release(int(np.clip(x, 0, 1).sum()))])
        return self

    def predict(self, x: Any) -> Any:
        return np.full(len(x), float(self.coef_[0]))


class FourUnpaid(GeometricTries):
    """The mistake of most published tables: the best of several fits at the price of one."""

    def draw(self) -> int:
        return 4

    def loss(self, *trials: Loss, promise: Any = None) -> Loss:
        return trials[0]


@pytest.mark.parametrize(
    ("tries", "wrong"), [(GeometricTries(4.0), False), (FourUnpaid(), True)], ids=["right", "unpaid"]
)
def test_private_search(tries: Any, wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score favours large coefficients: the best of several tells more of a record than one fit does."""
    promise = dp.PureDP(2.0)
    search = PrivateSearch(
        NoisySum(),
        [{}],
        promise,
        tries=tries,
        validation=ONE,
        scoring=lambda told, true: 1 / (1 + np.exp(-told)),
    )
    claimed = search.price()
    assert promise.holds(claimed)
    plan = cache(search._plan)
    monkeypatch.setattr(search, "_plan", plan)  # a question of prices, the same in every fit
    found = attacked(lambda data: search.fit(*data).best_estimator_.coef_, 800)
    assert (found > claimed.epsilon(0.0)) is wrong


# -- Kifer's constants -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "a_hundredth_of_the_noise"])
def test_kifer(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    promise = dp.ApproxDP(1.0, 1e-2)
    model = LogisticRegression(promise, method="kifer", intercept_scale=0.0)
    claimed = model.price().epsilon(1e-2)
    assert claimed <= 1.0
    if wrong:
        monkeypatch.setattr(objective, "gaussian", lambda *a, **k: np.asarray(gaussian(*a, **k)) / 100)
    found = attacked(lambda data: model.fit(*data).coef_, 400, 1e-2)
    assert (found > claimed) is wrong
    assert (found > promise.epsilon) is wrong
