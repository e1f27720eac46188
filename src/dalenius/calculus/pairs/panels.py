"""Composite Gauss-Legendre quadrature with an error bound."""

from __future__ import annotations

import math
from collections.abc import Callable
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


def parted(
    low: float, high: float, widest: float, look: Callable[[Reals, Reals], tuple[Reals, ...]], most: int
) -> tuple[Reals, ...] | None:
    """Panels from low to high, each split until it is narrow enough; None where that takes more than `most`.

    `look(left, half)` says into how many parts each panel should be split, 1 for one that will do, and what else is to
    be known of it. Returned are the left ends, the half widths, and what else is known.
    """
    count = max(1, math.ceil((high - low) / (2 * widest)))
    if count > most:
        return None
    half = np.full(count, (high - low) / (2 * count))
    left = low + 2 * half * np.arange(count)
    done: list[tuple[Reals, ...]] = []
    total = 0
    while True:
        parts, *known = look(left, half)
        fits = parts <= 1
        done.append((left[fits], half[fits], *(x[fits] for x in known)))
        total += len(done[-1][0])
        if fits.all():
            return done[0] if len(done) == 1 else tuple(np.concatenate(x) for x in zip(*done, strict=True))
        again = ~fits
        parts = np.clip(parts[again], 2, 8).astype(int)
        if total + int(parts.sum()) > most:
            return None
        half = half[again] / parts
        if float(half.min()) <= 1e-13 * (abs(low) + abs(high)):
            return None
        start = np.repeat(np.cumsum(parts) - parts, parts)
        left, half = np.repeat(left[again], parts), np.repeat(half, parts)
        left = left + 2 * half * (np.arange(len(half)) - start)
