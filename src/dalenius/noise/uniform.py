"""Uniform integers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Ints, Words
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import fill, until_enough
from dalenius.noise.parameters import Size
from dalenius.noise.source import word, words


def uniform_integers(low: int, high: int, size: Size = None) -> Any:
    """Integers in [low, high), each with the same probability, exactly.

    Parameters
    ----------
    low
        The least integer.
    high
        One more than the largest.
    size
        The shape of the result; None for a single draw.

    Returns
    -------
    int or ndarray
        An int64 array of the shape `size` (of Python integers if they do not fit), or one int.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import uniform_integers
    >>> uniform_integers(3, 4, 5)
    array([3, 3, 3, 3, 3])
    """
    low, high = _index("low", low), _index("high", high)
    if high <= low:
        raise InvalidParameter(f"low is {low} and high is {high}; high must be above low.")
    if low >= -(2**63) and high <= 2**63:
        return fill(size, lambda n: _shifted(low, high - low, n))
    return fill(size, lambda n: np.array([low + one(high - low) for _ in range(n)], dtype=object))


def one(n: int) -> int:
    """One uniform integer in [0, n), n as large as you like."""
    digits = (n - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-digits // 64)):
            drawn = (drawn << 64) | word()
        drawn >>= -digits % 64
        if drawn < n:
            return drawn


def below(n: int, count: int) -> Words:
    """`count` uniform integers in [0, n), 1 <= n <= 2^64.

    Up to 2^24: v n / 2^32 rounded down for 32 digits v, refusing the (2^32 mod n) products with the smallest
    remainders, which leaves every result the same number of v (Lemire 2019). Above: 64 digits w, refusing
    those at or above the largest multiple of n, modulo n.
    """
    if n & (n - 1) == 0:
        return words(count) >> np.uint64(65 - n.bit_length()) if n > 1 else np.zeros(count, dtype=np.uint64)
    return until_enough(count, lambda missing: _try(n, missing))


def below_each(bounds: Array) -> Array:
    """A uniform integer in [0, n) for each n: as many digits as n has, again where they are not below it."""
    if bounds.dtype == object:
        drawn = np.empty(bounds.size, dtype=object)
        drawn[:] = [one(n) for n in bounds.ravel().tolist()]
        return drawn.reshape(bounds.shape)
    result = np.zeros_like(bounds)
    open_ = bounds > 1
    while open_.any():
        digits = bounds[open_] - 1
        for shift in (1, 2, 4, 8, 16, 32):
            digits |= digits >> shift
        result[open_] = words(len(digits)).view(np.int64) & digits
        open_ &= result >= bounds
    return result


def _try(n: int, count: int) -> Words:
    if n <= 1 << 24:
        product = words(-(-count // 2)).view(np.uint32)[:count].astype(np.uint64) * np.uint64(n)
        refused = product.astype(np.uint32) < np.uint32((1 << 32) % n)
        result = product >> np.uint64(32)
    else:
        drawn = words(count)
        refused = drawn >= np.uint64((1 << 64) - (1 << 64) % n)
        result = drawn - drawn // np.uint64(n) * np.uint64(n)
    return result[~refused] if refused.any() else result


def _shifted(low: int, n: int, count: int) -> Ints:
    # Two's complement addition: the sum is in range, whatever wraps on the way.
    return (below(n, count) + np.uint64(low % (1 << 64))).view(np.int64)


def _index(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidParameter(f"{name} is {value!r}; it must be a whole number.") from None
