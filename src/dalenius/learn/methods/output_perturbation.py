"""Output perturbation: the ridge-regularised minimiser plus noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records
from dalenius.learn.methods.objective_perturbation import close_minimum
from dalenius.learn.numerics.minimise import Objective
from dalenius.mechanisms import Gaussian, KNorm
from dalenius.sums.curves import Curve

TOLERANCE = 1e-6
"""The gradient left by the solver, in units of the gradient of one record."""
RIDGE = 16.0
"""The ridge in units of smoothness times the square root of the noise: both the ridge and the noise in a score
then grow with what the promise needs, the number of records not being known."""


@dataclass(frozen=True)
class OutputPerturbation:
    """Releases the minimiser of sum f(x.theta; y) + (ridge/2)|theta|^2 plus Gaussian (K-norm, for PureDP) noise.

    Add/remove adjacency. The objective is ridge-strongly convex and one record moves its gradient by gradient_bound
    at most, so the minimiser moves by gradient_bound/ridge (Chaudhuri, Monteleoni and Sarwate 2011); the solver's
    tolerance adds twice tolerance/ridge. The ridge is 0.16 smoothness at least, noise below 1e-4 of the sensitivity
    being refused: far above those with which a minimiser is hard to find (`minimise.continued`). Simple, and noisier
    than objective perturbation: kept for comparison.
    """

    ridge: float
    gradient_bound: float
    mechanism: Gaussian | KNorm

    @classmethod
    def calibrated(cls, guarantee: Guarantee, gradient_bound: float, smoothness: float) -> OutputPerturbation:
        """The ridge grows with the noise the promise needs; both follow from the promise alone."""
        pure = guarantee.as_pure()
        if pure is None:
            noise = Gaussian.calibrated(guarantee, sensitivity=1.0).sigma * (1 + 1e-12)
        else:
            noise = KNorm.calibrated(pure, sensitivity=1.0).scale * (1 + 1e-12)
        ridge = RIDGE * smoothness * math.sqrt(noise)
        moved = gradient_bound * (1 + 2 * TOLERANCE) / ridge
        if pure is None:
            return cls(ridge, gradient_bound, Gaussian(sensitivity=moved, sigma=moved * noise))
        return cls(ridge, gradient_bound, KNorm(sensitivity=moved, scale=moved * noise))

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    def fit(self, records: Records, curve: Curve) -> Reals:
        """theta, noise included."""
        objective = Objective(records, curve, self.ridge, np.zeros(records.size))
        theta = close_minimum(objective, TOLERANCE * self.gradient_bound)
        return np.asarray(self.mechanism.release(theta))
