"""Exact limits for a chance, from how often it came true."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from dalenius.core.arrays import Ints, Reals


def binomial_limits(successes: Reals | Ints, n: int | Reals | Ints, alpha: float) -> Reals:
    """The limits of Clopper and Pearson (1934): k x 2."""
    k = np.asarray(successes, dtype=float)
    inner_low, inner_high = k > 0, k < n
    low = np.where(inner_low, betaincinv(np.where(inner_low, k, 1.0), n - k + 1, alpha / 2), 0.0)
    high = np.where(inner_high, betaincinv(k + 1, np.where(inner_high, n - k, 1.0), 1 - alpha / 2), 1.0)
    return np.column_stack((low, high))
