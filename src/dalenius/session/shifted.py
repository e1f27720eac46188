"""Which boxes a loss belongs to: a shift of epsilon, a mu^2 and a delta.

A release is (C, m, d)-good if for neighbours with laws P, Q, both ways round, and all x > 0

    H_x(P || e^C Q) <= d + (1 - d) G_m(x),      H_x(P || R) = sup over events S of P(S) - x R(S),

where G_m(x) = H_x(N(sqrt(m), 1) || N(0, 1)). (0, m, 0)-good is sqrt(m)-GDP, (e, 0, 0)-good is e-DP. Goodness composes
adaptively part by part; docs/proofs/shifted-gaussian-budget.md has the proofs, of this file's certificate too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals

CELLS = 64
"""The profile is looked at in this many places on either side of epsilon 0; the chords err by its square."""

FARTHEST = 200.0
"""Beyond this epsilon nothing is promised, and a hundred `ROUND` cover what exp(epsilon) loses before it."""

CLOSEST = 1e-9
"""Places nearer to each other than a 64th of this would be one place in x = exp(epsilon)."""

ROUND = 1e-14
"""More than the handful of roundings between the profile and a line, relative to positive numbers."""


@dataclass(frozen=True)
class Polygon:
    """Lines alpha - beta x, at each x >= 1 one of them above both profiles of a loss, in x = e^epsilon, up to
    the x beyond which both are at most `delta`.
    """

    alpha: Reals
    beta: Reals
    delta: float
    last: float
    """The epsilon from which on both profiles are at most `delta`; a larger shift is of no use."""

    @classmethod
    def above(cls, loss: Loss, delta: float) -> Polygon | None:
        """Chords of the profiles; None where no epsilon has this delta.

        Each value is the lesser of two bounds: the profile's own, and by H_x(P || Q) = 1 - x + x H_1/x(Q || P) the one
        of the other direction. A profile is convex in x, so it lies below every chord of upper bounds, and
        which points are joined is a matter of tightness only.
        """
        last = loss.epsilon(delta)
        if last > FARTHEST:
            return None
        if last == 0.0:
            return cls(np.zeros(0), np.zeros(0), delta, last)
        last = max(last, CLOSEST)
        half = np.linspace(0.0, last, CELLS + 1)
        places = np.concatenate((-half[:0:-1], half))  # the same places either side, to the last bit
        x = np.exp(places)
        remove, add = _profile(loss.remove, places), _profile(loss.add, places)
        lines = [_chords(x, np.minimum(a, _turned(x, b))) for a, b in ((remove, add), (add, remove))]
        alpha, beta = (np.concatenate(part) for part in zip(*lines, strict=True))
        return cls(alpha, beta, delta, last)

    def square(self, shift: Fraction) -> Fraction | None:
        """The least m, rounded up, with which the loss is certainly (shift, m, delta)-good; None if there is none.

        A line alpha - beta x lies below d + (1 - d) G_m(x e^-C) if some test of N(sqrt(m), 1) against N(0, 1) has level
        b = beta e^C / (1 - d) and power a = (alpha - d) / (1 - d): sqrt(m) >= Phi^-1(a) - Phi^-1(b).
        """
        keep = 1 - self.delta
        power = np.maximum(self.alpha * (1 + ROUND) - self.delta, 0.0) / keep * (1 + ROUND)
        level = np.minimum(self.beta * math.exp(min(float(shift), FARTHEST)) / keep * (1 - 100 * ROUND), 1.0)
        if not np.all(np.isfinite(power) & np.isfinite(level)):
            return None
        needed = power > 0
        power, level = power[needed], level[needed]
        if np.any((power > 1) | ((power == 1) & (level < 1))):
            return None
        inner = level < 1  # the test that always says yes has power 1
        a, b = ndtri(power[inner]), ndtri(level[inner])
        # ndtri is good to a few ulps of its value.
        mu = float(np.max(a - b + 1e-13 * (1 + np.abs(a) + np.abs(b)), initial=0.0))
        return Fraction(mu) ** 2 if math.isfinite(mu) else None


def _profile(side: Direction, places: Reals) -> Reals:
    return np.array([side.delta(float(place)).upper for place in places])


def _turned(x: Reals, other: Reals) -> Reals:
    """Upper bounds at x from those of the other direction at 1/x; `other` is in the order of x."""
    return np.asarray(np.minimum(1.0, (1 - x + x * other[::-1]) + 4e-15 * (1 + x)))


def _chords(x: Reals, height: Reals) -> tuple[Reals, Reals]:
    """The lines of the lower hull of the points, those that matter right of x = 1."""
    hull: list[int] = []
    for place in range(len(x)):
        while len(hull) > 1 and _is_above(x, height, hull[-2], hull[-1], place):
            hull.pop()
        hull.append(place)
    left, right = np.array(hull[:-1]), np.array(hull[1:])
    beta = np.maximum(height[left] - height[right], 0.0) / (x[right] - x[left])
    # Whatever beta is: the line through the higher of the two ends is above the chord between them.
    alpha = np.maximum(height[left] + beta * x[left], height[right] + beta * x[right]) * (1 + ROUND)
    matters = x[right] > 1
    return alpha[matters], beta[matters]


def _is_above(x: Reals, height: Reals, a: int, b: int, c: int) -> bool:
    """Whether point b is not below the chord from a to c."""
    return bool((height[b] - height[a]) * (x[c] - x[a]) >= (height[c] - height[a]) * (x[b] - x[a]))
