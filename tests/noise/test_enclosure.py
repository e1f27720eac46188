"""Certified bounds against mpmath, and what double precision is assumed to be good for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.noise import enclosure, interval
from dalenius.noise.enclosure import exp_bounds, log_bounds, log_ratio_bounds
from dalenius.noise.lazy import minus_log1p, rational

WIDTH = 8


def encloses(bounds: tuple[int, int], value: Any, precision: int) -> bool:
    scaled = value * mpmath.mpf(2) ** precision
    return bounds[0] <= scaled <= bounds[1] and bounds[1] - bounds[0] <= WIDTH


@given(st.integers(1, 2**200) | st.integers(1, 40), st.integers(8, 400))
def test_logarithm(n: int, precision: int) -> None:
    with mpmath.workprec(precision + 300):
        assert encloses(log_bounds(n, precision), mpmath.log(n), precision)


@given(st.fractions(Fraction(1, 10**30), 10**30), st.integers(8, 300))
def test_logarithm_of_a_ratio(x: Fraction, precision: int) -> None:
    if x > 0:
        with mpmath.workprec(precision + 300):
            value = mpmath.log(mpmath.mpf(x.numerator)) - mpmath.log(mpmath.mpf(x.denominator))
            assert encloses(log_ratio_bounds(x, precision), value, precision)


@given(st.fractions(0, 600), st.integers(8, 300))
def test_exponential(x: Fraction, precision: int) -> None:
    with mpmath.workprec(precision + 300):
        value = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert encloses(exp_bounds(x, precision), value, precision)


@given(st.integers(0, 2**199), st.sampled_from([0, 1, 4]))
def test_series(y: int, off: int) -> None:
    """At working precision, before the guard digits are dropped."""
    with mpmath.workprec(400):
        low, high = enclosure._atanh(y, 200)
        value = mpmath.atanh(mpmath.mpf(y + off) / 2**200) * 2**200
        assert low <= value <= high
        assert high - low < 9 * 102 + 9
    with mpmath.workprec(400):
        low, high = enclosure._exp(y, 200)
        assert low <= mpmath.exp(mpmath.mpf(y) / 2**200) * 2**200 <= high
        for edge in enclosure._log2(200), interval._pi(200):
            assert edge[1] - edge[0] < 10_000
        assert enclosure._log2(200)[0] <= mpmath.log(2) * 2**200 <= enclosure._log2(200)[1]
        assert interval._pi(200)[0] <= mpmath.pi * 2**200 <= interval._pi(200)[1]


def test_exponential_far_out() -> None:
    assert exp_bounds(Fraction(10) ** 300, 100) == (0, 1)
    assert exp_bounds(Fraction(0), 100)[1] >= 1 << 100


def test_rational_and_minus_log1p() -> None:
    assert rational(Fraction(1, 3))(2) == (1, 2)
    with mpmath.workprec(300):
        for rate in (Fraction(1, 2), Fraction(1, 10**9), Fraction(7, 8)):
            value = -mpmath.log1p(-mpmath.mpf(rate.numerator) / rate.denominator)
            assert encloses(minus_log1p(rate)(200), value, 200)


ULPS = 8
"""What the error bands of the samplers assume of NumPy."""


def _points(low: float, high: float, logarithmic: bool = False) -> np.ndarray:
    generator = np.random.default_rng(5)
    if logarithmic:
        return np.exp(generator.uniform(math.log(low), math.log(high), 4096))
    return generator.uniform(low, high, 4096)


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("log", _points(0.5, 2.0**64)),
        ("log", _points(0.5, 2.0**64, logarithmic=True)),
        ("log", _points(2.0**-65, 1.0, logarithmic=True)),
        ("log", 1 + _points(1e-16, 0.1, logarithmic=True)),
        ("log", _points(1e-300, 1e300, logarithmic=True)),
        ("log1p", -_points(2.0**-65, 0.5, logarithmic=True)),
        ("log1p", -_points(2.0**-65, 0.5)),
        ("exp", -_points(0.0, 50.0)),
        ("exp", -_points(1e-20, 700.0, logarithmic=True)),
        ("cos", _points(0.0, 6.3)),
        ("sin", _points(0.0, 6.3)),
        ("cos", _points(1e-20, 6.3, logarithmic=True)),
        ("sin", _points(1e-20, 6.3, logarithmic=True)),
    ],
)
def test_numpy_is_as_good_as_assumed(name: str, points: np.ndarray) -> None:
    """4096 arguments each, in an array (vector code) and a few alone (scalar code)."""
    exact = getattr(mpmath, name)
    for chunk in (points, points[:1], points[1:4]):
        for x, y in zip(chunk, getattr(np, name)(chunk), strict=True):
            with mpmath.workprec(120):
                error = abs(exact(mpmath.mpf(float(x))) - mpmath.mpf(float(y)))
            # For the circle the samplers need the absolute error only.
            ulp = math.ulp(1.0) if name in ("cos", "sin") else math.ulp(float(y))
            assert error <= ULPS * ulp
