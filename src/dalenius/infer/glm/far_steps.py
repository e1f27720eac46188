"""The first steps, from a public start to the neighbourhood of the root."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.score import Score

LONGEST = 2.0
"""No step is longer, in standardised coordinates; logistic and Poisson losses are (1, 2)-self-concordant: along a step
of length d the curvature changes by a factor e^d at most (for a row of norm 1), so that shorter steps are Newton's."""
FARTHEST = 8.0
"""theta stays within this distance of the start."""


@dataclass(frozen=True)
class FarSteps:
    """Damped noisy Newton steps: a score and a curvature each, by their shares of mu^2.

    Early ones get little: they only have to lead near the root. Five are enough for coefficients of 4 or so in
    standardised coordinates; whether they have arrived shows in the steps that follow.
    """

    scores: tuple[float, ...] = (0.015, 0.02, 0.03, 0.04, 0.06)
    bends: tuple[float, ...] = (0.025, 0.01, 0.01, 0.015, 0.025)

    @property
    def share(self) -> float:
        """The share of mu^2 for these steps."""
        return sum(self.scores) + sum(self.bends)

    def taken(self, sums: NoisySums, score: Score, start: Reals, mu: float) -> Reals:
        """Where they lead; mu-GDP in all."""
        theta = start
        for slope, bend in zip(self.scores, self.bends, strict=True):
            released = sums.release(
                theta,
                score,
                score_mu=mu * math.sqrt(slope / self.share),
                bend_mu=mu * math.sqrt(bend / self.share),
            )
            step = Curvature(released.bend, 2 * released.bend_sd).inverse @ released.score
            theta = released.theta - step * min(1.0, LONGEST / max(float(np.linalg.norm(step)), 1e-300))
            away = float(np.linalg.norm(theta - start))
            theta = start + (theta - start) * min(1.0, FARTHEST / max(away, 1e-300))
        return theta
