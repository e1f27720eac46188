"""The area under the best attack's curve of true against false alarms, between certified bounds.

Let h(y) = delta(log y) be the hockey-stick divergence of order y of a pair (P, Q), L its privacy loss. The curve of
the best attack is the concave R(a) = inf over y >= 0 of h(y) + y a (Neyman and Pearson; R = 1 - f, f the trade-off
function). h is convex with h(0) = 1 and slope -Q(L > log y), so that R(a) is reached at a = -h'(y), and by parts

    AUC = integral of R = 1 - 1/2 integral over y > 0 of h'(y)^2 dy.

From above: each order gives a line over R, and the least of finitely many lines is the curve that belongs to the hull
of the upper bounds on h. From below: between two orders the slope -h' falls, from at most the mean slope of the panel
before (and at most 1) to at least that of the panel after. With A and B these, and M the mean slope in between,
(A + h')(-h' - B) >= 0, so that the mean of h'^2 is at most (A + B) M - A B. Beyond the last order Y what is left is at
most h(Y) times the mean slope before it. Panels are cut where the two sides are furthest apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dalenius.calculus.pairs.pair import Bounds, Reals
from dalenius.calculus.pairs.tabulate import lower_hull

PRECISION = 3e-4
"""Width of the bracket, relative to what the attack has over guessing, at which no more panels are halved."""

PANELS = 1000
"""The most panels."""

ROUNDING = 1e-12
"""Sums of at most 2000 terms above 0, each with a dozen roundings, are off by 2012 * 2^-53 = 2.3e-13 relative."""


def area_bounds(profile: Callable[[float], Bounds], largest: float) -> Bounds:
    """Bounds on the area, from certified bounds on delta(epsilon) at any epsilon.

    Parameters
    ----------
    profile
        From an epsilon, which may be negative, to bounds on the hockey-stick divergence of order e^epsilon.
    largest
        The largest finite loss; inf if there is none.

    Returns
    -------
    Bounds
        (lower, upper), in [1/2, 1].
    """
    losses = min(largest, 40.0), *(profile(0.0).upper * k for k in (0.5, 1.0, 2.0, 4.0, 8.0))
    sizes = [size for size in losses if 0.0 < size <= min(largest, 40.0)]
    orders = np.unique([0.0, 0.5, 1.0, *np.exp(sizes), *np.exp(np.negative(sizes))])
    low, high = _heights(profile, orders)
    while True:
        least, most, beyond = _squares(orders, low, high)
        upper = 1.0 - 0.5 * float(least.sum()) * (1.0 - ROUNDING)
        lower = 1.0 - 0.5 * (float(most.sum()) + beyond) * (1.0 + ROUNDING)
        gaps, wanted = np.maximum(most - least, 0.0), PRECISION * max(upper - 0.5, 1e-9)
        # Where the bounds on delta are themselves too wide, more of them do not help: slopes are 1 at most.
        if upper - lower <= wanted or float((high - low).sum()) > 0.25 * (upper - lower):
            break
        new = _between(orders, gaps, wanted)
        if beyond > 0.25 * gaps.sum() and orders[-1] < 1e300:
            new = np.append(new, orders[-1] * 10.0)
        if not len(new) or len(orders) + len(new) > PANELS:
            break
        added = _heights(profile, new)
        orders = np.concatenate((orders, new))
        place = np.argsort(orders)
        orders = orders[place]
        low, high = (np.concatenate((old, more))[place] for old, more in zip((low, high), added, strict=True))
    upper = min(max(upper, 0.5), 1.0)
    return Bounds(min(max(lower, 0.5), upper), upper)


def _between(orders: Reals, gaps: Reals, target: float) -> Reals:
    """Orders that cut each panel into m equal parts, after which the gaps should add up to the target.

    A gap falls with the square of the parts; gap / m^2 adds up to the target with the fewest parts for m proportional
    to the cube root of the gap. At most eight, since so coarse a law is not to be relied upon.
    """
    roots = np.cbrt(gaps)
    parts = np.clip(np.ceil(roots * np.sqrt(roots.sum() / target)), 1, 8).astype(int)
    parts[gaps >= 0.25 * gaps.max()] = 8  # a kink: halving helps only a little there
    # Equal in the loss, except next to order 0, where that is infinitely far.
    new = [
        np.geomspace(left, right, m + 1)[1:-1] if left > 0.0 else np.linspace(left, right, m + 1)[1:-1]
        for left, right, m in zip(orders[:-1], orders[1:], parts, strict=True)
        if m > 1
    ]
    return np.setdiff1d(np.concatenate(new), orders)


def _heights(profile: Callable[[float], Bounds], orders: Reals) -> tuple[Reals, Reals]:
    """Bounds on h; at order 0 it is 1, and never below 1 - y."""
    # In their order: neighbours are had from the same line.
    found = [profile(math.log(y)) if y > 0.0 else Bounds(1.0, 1.0) for y in orders.tolist()]
    # log(y) is off by an ulp of itself; h has slope 1 and 1/y at most, so it moves by min(y, 1) times that. Another ulp
    # of 1 is for the roundings here, and for those of the differences of heights, of which none is above 1.
    off = 2.0**-52 * (1.0 + np.minimum(orders, 1.0) * np.abs(np.log(np.maximum(orders, 1e-300))))
    low = np.array([bounds.lower for bounds in found]) - off
    high = np.array([bounds.upper for bounds in found]) + off
    return np.maximum(np.maximum(low, 1.0 - orders - off), 0.0), np.minimum(high, 1.0)


def _squares(orders: Reals, low: Reals, high: Reals) -> tuple[Reals, Reals, float]:
    """Bounds on the integral of h'^2 over each panel, and what it may be beyond the last."""
    width = np.diff(orders)
    # From below by the hull of the upper bounds: whatever is under them has a curve R under that of the hull.
    hull = np.interp(orders, *lower_hull(orders, np.minimum.accumulate(high)))
    least = np.diff(hull) ** 2 / width
    # Slopes only fall: that of a panel is at most any of an earlier one, and at least any of a later one.
    most = np.minimum.accumulate(np.clip((high[:-1] - low[1:]) / width, 0.0, 1.0))
    falls = np.maximum.accumulate((np.maximum(low[:-1] - high[1:], 0.0) / width)[::-1])[::-1]
    steepest = np.concatenate(([1.0], most[:-1]))
    flattest = np.minimum(np.concatenate((falls[1:], [0.0])), most)
    square = steepest * (most - flattest) + flattest * most  # (A + B) M - A B without cancellation
    return least, square * width, float(most[-1] * high[-1])
