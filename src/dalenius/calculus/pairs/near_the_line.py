"""Bounds on |M(c + it)| / M(c) in balls where t is small: values of M, and how fast it can move between them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from dalenius.calculus.pairs.pair import Ball, Decay, Pair, Transform

LEVEL = 0.8
"""Bounds on the decay below this are good enough."""
MOST_CELLS = 100


def near(flint: Any, pair: Pair, c: float, top: Ball, far: Transform) -> Decay:
    """The bound for large t; where it says too little, values of M, and how fast it can move.

    exp(-s a) M(s) / M(c) moves by at most the root of E (L - a)^2 per unit of t, the law tilted by c; and
    d^2 x^2 / 2 <= cosh(d x) - 1 bounds that by three values of M on the real axis, whatever a and d.
    """
    arb, acb = flint.arb, flint.acb

    def mgf(at: float) -> Ball:
        return pair.in_balls(flint, at, 0.0)(acb(arb(at))).real / top

    @cache
    def pace() -> Ball:
        log_m = pair.log_mgf(np.array([c - 1e-3, c, c + 1e-3]))
        mean = float(log_m[2] - log_m[0]) / 2e-3
        spread = max(float(log_m[2] - 2 * log_m[1] + log_m[0]) / 1e-6, 1e-12) ** 0.5
        d = min(0.5 / spread, 0.5)
        shift = (arb(mean) * arb(d)).exp()
        square = (mgf(c + d) / shift + mgf(c - d) * shift - 2) / arb(d) ** 2
        return square.max(arb(0)).sqrt()

    def bound(t: Ball, end: Ball) -> Ball:
        best = far(t)
        if end is None or best < arb(LEVEL):
            return best
        value = pair.in_balls(flint, c, float(end.upper()))
        room = 1.0 - float((abs(value(acb(arb(c), t))) / top).mid())
        # A third of the room goes to what happens between the points.
        cells = math.ceil(1.5 * float((pace() * (end - t)).upper()) / max(room, 1e-3))
        if cells > MOST_CELLS:
            return best
        worst: Ball = arb(0)
        for k in range(cells):
            middle = t + (end - t) * (2 * k + 1) / (2 * cells)
            worst = worst.max(abs(value(acb(arb(c), middle))) / top)
        return best.min(worst + pace() * (end - t) / (2 * cells))

    return bound
