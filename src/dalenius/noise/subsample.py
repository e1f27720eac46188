"""Random orders and random subsets."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Words
from dalenius.errors import InvalidParameter
from dalenius.noise.bernoulli import bernoulli
from dalenius.noise.chunks import CHUNK, settled
from dalenius.noise.geometric import levels
from dalenius.noise.lazy import Enclosed, LazyUniform, level, minus_log1p
from dalenius.noise.parameters import probability_of
from dalenius.noise.source import words
from dalenius.noise.uniform import below

RARE = Fraction(1, 8)
"""Below this rate it is quicker to draw the gaps between the chosen."""


def permutation(n: int) -> Ints:
    """0, ..., n - 1 in uniformly random order.

    The order of n independent 64-bit keys; given that no two are equal, every order is equally likely, so
    keys are drawn anew if two are.

    Parameters
    ----------
    n
        The number of indices.

    Returns
    -------
    ndarray
        The indices, as int64.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import permutation
    >>> sorted(permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    n = checks.count("n", n)
    while True:
        keys = words(n)
        order = np.argsort(keys)
        ranked = keys[order]
        if not bool((ranked[1:] == ranked[:-1]).any()):
            return order.astype(np.int64, copy=False)


def fixed_subsample(n: int, m: int) -> Ints:
    """m of 0, ..., n - 1, every set of m equally likely, in increasing order.

    Parameters
    ----------
    n
        The number of indices to choose from.
    m
        The number of indices to choose, at most n.

    Returns
    -------
    ndarray
        The indices chosen, as int64.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import fixed_subsample
    >>> fixed_subsample(4, 4)
    array([0, 1, 2, 3])
    """
    n, m = checks.count("n", n), checks.count("m", m)
    if m > n:
        raise InvalidParameter(f"m is {m} but n is {n}; a subset of {n} has at most {n}.")
    if n >= 1 << 62:
        raise InvalidParameter("n must be below 2^62.")
    if 2 * m <= n:
        return _distinct(n, m)
    chosen = np.ones(n, dtype=np.bool_)
    chosen[_distinct(n, n - m)] = False
    return np.flatnonzero(chosen)


def _distinct(n: int, m: int) -> Ints:
    """The first m different values of a uniform sequence: by symmetry every set of m is equally likely."""
    chosen: Ints = np.empty(0, dtype=np.int64)
    while len(chosen) < m:
        missing = m - len(chosen)
        fresh = below(n, missing + missing // 8 + 8).view(np.int64)
        _, first = np.unique(fresh, return_index=True)
        fresh = fresh[np.sort(first)]
        new = fresh[~np.isin(fresh, chosen, assume_unique=True)] if len(chosen) else fresh
        chosen = np.concatenate([chosen, new[:missing]])
    chosen.sort()
    return chosen


def poisson_subsample(n: int, rate: Any) -> Ints:
    """The indices 0, ..., n - 1 chosen independently, each with probability exactly `rate`, increasing.

    Parameters
    ----------
    n
        The number of indices to choose from.
    rate
        The probability of each: a float (taken at its exact value) or a Fraction.

    Returns
    -------
    ndarray
        The indices chosen, as int64.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import poisson_subsample
    >>> len(poisson_subsample(10, 0.0)), len(poisson_subsample(10, 1.0))
    (0, 10)
    """
    n, chance = checks.count("n", n), probability_of("rate", rate)
    if n >= 1 << 62:
        raise InvalidParameter("n must be below 2^62.")
    if chance == 0 or n == 0:
        return np.empty(0, dtype=np.int64)
    if chance < RARE:
        return _by_gaps(n, chance)
    parts = []
    for start in range(0, n, CHUNK):
        parts.append(np.flatnonzero(bernoulli(chance, min(CHUNK, n - start))) + start)
    return np.concatenate(parts)


def _by_gaps(n: int, rate: Fraction) -> Ints:
    """The number of indices passed over before each choice is floor(ln U / ln(1 - rate)).

    In doubles scale = -1/ln(1 - rate) is good to 4 ulps instead of one rounding: with ln U >= -45 that adds
    45 * 2^-50 < 2^-44 to the error budget of `levels`, 2^-42.5, which stays below its band.
    """
    small, step = float(rate), minus_log1p(rate)
    scale = -1.0 / math.log1p(-small) if small else math.inf
    log_top = 64 * math.log(2.0)
    parts: list[Ints] = []
    last = -1
    while True:
        drawn = words(min(CHUNK, int((n - last) * small * 1.05) + 16))
        if scale < 2.0**50:
            gaps, undecided = levels(drawn, scale, log_top)
        else:
            gaps, undecided = np.zeros(len(drawn), dtype=np.int64), np.ones(len(drawn), dtype=np.bool_)
        gaps = settled(gaps, undecided, partial(_gap, drawn, step, rate, n))
        # Gaps cut at n keep sums below 2^63 up to the first that leads past the end; the rest is not used.
        places = last + np.cumsum(np.minimum(gaps, n) + 1)
        past = places >= n
        if past.any():
            parts.append(places[: int(np.argmax(past))])
            return np.concatenate(parts)
        parts.append(places)
        last = int(places[-1])


def _gap(drawn: Words, step: Enclosed, rate: Fraction, n: int, i: int) -> int:
    """The gap, or n if it is longer: surely so if U <= 1 - n rate, as (1 - rate)^n is at least that."""
    uniform = LazyUniform(int(drawn[i]), 64)
    if (uniform.value + 1) * rate.denominator <= (rate.denominator - n * rate.numerator) << 64:
        return n
    return min(level(uniform, step), n)
