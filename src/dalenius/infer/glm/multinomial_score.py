"""The score of one of several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.scores.score import Score


@dataclass(frozen=True)
class Multinomial(Score):
    """p - e_y, p being the probabilities of all classes but the first, whose predictor is 0.

    |p - e_y|^2 <= 2. The curvature is diag(p) - p p^T, whose trace is at most 1/4 for two classes and 1 - 1/k for
    k + 1: sum p_i (1 - p_i) is largest for equal p_i. Its root is A A^T with A = diag(v)(I - g v v^T), v = sqrt(p),
    g = 1/(1 + sqrt(p_0)), as (I - g v v^T)^2 = I - v v^T.
    """

    outcomes: int

    @property
    def steepest(self) -> float:
        return math.nextafter(math.sqrt(2), 2)

    @property
    def sharpest(self) -> float:
        return 0.25 if self.outcomes == 1 else 1 - 1 / self.outcomes

    def _probabilities(self, u: Reals) -> tuple[Reals, Reals]:
        """Those of the first class, and of the others."""
        most = np.maximum(u.max(axis=1), 0.0)
        weights, first = np.exp(u - most[:, None]), np.exp(-most)
        total = first + weights.sum(axis=1)
        return first / total, weights / total[:, None]

    def slopes(self, u: Reals, y: Reals) -> Reals:
        _, p = self._probabilities(u)
        codes = np.arange(1, self.outcomes + 1)
        return np.asarray(p - (y[:, None] == codes))

    def roots(self, u: Reals, y: Reals) -> Reals:
        first, p = self._probabilities(u)
        v = np.sqrt(p)
        g = 1 / (1 + np.sqrt(first))
        eye = np.eye(self.outcomes)
        roots = v[:, None, :] * (eye - g[:, None, None] * v[:, :, None] * v[:, None, :])
        return np.asarray(roots)
