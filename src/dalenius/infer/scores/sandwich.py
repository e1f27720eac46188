"""The covariance of an estimate from released matrices: sampling, and the noise that is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from dalenius.core.arrays import Reals
from dalenius.infer.scores.curvature import Curvature

SKEWED = 3.0
"""The variance of a squared score over its squared mean, for the degrees of freedom of n of them: 2 for normal ones."""


@dataclass(frozen=True)
class Sandwich:
    """P Q~ P n/(n - p) + noise, with P the inverse of a released curvature and Q~ released squared scores.

    `noise` is the covariance of what noise does to the estimate, which is known. The sampling part is uncertain, by the
    noise of Q~ (`square_sd` off the diagonal), by that of P and by sampling. To first order in these, a^T P Q~ P a has
    the variance

        4 sd(W)^2 (|P a|^2 |S a|^2 + (a P S a)^2) + 2 sd(Q~)^2 |P a|^4 + (3/n) (a S a)^2,     S = P Q~ P,

    as E[(u^T W v)^2] = sd(W)^2 (|u|^2 |v|^2 + (u v)^2) for symmetric noise with sqrt(2) sd(W) on the diagonal. Twice
    the squared total over it are the degrees of freedom (Satterthwaite 1946).
    """

    curvature: Curvature
    square: Reals
    square_sd: float
    noise: Reals
    count: float

    @cached_property
    def sampling(self) -> Reals:
        """P Q~ P n/(n - p), Q~ with its negative eigenvalues raised to 0."""
        values, vectors = np.linalg.eigh(self.square)
        few = self.count / max(self.count - len(self.square), 1.0)
        half = self.curvature.inverse @ (vectors * np.sqrt(few * np.maximum(values, 0.0)))
        return np.asarray(half @ half.T)

    @cached_property
    def covariance(self) -> Reals:
        """Of theta around the truth."""
        return np.asarray(self.sampling + self.noise)

    def degrees(self, directions: Reals) -> Reals:
        """Degrees of freedom of the variances of `directions` @ theta, row by row."""
        p, s = directions @ self.curvature.inverse, directions @ self.sampling
        long, own = _squares(p, p), _squares(directions, s)
        variance = (
            4 * self.curvature.sd**2 * (long * _squares(s, s) + _squares(p, s) ** 2)
            + 2 * self.square_sd**2 * long**2
            + SKEWED / max(self.count, 1.0) * own**2
        )
        return np.maximum(
            2 * (own + _squares(directions, directions @ self.noise)) ** 2 / np.maximum(variance, 1e-300), 1.0
        )


@dataclass(frozen=True)
class Fit:
    """An estimate and its law."""

    theta: Reals
    law: Sandwich
    settled: bool = True
    """Whether the last step was as short as noise alone would make it."""

    @property
    def clear(self) -> bool:
        """Whether the steps settled and the curvature stood out of its noise; if not, the covariance means nothing."""
        return self.settled and self.law.curvature.clear

    def of(self, directions: Reals) -> tuple[Reals, Reals, Reals]:
        """Estimate, covariance and degrees of freedom of `directions` @ theta."""
        return (
            directions @ self.theta,
            directions @ self.law.covariance @ directions.T,
            self.law.degrees(directions),
        )

    def limits(self, alpha: float) -> Reals:
        """(k, 2): intervals of level 1 - alpha for the coordinates of theta."""
        theta, covariance, degrees = self.of(np.eye(len(self.theta)))
        half = stats.t.ppf(1 - alpha / 2, degrees) * np.sqrt(np.diag(covariance))
        return np.column_stack([theta - half, theta + half])


def _squares(a: Reals, b: Reals) -> Reals:
    return np.asarray(np.einsum("ij,ij->i", a, b))
