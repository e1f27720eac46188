"""A loss given by its trade-off function: f-DP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.tabulate import lower_hull, symmetric_above
from dalenius.calculus.theorems.duality import tradeoff_values
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter

POINTS = 4000


def from_tradeoff(f: Callable[[float], float], adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of anything f-DP: every test of level alpha between neighbours has type II error >= f(alpha).

    `f` must be convex, decreasing and at most 1 - alpha on [0, 1] (Dong, Roth and Su 2022). It is sampled
    at 4000 levels down to 1e-30; convexity bounds it between the samples, from above by chords and from
    below by the neighbouring chords extended, so bounds are certified for the function itself.

    Parameters
    ----------
    f
        From a type I error in [0, 1] to the least type II error of any test.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The worst loss that is f-DP, between bounds.

    Raises
    ------
    InvalidParameter
        If f is not a trade-off function: convex, decreasing, and at most 1 - alpha.

    Examples
    --------
    >>> import dalenius as dp
    >>> e = 2.718281828459045
    >>> loss = dp.losses.from_tradeoff(lambda a: max(0.0, 1 - e * a, (1 - a) / e))
    >>> abs(loss.epsilon(delta=1e-6) - 1.0) < 1e-3
    True
    """
    if not callable(f):
        raise InvalidParameter(
            f"f is {checks.shown(f)}; it must be a function from a level in [0, 1] to a type II error."
        )
    levels, errors = _sampled(f, POINTS)
    least = _symmetric(levels, errors, "lower")
    most = _symmetric(*_levels_below(levels, errors), "upper")
    return Loss.symmetric(
        Bracket(least, most), adjacency, call("from_tradeoff", f="...", adjacency=adjacency)
    )


def chord_pair(f: Callable[[float], float]) -> Atoms:
    """A few hundred atoms less telling than f: the pair of its chords."""
    return _symmetric(*_sampled(f, 1000), "lower")


def _sampled(f: Callable[[float], float], points: int) -> tuple[Reals, Reals]:
    small = np.concatenate((np.geomspace(1e-30, 1e-3, points // 4), np.linspace(1e-3, 0.5, points // 4)[1:]))
    levels = np.unique(np.concatenate(([0.0], small, (1.0 - small[::-1])[1:], [1.0])))
    return levels, tradeoff_values(f, levels)


def _levels_below(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Vertices of a convex function below f: neighbouring chords extended into each cell."""
    slope = np.diff(y) / np.diff(x)
    left, right = slope[:-2], slope[2:]
    a, b = x[1:-2], x[2:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (y[2:-1] - y[1:-2] + left * a - right * b) / (left - right)
        inside = (meet > a) & (meet < b)
        dip = y[1:-2] + left * (meet - a)
    # In the first cell only the next chord helps; in the last cell the function is nonnegative.
    first = max(0.0, float(y[1] - slope[1] * (x[1] - x[0])))
    points = np.concatenate(([x[0]], x[1:-1], meet[inside], [x[-1]]))
    values = np.concatenate(([min(first, float(y[0]))], y[1:-1], np.maximum(dip[inside], 0.0), [0.0]))
    order = np.argsort(points, kind="stable")
    return lower_hull(points[order], values[order])


def _symmetric(levels: Reals, errors: Reals, side: Literal["lower", "upper"]) -> Atoms:
    """The finite pair of max(f, f^-1), f piecewise linear: the smaller of the two profiles, hull taken."""
    a, f = lower_hull(levels, errors)
    slope = -np.diff(f) / np.diff(a)
    size = np.abs(np.log(np.clip(slope[slope > 0], 1e-40, 1e40)))
    epsilon = np.unique(np.concatenate(([0.0], size)))
    if side == "upper":  # any points will do; for the lower side all kinks are needed
        epsilon = epsilon[np.concatenate(([True], np.diff(epsilon) > 1e-9))]
    # delta(e) = max over vertices of 1 - f - alpha a, for the reverse pair 1 - a - alpha f; alpha = 1 + x.
    rest = 1 - a - f
    forward = np.array([float(np.max(rest - x * a)) for x in np.expm1(epsilon)])
    reverse = np.array([float(np.max(rest - x * f)) for x in np.expm1(epsilon)])
    height = np.minimum(np.maximum(forward, 0.0), np.maximum(reverse, 0.0))
    # Where the maximum is positive each term is at most 1, with a few roundings of that.
    if side == "upper":
        return symmetric_above(epsilon, height + 1e-15)
    # Slopes beyond the clip may follow. What stays in the end is the smaller of both infinite masses.
    height[-1] = min(height[-1], 1 - f[0], 1 - a[np.argmax(f <= 0)])
    return symmetric_above(epsilon, np.maximum(height - 1e-15, 0.0))
