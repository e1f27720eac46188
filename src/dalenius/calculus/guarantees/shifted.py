"""Which boxes a loss fits: a shift of epsilon, a mu^2 and a delta; the sides of an ApproxDP budget.

A release is (C, m, d)-good if for neighbours with laws P, Q, both ways round, and all x > 0

    H_x(P || e^C Q) <= d + (1 - d) G_m(x),      H_x(P || R) = sup over events S of P(S) - x R(S),

where G_m(x) = H_x(N(sqrt(m), 1) || N(0, 1)). (0, m, 0)-good is sqrt(m)-GDP, (e, 0, 0)-good is e-DP. Goodness composes
adaptively part by part; docs/proofs/shifted-gaussian-budget.md has the proofs, of this file's certificate too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.engines.accountant import Direction
from dalenius.calculus.guarantees.amounts import rounded_up
from dalenius.calculus.guarantees.filter import worse
from dalenius.calculus.guarantees.gdp import square
from dalenius.calculus.guarantees.pure import has_largest, largest
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Pair, Reals, Terms
from dalenius.calculus.pairs.tabulate import lower_hull
from dalenius.errors import InvalidParameter

SHIFTS = 32
"""So many ways of dividing a price between the reserve and mu^2 are looked at, evenly spaced."""

CELLS = 64
"""The profile is looked at in this many places on either side of epsilon 0; the chords err by its square."""

FARTHEST = 200.0
"""Beyond this epsilon nothing is promised, and a hundred `ROUND` cover what exp(epsilon) loses before it."""

CLOSEST = 1e-9
"""Places nearer to each other than a 64th of this would be one place in x = exp(epsilon)."""

ROUND = 1e-14
"""More than the handful of roundings between the profile and a line, relative to positive numbers."""


class Box(NamedTuple):
    """A release that is (shift, square, delta)-good."""

    square: Fraction
    delta: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)


def boxes(loss: Loss, delta: float | None, reserve: Fraction, room: Fraction) -> Iterator[Box]:
    """The boxes a loss certainly fits; `room` is what is left of the reserve, and `delta` what may be spent.

    - (0, mu^2, 0) when it has a finite mu. Otherwise its terms without one are (e, d)-DP for the d given, or for the
      least possible d; whatever is (e, d)-DP is dominated by "with probability d revealed, else randomized
      response" (Kairouz, Oh and Viswanath 2015), so it is (0, mu(e)^2, d)-good with the mu of e-DP;
    - with a d that is given, (C, m, d) for the least m that `Polygon` certifies, for a choice of C; most losses, and
      objective perturbation above all, have far less than mu(e)^2 even with C = 0;
    - with a reserve, (e, mu^2, 0): the terms with a largest loss pay it, Gaussian noise pays its mu^2.
    """
    yield _by_mu(loss, delta)
    if delta and (_wild(loss.terms_remove) or _wild(loss.terms_add)):
        yield from _by_profile(loss, delta, room)
    if reserve:
        yield from _by_largest(loss, delta)


def _by_mu(loss: Loss, delta: float | None) -> Box:
    """(0, mu^2, d), term by term where that can be."""
    tame = worse(loss, lambda pair: square(pair) if math.isfinite(pair.gdp) else Fraction(0))
    wild_remove, wild_add = _wild(loss.terms_remove), _wild(loss.terms_add)
    if not wild_remove and not wild_add:
        return Box(tame, Fraction(delta or 0))  # a delta that is not needed, but was named, is charged
    if delta is None and loss.is_symmetric:
        # Term by term: n releases that are (e, d)-DP each cost n times one of them.
        amount, extra = tame, Fraction(0)
        for pair, n in wild_remove:
            single = Loss(((pair, 1),), ((pair, 1),), loss.adjacency, "one of them")
            one = _wild_box(single, None)
            amount, extra = amount + n * one.square, extra + n * one.delta
        return Box(amount, extra)
    together = _wild_box(Loss(wild_remove, wild_add, loss.adjacency, "those without a mu"), delta)
    return Box(tame + together.square, together.delta)


def _wild_box(loss: Loss, delta: float | None) -> Box:
    """(mu(e)^2, d) of a loss that is (e, d)-DP and has no mu."""
    least = max(side.infinite for side in loss.directions)
    # The least delta is a sum of rounded products; a hair more is a bound on it in any case.
    at = least * (1 + 1e-12) if delta is None else delta
    epsilon = loss.epsilon(at) if at > 0 else math.inf
    if math.isinf(epsilon):
        what = "mu" if delta is None else f"epsilon at delta {delta:g}"
        advice = (
            f"It needs a delta of at least {least:.6g}; pass one to cost(loss, delta=...)."
            if least > 0
            else "State how much delta it may use: cost(loss, delta=...)."
        )
        raise InvalidParameter(
            f"the release has no finite {what}, so a budget of kind approx cannot pay for it. {advice}"
        )
    pairs = pure(epsilon, loss.adjacency).terms_remove
    return Box(sum((n * square(pair) for pair, n in pairs), Fraction(0)), Fraction(at))


def _by_profile(loss: Loss, delta: float, room: Fraction) -> Iterator[Box]:
    """(C, m, d) for several C: from nothing to all there is, or all there is any use for."""
    polygon = Polygon.above(loss, delta)
    if polygon is None:
        return
    most = min(room, rounded_up(Fraction(polygon.last)))
    for shift in sorted({rounded_up(most * step / SHIFTS) for step in range(SHIFTS + 1)}):
        found = polygon.square(shift)
        if found is not None:
            yield Box(found, Fraction(delta), shift)


def _by_largest(loss: Loss, delta: float | None) -> Iterator[Box]:
    """(largest loss of all other terms, mu^2 of Gaussian ones, 0), where there is a largest."""
    terms = (*loss.terms_remove, *loss.terms_add)
    if all(_is_gaussian(pair) or has_largest(pair) for pair, _ in terms):
        mu = worse(loss, lambda pair: square(pair) if _is_gaussian(pair) else Fraction(0))
        shift = worse(loss, lambda pair: Fraction(0) if _is_gaussian(pair) else largest(pair))
        yield Box(mu, Fraction(delta or 0), shift)


def _is_gaussian(pair: Pair) -> bool:
    return isinstance(pair, GaussianPair)


def _wild(terms: Terms) -> Terms:
    return tuple((pair, n) for pair, n in terms if math.isinf(pair.gdp))


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
    x, height = lower_hull(x, height)
    beta = np.maximum(-np.diff(height), 0.0) / np.diff(x)
    # Whatever beta is: the line through the higher of the two ends is above the chord between them.
    ends = height[:-1] + beta * x[:-1], height[1:] + beta * x[1:]
    alpha = np.maximum(*ends) * (1 + ROUND)
    matters = x[1:] > 1
    return alpha[matters], beta[matters]
