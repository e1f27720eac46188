"""Objective perturbation with K-norm noise: pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import CannotMeet
from dalenius.learn.data.parameters import checked_ratio
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.methods.objective_perturbation import (
    NOISE_BITS,
    TOLERANCE,
    coefficients,
    perturbed_minimum,
)
from dalenius.learn.numerics.links import Link
from dalenius.mechanisms import KNorm
from dalenius.noise import norm_noise
from dalenius.sums.curves import Curve

OUTPUT_SHARE = 0.002
"""The part of epsilon that the output noise costs."""


@dataclass(frozen=True)
class PureObjectivePerturbation:
    """Releases a minimiser of sum f(x.theta; y) + (ridge/2)|theta|^2 + b.theta, b with density ~ exp(-|b|/scale).

    Add/remove adjacency, Euclidean norm; |f'||x| <= gradient_bound, f''|x|^2 <= smoothness (Chaudhuri, Monteleoni
    and Sarwate 2011; Awan and Slavkovic 2021, for GLM losses). As in docs/proofs/objective-perturbation.md,
    log p_Z'(theta) - log p_Z(theta) = (|b_Z| - |b_Z'|)/scale + log(1 + f'' x^T A^-1 x), and b_Z - b_Z' is the
    gradient of the extra record: the first part is at most gradient_bound/scale either way, the second between 0
    and log(1 + smoothness/ridge). So the exact minimiser is epsilon-DP with epsilon their sum.

    With `directions` m, for a `Link` of several scores, the second part is at most m log(1 + smoothness/ridge), where
    smoothness bounds the mean of m eigenvalues (docs/proofs/multinomial-perturbation.md).

    The point found has a gradient of norm `tolerance` at most (the rounding of b is part of it), lies within
    tolerance/ridge of the minimiser, and gets K-norm noise of its own; `loss` is the sum of the two.
    """

    scale: float
    ridge: float
    gradient_bound: float
    smoothness: float
    directions: int = 1

    def __post_init__(self) -> None:
        self.output  # noqa: B018 - more noise than can be added is refused before there is a row

    @classmethod
    def calibrated(
        cls,
        guarantee: Guarantee,
        gradient_bound: float,
        smoothness: float,
        noise_ratio: float = 1.2,
        directions: int = 1,
    ) -> PureObjectivePerturbation:
        """The noise takes 1/noise_ratio of epsilon, the ridge what is left."""
        ratio = checked_ratio(noise_ratio)
        if not isinstance(guarantee, PureDP | ApproxDP) or guarantee.epsilon <= 0:
            raise CannotMeet(
                f"K-norm noise in the objective cannot keep {guarantee}; ask for PureDP(epsilon)."
            )
        if ratio <= 1:
            raise CannotMeet(f"noise_ratio is {ratio}; above 1, something of epsilon is left for the ridge.")
        epsilon = guarantee.epsilon * (1 - OUTPUT_SHARE) * (1 - 1e-12)
        each = epsilon * (1 - 1 / ratio) / directions
        ridge = smoothness / math.expm1(min(each, 700.0)) * (1 + 1e-12)
        return cls(gradient_bound * ratio / epsilon, ridge, gradient_bound, smoothness, directions)

    @property
    def tolerance(self) -> float:
        return TOLERANCE * self.scale

    @property
    def _exact(self) -> float:
        """Epsilon of the exact minimiser, rounded up."""
        bent = self.directions * math.log1p(self.smoothness / self.ridge)
        return (self.gradient_bound / self.scale + bent) * (1 + 1e-13)

    @property
    def output_scale(self) -> float:
        share = self._exact * OUTPUT_SHARE / (1 - OUTPUT_SHARE)
        return 2 * self.tolerance / self.ridge / share

    @property
    def output(self) -> KNorm:
        """The noise that the point found gets."""
        return KNorm(sensitivity=2 * self.tolerance / self.ridge, scale=self.output_scale)

    @property
    def loss(self) -> Loss:
        return losses.pure(self._exact) + losses.laplace(self.output_scale, 2 * self.tolerance / self.ridge)

    def fit(self, records: Records | RecordBlocks, curve: Curve | Link) -> Reals:
        """theta, noise included; zero plus the output noise where the solver fails (it should not)."""
        noise = self.scale * np.asarray(norm_noise(coefficients(records, curve), "l2", bits=NOISE_BITS))
        theta = perturbed_minimum(records, curve, self.ridge, noise, self.tolerance)
        return np.asarray(self.output.release(theta))
