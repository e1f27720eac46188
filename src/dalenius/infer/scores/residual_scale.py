"""The scale of residuals from noisy counts of them."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.infer.scores.templates import Templates, student

EDGES: Reals = 2.0 ** (np.arange(-24, 25) / 2)
"""Between 2^-12 and 2^12 of the scale of the responses, by factors of sqrt(2)."""
SCALES: Reals = 2.0 ** (np.arange(-80, 81) / 8)
TEMPLATES = Templates.of(2 * student(EDGES[None, :] / SCALES[:, None]) - 1, 0.5 * np.abs(np.log2(SCALES)))


def residual_scale(counts: Reals, sd: float) -> float:
    """1.4826 times the median absolute residual, to within a tenth, from counts between `EDGES` with noise of `sd`.

    Scales far from 1, that of the responses, are held back by half a standard deviation of noise for each factor of 2.
    """
    return float(SCALES[TEMPLATES.best(counts, sd)])
