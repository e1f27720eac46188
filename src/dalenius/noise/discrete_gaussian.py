"""Discrete Gaussian integers: P(k) proportional to exp(-k^2 / (2 sigma^2))."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Bools, Ints
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import fill, until_enough
from dalenius.noise.lazy import LazyUniform, log_above
from dalenius.noise.parameters import LARGEST_SCALE, Size, exact, scale_of
from dalenius.noise.source import words
from dalenius.noise.strips import Strips
from dalenius.noise.tail import draw_tail
from dalenius.noise.uniform import one


def discrete_gaussian(sigma: Any = None, size: Size = None, *, variance: Any = None) -> Any:
    """Ints k with P(k) proportional to exp(-k^2 / (2 sigma^2)), exactly.

     Canonne, Kamath and Steinke (2020)
    define the law and its privacy; the sampler is a discrete ziggurat (Buchmann et al. 2013) made exact.

    Parameters
    ----------
    sigma
        The parameter, at most 2^56: a float (taken at its exact value), an integer or a Fraction.
    size
        The shape of the result; None for a single draw.
    variance
        sigma^2, in place of sigma.

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
    >>> from dalenius.noise import discrete_gaussian
    >>> discrete_gaussian(0.05, 5)
    array([0, 0, 0, 0, 0])
    """
    if (sigma is None) == (variance is None):
        raise InvalidParameter("Give either sigma or variance.")
    if variance is None:
        square = scale_of("sigma", sigma) ** 2
    else:
        square = exact("variance", variance, "a finite number above 0")
        if not 0 < square <= LARGEST_SCALE**2:
            raise InvalidParameter(f"variance is {variance}; it must be above 0 and at most 2^112.")
    return fill(size, sampler(square))


@lru_cache(maxsize=64)
def sampler(variance: Fraction) -> Callable[[int], Array]:
    """Makes n draws of this variance parameter."""
    return _Sampler(Strips.of(variance)).draw


class _Sampler:
    """Points uniform on strips that cover the bell; those under it are kept.

    A proposal is a strip (8 digits of a word), a position in it (other digits) and a height in it (a second
    word, fetched only where the whole column of the strip is not already under the bell).
    """

    def __init__(self, strips: Strips) -> None:
        self.strips = strips
        self.digits = np.uint64(min(56, 64 - strips.widest.bit_length()))
        self.low = np.uint64((1 << int(self.digits)) - 1)

    def draw(self, n: int) -> Array:
        return until_enough(n, lambda missing: self.proposals(missing + missing // 24 + 8))

    def proposals(self, n: int) -> Array:
        """The kept ones of n proposals."""
        strips = self.strips
        drawn = words(n)
        index = (drawn >> np.uint64(56)).view(np.int64)
        width = strips.width[index]
        product = (drawn & self.low) * width
        position = (product >> self.digits).view(np.int64)
        # As in `uniform.below`: refuse the products with a remainder below 2^digits mod width, in their
        # strip.
        product &= self.low
        for i in np.flatnonzero(product < width):
            position[i] = self.position(int(index[i]), int(drawn[i] & self.low))
        value = position - (width >> np.uint64(1)).view(np.int64)
        if strips.block:
            value <<= strips.block
            value |= (words(n) >> np.uint64(64 - strips.block)).view(np.int64)
        kept = np.abs(value) <= strips.sure[index]
        open_ = np.flatnonzero(~kept)
        return self.decide(value, kept, open_, index[open_])

    def position(self, index: int, first: int) -> int:
        """A uniform position in a strip, from these digits if they are not refused."""
        width, top = int(self.strips.width[index]), 1 << int(self.digits)
        if width == 0:
            return 0
        return first * width // top if first * width % top >= top % width else one(width)

    def decide(self, value: Ints, kept: Bools, where: Ints, index: Ints) -> Array:
        """Heights for the proposals not yet kept; keeps those under the bell, and handles the tail."""
        strips = self.strips
        drawn = words(len(where))
        height = strips.bottom[index] + drawn.astype(np.float64) * 2.0**-64 * strips.thickness[index]
        bell = np.exp(np.square(value[where].astype(np.float64)) * -strips.rate)
        kept[where] = height < bell
        kept[where[index > strips.count]] = False
        near = (np.abs(height - bell) <= Strips.BAND) & (strips.width[index] > 0)
        for i in np.flatnonzero(near):
            kept[where[i]] = self.under(int(value[where[i]]), int(index[i]), LazyUniform(int(drawn[i]), 64))
        return self.with_tail(value, kept, where[index == 0])

    def with_tail(self, value: Ints, kept: Bools, where: Ints) -> Array:
        """All that is kept, once tail proposals have taken their places."""
        if not len(where):
            return value[kept]
        tail, kept[where] = draw_tail(self.strips, len(where))
        large: Array = value if tail.dtype != object else value.astype(object)
        large[where] = tail
        return large[kept]

    def under(self, value: int, index: int, uniform: LazyUniform) -> bool:
        """Whether a point of a strip is under the bell, in exact arithmetic."""
        bottom, thickness = self.strips.exactly(index)
        return log_above(uniform, bottom, thickness, value * value / (2 * self.strips.variance))
