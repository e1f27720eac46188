"""From a table of a symmetric privacy profile to finite pairs that lie above or below it.

H(alpha) = sup_S P(S) - alpha Q(S) is convex and decreasing with H(0) = 1 (Zhu, Dong and Wang 2022), and
every such function is the profile of a pair. A piecewise linear profile with kinks at alpha_j is the
pair with Q-mass (jump of the slope) and P-mass alpha_j times that at the loss log alpha_j. When both
directions share the profile, H(1/alpha) = 1 - 1/alpha + H(alpha)/alpha: the half alpha >= 1 tells all, and
losses below 0 are the mirror image of those above. Only that half is ever used, because on the other one
H is so close to 1 - alpha that differences drown in rounding. For the same reason tables are kept by
x = alpha - 1, which small losses leave its digits.
"""

from __future__ import annotations

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, symmetric_atoms
from dalenius.calculus.pairs.pair import UNIT, Reals

SLACK = 1e-7
"""Relative error granted to masses obtained from differences of slopes on fine tables.

Their errors cancel in sums: H at a kink is the sum of q_j (x_j - x), by parts that of slope times width,
where a slope is off by roundings of H over that width.
"""


def lower_hull(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Vertices of the greatest convex function below the points, x increasing."""
    keep: list[int] = []
    for i in range(len(x)):
        if keep and x[i] == x[keep[-1]]:  # rounding made one of two: the lower
            if y[i] >= y[keep[-1]]:
                continue
            keep.pop()
        while len(keep) > 1:
            a, b = keep[-2], keep[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) >= (y[i] - y[a]) * (x[b] - x[a]):
                keep.pop()
            else:
                break
        keep.append(i)
    return x[keep], y[keep]


def symmetric_above(epsilon: Reals, delta: Reals, mirror: Reals | None = None) -> Atoms:
    """A symmetric pair above every symmetric profile with delta(epsilon_j) <= delta_j, 0 = epsilon_0.

    A convex function below points is below their hull; beyond the last point the height stays and
    becomes infinite loss. With `mirror`, that of the other direction, no more than the profile from 0 on is above.
    """
    height, other = (
        np.minimum.accumulate(np.minimum(d, 1.0)) for d in (delta, delta if mirror is None else mirror)
    )
    return _pair(np.expm1(epsilon), height, other)


def symmetric_below(
    epsilon: Reals, low: Reals, high: Reals, mirror: tuple[Reals, Reals] | None = None
) -> Atoms:
    """A symmetric pair below a profile known to lie in [low_j, high_j] at epsilon_j, 0 = epsilon_0.

    Between two points a convex function is above the chords of the neighbouring cells, extended, and as it
    falls the one from the right is taken to be level at least. With `mirror`, where that of the other direction is
    known to lie, no more than the profile from 0 on is below.
    """
    x = np.expm1(epsilon)
    # The mirror image of the first point beyond 0, at alpha = 1/(1 + x).
    ends = (low, high) if mirror is None else mirror
    beside = (x[1] + np.array([ends[0][1], ends[1][1]])) / (1.0 + x[1])
    x = np.concatenate(([-x[1] / (1.0 + x[1])], x))
    lo, hi = np.concatenate((beside[:1], low)), np.concatenate((beside[1:], high))
    from_left = (lo[1:-1] - hi[:-2]) / (x[1:-1] - x[:-2])
    from_right = np.minimum((hi[2:] - lo[1:-1]) / (x[2:] - x[1:-1]), 0.0)
    a, b = slice(1, -2), slice(2, -1)
    left, right = from_left[:-1], from_right[1:]
    width = x[b] - x[a]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = (lo[b] - lo[a] - right * width) / (left - right)
    inside = (reach > 0) & (reach < width)
    end = min(x[-2] + lo[-2] / max(-float(from_left[-1]), 1e-300), 4 * x[-2] + 3)
    points = np.concatenate((x[1:-1], (x[a] + reach)[inside], [end]))
    values = np.concatenate((lo[1:-1], (lo[a] + left * np.where(inside, reach, 0.0))[inside], [0.0]))
    order = np.lexsort((values, points))
    return _pair(points[order], np.minimum.accumulate(np.maximum(values[order], 0.0)))


def symmetric_below_both(one: Atoms, other: Atoms) -> Atoms:
    """A symmetric pair below two profiles from epsilon 0 on: the smaller one, made convex.

    The smaller of two functions that are linear between some points, made convex, has no corner but at these.
    """
    epsilon = np.unique(np.concatenate([[0.0], *(pair.loss[pair.loss > 0.0] for pair in (one, other))]))
    low = [min(pair.delta(float(e)).lower for pair in (one, other)) for e in epsilon]
    low[-1] = min(low[-1], one.infinite, other.infinite)
    return _pair(np.expm1(epsilon), np.minimum.accumulate(np.array(low)))


def _pair(x: Reals, height: Reals, other: Reals | None = None) -> Atoms:
    """The symmetric pair of the hull of (x_j, height_j), 0 = x_0, and their mirror images, or those of others."""
    other = height if other is None else other
    if not (np.isfinite(x).all() and np.isfinite(height).all()):
        raise ArithmeticError("a privacy profile left the range of floating point; this is a defect")
    # At x = 0 the hull may be lower than the point: chords from each point to its mirror image.
    chords = (x[1:] + height[1:] + other[1:]) / (2.0 + x[1:])
    start = min(float(height[0]), float(np.min(chords, initial=1.0)))
    x, y = lower_hull(x, np.concatenate(([start], height[1:])))
    slope = np.append(np.diff(y) / np.diff(x), 0.0)
    q = np.maximum(np.diff(slope), 0.0)
    loss = np.log1p(x[1:])
    blur = 4 * UNIT * float(loss.max(initial=0.0))
    return symmetric_atoms(loss, q + x[1:] * q, q, float(y[-1]), SLACK, blur)
