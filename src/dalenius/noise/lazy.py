"""A uniform number whose binary digits are drawn as they are needed, and what is settled with it.

A word w of n bits says that the uniform number U lies in [w, w+1) / 2^n; later digits are independent of w,
so fetching them only when the interval does not decide leaves the law of every decision exact. Each loop
below ends with probability one: it fails to end only if U equals one fixed number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dalenius.noise.enclosure import Bounds, exp_bounds, log_bounds, log_ratio_bounds, ratio_bounds
from dalenius.noise.source import word

STEP = 64
"""Digits fetched at a time."""


class LazyUniform:
    """U in [value, value + 1) / 2^bits, uniform."""

    __slots__ = ("bits", "value")

    def __init__(self, value: int = 0, bits: int = 0) -> None:
        self.value = value
        self.bits = bits

    def more(self) -> None:
        """Fetch more digits."""
        self.value = (self.value << STEP) | word()
        self.bits += STEP

    def mirrored(self) -> LazyUniform:
        """1 - U, from here on with digits of its own."""
        return LazyUniform((1 << self.bits) - 1 - self.value, self.bits)

    def minus_log(self, precision: int) -> Bounds:
        """-ln U; fetches digits until it is bounded above."""
        while self.value == 0:
            self.more()
        two = log_bounds(2, precision + 2 + self.bits.bit_length())
        spare = 2 + self.bits.bit_length()
        low, high = log_bounds(self.value, precision), log_bounds(self.value + 1, precision)
        return ((self.bits * two[0]) >> spare) - high[1], -((-self.bits * two[1]) >> spare) - low[0]

    def precision(self) -> int:
        """Digits worth computing with what is known of U."""
        return self.bits + STEP


def below(uniform: LazyUniform, p: Fraction) -> bool:
    """Whether U < p."""
    while True:
        scaled = p.numerator << uniform.bits
        if (uniform.value + 1) * p.denominator <= scaled:
            return True
        if uniform.value * p.denominator >= scaled:
            return False
        uniform.more()


def below_exp(uniform: LazyUniform, x: Fraction) -> bool:
    """Whether U < exp(-x), for x >= 0: whether -ln U > x."""
    if x == 0:
        return True
    while True:
        precision = uniform.precision()
        low, high = uniform.minus_log(precision)
        scaled = x.numerator << precision
        if low * x.denominator >= scaled:
            return True
        if high * x.denominator <= scaled:
            return False
        uniform.more()


def log_above(uniform: LazyUniform, bottom: Fraction, height: Fraction, x: Fraction) -> bool:
    """Whether bottom + U height < exp(-x): whether -ln of it is above x."""
    while True:
        precision = uniform.precision()
        scaled = x.numerator << precision
        last = bottom + height * Fraction(uniform.value + 1, 1 << uniform.bits)
        if -log_ratio_bounds(last, precision)[1] * x.denominator >= scaled:
            return True
        first = bottom + height * Fraction(uniform.value, 1 << uniform.bits)
        if first > 0 and -log_ratio_bounds(first, precision)[0] * x.denominator <= scaled:
            return False
        uniform.more()


Enclosed = Callable[[int], Bounds]
"""A positive number known through its bounds at any precision."""


def rational(x: Fraction) -> Enclosed:
    """A rational number, at any precision."""
    return partial(ratio_bounds, x)


def minus_log1p(rate: Fraction) -> Enclosed:
    """-ln(1 - rate) for 0 < rate < 1."""

    def bounds(precision: int) -> Bounds:
        low, high = log_ratio_bounds(1 - rate, precision)
        return -high, -low

    return bounds


def level(uniform: LazyUniform, step: Enclosed) -> int:
    """floor(-ln U / step): the largest k with U <= exp(-k step)."""
    while True:
        precision = uniform.precision()
        low, high = uniform.minus_log(precision)
        step_low, step_high = step(precision)
        if step_low > 0:
            first, last = max(low, 0) // step_high, high // step_low
            if first == last:
                return first
        uniform.more()


def two_sided_level(uniform: LazyUniform, scale: Fraction) -> int:
    """The discrete Laplace integer at quantile U: with p = 1/(1 + exp(-1/scale)),

    floor(scale ln(p/U)) where U <= p, and -floor(scale ln(p/(1 - U))) elsewhere.
    """
    while True:
        precision = uniform.precision()
        p_low, p_high = _log_fold(scale, precision)
        low, high = uniform.minus_log(precision)
        side = 1 if low + p_low >= 0 else -1 if high + p_high <= 0 else 0
        if side < 0:
            other = uniform.mirrored()
            low, high = other.minus_log(precision) if other.value else (0, 1 << precision)
        unit = scale.denominator << precision
        first, last = ((edge * scale.numerator) // unit for edge in (low + p_low, high + p_high))
        if side and first == last and (side > 0 or other.value):
            return side * first
        uniform.more()


def _log_fold(scale: Fraction, precision: int) -> Bounds:
    """ln p = -ln(1 + exp(-1/scale))."""
    one = 1 << precision
    low, high = (
        log_ratio_bounds(Fraction(one + e, one), precision) for e in exp_bounds(1 / scale, precision)
    )
    return -high[1], -low[0]
