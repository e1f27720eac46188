"""The square root of the matrix of prefix sums."""

from __future__ import annotations

import numpy as np


def square_root(count: int) -> list[float]:
    """Its first coefficients: c_0 = 1, c_k = c_(k-1) (2k - 1)/(2k) (Fichtenberger, Henzinger and Upadhyay 2023)."""
    k = np.arange(1, count)
    column: list[float] = np.cumprod(np.concatenate(([1.0], (2 * k - 1) / (2 * k)))).tolist()
    return column
