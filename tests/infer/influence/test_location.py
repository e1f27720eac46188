"""Huber's location with an interval: its promise, its law, its refusals, and an audit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.influence.location import HuberLocation
from tests.noise.seeded import seeded

SETTINGS: dict[str, Any] = {"bounds": (-1e9, 1e9), "c": 1.5}


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("promise", [dp.ApproxDP(1.0, 1e-6), dp.ApproxDP(3.0, 1e-9)])
def test_the_loss_keeps_the_promise(promise: dp.ApproxDP, adjacency: dp.Adjacency) -> None:
    model = HuberLocation(guarantee=promise, size=5000, adjacency=adjacency, **SETTINGS)
    assert promise.holds(model.loss)
    assert model.loss.epsilon(promise.delta) > 0.9 * promise.epsilon


def test_intervals_hold_as_often_as_they_say() -> None:
    """100 samples with heavy tails: at 95 % fewer than 86 hold with probability 2e-4."""
    held = 0
    with seeded(2):
        for key in range(100):
            x = np.random.default_rng(key).standard_t(2, size=400) + 7
            low, high = dp.infer.huber_location(x, dp.ApproxDP(1.0, 1e-6), size=400, **SETTINGS).conf_int()[0]
            held += low <= 7 <= high
    assert 86 <= held <= 99


def test_what_cannot_pass_is_refused_beforehand_and_what_does_not_afterwards() -> None:
    with pytest.raises(CannotMeet, match="rows"):
        dp.infer.huber_location([1.0] * 50, dp.ApproxDP(1.0, 1e-6), size=50, **SETTINGS)
    for promise in (dp.GDP(1.0), dp.PureDP(1.0), dp.ApproxDP(1.0, 0.0)):
        with pytest.raises(CannotMeet, match="ApproxDP"):
            dp.infer.huber_location([1.0] * 5000, promise, size=5000, **SETTINGS)
    apart = [-1e6] * 1000 + [1e6] * 1000
    fit = dp.infer.huber_location(apart, dp.ApproxDP(1.0, 1e-6), size=2000, **SETTINGS)
    assert math.isnan(fit.params[0])
    assert "refused" in fit.reason


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308, None, "a"])
def test_no_value_makes_it_fail(value: Any) -> None:
    x: list[Any] = [*np.random.default_rng(0).normal(size=1000), value]
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        fit = dp.infer.huber_location(x, dp.ApproxDP(1.0, 1e-6), size=1000, adjacency=adjacency, **SETTINGS)
        assert fit.interval_available


def test_odd_settings_are_errors_of_ours() -> None:
    promise = dp.ApproxDP(1.0, 1e-6)
    for extra in (
        {"c": 0.0},
        {"c": math.nan},
        {"size": 0},
        {"share": 1.0},
        {"bounds": (1, 0)},
        {"bounds": None},
    ):
        with pytest.raises(InvalidParameter):
            dp.infer.huber_location([1.0], promise, **{"size": 5000, **SETTINGS, **extra})  # type: ignore[arg-type]


def test_the_pair_on_which_the_printed_release_fails_is_refused() -> None:
    """x = -a, ..., 0, ..., a and its neighbour without the 0, on which noise by the influence function fails."""
    a = 1e6
    x = [-a] * 1000 + [0.0] + [a] * 1000
    for data in (x, [*x[:1000], *x[1001:]]):
        with seeded(4):
            fits = [
                dp.infer.huber_location(data, dp.ApproxDP(1.0, 1e-6), size=2001, **SETTINGS)
                for _ in range(30)
            ]
        assert all("refused" in fit.reason for fit in fits)
