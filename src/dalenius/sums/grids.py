"""Grids on which rows, slopes and parameters lie, so that products are exact in double precision."""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.arrays import Reals

ROW_BITS = 18
"""Rows are whole numbers of 2^-18 of their largest norm, slopes of 2^-18 of the steepest one."""
MOST = 2.0**ROW_BITS
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53: no block has more rows."""


def on_grid(theta: Reals) -> Reals:
    """theta rounded so that products with rows are exact: to 2^-31 of its own size."""
    flat = theta.ravel()
    size = math.sqrt(float(flat @ flat))
    if size == 0 or not math.isfinite(size):
        return np.zeros_like(theta)
    step = _power_above(size) * 2.0**-31
    rounded = np.rint(theta / step)
    rounded *= step
    return np.asarray(rounded)


def _power_above(x: float) -> float:
    """The least power of two that is x or more."""
    mantissa, power = math.frexp(x)
    return 2.0 ** (power - 1 if mantissa == 0.5 else power)
