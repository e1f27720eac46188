"""Noisy gradient descent with the lengths and directions of its steps read off one noisy X^T X."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.rows import Records
from dalenius.learn.numerics.exact_sums import ExactSums, grid_for
from dalenius.learn.numerics.optimisers import Adam, averaged
from dalenius.mechanisms import AnalyzeGauss
from dalenius.sums.curves import Curve
from dalenius.sums.grids import ROW_BITS, on_grid

MOST_COLUMNS = 1500
"""Beyond this many the matrix and its noise are too large; Adam's steps instead, and nothing but gradients released."""


@dataclass(frozen=True)
class NoisyNewton:
    """Releases X^T X with symmetric Gaussian noise, then `steps` sums of gradients with Gaussian noise. Add/remove.

    All of it together is `mu`-GDP: `share` of mu^2 goes to the matrix, the rest to the gradients in equal parts; one
    record moves the matrix by |x|^2 in Frobenius norm and a gradient by `gradient_bound`, and both are summed exactly
    (`ExactSums`). What follows is post-processing. As f'' <= sharpest, the Hessian is nowhere above B = sharpest X^T X
    (Bohning and Lindsay 1988): theta moves along -B^-1 gradient, with momentum, its eigenvalues raised to what the
    noise can be told from. No step length has to be chosen and the number of records need not be known; the same
    data in other units give the same model. theta is the average of the last half of the iterates.
    """

    mu: float
    gradient_bound: float
    steps: int = 30
    share: float = 0.2
    momentum: float = 0.5
    learning_rate: float = 0.3
    """Of Adam's steps, where there are too many columns for a matrix."""

    def __post_init__(self) -> None:
        checks.positive("mu", self.mu)
        checks.positive("gradient_bound", self.gradient_bound)
        grid_for(self.noise_multiplier)

    @classmethod
    def calibrated(cls, guarantee: Guarantee, gradient_bound: float) -> NoisyNewton:
        """The largest mu that keeps a promise."""
        return cls((1 - 1e-9) / calibrate(lambda s: losses.gaussian(s), guarantee), gradient_bound)

    @property
    def noise_multiplier(self) -> float:
        """The noise of one gradient, in units of what one record moves it by."""
        return math.sqrt(self.steps / (1 - self.share)) / self.mu

    def matrix(self, size: int = 1) -> AnalyzeGauss:
        """The mechanism for X^T X, in units of the grid, for rows of norm 1."""
        sensitivity = 4.0**ROW_BITS * (1 + 2.0**-ROW_BITS * math.sqrt(size)) ** 2
        sigma = sensitivity * math.sqrt(0.5 / self.share) / self.mu
        return AnalyzeGauss(sensitivity=sensitivity, sigma=sigma * (1 + 1e-12))

    @property
    def loss(self) -> Loss:
        return self.matrix().loss + losses.gaussian(self.noise_multiplier) * self.steps

    def fit(self, records: Records, curve: Curve) -> Reals:
        """theta: the average of the last half of the iterates."""
        sums = ExactSums(records, curve, self.gradient_bound, self.noise_multiplier, self.steps, True)
        towards = self._towards(sums)

        def step(theta: Reals, k: int) -> Reals:
            theta = on_grid(theta)
            return theta - towards.move(sums.noisy_gradient(theta), k)

        return averaged(step, self.steps, records.size) / sums.reach

    def _towards(self, sums: ExactSums) -> Adam | Preconditioned:
        size, curve = sums.records.size, sums.curve
        if size > MOST_COLUMNS:
            return Adam(self.learning_rate, self.momentum, self.steps, size)
        mechanism = self.matrix(size)
        values, vectors = np.linalg.eigh(mechanism.release(sums.gram()) * 4.0**-ROW_BITS)
        # The noise moves eigenvalues by up to 2 sqrt(d) sigma; below that nothing is known of them. And where a step
        # would be noise for the most part it is shortened.
        values = np.maximum(values, 2 * math.sqrt(size) * mechanism.sigma * 4.0**-ROW_BITS)
        noise = self.noise_multiplier * curve.steepest
        return Preconditioned(curve.sharpest * values + 0.5 * noise, vectors, self.momentum)


class Preconditioned:
    """Gradients divided by a matrix given by its eigenvalues and eigenvectors, with momentum."""

    def __init__(self, values: Reals, vectors: Reals, momentum: float) -> None:
        self.values, self.vectors, self.momentum = values, vectors, momentum
        self.last: Reals | float = 0.0

    def move(self, gradient: Reals, step: int) -> Reals:
        self.last = self.momentum * self.last + self.vectors @ ((self.vectors.T @ gradient) / self.values)
        return np.asarray(self.last)
