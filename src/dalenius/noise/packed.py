"""Many coins of one exact bias, eight to a byte."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core import checks
from dalenius.noise.parameters import probability_of
from dalenius.noise.source import words

Bytes = NDArray[np.uint8]

CHUNK = 1 << 18
"""Bytes drawn at a time."""
TOGETHER = 4
"""Digits that all coins draw; those still undecided after them are gathered."""


def packed_bernoulli(p: Any, n: int) -> Bytes:
    """n bytes, each of eight independent coins that come up 1 with probability exactly p.

    U < p is decided at the first binary digit in which U and p differ. All coins of a byte draw their next digit at
    once; a byte is left alone when none of its coins is undecided, which is after 4.5 digits on average.

    Parameters
    ----------
    p
        The probability of 1: a float (taken at its exact binary value) or a Fraction.
    n
        The number of bytes.

    Returns
    -------
    ndarray
        The coins, as uint8.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import packed_bernoulli
    >>> packed_bernoulli(1.0, 3)
    array([255, 255, 255], dtype=uint8)
    """
    chance, n = probability_of("p", p), checks.count("n", n)
    drawn = np.full(n, 255 if chance == 1 else 0, dtype=np.uint8)
    if 0 < chance < 1:
        for start in range(0, n, CHUNK):
            _fill(drawn[start : start + CHUNK], chance)
    return drawn


def _fill(result: Bytes, rest: Fraction) -> None:
    """Coins of bias `rest` in place of zeros."""
    open_ = np.full(len(result), 255, dtype=np.uint8)
    for _ in range(TOGETHER):
        rest *= 2
        digits = _digits(len(open_))
        if rest >= 1:  # where U has a 0, it is below p
            result |= open_ & ~digits
            open_ &= digits
            rest -= 1
        else:
            open_ &= ~digits
        if rest == 0:  # U agrees with p so far, and p ends here: U is not below it
            return
    places = np.flatnonzero(open_)
    open_ = open_[places]
    while len(places):
        rest *= 2
        digits = _digits(len(open_))
        if rest >= 1:
            result[places] |= open_ & ~digits
            open_ = open_ & digits
            rest -= 1
        else:
            open_ = open_ & ~digits
        if rest == 0:
            return
        left = np.flatnonzero(open_)
        places, open_ = places[left], open_[left]


def _digits(n: int) -> Bytes:
    return words(-(-n // 8)).view(np.uint8)[:n]
