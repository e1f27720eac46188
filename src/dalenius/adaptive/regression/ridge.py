"""Ridge regression from X^T X and X^T y, and private bounds on how far one record can move it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from dalenius.adaptive.regression.posterior_sample import SLACK, least_noise
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.mechanisms import Gaussian


@dataclass(frozen=True, eq=False)
class Squares:
    """X^T X and X^T y of the records."""

    gram: Reals
    product: Reals

    @cached_property
    def least_eigenvalue(self) -> float:
        return float(np.linalg.eigvalsh(self.gram)[0])

    def solved(self, ridge: float) -> tuple[Reals, Reals]:
        """A root R of the inverse, R R^T = (X^T X + ridge)^-1, and the solution.

        By eigenvalues, and none below the rounding of the largest: where records are nearly dependent and the ridge is
        small, a Cholesky factorisation fails, and that would tell of the data.
        """
        values, vectors = np.linalg.eigh(self.gram)
        root = vectors / np.sqrt(np.maximum(values, values[-1] * 2.0**-52) + ridge)
        return root, np.asarray(root @ (root.T @ self.product))


@dataclass(frozen=True)
class RidgeBounds:
    """A lower bound on the least eigenvalue of X^T X and an upper bound on residuals, each released with noise.

    Rows have |x|^2 <= `square`, targets |y| <= 1; add/remove neighbours. One record moves the eigenvalue by `square` at
    most (Weyl), and log(1 + |x| |theta*|) by log(1 + leverage) (Wang 2018, Lemma 12). Both bounds hold for the data and
    for all their neighbours, each but for a chance of `failure`. Each release keeps `promise`.
    """

    square: float
    promise: ApproxDP
    failure: float

    @property
    def loss(self) -> Loss:
        """Of both releases."""
        return least_noise(self.promise).loss * 2

    @cached_property
    def _safe(self) -> float:
        """How far noise for a move of 1 goes, but for a chance of `failure`."""
        return -float(ndtri(self.failure)) * least_noise(self.promise).sigma * SLACK

    def _noise(self, moved: float) -> Gaussian:
        return Gaussian(sensitivity=moved, sigma=least_noise(self.promise).sigma * moved)

    def eigenvalue(self, data: Squares) -> float:
        """Below the least eigenvalue of the data and of all their neighbours; 0 or more."""
        moved = self.square * SLACK
        noisy = float(self._noise(moved).release(data.least_eigenvalue))
        return max(0.0, noisy - self._safe * moved - self.square)

    def residual(self, data: Squares, ridge: float, leverage: float) -> float:
        """Above |y - x.theta*| of any record, at the solution for the data or for a neighbour.

        `leverage` is at least `square` over the least eigenvalue, ridge included, of the data and their neighbours.
        """
        moved = math.log1p(leverage) * SLACK
        size = math.log1p(math.sqrt(self.square) * float(np.linalg.norm(data.solved(ridge)[1])))
        return math.exp(min(600.0, float(self._noise(moved).release(size)) + (self._safe + 1) * moved))
