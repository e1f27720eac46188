"""centre + scale Z, rounded exactly to the nearest whole number and clamped, for continuous Z.

Where the scale depends on the data, as with smooth sensitivity, noise cannot be put on a grid beforehand. Here the
ideal real number is what is rounded: centre and scale are exact rationals, Z is a function of uniform numbers of
unlimited precision, and digits are drawn until it is certain which whole number is nearest. So the result is
post-processing of the ideal one, and nothing about floating point enters its law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dalenius.core.arrays import Words
from dalenius.noise.interval import Interval
from dalenius.noise.lazy import LazyUniform, rational
from dalenius.noise.rounding import settle
from dalenius.noise.source import words

Floats = NDArray[np.float64]
CERTAIN = 2.0**52
AT_ONCE = 1 << 18


class Law(ABC):
    """A continuous law: a function of `uniforms` independent uniform numbers."""

    uniforms: int

    @abstractmethod
    def values(self, drawn: Words) -> tuple[Floats, Floats]:
        """Z for each row of words in doubles, and a bound on its error, infinite where it is not known."""

    @abstractmethod
    def enclose(self, uniforms: list[LazyUniform], precision: int) -> Interval:
        """The same Z, certified."""


def rounded_affine(
    law: Law, centre: Fraction, scale: Fraction, count: int, low: int, high: int
) -> NDArray[np.int64]:
    """`count` independent whole numbers nearest to centre + scale Z, those outside [low, high] moved to its ends.

    In doubles first: the centre and the scale are within a relative 2^-53, the product and the sum round once each.
    Where that leaves a doubt, again with certified arithmetic.
    """
    result = np.empty(count, dtype=np.int64)
    for start in range(0, count, AT_ONCE):
        stop = min(start + AT_ONCE, count)
        result[start:stop] = _rounded(law, centre, scale, stop - start, low, high)
    return result


def _rounded(
    law: Law, centre: Fraction, scale: Fraction, count: int, low: int, high: int
) -> NDArray[np.int64]:
    drawn = words(count * law.uniforms).reshape(count, law.uniforms)
    z, error = law.values(drawn)
    middle, spread = float(centre), float(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        t = middle + spread * z
        reach = spread * error * (1 + 2.0**-20) + (abs(middle) + np.abs(spread * z)) * 2.0**-50
        nearest = np.floor(t + 0.5)
        doubt = ~(np.abs(t - nearest) + reach < 0.5) | ~(np.abs(t) < CERTAIN)
        # What is certainly outside needs no digits.
        outside = (t - reach > high + 1.0) | (t + reach < low - 1.0)
    units = np.clip(np.where(np.isfinite(nearest), nearest, 0.0), low, high).astype(np.int64)
    for i in np.flatnonzero(doubt & ~outside):
        units[i] = _exactly(law, centre, scale, [LazyUniform(int(w), 64) for w in drawn[i]], low, high)
    return units


def _exactly(
    law: Law, centre: Fraction, scale: Fraction, uniforms: list[LazyUniform], low: int, high: int
) -> int:
    def enclose(precision: int) -> list[Interval]:
        middle, spread = (Interval(*rational(x)(precision), precision) for x in (centre, scale))
        return [middle + spread * law.enclose(uniforms, precision)]

    return min(max(settle(uniforms, enclose, 0)[0], low), high)
