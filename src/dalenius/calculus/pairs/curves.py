"""Trade-off curves of finite pairs as power curves, composed and turned back into pairs.

The power curve r(a) = 1 - f(a) of a finite pair is piecewise linear: outcomes sorted by growing loss
L = log dP/dQ have widths their P-mass and rises their Q-mass. Hat-composition of trade-off functions,
f(1 - g), is plain composition of power curves (seed 000 Lemmas 10 and 11), which is how closeness
passes along a chain of neighbours.
"""

from __future__ import annotations

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.tabulate import SLACK

Curve = tuple[Reals, Reals]
"""Vertices (a, r), both nondecreasing, a from 0 to 1."""


def power_curve(pair: Atoms) -> Curve:
    """The power curve of the best test of P against Q."""
    order = np.argsort(pair.loss, kind="stable")
    p, loss = pair.mass[order], pair.loss[order]
    q = p * np.exp(-loss)
    only_q = max(0.0, 1.0 - float(q.sum()))
    a = np.concatenate(([0.0], np.minimum(np.cumsum(p), 1.0), [1.0]))
    r = np.concatenate(([0.0], np.cumsum(q), [1.0])) + only_q
    return a, np.minimum(r, 1.0)


def compose(outer: Curve, inner: Curve) -> Curve:
    """The curve outer(inner(a)), kinks of both kept."""
    (a, r), (x, y) = outer, inner
    rising, first = np.unique(y, return_index=True)
    inside = a[(a > y[0]) & (a < y[-1])]
    points = np.unique(np.concatenate((x, np.interp(inside, rising, x[first]))))
    # Vertices closer than rounding can tell apart would have meaningless slopes.
    keep = np.concatenate(([True], np.diff(points) > 1e-12 * points[1:]))
    points = points[keep]
    return points, np.interp(np.interp(points, x, y), a, r)


def symmetric_pair(curve: Curve) -> Atoms:
    """The pair of a power curve that is its own mirror image: the part of slope above 1 tells all."""
    a, r = curve
    p, q = np.diff(a), np.diff(r)
    steep = (q > p * (1 + 1e-12)) & (p > 0)
    p, q = p[steep], q[steep]
    loss = np.log(q) - np.log(p)
    infinite = float(r[0])
    rest = max(0.0, 1.0 - infinite - float(p.sum()) - float(q.sum()))
    order = np.argsort(loss)
    return Atoms(
        np.concatenate((-loss[order[::-1]], [0.0], loss[order])),
        np.concatenate((p[order[::-1]], [rest], q[order])),
        infinite,
        slack=SLACK,
    )


def repeated(pair: Atoms, size: int) -> Atoms:
    """The pair at the two ends of a chain of `size` neighbours, each step a symmetric `pair`."""
    step = power_curve(pair)
    curve = step
    for _ in range(size - 1):
        curve = compose(step, curve)
    return symmetric_pair(curve)
