"""Several sums over the rows, released together: what one row can move all of them by counts, not each alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array
from dalenius.infer.promise import gaussian_mu, pure_epsilon
from dalenius.intervals.laws import Noisy, Normal, TwoSidedExponential
from dalenius.mechanisms import Gaussian, Laplace

UNIT = 64
"""Weights are whole multiples of 1/64."""

DIGITS = 40
"""Sums are in units of 2^-40 at most."""


@dataclass(frozen=True)
class Sums:
    """Releases w_j T_j with the same noise in every coordinate, T_j the sum over rows of an entry of at most 1.

    One record moves (w_1 T_1, ..., w_k T_k) by at most `reach`: in l2 norm, with Gaussian noise, or in l1 norm, with
    Laplace noise, for a PureDP promise. All is exact: T_j are whole numbers of 2^-digits_j, weights multiples of 1/64.
    """

    guarantee: Guarantee
    adjacency: Adjacency
    weights: tuple[float, ...]
    digits: tuple[int, ...]
    reach: float

    @classmethod
    def of_cells(cls, guarantee: Guarantee, adjacency: Adjacency, cells: int) -> Sums:
        """Counts of cells: a row is in one of them, and replacing it moves two."""
        pure = pure_epsilon(guarantee) is not None
        reach = 1.0 if adjacency is ADD_REMOVE else 2.0 if pure else math.sqrt(2) * (1 + 1e-12)
        return cls(guarantee, adjacency, (1.0,) * cells, (0,) * cells, reach)

    @cached_property
    def mechanism(self) -> Gaussian | Laplace:
        """The noise, for whole numbers of 2^-46."""
        sensitivity = self.reach * float(UNIT * 2**DIGITS)
        epsilon = pure_epsilon(self.guarantee)
        if epsilon is not None:
            return Laplace.calibrated(self.guarantee, sensitivity=sensitivity, adjacency=self.adjacency)
        sigma = sensitivity / gaussian_mu(self.guarantee)
        return Gaussian(sensitivity=sensitivity, sigma=sigma, adjacency=self.adjacency)

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.mechanism.loss

    def release(self, totals: Sequence[Sequence[int]]) -> list[Noisy]:
        """The noisy sums, in units of 1; totals: one list for each sum, of one whole number for each data set."""
        weighted = np.array(
            [
                [int(total) * round(weight * UNIT) * 2 ** (DIGITS - digits) for total in totals_of_one]
                for weight, digits, totals_of_one in zip(self.weights, self.digits, totals, strict=True)
            ],
            dtype=object,
        )
        noisy: Array = np.asarray(self.mechanism.release(weighted), dtype=float) / (UNIT * 2.0**DIGITS)
        return [
            Noisy(row / weight, self.law(weight)) for row, weight in zip(noisy, self.weights, strict=True)
        ]

    def law(self, weight: float) -> Normal | TwoSidedExponential:
        unit = weight * UNIT * 2.0**DIGITS
        if isinstance(self.mechanism, Gaussian):
            return Normal(self.mechanism.sigma / unit)
        return TwoSidedExponential(self.mechanism.scale * 2**0.5 / unit)


def public(numbers: Sequence[int]) -> Noisy:
    """Numbers that are known: with no noise."""
    return Noisy(np.array([float(number) for number in numbers]), Normal(0.0))
