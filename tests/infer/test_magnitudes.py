"""Public settings at the ends of doubles: refused in words, before anything is released."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.estimates.bounded import Bounded

G = dp.GDP(1.0)
X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"x_center": 1e308, "x_scale": 1.0},
        {"x_center": 0.0, "x_scale": 5e-324},
        {"y_center": 0.0, "y_scale": 1e308},
        {"y_center": 0.0, "y_scale": 5e-324},
        {"scale": 1e308},
        {"scale": 5e-324},
        {"y_bounds": (0, 5e-324)},
        {"bounds": [(0, 1), (-1e307, 1e307)]},
    ],
    ids=str,
)
def test_sizes_that_doubles_do_not_hold_well(settings: dict[str, Any]) -> None:
    for make in (dp.infer.linear_regression, partial(dp.infer.m_estimate, slope="log_cosh")):
        with pytest.raises(InvalidParameter, match="rescale"):
            make(X, Y, G, **settings)


def test_bounds_that_are_no_distance_apart() -> None:
    """Half of the smallest double is 0: a value over it was no whole number, and no bound on it held."""
    with pytest.raises(InvalidParameter, match="rescale"):
        Bounded.of((0, 5e-324))
    with pytest.raises(InvalidParameter, match="rescale"):
        dp.infer.mean(Y, G, location=(0, 1), sd_at_most=1e308)


@pytest.mark.parametrize("settings", [{"knee": None}, {"intercept": np.zeros(2)}], ids=str)
def test_settings_of_other_types(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        dp.infer.linear_regression(X, Y, G, **settings)


def test_tests_of_released_numbers_take_laws_and_numbers() -> None:
    for law in (None, dp.mechanisms.Gaussian(sensitivity=1, sigma=2.0)):
        with pytest.raises(InvalidParameter, match="law"):
            dp.infer.goodness_of_fit_from_counts([10, 12], law)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="law"):
            dp.infer.independence_from_counts([[10, 12], [3, 4]], law)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        dp.infer.anova_from_estimates([10**400, 1], [1, 1])
    with pytest.raises(InvalidParameter, match="rows"):
        dp.infer.power_curve(dp.infer.BinomialTest(G), 100, [G], share=0.6)  # type: ignore[arg-type]
