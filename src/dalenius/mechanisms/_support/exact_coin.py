"""exp(-epsilon) as a fraction, for coins whose loss is epsilon and never more."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dalenius.noise.enclosure import exp_bounds


@lru_cache(maxsize=256)
def exp_minus(epsilon: Fraction) -> Fraction:
    """exp(-epsilon) rounded up, but never above 1.

    With more digits than epsilon has zeros after the point, and than exp(-epsilon) has, it is raised by a relative
    2^-60 of itself, and of its distance from 1, at most.
    """
    zeros = max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    precision = 64 + zeros + math.ceil(epsilon * Fraction(3, 2))
    return min(Fraction(1), Fraction(exp_bounds(epsilon, precision)[1], 1 << precision))
