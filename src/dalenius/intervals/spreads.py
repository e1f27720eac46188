"""Variances and covariances of rows between -1 and 1, or of their population, from noisy sums: see `moments`."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals import populations
from dalenius.intervals.moments import Deviations
from dalenius.intervals.ratios import interval


def deviation(
    parts: Deviations,
    drawn: tuple[Reals, Reals] | None,
    failure: float,
    binary: bool = False,
    edge: Reals | float = 0.0,
) -> tuple[Reals, Reals, Reals, Reals, tuple[float, float]]:
    """The ratio A / B, its standard error, the ends of its interval, and what it can be.

    drawn: `parts.drawn(...)` for the population's, None for that of the rows. binary: all rows are at -1 or 1.
    """
    within = (0.0 if parts.same else -2.0, 2.0)  # n / (n - 1) is 2 at most
    top, bottom, c = parts.top, parts.bottom, parts.variances()
    if drawn is not None:
        c = (c[0] + drawn[0], c[1], c[2] + drawn[1])
    usable = (parts.n.values > max(2.0, 2 * parts.n.sigma)) & (bottom > 0)
    ratio = np.where(usable, top / np.where(usable, bottom, 1.0), 0.0 if not parts.same else 1.0)
    variance = np.maximum(c[0] + c[1] * ratio + c[2] * ratio**2, 0.0)
    error = np.where(usable, np.sqrt(variance) / np.where(usable, bottom, 1.0), 4.0)
    if drawn is not None and parts.same:
        low, high = populations.variance(parts, binary, failure, edge)
    else:
        low, high = interval(top, bottom, c, parts.fourth, failure, within, edge)
    return ratio, error, low, high, within


def error_of_root(ratio: Reals, error: Reals) -> Reals:
    """The standard error of the square root of a variance.

    At a variance of 0 the root of what is left of the noise is off by 0.63 roots of its error; 0.71 is shown.
    """
    return np.asarray(error / (2 * np.sqrt(np.maximum(ratio, np.maximum(error / 2, np.finfo(float).tiny)))))
