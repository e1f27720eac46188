"""One of several categories, with exact weights."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import fill, settled
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.parameters import Size
from dalenius.noise.source import words
from dalenius.noise.uniform import below


def categorical(weights: Any, size: Size = None) -> Any:
    """Indices i with probability weights[i] / sum(weights), exactly.

    Parameters
    ----------
    weights
        Integers, Fractions or floats (taken at their exact values), none negative and not all zero.
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
    >>> from dalenius.noise import categorical
    >>> categorical([0, 3, 0], 4)
    array([1, 1, 1, 1])
    """
    whole = _whole(weights)
    total = sum(whole)
    if total == 0:
        raise InvalidParameter("weights are all zero (or there are none); at least one must be above 0.")
    return fill(size, _small(whole, total) if total < 1 << 62 else _large(whole, total))


def _small(whole: list[int], total: int) -> Callable[[int], Array]:
    """A uniform integer below the total, and the weights that add up to more than it."""
    ends = np.cumsum(np.array(whole, dtype=np.uint64))
    return lambda n: np.searchsorted(ends, below(total, n), side="right")


def _large(whole: list[int], total: int) -> Callable[[int], Array]:
    """U on 64 digits among the ends of the categories on as many; more digits where they agree."""
    ends, end = [], 0
    for weight in whole:
        end += weight
        ends.append(end)
    cuts = np.array([min((end << 64) // total, 2**64 - 1) for end in ends], dtype=np.uint64)

    def settle(uniform: LazyUniform) -> int:
        while True:
            first = _count(ends, uniform.value * total, uniform.bits)
            if first == _count(ends, (uniform.value + 1) * total - 1, uniform.bits):
                return first
            uniform.more()

    def draw(n: int) -> Array:
        drawn = words(n)
        category = np.searchsorted(cuts, drawn, side="left")
        undecided = cuts[np.minimum(category, len(cuts) - 1)] == drawn
        return settled(category, undecided, lambda i: settle(LazyUniform(int(drawn[i]), 64)))

    return draw


def _count(ends: list[int], scaled: int, bits: int) -> int:
    """How many ends are at or below scaled / 2^bits."""
    return bisect_right(ends, scaled, key=lambda end: end << bits)


def _whole(weights: Any) -> list[int]:
    """The weights times a common denominator."""
    given = weights if isinstance(weights, np.ndarray) else np.array(list(weights), dtype=object)
    if given.ndim != 1:
        raise InvalidParameter(f"weights have {given.ndim} dimensions; they must be a list.")
    exact = [_weight(w) for w in given.tolist()]
    denominator = math.lcm(*{w.denominator for w in exact})
    return [w.numerator * (denominator // w.denominator) for w in exact]


def _weight(weight: Any) -> Fraction:
    if isinstance(weight, np.generic):
        weight = weight.item()
    if isinstance(weight, bool) or not isinstance(weight, int | float | Fraction):
        raise InvalidParameter(
            f"a weight has type {type(weight).__name__}; weights must be integers, Fractions or floats."
        )
    if isinstance(weight, float) and not math.isfinite(weight):
        raise InvalidParameter("a weight is not finite; every weight must be a finite number, 0 or more.")
    if weight < 0:
        raise InvalidParameter("a weight is negative; every weight must be 0 or more.")
    return Fraction(weight)
