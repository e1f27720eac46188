"""Parameters and data at the ends of what is allowed: refused before any data are read, or released like all others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import Refusal
from dalenius.adaptive.ptr import (
    LocalRegressionScale,
    NoisyMax,
    ProposeTestRelease,
    SmoothUpperBound,
    StableScale,
)
from dalenius.adaptive.statistics import Median, Variance
from dalenius.errors import InvalidParameter


def test_what_cannot_be_drawn_is_refused_at_once() -> None:
    """Not after the test has passed."""
    for scale in (1e-300, 1e300):
        with pytest.raises(InvalidParameter, match="scale"):
            NoisyMax(scale=scale, limit=0.1, delta=1e-6)


def test_bounds_too_wide_or_too_narrow_are_refused_with_their_name() -> None:
    with pytest.raises(InvalidParameter, match="least"):
        StableScale(least=1e-3, bounds=(-1e307, 1e307))
    for bounds in ((0, 1e300), (0, 1e-300)):
        with pytest.raises(InvalidParameter, match="bounds is"):
            Variance(bounds=bounds)


def test_no_records_are_data_like_any_others() -> None:
    errors = LocalRegressionScale(sensitivity=0.05, scale=0.1, coefficients=(1.0, 2.0), largest=10.0)
    private = ProposeTestRelease.by_distance(errors, epsilon=0.5, wrong_pass=1e-6)
    for empty in (([], []), (np.zeros((0, 2)), [])):
        assert errors.distance(empty) == 0
        assert private.release(empty) == Refusal()


def test_a_bound_is_one_where_the_grid_is_finer_than_doubles() -> None:
    """The median is half way between two doubles, with hardly any noise: a sum would round down half the time."""
    median = Median(bounds=(2.0**51, 2.0**51 + 2**8), granularity=2.0**-9)
    noise = dp.adaptive.SmoothLaplace(statistic=median, beta=0.5, scale=0.02)
    bound = SmoothUpperBound(noise=noise, epsilon=50.0, failure=0.25)
    data = [2.0**51 + 128.0] * 500 + [2.0**51 + 128.5] * 500
    truth = median.exactly(median.prepared(data)) * median.points.granularity
    false = sum(Fraction(bound.release(data)) < truth for _ in range(400))
    assert false < 400 * 0.25
