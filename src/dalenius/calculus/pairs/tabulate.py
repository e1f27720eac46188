"""From a table of a hockey-stick profile to finite pairs that lie above or below it.

H(alpha) = sup_S P(S) - alpha Q(S) is convex and decreasing with H(0) = 1 (seed 000, Lemma 16), and
every such function is the profile of a pair. A piecewise linear profile with kinks at alpha_j is the
pair with Q-mass (jump of the slope) and P-mass alpha_j times that at the loss log alpha_j.
"""

from __future__ import annotations

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Reals

SLACK = 1e-9
"""Relative error granted to masses obtained from differences of slopes."""


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


def atoms_above(alpha: Reals, height: Reals) -> Atoms:
    """The pair whose profile is the convex hull of the points (0, 1), (alpha_j, height_j).

    If the heights bound a profile from above at each alpha_j, the pair dominates it everywhere:
    a convex function below the points is below their hull. Beyond the last point the height stays.
    """
    x, y = lower_hull(np.concatenate(([0.0], alpha)), np.concatenate(([1.0], np.minimum(height, 1.0))))
    slope = np.append(np.diff(y) / np.diff(x), 0.0)
    last = int(np.argmin(y))
    infinite = float(y[last])
    jump = np.diff(slope[: last + 1])
    if last > 0:
        jump[-1:] = 0.0 - slope[last - 1]
    q = np.maximum(jump, 0.0)
    return Atoms(np.log(x[1 : last + 1]), q * x[1 : last + 1], infinite, slack=SLACK)


def atoms_below(alpha: Reals, low: Reals, high: Reals) -> Atoms:
    """A pair whose profile stays below a convex profile known to lie in [low_j, high_j] at alpha_j.

    Between two points a convex function is above the chords of the neighbouring cells, extended.
    """
    x = np.concatenate(([0.0], alpha))
    lo = np.concatenate(([1.0], np.maximum(low, np.maximum(0.0, 1.0 - alpha))))
    hi = np.concatenate(([1.0], high))
    from_left = (lo[1:-1] - hi[:-2]) / (x[1:-1] - x[:-2])
    from_right = (hi[2:] - lo[1:-1]) / (x[2:] - x[1:-1])
    a, b = slice(1, -2), slice(2, -1)
    left, right = from_left[:-1], from_right[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (lo[b] - lo[a] + left * x[a] - right * x[b]) / (left - right)
        inside = (meet > x[a]) & (meet < x[b])
        dip = lo[a] + left * (meet - x[a])
    points = np.concatenate((x[1:-1], meet[inside]))
    values = np.concatenate((lo[1:-1], np.maximum(dip[inside], np.maximum(0.0, 1.0 - meet[inside]))))
    # Beyond the outermost points only the trivial bound is used.
    order = np.argsort(points, kind="stable")
    last = x[-2] + lo[-2] / max(-from_left[-1], 1e-300)
    points = np.concatenate((points[order], [min(last, x[-2] * 4)]))
    values = np.concatenate((values[order], [0.0]))
    return atoms_above(points, values)


def mirrored(epsilon: Reals, delta: Reals) -> tuple[Reals, Reals]:
    """alpha and H(alpha) on both sides of 1, from a symmetric profile at 0 = epsilon_0 < epsilon_1 < ...

    H(1/alpha) = 1 - 1/alpha + H(alpha)/alpha when both directions have the same profile.
    """
    back = epsilon[:0:-1]
    below = -np.expm1(-back) + np.exp(-back) * delta[:0:-1]
    return np.exp(np.concatenate((-back, epsilon))), np.concatenate((below, delta))
