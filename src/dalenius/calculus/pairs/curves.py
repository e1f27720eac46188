"""Trade-off curves of symmetric pairs as power curves, composed along a chain of neighbours.

The power r(a) = 1 - f(a) of the best level-a test is the least of the lines delta(e) + exp(e) a and,
mirrored, 1 - exp(-e) (1 - delta(e) - a), over e >= 0. Hat-composition of trade-off functions, f(1 - g), is
plain composition of power curves (seed 000 Lemmas 10 and 11), which is how closeness passes along a chain.
Small levels keep their relative accuracy: they come from lines with positive coefficients.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.tabulate import SLACK, lower_hull

Curve = tuple[Reals, Reals]
"""Vertices (a, r), both nondecreasing, a from 0 to 1."""

NUDGE = 1e-11
"""Relative error of a vertex, granted to the safe side at every composition."""


def power_curve(pair: Atoms, side: Literal["lower", "upper"]) -> Curve:
    """The power curve of a symmetric pair, rounded to one side."""
    epsilon = np.unique(np.concatenate(([0.0], pair.loss[pair.loss > 0])))
    bounds = [pair.delta(float(e)) for e in epsilon]
    delta = np.array([b.upper if side == "upper" else b.lower for b in bounds])
    alpha, delta = lower_hull(np.exp(epsilon), delta)
    # Steepest line first: it is the lowest at a = 0.
    alpha, delta = alpha[::-1], delta[::-1]
    a = np.concatenate(([0.0], np.diff(delta) / -np.diff(alpha)))
    r = delta + alpha * a
    nudge = 1 + NUDGE if side == "upper" else 1 - NUDGE
    r = np.minimum(r * nudge, 1.0)
    a, r = np.concatenate((a, 1 - r)), np.concatenate((r, 1 - a))
    order = np.lexsort((r, a))
    a, r = np.clip(a[order], 0.0, 1.0), r[order]
    # Vertices that rounding put out of order are settled to the same side.
    r = np.maximum.accumulate(r) if side == "upper" else np.minimum.accumulate(r[::-1])[::-1]
    return a, np.clip(r, 0.0, 1.0)


def compose(outer: Curve, inner: Curve) -> Curve:
    """The curve outer(inner(a)), kinks of both kept."""
    (a, r), (x, y) = outer, inner
    rising, first = np.unique(y, return_index=True)
    inside = a[(a > y[0]) & (a < y[-1])]
    points = np.unique(np.concatenate((x, np.interp(inside, rising, x[first]))))
    # Vertices closer than rounding can tell apart would have meaningless slopes.
    points = points[np.concatenate(([True], np.diff(points) > 1e-9 * points[1:]))]
    return points, np.interp(np.interp(points, x, y), a, r)


def symmetric_pair(curve: Curve) -> Atoms:
    """The pair of a power curve that is its own mirror image: the part of slope above 1 tells all."""
    a, r = curve
    p, q = np.diff(a), np.diff(r)
    steep = (q > p * (1 + 1e-9)) & (p > 0)
    p, q = p[steep], q[steep]
    loss = np.log(q) - np.log(p)
    infinite = float(r[0])
    tie = max(0.0, 1.0 - infinite - float(p.sum()) - float(q.sum()))
    order = np.argsort(loss)
    return Atoms(
        np.concatenate((-loss[order[::-1]], [0.0], loss[order])),
        np.concatenate((p[order[::-1]], [tie], q[order])),
        infinite,
        slack=SLACK,  # errors of the differences cancel in sums, which is all that is ever taken of them
    )


def repeated(pair: Atoms, size: int, side: Literal["lower", "upper"]) -> Atoms:
    """The pair at the two ends of a chain of `size` neighbours, each step a symmetric `pair`."""
    step = power_curve(pair, side)
    curve = step
    nudge = 1 + NUDGE if side == "upper" else 1 - NUDGE
    for _ in range(size - 1):
        a, r = compose(step, curve)
        curve = a, np.minimum(r * nudge, 1.0)
    return symmetric_pair(curve)
