"""Exponential and gamma numbers in doubles with what they may be off by, and the same certified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalenius.noise.interval import Interval, exponential, whole
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.source import Words

Floats = NDArray[np.float64]


def exponentials(drawn: Words, bits: int) -> tuple[Floats, Floats]:
    """E = -ln(1 - U) for U in [w, w+1) 2^-bits, w the last `bits` digits of a word, and its relative error.

    For U < 1/2, E is -log1p of the middle of the interval, w + 1/2 units. Its slope is at most 2 there and
    E >= U, so the half unit on either side moves it by at most 1/w of itself. Otherwise E is -ln of the
    middle of 1 - U, v + 1/2 units with v = 2^bits - 1 - w; E > 2/3 and half a unit moves it by at most 1/v
    of itself. The argument is rounded twice, which moves E by less than 2^-51 of itself, and np.log and
    np.log1p are assumed good to 8 ulps, 2^-49. So the relative error is below 2/min(w, v) + 2^-48 (infinite
    in the first and the last interval).
    """
    top = np.uint64((1 << bits) - 1)
    w = drawn & top
    v = top - w
    least = np.minimum(w, v).astype(np.float64)
    middle = (least + 0.5) * 2.0**-bits
    value = -np.where(w > v, np.log(middle), np.log1p(-middle))
    with np.errstate(divide="ignore"):
        return value, 2.0 / least + 2.0**-48


def gammas(drawn: Words) -> tuple[Floats, Floats]:
    """Gamma numbers: the sum of the exponential numbers of each row of words, and its error.

    Adding k numbers, in any order, is off by less than k 2^-53 of the sum.
    """
    values, relative = exponentials(drawn, 64)
    total = values.sum(axis=1, keepdims=True)
    return total, (values * relative).sum(axis=1, keepdims=True) + total * (drawn.shape[1] * 2.0**-52)


def certified_gamma(uniforms: list[LazyUniform], precision: int) -> Interval:
    """The same sum, certified."""
    total = whole(0, precision)
    for u in uniforms:
        total = total + exponential(u, precision)
    return total
