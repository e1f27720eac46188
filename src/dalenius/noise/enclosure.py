"""Certified bounds on logarithms and exponentials in integer arithmetic, to any precision.

A number x is enclosed at precision P by integers a <= x 2^P <= b. Only integer operations occur, so the
bounds hold as mathematics; the samplers settle with them what double precision could not decide.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

Bounds = tuple[int, int]


def log_bounds(n: int, precision: int) -> Bounds:
    """ln n for a whole number n >= 1.

    n = 2^e m with 1 <= m < 2, and ln m = 2 atanh(y), y = (m - 1)/(m + 1) < 1/3.
    """
    work = precision + 24
    exponent = n.bit_length() - 1
    shift = work - exponent
    # m is cut off below by less than one unit, which moves y by less than one unit.
    m = n << shift if shift >= 0 else n >> -shift
    one = 1 << work
    low, high = _atanh(((m - one) << work) // (m + one), work)
    two_low, two_high = _log2(work)
    return _rounded(exponent * two_low + 2 * low, exponent * two_high + 2 * high, 24)


def log_ratio_bounds(x: Fraction, precision: int) -> Bounds:
    """ln x for a rational x > 0."""
    top, bottom = log_bounds(x.numerator, precision + 2), log_bounds(x.denominator, precision + 2)
    return _rounded(top[0] - bottom[1], top[1] - bottom[0], 2)


def exp_bounds(x: Fraction, precision: int) -> Bounds:
    """exp(-x) for a rational x >= 0.

    x = n ln 2 + f with f about in [0, ln 2), and exp(-x) = 2^-n / exp(f).
    """
    if x > precision:
        return 0, 1
    work = precision + 24
    low, high = ratio_bounds(x, work)
    two_low, two_high = _log2(work)
    n = low // two_high
    # n is small enough for f >= 0, and f < ln 2 + a rounding.
    bottom, top = _exp(low - n * two_high, work)[0], _exp(high - n * two_low, work)[1]
    square = 1 << (2 * work)
    return _rounded((square // top) >> n, (-(-square // bottom) >> n) + 1, 24)


def ratio_bounds(x: Fraction, precision: int) -> Bounds:
    scaled = x.numerator << precision
    return scaled // x.denominator, -(-scaled // x.denominator)


def _rounded(low: int, high: int, bits: int) -> Bounds:
    return low >> bits, -(-high >> bits)


def _atanh(y: int, work: int) -> Bounds:
    """atanh of any number in [y, y + 4] / 2^work, at most 1/2.

    The terms y^k / k are cut off below. The error of y^(k+2) is at most a quarter of that of y^k, plus one
    from the cut, plus what y^2 lacks (8 y + 1 <= 5 units and a little) times y^k <= 1/2: from 4 for y
    itself never above 6 units, and each quotient adds one. What is left out after a vanishing term is below
    6 (1 + 1/4 + ...) = 8 units.
    """
    square = (y * y) >> work
    total, power, k = 0, y, 1
    while power:
        total += power // k
        power = (power * square) >> work
        k += 2
    return total, total + 9 * (k // 2 + 1) + 8


@lru_cache(maxsize=64)
def _log2(work: int) -> Bounds:
    """ln 2 = 2 atanh(1/3)."""
    low, high = _atanh((1 << work) // 3, work)
    return 2 * low, 2 * high


def _exp(f: int, work: int) -> Bounds:
    """exp(f / 2^work) for f / 2^work in [0, 1): each term of the series is cut off below.

    The error of term k is at most that of term k - 1 plus one, times 1/k: below 2 units; the remainder
    after a vanishing term is below 4.
    """
    total, term, k = 0, 1 << work, 0
    while term:
        total += term
        k += 1
        term = (term * f >> work) // k
    return total, total + 2 * k + 8
