"""The tail of the discrete Gaussian: proposals under the stairs of :mod:`dalenius.noise.strips`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dalenius.core.arrays import Array, Bools
from dalenius.noise.chunks import LARGEST
from dalenius.noise.lazy import LazyUniform, log_above
from dalenius.noise.source import word, words
from dalenius.noise.strips import Strips
from dalenius.noise.uniform import below

LOG2 = math.log(2.0)
BAND = 2.0**-40
SMALL = 2.0**43


def draw_tail(strips: Strips, n: int) -> tuple[Array, Bools]:
    """n proposals beyond the strips, and which are under the bell.

    The run is j with probability 2^-(j+1): the number of zeros before the first one among 32 digits, more if
    all are zero. A proposal x is kept if  ln V + ln stair - j ln 2 + x^2/(2 sigma^2) < 0, V uniform.

    Near 0 that sum is off by less than 2^-42: by 2^-44 for the digits of V not seen (V is at least 2^43
    units, or left undecided), by 2^-44 for np.log (8 ulps of 45), by 2^-44 for the last term (a relative
    2^-49.5 of at most 45, which is what the others add up to), by 2^-46 for adding up. The band is four
    times that.
    """
    drawn, heights = words(n), words(n)
    negative = (drawn >> np.uint64(63)).astype(np.bool_)
    digits = (drawn & np.uint64(0xFFFFFFFF)).astype(np.float64)
    run = 32 - np.frexp(digits)[1].astype(np.int64)
    # On the left the strips may reach one further than on the right.
    value = run * strips.step + below(strips.step, n).view(np.int64) + (strips.reach + 1)
    value += negative * strips.shift
    x = value.astype(np.float64)
    log_height = np.log(heights.astype(np.float64) + 0.5) + (strips.log_stair - 64 * LOG2) - run * LOG2
    gap = log_height + x * x * strips.rate
    kept = gap < 0
    result: Array = value
    for i in np.flatnonzero((np.abs(gap) <= BAND) | (heights < SMALL) | (digits == 0)):
        fall, place = int(run[i]), int(value[i])
        if digits[i] == 0:
            fall = 32 + _zeros()
            place += (fall - int(run[i])) * strips.step
            if place >= LARGEST and result.dtype != object:
                result = result.astype(object)
            result[i] = place
        uniform = LazyUniform(int(heights[i]), 64)
        exponent = place * place / (2 * strips.variance)
        kept[i] = log_above(uniform, Fraction(0), strips.stair / (1 << fall), exponent)
    return np.where(negative, -result, result), kept


def _zeros() -> int:
    """The number of zeros before the first one in an endless row of digits."""
    count = 0
    while (drawn := word()) == 0:
        count += 64
    return count + 64 - drawn.bit_length()
