"""Discrete Laplace integers: P(k) proportional to exp(-|k|/scale)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dalenius.core.arrays import Array
from dalenius.noise.chunks import fill, settled, until_enough
from dalenius.noise.geometric import DIRECT, levels
from dalenius.noise.geometric import sampler as geometric_sampler
from dalenius.noise.lazy import LazyUniform, two_sided_level
from dalenius.noise.parameters import Size, scale_of
from dalenius.noise.source import words


def discrete_laplace(scale: Any, size: Size = None) -> Any:
    """Integers k with P(k) = (1 - q)/(1 + q) q^|k|, q = exp(-1/scale), exactly.

    Two-sided geometric noise (Ghosh, Roughgarden and Sundararajan 2012, with alpha for q).

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
    >>> from dalenius.noise import discrete_laplace
    >>> discrete_laplace(0.001, 5)
    array([0, 0, 0, 0, 0])
    """
    return fill(size, sampler(scale_of("scale", scale)))


@lru_cache(maxsize=64)
def sampler(scale: Fraction) -> Callable[[int], Array]:
    """Makes n draws of this scale."""
    if scale <= DIRECT:
        return _direct(scale)
    return _split(scale)


def _direct(scale: Fraction) -> Callable[[int], Array]:
    """By quantile. With p = 1/(1 + q) = P(k >= 0), P(k or more) = p q^k = P(U <= p q^k) for k >= 0, and by
    symmetry P(-k or less) = P(1 - U <= p q^k) for k >= 1. So the size is floor(scale ln(p/U)) where U <= p
    and floor(scale ln(p/(1 - U))) elsewhere, one logarithm either way.

    For U between 1/2 and p both expressions are below scale ln(p/(1 - p)) = 1, and 0 has no sign: so the
    first digit of U may choose between them. log_top = ln(2^64 p) is off by less than 2^-47, as `levels`
    asks.
    """
    nearest = float(scale)
    log_p = -math.log1p(math.exp(-float(min(1 / scale, Fraction(800)))))
    log_top = 64 * math.log(2.0) + log_p

    def draw(n: int) -> Array:
        drawn = words(n)
        # 0, or -1 for the negative: x ^ sign is then x or ~x, and (x ^ sign) - sign is x or -x.
        sign = drawn.view(np.int64) >> 63
        values, undecided = levels(drawn ^ sign.view(np.uint64), nearest, log_top)
        values ^= sign
        values -= sign
        return settled(values, undecided, lambda i: two_sided_level(LazyUniform(int(drawn[i]), 64), scale))

    return draw


def _split(scale: Fraction) -> Callable[[int], Array]:
    """A geometric size and a fair sign, refusing minus zero, so that zero counts once."""
    size = geometric_sampler(scale)

    def attempt(n: int) -> Array:
        values = size(n)
        negative = np.unpackbits(words(-(-n // 64)).view(np.uint8))[:n].astype(np.bool_)
        np.negative(values, out=values, where=negative)
        refused = negative & (values == 0)
        return values[~refused] if refused.any() else values

    return lambda n: until_enough(n, attempt)
