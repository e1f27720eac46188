"""Poisson and Skellam integers, by quantile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import fill, settled
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.parameters import Size, positive
from dalenius.noise.source import words

LARGEST_MEAN = 1 << 29
"""Up to this mean the quantiles fit a table: some 3e5 of them."""

GUARD = 64
"""Digits by which weights are more exact than the levels made of them. A table has less than 2^21 weights, each off by
as many units at most."""

NOTHING = 1 << 32
"""In units of a weight: what is left out of a table."""


def poisson(mean: Any, size: Size = None) -> Any:
    """Integers k >= 0 with P(k) = e^-mean mean^k / k!, exactly.

    By quantile: k is how many of the levels P(K <= 0), P(K <= 1), ... are at or below a uniform number. The levels
    are known between whole multiples of 2^-64, and to as many digits more as a draw needs.

    Parameters
    ----------
    mean
        The mean, above 0 and at most 2^29: a float (taken at its exact value), an integer or a Fraction.
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
    >>> from dalenius.noise import poisson
    >>> bool((poisson(2.5, 1000) >= 0).all())
    True
    """
    return fill(size, sampler(_checked("mean", mean, LARGEST_MEAN)))


def skellam(variance: Any, size: Size = None) -> Any:
    """Differences of two independent Poisson integers of mean variance/2, exactly.

    Sums of independent ones are of this law again, their variances added: so parts of the noise can be drawn by people
    who do not know each other's (Agarwal, Kairouz and Liu 2021, "The Skellam Mechanism for Differentially Private
    Federated Learning").

    Parameters
    ----------
    variance
        The variance, above 0 and at most 2^30: a float (taken at its exact value), an integer or a Fraction.
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
    >>> from dalenius.noise import skellam
    >>> skellam(100.0, (2, 3)).shape
    (2, 3)
    """
    draw = sampler(_checked("variance", variance, 2 * LARGEST_MEAN) / 2)
    return fill(size, lambda n: draw(n) - draw(n))


def _checked(name: str, value: object, most: int) -> Fraction:
    found = positive(name, value)
    if found > most:
        raise InvalidParameter.of(
            name, f"{name} is {checks.shown(value)}; it must be at most {most}. Take a coarser grid."
        )
    return found


@lru_cache(maxsize=8)
def sampler(mean: Fraction) -> Callable[[int], Array]:
    """Makes n draws of this mean."""
    first, low, high = levels(mean, 64)
    below, above = np.array(low, dtype=np.uint64), np.array(high, dtype=np.uint64)

    def draw(n: int) -> Array:
        drawn = words(n)
        # A level is certainly below U in [w, w+1) if its upper digits are below w, and above U if its lower ones are
        # above w: a draw is decided unless w is among the digits of a level, or beyond the ends of the table.
        certain = np.searchsorted(above, drawn, side="left")
        undecided = certain != np.searchsorted(below, drawn, side="right")
        undecided |= certain == len(above)
        if first:
            undecided |= certain == 0
        return settled(certain + first, undecided, lambda i: quantile(LazyUniform(int(drawn[i]), 64), mean))

    return draw


def quantile(uniform: LazyUniform, mean: Fraction) -> int:
    """How many levels are at or below U."""
    while True:
        first, low, high = levels(mean, uniform.bits)
        certain, possible = bisect_left(high, uniform.value), bisect_right(low, uniform.value)
        if certain == possible < len(low) and (certain or not first):
            return first + certain
        uniform.more()


class Levels(NamedTuple):
    """Of k = first, first + 1, ...: whole numbers with low[k] <= P(K <= k) 2^bits < high[k] + 1."""

    first: int
    low: list[int]
    high: list[int]


@lru_cache(maxsize=2)
def levels(mean: Fraction, bits: int) -> Levels:
    """The levels of all k that are not beyond notice at so many digits.

    Weights relative to the most likely number m = floor(mean) follow from each other, w_k = w_(k-1) mean/k upwards and
    w_(k-1) = w_k k/mean downwards, factors at most 1; lower ends are rounded down and upper ones up. Where a lower end
    has come to 0 the rest is at most a geometric series, of ratio mean/(k+1) upwards and k/mean downwards.
    """
    a, b = mean.numerator, mean.denominator
    most = a // b
    one = 1 << (bits + GUARD)
    up_low, up_high = [one], [one]
    low, high, k = one, one, most
    while True:
        k += 1
        low, high = low * a // (b * k), -(-high * a // (b * k))
        rest_up = _series(high, a, b * (k + 1))
        if not low and rest_up <= NOTHING:
            break
        up_low.append(low)
        up_high.append(high)
    lows: list[int] = []
    highs: list[int] = []
    low, high, rest_down = one, one, 0
    for k in range(most, 0, -1):
        low, high = low * b * k // a, -(-high * b * k // a)
        rest_down = _series(high, b * (k - 1), a)
        if not low and rest_down <= NOTHING:
            break
        lows.append(low)
        highs.append(high)
    else:
        rest_down = 0
    first = most - len(lows)
    lows, highs = [*lows[::-1], *up_low], [*highs[::-1], *up_high]
    total_low, total_high = sum(lows), sum(highs) + rest_up + rest_down
    low_levels, high_levels = [], []
    low, high = 0, rest_down
    for each_low, each_high in zip(lows, highs, strict=True):
        low, high = low + each_low, high + each_high
        low_levels.append((low << bits) // total_high)
        high_levels.append(min((high << bits) // total_low, (1 << bits) - 1))
    return Levels(first, low_levels, high_levels)


def _series(start: int, a: int, b: int) -> int:
    """start (1 + a/b + (a/b)^2 + ...), rounded up."""
    return -(-start * b // (b - a))
