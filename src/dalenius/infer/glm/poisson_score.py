"""The score of counts that are cut off at a public number, less its mean: no bias."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammainc, gammaincc

from dalenius.core.arrays import Reals
from dalenius.infer.scores.score import Score

FARTHEST = 30.0
"""Beyond e^30 or below e^-30 the mean is taken to be that."""
STEPS = 60_001
"""Places of the table: 1/1000 apart, so that straight lines between them are off by most/10^7."""


@dataclass(frozen=True)
class CutPoisson(Score):
    """m(u) - min(y, most), m(u) = E min(N, most) for N ~ Poisson(e^u).

    Clipping the score e^u - y would move what is estimated; this subtracts from a count that is cut off what it is on
    average, so that the score has mean 0 at the truth for every x (Cantoni and Ronchetti, Robust inference for
    generalized linear models, 2001, do so for standardised residuals). It lies between -most and most. With Y = most,

        m(u) = e^u P(N <= Y - 2) + Y P(N >= Y),    m'(u) = e^u P(N < Y) >= 0,

    so that it is the derivative of a convex loss. P(N <= k) is the incomplete gamma function Q(k + 1, e^u).
    """

    most: int

    @property
    def steepest(self) -> float:
        return float(self.most)

    @property
    def sharpest(self) -> float:
        """The largest m', below most; with a little to spare, as it is looked up in a table."""
        return float(_table(self.most)[2].max()) * (1 + 1e-5)

    def curvature(self, u: float) -> float:
        """m' at one place."""
        return float(np.interp(u, _table(self.most)[0], _table(self.most)[2]))

    def slopes(self, u: Reals, y: Reals) -> Reals:
        places, mean, _ = _table(self.most)
        return np.asarray(np.interp(u, places, mean) - np.clip(y, 0.0, self.most))

    def roots(self, u: Reals, y: Reals) -> Reals:
        places, _, bend = _table(self.most)
        return np.sqrt(np.interp(u, places, bend))


@lru_cache(maxsize=16)
def _table(most: int) -> tuple[Reals, Reals, Reals]:
    """u, m(u) and m'(u)."""
    u = np.linspace(-FARTHEST, FARTHEST, STEPS)
    mean = np.exp(u)
    below = gammaincc(most - 1, mean) if most > 1 else np.zeros_like(mean)
    return u, mean * below + most * gammainc(most, mean), mean * gammaincc(most, mean)
