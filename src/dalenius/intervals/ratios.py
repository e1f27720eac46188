"""Intervals for ratios whose parts are noisy (Fieller 1954): all v for which A - v B is within its noise.

    (A - v B)^2 <= k^2 (c0 + c1 v + c2 v^2)

The right-hand side is k^2 times the variance of A - v B if v is the truth. The v that pass are an interval when B
stands out of its own noise, and everything when it does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import multiple


def passing(a: Reals, b: Reals, c: tuple[Reals, Reals, Reals], k: Reals) -> tuple[Reals, Reals]:
    """The ends of the v that pass; infinite where they are not an interval."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = k**2
        lead = b**2 - square * c[2]
        sure = (lead > 0) & (b > 0)
        lead = np.where(sure, lead, 1.0)
        middle = a * b + square * c[1] / 2
        root = np.sqrt(np.maximum(middle**2 - lead * (a**2 - square * c[0]), 0.0))
        low, high = (middle - root) / lead, (middle + root) / lead
    sure &= np.isfinite(low) & np.isfinite(high)  # what squares overflow for is not known to be out
    return np.where(sure, low, -np.inf), np.where(sure, high, np.inf)


def interval(
    a: Reals,
    b: Reals,
    c: tuple[Reals, Reals, Reals],
    fourth: Callable[[Reals], Reals],
    failure: float,
    within: tuple[float, float],
    edge: Reals | float = 0.0,
) -> tuple[Reals, Reals]:
    """`passing` with k from the law of A - v B, whose fourth cumulant is `fourth(v)`; within what v can be.

    k varies little with v: at the ends it is found by going there, twice. edge: added to k, in units of A; see
    `Noisy.edge`.
    """

    def k(v: Reals) -> Reals:
        variance = np.maximum(c[0] + c[1] * v + c[2] * v**2, 1e-300)
        return np.asarray(multiple(fourth(v) / variance**2, failure) + edge / np.sqrt(variance))

    best = np.clip(a / np.where(b > 0, b, 1.0), *within)
    low, high = best, best
    for _ in range(3):
        low, high = (
            np.clip(passing(a, b, c, k(low))[0], *within),
            np.clip(passing(a, b, c, k(high))[1], *within),
        )
    return low, high
