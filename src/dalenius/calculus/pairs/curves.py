"""Trade-off curves of symmetric pairs as power curves, composed along a chain of neighbours.

The power r(a) = 1 - f(a) of the best level-a test is the least of the lines delta(e) + exp(e) a and,
mirrored, 1 - exp(-e) (1 - delta(e) - a), over e >= 0. Hat-composition of trade-off functions, f(1 - g), is
plain composition of power curves (Dong, Roth and Su 2022, section 2.5), which is how closeness passes along a chain.
Small levels keep their relative accuracy: they come from lines with positive coefficients. So do small
losses: what is kept is the gain r(a) - a, the least of delta + (exp(e) - 1) a, which the mirror image shares.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, symmetric_atoms
from dalenius.calculus.pairs.pair import UNIT, Reals
from dalenius.calculus.pairs.tabulate import SLACK, lower_hull

Curve = tuple[Reals, Reals]
"""Vertices (a, r - a) of a concave r, a increasing from 0 to 1."""

Side = Literal["lower", "upper"]

NUDGE = 1e-11
"""Relative error of a gain, granted to the safe side at every composition.

A vertex misplaced or left out by a distance w puts the gain off by w times the change of slope. Rounding
the differences in a slope misplaces vertices by so little that this is a few roundings of the gain. With
w = SAME a it is SAME times the gain at most, since a concave gain is at least a times its slope.
"""

SAME = 1e-14
"""Vertices this close, relatively, are one: slopes between them would have no meaning."""

LEAST_LEVEL = 1e-290
"""Levels below this count as 0, as they are about to lose their digits."""


def power_curve(pair: Atoms, side: Side) -> Curve:
    """The power curve of a symmetric pair, rounded to one side."""
    half = _steep_half(pair, side)
    return _joined(half, half, side)


def _steep_half(pair: Atoms, side: Side) -> Curve:
    """The vertices where the curve grows faster than the level, of which the profile from 0 on tells all."""
    last = min(max(pair.largest, 0.0), 700.0)  # exp(epsilon) is a float
    inner = pair.loss[(pair.loss > 0) & (pair.loss < last)]
    epsilon = np.unique(np.concatenate(([0.0], inner, [last])))
    bounds = [pair.delta(float(e)) for e in epsilon]
    delta = np.array([b.upper if side == "upper" else b.lower for b in bounds])
    if side == "lower":  # below every line that may follow
        delta[-1] = pair.infinite
    x, delta = lower_hull(np.expm1(epsilon), delta)
    # Steepest line first: it is the lowest at a = 0.
    x, delta = x[::-1], delta[::-1]
    a = np.minimum(np.concatenate(([0.0], np.diff(delta) / -np.diff(x))), 1.0)
    return a, nudged(a, delta + x * a, side)


def _joined(steep: Curve, mirrored: Curve, side: Side) -> Curve:
    """A curve from its own half and from that of the other direction, whose mirror image is the rest of it."""
    (a, gain), (x, more) = steep, mirrored
    # The mirror image, level 1 - r, lies to the right of the original unless rounding has it otherwise.
    a = np.concatenate((a, np.maximum(1 - (x + more), a if a is x else a[-1]), [1.0]))
    return settled(a, np.concatenate((gain, more, [0.0])), side)


def settled(a: Reals, gain: Reals, side: Side) -> Curve:
    """The vertices in order; of those that rounding made one, the one on the safe side."""
    a = np.where(a < LEAST_LEVEL, 0.0, a)
    order = np.lexsort((gain, a))
    a, gain = a[order], gain[order]
    apart = np.diff(a) > 0
    keep = np.append(apart, True) if side == "upper" else np.insert(apart, 0, True)
    return a[keep], gain[keep]


def nudged(a: Reals, gain: Reals, side: Side) -> Reals:
    """The gain moved to the safe side, where r = a + gain stays within [0, 1]."""
    return np.clip(gain * (1 + NUDGE if side == "upper" else 1 - NUDGE), 0.0, 1.0 - a)


def compose(outer: Curve, inner: Curve) -> Curve:
    """The curve outer(inner(a)), kinks of both kept."""
    (a, gain), (x, first_gain) = outer, inner
    rising, first = np.unique(x + first_gain, return_index=True)
    inside = a[(a > rising[0]) & (a < rising[-1])]
    points = np.unique(np.concatenate((x, np.interp(inside, rising, x[first]))))
    points = points[np.concatenate(([True], np.diff(points) > SAME * points[1:]))]
    so_far = np.interp(points, x, first_gain)
    return points, so_far + np.interp(points + so_far, a, gain)


def symmetric_pair(curve: Curve) -> Atoms:
    """The pair of a power curve that is its own mirror image: the part of slope above 1 tells all.

    Roundings make a slope of 1 a little more, on both sides of the place where level and power add up to 1. What is
    beyond that place is the mirror image of what is before it, and must not be counted twice.
    """
    a, gain = curve
    p, more = np.diff(a), np.diff(gain)
    steep = more > 0
    p, more = p[steep], more[steep]
    q = p + more
    before = gain[0] + np.insert(np.cumsum(p + q), 0, 0.0)
    share = np.clip((1.0 - before[:-1]) / (p + q), 0.0, 1.0)
    p, more, q = share * p, share * more, share * q
    p, more, q = (x[share > 0.0] for x in (p, more, q))
    loss = np.where(more < p, np.log1p(more / np.maximum(p, more)), np.log(q) - np.log(p))
    order = np.argsort(loss)
    blur = 4 * UNIT * float(loss.max(initial=0.0))
    # SLACK: errors of the differences cancel in sums, which is all that is ever taken of them.
    return symmetric_atoms(loss[order], q[order], p[order], float(gain[0]), SLACK, blur)


def repeated(pair: Atoms, size: int, side: Side) -> Atoms:
    """The pair at the two ends of a chain of `size` neighbours, each step a symmetric `pair`."""
    step = power_curve(pair, side)
    curve = step
    for _ in range(size - 1):
        a, gain = compose(step, curve)
        curve = settled(a, nudged(a, gain, side), side)
    return symmetric_pair(curve)


def there_and_back(remove: Atoms, add: Atoms, side: Side) -> Atoms:
    """The pair of two neighbours of the same data, one step along `remove` and one along `add`.

    Of either only the profile from epsilon 0 on is looked at: below 0 it is that of the other.
    """
    first, second = _steep_half(remove, side), _steep_half(add, side)
    a, gain = compose(_joined(first, second, side), _joined(second, first, side))
    return symmetric_pair(settled(a, nudged(a, gain, side), side))
