"""Noise on vectors of whole numbers that neighbours move by so much in l2 norm: the numbers that say so."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.additive_noise import NoiseOnIntegers
from dalenius.mechanisms._support.neighbouring_vectors import at_the_end, spread
from dalenius.mechanisms._support.scaled_noise import ScaledIntegerNoise
from dalenius.mechanisms.mechanism import Neighbours


class WholeVectorNoise(ScaledIntegerNoise, NoiseOnIntegers):
    """A dataclass with the fields `sensitivity`, in l2 norm, and `coordinates`, besides its noise."""

    coordinates: int | None

    def __post_init__(self) -> None:
        if self.coordinates is not None:
            object.__setattr__(self, "coordinates", checks.count("coordinates", self.coordinates, least=1))
        super().__post_init__()

    @staticmethod
    def _checked_sensitivity(value: object) -> float:
        sensitivity = checks.positive("sensitivity", value)
        if not 1 <= _squared(sensitivity) <= checks.MOST:
            raise InvalidParameter.of(
                "sensitivity",
                f"sensitivity is {sensitivity}; whole numbers that move at all move by 1 or more, and here by 1e150 "
                "at most.",
            )
        return sensitivity

    @property
    def squared(self) -> int:
        """The most a neighbour can move, squared: a whole number."""
        return _squared(self.sensitivity)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        if self.coordinates == 1 or self.squared < 2:
            return self.worst_pair, at_the_end(math.isqrt(self.squared), np.int64)
        return self.worst_pair, spread(math.isqrt(self.squared // 2), np.int64)

    @property
    def worst_pair(self) -> Neighbours:
        whole = math.isqrt(self.squared)
        if whole**2 == self.squared or self.coordinates == 1:
            return Neighbours(0, whole)
        parts: list[int] = []
        rest = self.squared
        while rest and len(parts) < (self.coordinates or self.squared):
            parts.append(math.isqrt(rest))
            rest -= parts[-1] ** 2
        return Neighbours(np.zeros(len(parts), dtype=np.int64), np.array(parts, dtype=np.int64))


def _squared(sensitivity: float) -> int:
    # math.sqrt(3) is a little below the root of 3: a rounding more makes its square 3 again.
    return math.floor(Fraction(sensitivity) ** 2 * (1 + Fraction(1, 10**12)))
