"""Exponential and gamma numbers in doubles with what they may be off by, and the same certified."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals, Words
from dalenius.noise.enclosure import Bounds, log_bounds
from dalenius.noise.interval import Interval
from dalenius.noise.lazy import LazyUniform

GROUP = 8


def exponentials(drawn: Words, bits: int) -> tuple[Reals, Reals]:
    """E = -ln(1 - U) for U in [w, w+1) 2^-bits, w the last `bits` digits of a word, and its relative error.

    For U < 1/2, E is -log1p of the middle of the interval, w + 1/2 units. Its slope is at most 2 there and
    E >= U, so the half unit on either side moves it by at most 1/w of itself. Otherwise E is -ln of the
    middle of 1 - U, v + 1/2 units with v = 2^bits - 1 - w; E > 2/3 and half a unit moves it by at most 1/v
    of itself. The argument is rounded twice, which moves E by less than 2^-51 of itself, and np.log and
    np.log1p are assumed good to 8 ulps, 2^-49. So the relative error is below 2/min(w, v) + 2^-48 (infinite
    in the first and the last interval).
    """
    top = np.uint64((1 << bits) - 1)
    w = drawn & top
    v = top - w
    least = np.minimum(w, v).astype(np.float64)
    middle = (least + 0.5) * 2.0**-bits
    value = -np.where(w > v, np.log(middle), np.log1p(-middle))
    with np.errstate(divide="ignore"):
        return value, 2.0 / least + 2.0**-48


def gammas(drawn: Words) -> tuple[Reals, Reals]:
    """Gamma numbers: the sum of the exponential numbers of each row of words, and its error."""
    values, relative = exponentials(drawn, 64)
    total, rounds = summed(values)
    error, _ = summed(values * relative)
    return total, error * (1 + 2.0**-20) + total * (rounds * 2.0**-52)


def summed(values: Reals) -> tuple[Reals, int]:
    """The sum of each row of numbers that are 0 or more, and how many roundings lie on the way to it.

    In groups of `GROUP`, then the sums of these, and so on: adding k numbers in any order is off by less than
    k 2^-53 of their sum, so each level adds GROUP roundings at most and there are few levels.
    """
    rounds = 0
    while values.shape[1] > 1:
        groups = -(-values.shape[1] // GROUP)
        padded = np.zeros((len(values), groups * GROUP))
        padded[:, : values.shape[1]] = values
        values = padded.reshape(len(values), groups, GROUP).sum(axis=2)
        rounds += GROUP
    return values, rounds + 1


def certified_gamma(uniforms: list[LazyUniform], precision: int) -> Interval:
    """The same sum, certified: -ln of the product of all 1 - U, a single logarithm."""
    low, high, bits = (1, 0), (1, 0), 0
    for u in uniforms:
        while u.value + 1 == 1 << u.bits:
            u.more()
        v = (1 << u.bits) - 1 - u.value
        low, high = _cut(low[0] * v, low[1], precision, 0), _cut(high[0] * (v + 1), high[1], precision, 1)
        bits += u.bits
    least, most = _minus_log(high, bits, precision)[0], _minus_log(low, bits, precision)[1]
    return Interval(max(least, 0), most, precision)


def _cut(mantissa: int, exponent: int, precision: int, up: int) -> tuple[int, int]:
    """mantissa 2^exponent with some precision + 64 digits, cut off below or, if `up`, raised."""
    spare = mantissa.bit_length() - precision - 64
    return ((mantissa >> spare) + up, exponent + spare) if spare > 0 else (mantissa, exponent)


def _minus_log(number: tuple[int, int], bits: int, precision: int) -> Bounds:
    """-ln of mantissa 2^(exponent - bits)."""
    mantissa, exponent = number
    low, high = log_bounds(mantissa, precision)
    spare = 2 + bits.bit_length()
    two = log_bounds(2, precision + spare)
    digits = bits - exponent
    return ((digits * two[0]) >> spare) - high, -((-digits * two[1]) >> spare) - low
