"""The difference of two independent estimates, from their limits."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals

Estimated = tuple[Reals, Reals, Reals, Reals]
"""Estimates, standard errors, and the ends of intervals: one of each for every data set."""


def subtracted(a: Estimated, b: Estimated) -> Estimated:
    """The difference of two independent estimates, with the limits of Zou and Donner.

    (2008, "Construction of confidence limits about effect measures": exact for normal laws, and skewness is kept.)
    """
    estimate = a[0] - b[0]
    below = np.hypot(a[0] - a[2], b[3] - b[0])
    above = np.hypot(a[3] - a[0], b[0] - b[2])
    return estimate, np.hypot(a[1], b[1]), estimate - below, estimate + above
