"""The scale of residuals from noisy counts of them, by least squares."""

from __future__ import annotations

import numpy as np
from scipy import stats

from dalenius.core.arrays import Reals

EDGES: Reals = 2.0 ** (np.arange(-24, 25) / 2)
"""Between 2^-12 and 2^12 of the scale of the responses, by factors of sqrt(2)."""
FREEDOM = 4.0
"""Templates are Student's: between the normal law and heavy tails."""
FINE = 4
"""Scales tried per bin."""


def _templates() -> tuple[Reals, Reals]:
    scales = 2.0 ** (np.arange(-20 * FINE, 20 * FINE + 1) / (2 * FINE))
    inside = 2 * stats.t.cdf(EDGES[None, :] / (scales[:, None] / MEDIAN_RATIO), FREEDOM) - 1
    ends = np.column_stack([np.zeros(len(scales)), inside, np.ones(len(scales))])
    return scales, np.diff(ends, axis=1)


MEDIAN_RATIO = float(stats.t.ppf(0.75, FREEDOM) / stats.norm.ppf(0.75))
"""So that the scale is 1.4826 times the median of absolute residuals, the standard deviation of normal ones."""
SCALES, TEMPLATES = _templates()


def residual_scale(counts: Reals) -> float:
    """1.4826 times the median absolute residual, from noisy counts between `EDGES`.

    The scale whose law, times any number of rows, is nearest to the counts in squared error: bins with nothing but
    noise in them weigh in no more than their noise, unlike in a noisy distribution function, where noise adds up.
    """
    fit = TEMPLATES @ counts / np.sqrt(np.einsum("ij,ij->i", TEMPLATES, TEMPLATES))
    return float(SCALES[int(np.argmax(fit))])
