"""Geometric integers: P(k) proportional to exp(-k/scale), k = 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Bools, Ints, Words
from dalenius.noise.chunks import fill, settled, until_enough
from dalenius.noise.lazy import LazyUniform, below_exp, level, rational
from dalenius.noise.parameters import Size, scale_of
from dalenius.noise.source import word, words

DIRECT = 1 << 24
"""Up to this scale a draw takes one word; above, its low digits get a word of their own."""

BAND = 2.0**-42
SMALL = 43 * math.log(2.0)


def geometric(scale: Any, size: Size = None) -> Any:
    """Integers k >= 0 with P(k) = (1 - q) q^k, q = exp(-1/scale), exactly.

    Parameters
    ----------
    scale
        The scale, at most 2^56: a float (taken at its exact value), an integer or a Fraction.
    size
        The shape of the result; None for a single draw.

    Returns
    -------
    int or ndarray
        An int64 array of the shape `size`, or one int.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import geometric
    >>> bool((geometric(2.5, 1000) >= 0).all())
    True
    """
    return fill(size, sampler(scale_of("scale", scale)))


@lru_cache(maxsize=64)
def sampler(scale: Fraction) -> Callable[[int], Array]:
    """Makes n draws of this scale."""
    if scale <= DIRECT:
        return _direct(scale)
    return _split(scale)


def _direct(scale: Fraction) -> Callable[[int], Array]:
    """k = floor(-scale ln U): P(k or more) = P(U <= exp(-k/scale))."""
    nearest, step = float(scale), rational(1 / scale)

    def draw(n: int) -> Array:
        drawn = words(n)
        values, undecided = levels(drawn, nearest, 64 * math.log(2.0))
        return settled(values, undecided, lambda i: level(LazyUniform(int(drawn[i]), 64), step))

    return draw


def levels(drawn: Words, scale: float, log_top: float) -> tuple[Ints, Bools]:
    """floor(scale (log_top - ln W)) for all W in [w, w+1], and where that is not certain.

    The error of t = scale (log_top - ln(w + 1/2)) in doubles, in units of scale, for w >= 2^43, W < 2^64 and
    0 <= log_top <= 45, scale and log_top being rounded once:

        ln W - ln(w + 1/2)                    at most   2^-44     (half a unit in 2^43)
        w + 1/2 as a double, rounded twice              2^-52
        np.log, assumed good to 8 ulps of 45            2^-44
        log_top, and the difference, rounded            2^-46
        scale, and the product, rounded: 45 * 2^-52     2^-46

    together below 2^-42.5; the band is 2^-42. A smaller w is left undecided (once in 2^21 draws): its t is
    above scale (log_top - 43 ln 2) but for the last four errors, hence above the limit below.
    """
    t = drawn.astype(np.float64)
    t += 0.5
    np.log(t, out=t)
    np.subtract(log_top, t, out=t)
    t *= scale
    whole = np.floor(t)
    limit = scale * (log_top - SMALL - 1e-9)
    band = scale * BAND
    undecided = t > limit
    t -= whole
    undecided |= t < band
    undecided |= t >= 1.0 - band
    return whole.astype(np.int64), undecided


def _split(scale: Fraction) -> Callable[[int], Array]:
    """k = m j + r with m = 2^b near scale/2^12: j is geometric of scale/m and r, independent of it, has
    P(r) proportional to exp(-r/scale) on 0..m-1: uniform, kept with probability exp(-r/scale) > 1 - 2^-12."""
    digits = int(scale).bit_length() - 13
    high, low = sampler(scale / (1 << digits)), remainders(scale, digits)

    def draw(n: int) -> Array:
        top, rest = high(n), low(n)
        if top.dtype != object and bool((top >= 1 << (62 - digits)).any()):
            top = top.astype(object)
        return (top << digits) + rest

    return draw


def remainders(scale: Fraction, digits: int) -> Callable[[int], Ints]:
    """r below 2^digits with P(r) proportional to exp(-r/scale); 2^digits <= scale/2^12 and digits <= 46."""
    nearest = float(scale)

    def attempt(n: int) -> Ints:
        """A word is digits for r, then at least 18 digits v of the U that is to be below exp(-r/scale).

        exp(-r/scale) >= 1 - r/scale, and U < v 2^-18 + 2^-18: keeping is certain where v 2^-18 + 2^-17 is
        at most 1 - r/scale, as the spare 2^-18 pays for any rounding. The rest, one in some 2^13, is
        settled.
        """
        drawn = words(n)
        r = (drawn >> np.uint64(64 - digits)).view(np.int64)
        v = (drawn & np.uint64((1 << 18) - 1)).view(np.int64)
        kept = v * 2.0**-18 + 2.0**-17 <= 1.0 - r / nearest
        for i in np.flatnonzero(~kept):
            uniform = LazyUniform((int(v[i]) << 64) | word(), 82)
            kept[i] = below_exp(uniform, int(r[i]) / scale)
        return r if kept.all() else r[kept]

    return lambda n: until_enough(n, attempt)
