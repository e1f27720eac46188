"""The scale of residuals from noisy counts of them, and how many lie far beyond it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.scores.templates import Templates, student

EDGES: Reals = 2.0 ** (np.arange(-24, 25) / 2)
"""Between 2^-12 and 2^12 of the scale of the responses, by factors of sqrt(2)."""
SCALES: Reals = 2.0 ** (np.arange(-80, 81) / 8)
TEMPLATES = Templates.of(2 * student(EDGES[None, :] / SCALES[:, None]) - 1, 0.5 * np.abs(np.log2(SCALES)))


FAR = 3.0
"""Normal residuals lie beyond this many scales 0.3 times in 100."""


@dataclass(frozen=True)
class ResidualScale:
    """1.4826 times the median absolute residual, to within a tenth; and the share beyond `FAR` of that, at least."""

    scale: float
    far: float

    @classmethod
    def of(cls, counts: Reals, sd: float) -> ResidualScale:
        """From counts between `EDGES` with noise of `sd`.

        Scales far from 1, that of the responses, are held back by half a standard deviation of noise for each factor
        of 2. The share is less three standard deviations of its noise.
        """
        scale = float(SCALES[TEMPLATES.best(counts, sd)])
        beyond = counts[1 + int(np.searchsorted(EDGES, FAR * scale)) :]
        some = float(beyond.sum()) - 3 * sd * math.sqrt(len(beyond))
        return cls(scale, max(0.0, some / max(float(counts.sum()), 1.0)))
