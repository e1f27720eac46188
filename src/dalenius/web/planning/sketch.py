"""A certified view of a loss that gets finer with time: at any moment all of it is true.

Every point (epsilon, delta) of the privacy profile says that all tests lie above two lines,

    beta >= 1 - delta - e^epsilon alpha        and        beta >= e^-epsilon (1 - delta - alpha)

(Wasserman and Zhou 2010), so the highest of the lines of any points is a lower bound on the trade-off curve, and more
points raise it. Points from Renyi divergences are there at once and coarse; those of the accountant follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Bounds
from dalenius.calculus.theorems.conversions import delta_from_renyi, epsilon_from_renyi

ORDERS = (1.05, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 24.0, 48.0)
HOPELESS = 1000.0
"""An epsilon that promises nothing, of which no more is computed: odds move by e^1000."""
ANY = Bounds(0.0, math.inf)
FIRST = 1e-6
"""The delta at which the curve ends when the one asked for is 0."""


def _fractions(levels: int) -> list[float]:
    """0, 1/2, then quarters, eighths: each level fills the gaps of those before."""
    found = [0.0]
    for level in range(1, levels + 1):
        found += [odd / 2**level for odd in range(1, 2**level, 2)]
    return found


FRACTIONS = (
    *_fractions(3),
    1.25,
    *(odd / 16 for odd in (1, 3, 5, 7, 9, 11)),
    *(odd / 32 for odd in range(1, 16, 2)),
)
"""Where points are, as shares of the epsilon asked for, those that show most first."""


@dataclass(frozen=True)
class Known:
    """Bounds on the epsilon at the delta asked about, and on the delta at some epsilons: (lower, upper)."""

    epsilon: Bounds = ANY
    points: Mapping[float, Bounds] = field(default_factory=dict)

    def with_point(self, epsilon: float, delta: Bounds) -> Known:
        """This and one point more."""
        return Known(self.epsilon, {**self.points, epsilon: delta})

    def or_better(self, other: Known) -> Known:
        """What both know together."""
        lower = max(self.epsilon.lower, other.epsilon.lower)
        upper = min(self.epsilon.upper, other.epsilon.upper)
        return Known(Bounds(min(lower, upper), upper), {**self.points, **other.points})


def rough(loss: Loss, delta: float) -> Known:
    """What divergences tell, in a few milliseconds whatever the loss."""
    found = {order: loss.renyi(order) for order in ORDERS}
    orders = [order for order in ORDERS if math.isfinite(found[order])]
    if not orders:
        return Known()

    def epsilon_at(delta: float) -> float:
        return epsilon_from_renyi(found.__getitem__, delta, "improved", orders)

    known = Known(Bounds(0.0, epsilon_at(delta) if delta > 0.0 else math.inf))
    top = known.epsilon.upper if math.isfinite(known.epsilon.upper) else epsilon_at(FIRST)
    known = known.with_point(0.0, Bounds(0.0, _total_variation(loss.kl())))
    for share in (0.125, 0.25, 0.5, 0.75, 1.0) if top > 0.0 else ():
        reached = delta_from_renyi(found.__getitem__, share * top, "improved", orders)
        known = known.with_point(share * top, Bounds(0.0, reached))
    return known


def is_hopeless(loss: Loss) -> bool:
    """Whether the loss is so large in the mean that nothing is promised."""
    return loss.kl() > HOPELESS


def fine(loss: Loss, delta: float) -> Iterator[Known]:
    """What the accountant finds, each time one thing more."""
    known = Known(loss.epsilon_bounds(delta))
    top = known.epsilon.upper
    if math.isfinite(top):
        known = known.with_point(top, Bounds(0.0, max(delta, loss.delta_at_infinity())))
    else:
        top = loss.epsilon(max(FIRST, min(0.5, 2 * loss.delta_at_infinity())))
    yield known
    for share in FRACTIONS if math.isfinite(top) and top > 0.0 else (0.0,):
        known = known.with_point(share * top, loss.delta_bounds(share * top))
        yield known


def _total_variation(kl: float) -> float:
    """The least of Pinsker's bound and that of Bretagnolle and Huber (1979), rounded up."""
    return min(1.0, math.sqrt(min(kl / 2, -math.expm1(-kl))) * (1 + 2.0**-48))


def curve(points: Mapping[float, Bounds]) -> list[tuple[float, float]]:
    """Corners of the best lower bound on type II errors that these points give, from alpha 0 to 1.

    Between two corners the bound is the straight line. It is computed in doubles and lowered by 1e-12, far more than
    the few roundings of numbers up to 1 that it took; steeper lines than e^40 are left out, which only lowers it.
    """
    lines = [(0.0, 0.0)]
    for epsilon, bounds in points.items():
        if epsilon <= 40.0:
            rest, factor = 1.0 - bounds.upper, math.exp(epsilon)
            lines += [(-factor, rest), (-1.0 / factor, rest / factor)]
    lines.sort()
    hull: list[tuple[float, float]] = []
    starts: list[float] = []
    for slope, height in lines:
        if hull and hull[-1][0] == slope:
            if hull[-1][1] >= height:
                continue
            hull.pop()
            starts.pop()
        start = -math.inf
        while hull:
            start = (height - hull[-1][1]) / (hull[-1][0] - slope)
            if start > starts[-1]:
                break
            hull.pop()
            starts.pop()
            start = -math.inf
        hull.append((slope, height))
        starts.append(start)
    places = sorted({0.0, 1.0, *(start for start in starts if 0.0 < start < 1.0)})
    return [(place, _lowered(max(s * place + h for s, h in lines))) for place in places]


def _lowered(height: float) -> float:
    return min(1.0, max(0.0, height - 1e-12))


def power(points: Mapping[float, Bounds], level: float) -> float:
    """The most of those who are in that an attack finds which accuses this share of the others."""
    best = 0.0
    for epsilon, bounds in points.items():
        rest = 1.0 - bounds.upper
        best = max(best, math.exp(-epsilon) * (rest - level))
        if epsilon <= 40.0:
            best = max(best, rest - math.exp(epsilon) * level)
    return 1.0 - _lowered(best)


def area(corners: list[tuple[float, float]]) -> float:
    """The largest area under the curve of true against false alarms that the corners leave possible."""
    below = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(corners))
    return min(1.0, 1.0 - below + 1e-12)
