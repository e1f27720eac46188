"""A noisy marginal, as it was released."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.mechanisms import DiscreteGaussian
from dalenius.queries.marginals.fit import Target
from dalenius.queries.marginals.groups import Groups
from dalenius.queries.marginals.junction_tree import Scope
from dalenius.queries.marginals.spending import Noise


@dataclass(frozen=True, eq=False)
class Measurement:
    """The counts of a marginal with the noise of a mechanism in every cell: unbiased, and kept as they were drawn."""

    scope: Scope
    counts: Ints
    noise: Noise
    groups: Groups | None = None
    """Of the values of each column, where the counts are those of groups."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on one count, or a little more."""
        if isinstance(self.noise, DiscreteGaussian):
            return self.noise.sigma
        return math.sqrt(2) * self.noise.scale

    @property
    def target(self) -> Target:
        """What a model is fitted to."""
        return Target(self.scope, self.counts.astype(np.float64), self.sigma, self.groups)

    @property
    def margins(self) -> list[Target]:
        """Of every column the sums over the others, whose noise adds up."""
        found = []
        for axis, v in enumerate(self.scope):
            others = tuple(other for other in range(len(self.scope)) if other != axis)
            counts = self.counts.sum(axis=others).astype(np.float64)
            sigma = self.sigma * math.sqrt(self.counts.size / counts.size)
            groups = None if self.groups is None else (self.groups[axis],)
            found.append(Target((v,), counts, sigma, groups))
        return found

    def far(self, confidence: float) -> float:
        """How far, with this probability, the noise takes the counts from the exact ones in l1 norm.

        The distance is the sum of |k| over independent draws k of the noise, whose mean and variance are known; it
        exceeds its mean by sqrt(c/(1 - c)) standard deviations with probability 1 - c at most (Cantelli's inequality).
        """
        size = self.counts.size
        mean, variance = _absolute_moments(self.noise)
        return size * mean + math.sqrt(confidence / (1 - confidence) * size * variance)

    def interval(self, confidence: float) -> Reals:
        """The lower and the upper end for each exact count, the noise alone considered; exact coverage or more."""
        reach = self.noise.accuracy(confidence)
        return np.stack([self.counts - reach, self.counts + reach], axis=-1)


def _absolute_moments(noise: Noise) -> tuple[float, float]:
    """The mean and the variance of |k|."""
    if not isinstance(noise, DiscreteGaussian):
        q = math.exp(-1 / noise.scale)
        mean, square = 2 * q / (1 - q * q), 2 * q / (1 - q) ** 2
        return mean, square - mean * mean
    reach = math.ceil(12 * noise.sigma) + 12
    if reach > 10**6:
        # Of the continuous Gaussian, which are the same up to 1e-9 at such a scale.
        return math.sqrt(2 / math.pi) * noise.sigma, (1 - 2 / math.pi) * noise.sigma**2 * (1 + 1e-9)
    steps = np.arange(reach + 1.0)
    weights = np.exp(-0.5 * (steps / noise.sigma) ** 2)
    weights[1:] *= 2
    weights /= weights.sum()
    mean = float(weights @ steps)
    return mean, float(weights @ steps**2) - mean * mean
