"""A noisy curvature matrix and its inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Reals


@dataclass(frozen=True)
class Curvature:
    """M + W, W symmetric noise of standard deviation `sd` off the diagonal and sqrt(2) sd on it.

    Eigenvalues below `floor` = sd sqrt(p), half the largest eigenvalue of the noise, are raised to it before the
    matrix is inverted: so far down they are mostly noise.
    """

    matrix: Reals
    sd: float

    @property
    def floor(self) -> float:
        return self.sd * math.sqrt(len(self.matrix))

    @cached_property
    def eigen(self) -> tuple[Reals, Reals]:
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    @cached_property
    def inverse(self) -> Reals:
        """P, the inverse with raised eigenvalues; positive."""
        values, vectors = self.eigen
        return np.asarray((vectors / np.maximum(values, max(self.floor, 1e-300))) @ vectors.T)

    @property
    def clear(self) -> bool:
        """Whether the least eigenvalue stands out of the noise, whose largest one is about 2 sd sqrt(p)."""
        return bool(self.eigen[0][0] >= 2 * self.floor + 1.5 * self.sd)
