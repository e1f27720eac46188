"""From a table of a symmetric privacy profile to finite pairs that lie above or below it.

H(alpha) = sup_S P(S) - alpha Q(S) is convex and decreasing with H(0) = 1 (seed 000, Lemma 16), and
every such function is the profile of a pair. A piecewise linear profile with kinks at alpha_j is the
pair with Q-mass (jump of the slope) and P-mass alpha_j times that at the loss log alpha_j. When both
directions share the profile, H(1/alpha) = 1 - 1/alpha + H(alpha)/alpha: the half alpha >= 1 tells all, and
losses below 0 are the mirror image of those above. Only that half is ever used, because on the other one
H is so close to 1 - alpha that differences drown in rounding.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Reals

SLACK = 1e-7
"""Relative error granted to masses obtained from differences of slopes on fine tables."""


def lower_hull(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Vertices of the greatest convex function below the points, x increasing."""
    keep: list[int] = []
    for i in range(len(x)):
        while len(keep) > 1:
            a, b = keep[-2], keep[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) >= (y[i] - y[a]) * (x[b] - x[a]):
                keep.pop()
            else:
                break
        keep.append(i)
    return x[keep], y[keep]


def symmetric_above(epsilon: Reals, delta: Reals) -> Atoms:
    """A symmetric pair above every symmetric profile with delta(epsilon_j) <= delta_j, 0 = epsilon_0.

    A convex function below points is below their hull; beyond the last point the height stays and
    becomes infinite loss.
    """
    return _pair(np.exp(epsilon), np.minimum.accumulate(np.minimum(delta, 1.0)))


def symmetric_below(epsilon: Reals, low: Reals, high: Reals) -> Atoms:
    """A symmetric pair below a profile known to lie in [low_j, high_j] at epsilon_j, 0 = epsilon_0.

    Between two points a convex function is above the chords of the neighbouring cells, extended.
    """
    alpha = np.exp(epsilon)
    u = 1.0 / alpha[1]
    x = np.concatenate(([u], alpha))
    lo = np.concatenate(([1.0 - u + u * low[1]], low))
    hi = np.concatenate(([1.0 - u + u * high[1]], high))
    from_left = (lo[1:-1] - hi[:-2]) / (x[1:-1] - x[:-2])
    from_right = (hi[2:] - lo[1:-1]) / (x[2:] - x[1:-1])
    a, b = slice(1, -2), slice(2, -1)
    left, right = from_left[:-1], from_right[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (lo[b] - lo[a] + left * x[a] - right * x[b]) / (left - right)
        dip = lo[a] + left * (meet - x[a])
        inside = (meet > x[a]) & (meet < x[b]) & (dip > 0)
    end = x[-2] + lo[-2] / max(-float(from_left[-1]), 1e-300)
    points = np.concatenate((x[1:-1], meet[inside], [max(min(end, x[-2] * 4), x[-2] * (1 + 1e-12))]))
    values = np.concatenate((lo[1:-1], dip[inside], [0.0]))
    order = np.argsort(points, kind="stable")
    return _pair(points[order], np.minimum.accumulate(np.maximum(values[order], 0.0)))


def _pair(alpha: Reals, height: Reals) -> Atoms:
    """The symmetric pair of the hull of (alpha_j, height_j), 1 = alpha_0, and their mirror images."""
    if not (np.isfinite(alpha).all() and np.isfinite(height).all()):
        raise ArithmeticError("a privacy profile left the range of floating point; this is a defect")
    # At alpha = 1 the hull may be lower than the point: chords from each point to its mirror image.
    u = 1.0 / alpha[1:]
    start = min(float(height[0]), float(np.min((1.0 - u + 2 * u * height[1:]) / (1.0 + u), initial=1.0)))
    x, y = lower_hull(alpha, np.concatenate(([start], height[1:])))
    slope = np.append(np.diff(y) / np.diff(x), 0.0)
    q = np.maximum(np.diff(slope), 0.0)
    loss, p, infinite = np.log(x[1:]), x[1:] * q, float(y[-1])
    tie = max(0.0, 1.0 - infinite - math.fsum(p) - math.fsum(q))
    return Atoms(
        np.concatenate((-loss[::-1], [0.0], loss)),
        np.concatenate((q[::-1], [tie], p)),
        infinite,
        slack=SLACK,
    )
