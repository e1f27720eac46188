"""Composite Gauss-Legendre quadrature with an error bound."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs.pair import Reals

NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)
RHO = 3.0
"""Parameter of the Bernstein ellipses on which integrands are looked at."""


class Panels(NamedTuple):
    """Nodes and weights of panels of half width `half`, with the axes and the error factor of their Bernstein ellipses.

    The rule errs on all panels together by at most `error` times the largest modulus on their ellipses (Trefethen 2013,
    Theorem 19.3); an ellipse reaches `long` beyond its panel and `b` above.
    """

    x: Reals
    weights: Reals
    half: float
    long: float
    b: float
    error: float


def panels(low: float, high: float, radius: float) -> Panels:
    """Panels of equal width on an interval, none wider than twice the radius."""
    count = max(1, math.ceil((high - low) / (2 * radius)))
    half = (high - low) / (2 * count)
    x = (low + half * (1 + 2 * np.arange(count)[:, None]) + half * NODES).ravel()
    long, b = half * ((RHO + 1 / RHO) / 2 - 1), half * (RHO - 1 / RHO) / 2
    error = 64 / 15 * count * half * RHO ** (-2 * len(NODES)) / (1 - RHO**-2)
    return Panels(x, np.tile(half * WEIGHTS, count), half, long, b, error)
