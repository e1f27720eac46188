"""Bins between powers of two on both sides of zero, and which of them hold nearly all values: how bounds are found."""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.arrays import Ints, Reals

POWERS = tuple(math.ldexp(1.0, k) for k in range(-40, 61))
"""The magnitude of values is looked for among 2^-40 ... 2^60."""

EDGES = (*(-x for x in reversed(POWERS)), *POWERS)
"""Between two neighbours is a bin, and one around zero; what is beyond the ends is in the last bins."""


def held(noisy: Reals, most: float, share: float) -> tuple[Ints, Ints]:
    """The first and the last bin of those that hold the middle `share` of all counts; (-1, -1) where there are none.

    noisy: groups x bins. most: what noise alone makes of an empty bin; counts up to it are taken for nothing.
    """
    climbing = np.cumsum(np.where(noisy > max(most, 0.0), noisy, 0.0), axis=1)
    total = climbing[:, -1:]
    shares = climbing / np.where(total > 0, total, 1.0)
    outside = (1 - share) / 2
    first, last = (shares > outside).argmax(axis=1), (shares >= 1 - outside).argmax(axis=1)
    none = total[:, 0] == 0
    return np.where(none, -1, first), np.where(none, -1, last)
