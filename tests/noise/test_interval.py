"""Intervals of whole numbers enclose what they stand for."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from dalenius.noise.interval import Interval, circle, exponential, uniform, whole
from dalenius.noise.lazy import LazyUniform


@given(st.integers(1, 2**64 - 2), st.integers(100, 300))
def test_interval_functions(value: int, precision: int) -> None:
    with mpmath.workprec(precision + 100):
        unit = mpmath.mpf(2) ** -64
        low, high = value * unit, (value + 1) * unit
        u = LazyUniform(value, 64)
        scale = mpmath.mpf(2) ** precision
        found = exponential(u, precision)
        assert found.low <= -mpmath.log(1 - low) * scale
        assert found.high >= -mpmath.log(1 - high) * scale
        for part, function in zip(circle(u, precision), (mpmath.cos, mpmath.sin), strict=True):
            for edge in (low, high):
                assert part.low <= function(2 * mpmath.pi * edge) * scale <= part.high
        assert u.bits == 64


@given(*[st.integers(-(2**130), 2**130) for _ in range(4)])
def test_interval_arithmetic(a: int, b: int, c: int, d: int) -> None:
    x, y = Interval(min(a, b), max(a, b), 100), Interval(min(c, d), max(c, d), 100)
    one = Fraction(1, 1 << 100)
    for p in (a, b):
        for q in (c, d):
            product = Fraction(p * q) * one * one
            assert (x * y).low * one <= product <= (x * y).high * one
            assert (x + y).low <= p + q <= (x + y).high
            if y.low > 0:
                quotient = Fraction(p, q)
                assert (x / y).low * one <= quotient <= (x / y).high * one
    if x.low >= 0:
        root = x.sqrt()
        assert root.low**2 <= x.low << 100
        assert root.high**2 >= x.high << 100
    assert (-x).low == -x.high
    assert whole(3, 100).low == 3 << 100


def test_rounding_of_an_interval() -> None:
    half = 1 << 99
    assert Interval(half, half, 100).nearest(0) == 1
    assert Interval(half - 1, half, 100).nearest(0) is None
    assert Interval(-half, -half, 100).nearest(0) == 0
    assert uniform(LazyUniform(3, 2), 100).nearest(2) is None
    assert uniform(LazyUniform(3, 2), 100).nearest(0) == 1
