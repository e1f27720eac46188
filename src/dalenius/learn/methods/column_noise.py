"""Noise for numbers of several columns of which a record moves each by so much at most.

What it costs depends on the promise alone, and not on how many columns there are: the price is known before the data.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dalenius.calculus.guarantees import Guarantee
from dalenius.mechanisms import Gaussian, Laplace


@lru_cache(maxsize=64)
def noise_for_one(guarantee: Guarantee) -> Gaussian | Laplace:
    """For one number that a record moves by 1: Laplace noise for PureDP, Gaussian noise for every other promise."""
    pure = guarantee.as_pure()
    if pure is not None:
        return Laplace.calibrated(pure, sensitivity=1.0)
    return Gaussian.calibrated(guarantee, sensitivity=1.0)


def noise_for(guarantee: Guarantee, numbers: int, most: float = 1.0) -> Gaussian | Laplace:
    """For so many numbers, each moved by `most` at most by a record added or removed.

    Together that is `most * numbers` in l1 norm and `most * sqrt(numbers)` in l2 norm. The noise is rounded up, so that
    the loss is at most that of `noise_for_one`.
    """
    one = noise_for_one(guarantee)
    if isinstance(one, Laplace):
        sensitivity = most * numbers
        return Laplace(sensitivity=sensitivity, scale=_up(sensitivity * one.scale))
    sensitivity = _up(most * math.sqrt(numbers))
    return Gaussian(sensitivity=sensitivity, sigma=_up(sensitivity * one.sigma))


def _up(x: float) -> float:
    """A little more than x: the roundings of a few operations are covered."""
    return math.nextafter(x * (1 + 1e-12), math.inf)
