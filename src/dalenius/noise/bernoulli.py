"""Coins of exact bias."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.arrays import Bools, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import CHUNK, fill
from dalenius.noise.lazy import LazyUniform, below, below_exp
from dalenius.noise.parameters import Size, exact, floats, probability_of, shape_of
from dalenius.noise.source import words

TOP = 2.0**64


def bernoulli(p: Any, size: Size = None) -> Any:
    """Coins that come up True with probability exactly p.

    U < p is decided on the first digits of U; when they equal
    those of p, more are drawn.

    Parameters
    ----------
    p
        The probability of True: a float (taken at its exact binary value), a Fraction, or an array of floats with
        one coin for each.
    size
        The number or shape of the coins for a single number; None for one plain bool.

    Returns
    -------
    bool or ndarray
        The coins.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import bernoulli
    >>> bernoulli(1.0), bernoulli(0.0)
    (True, False)
    >>> bernoulli(0.5, 4).shape
    (4,)
    """
    if isinstance(p, np.ndarray | list | tuple) and np.ndim(p) > 0:
        chances = _array("p", p, size)
        if bool(np.any((chances < 0) | (chances > 1))):
            raise InvalidParameter("p holds a value outside [0, 1].")
        return _each(chances, _coins)
    chance = probability_of("p", p.item() if isinstance(p, np.ndarray) else p)
    return fill(size, lambda n: _same(chance, n), np.bool_)


def bernoulli_exp(x: Any, size: Size = None) -> Any:
    """Coins that come up True with probability exactly exp(-x), x >= 0.

    exp(-x) is irrational for rational x > 0, so comparing enough digits always decides.

    Parameters
    ----------
    x
        The exponent, 0 or more: a float (taken at its exact binary value), a Fraction, or an array of floats with
        one coin for each.
    size
        The number or shape of the coins for a single number; None for one plain bool.

    Returns
    -------
    bool or ndarray
        The coins.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import bernoulli_exp
    >>> bernoulli_exp(0.0)
    True
    >>> bool(bernoulli_exp(1e6, 1000).any())
    False
    """
    if isinstance(x, np.ndarray | list | tuple) and np.ndim(x) > 0:
        exponents = _array("x", x, size)
        if bool(np.any(exponents < 0)):
            raise InvalidParameter("x holds a negative value; exp(-x) is a probability only for x >= 0.")
        return _each(exponents, _exp_coins)
    exponent = exact("x", x.item() if isinstance(x, np.ndarray) else x, "a finite number, 0 or more")
    if exponent < 0:
        raise InvalidParameter(f"x is {x}; exp(-x) is a probability only for x >= 0.")
    nearest = min(exponent, Fraction(10**6)).__float__()  # beyond that exp is 0 as a double
    return fill(size, lambda n: _exp_coins(np.full(n, nearest), exponent), np.bool_)


def _array(name: str, values: Any, size: Size) -> Reals:
    array: Reals = floats(name, values)
    if size is not None and shape_of(size) != array.shape:
        raise InvalidParameter(f"size is {size}, but {name} has shape {array.shape}; leave size out.")
    return array


def _each(values: Reals, coins: Any) -> Bools:
    flat = values.reshape(-1)
    out = np.empty(len(flat), dtype=np.bool_)
    for start in range(0, len(flat), CHUNK):
        out[start : start + CHUNK] = coins(flat[start : start + CHUNK])
    return out.reshape(values.shape)


def _same(p: Fraction, n: int) -> Bools:
    """n coins of one bias, on 16 digits of U each where those decide."""
    if p in (0, 1):
        return np.full(n, p == 1)
    digits = words(-(-n // 4)).view(np.uint16)[:n]
    cut = (p.numerator << 16) // p.denominator
    result: Bools = digits < cut
    if (cut * p.denominator) != p.numerator << 16:
        rest = (p.numerator << 16) - cut * p.denominator
        for i in np.flatnonzero(digits == cut):
            result[i] = below(LazyUniform(), Fraction(rest, p.denominator))
    return result


def _coins(p: Reals) -> Bools:
    """One coin for each bias: p 2^64 is exact as a double, and so is its fraction."""
    drawn = words(len(p))
    scaled = np.ldexp(p, 64)
    whole = np.floor(scaled)
    sure = p == 1.0
    cut = np.where(sure, 0.0, whole).astype(np.uint64)
    result: Bools = (drawn < cut) | sure
    for i in np.flatnonzero((drawn == cut) & (scaled > whole) & ~sure):
        result[i] = below(LazyUniform(int(drawn[i]), 64), Fraction(float(p[i])))
    return result


def _exp_coins(x: Reals, same: Fraction | None = None) -> Bools:
    """One coin for each exponent (all of them within a relative 2^-53 of `same`, if that is given).

    e = exp(-x) 2^64 in doubles. np.exp is assumed good to 8 ulps, a relative 2^-49; where x was rounded it
    is off by x 2^-53, which moves e by e x 2^-53 <= 2^10 (as x exp(-x) < 1/2). A word w is off by w 2^-53
    as a double and stands for an interval of one unit. Together below e 2^-48 + 2^11 near w = e: the band
    is twice that, and covers where exp(-x) is too small to be a normal double.
    """
    drawn = words(len(x))
    e = np.exp(-x) * TOP
    gap = drawn.astype(np.float64) - e
    result: Bools = gap < 0
    for i in np.flatnonzero(np.abs(gap) <= e * 2.0**-47 + 2.0**12):
        exponent = Fraction(float(x[i])) if same is None else same
        result[i] = below_exp(LazyUniform(int(drawn[i]), 64), exponent)
    return result
