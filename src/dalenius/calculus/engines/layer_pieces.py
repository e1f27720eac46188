"""Pieces of a law that add up to it: a bound on each by its moments, and a line where it matters (`layers`)."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.engines.contour import Contour, alias_excess, chernoff, exp_up, log_peak, period_at
from dalenius.calculus.engines.layer_lines import LayerMoments
from dalenius.calculus.engines.saddle import Moments, Saddle
from dalenius.calculus.pairs.pair import Bounds, Reals

REFIT = 1e-6
"""Where a bracket is wider than this, levels are chosen anew."""
LOWER = 0.75
SAME = 1.0
"""A line drawn for a delta serves another whose logarithm is this near."""


class Piece:
    """A layer, or what is below the last one: its measure on the real axis, and the line last drawn."""

    def __init__(self, moments: Moments, draw: type[Contour], count: int) -> None:
        self.moments, self._draw, self.count = moments, draw, count
        self.line: Contour | None = None
        self._tail = (math.inf, 0.0)
        self._saddle: Saddle | None = None
        self._aim = math.inf

    def look(self, epsilon: float, enough: float = -math.inf) -> float:
        """Find the saddle; a guess at the log of what this piece adds to delta.

        A bound below `enough` will do: then no saddle is sought.
        """
        finite = np.isfinite(self.moments.k)
        if finite.sum() < 8:  # nothing is known
            return 0.0
        if self._saddle is None or self._saddle.epsilon != epsilon:
            self.line = self._saddle = None
            if enough > -math.inf:
                s, k = self.moments.s[finite], self.moments.k[finite]
                self._bound(s, k + 1e-9 * (1 + np.abs(k)) + 1e-13 * self.count + log_peak(s), epsilon)
                if self.log_bound(epsilon) < enough:
                    return self.log_bound(epsilon)
            saddle = _moved(self.moments.saddle(epsilon))
            self._saddle = saddle._replace(k=saddle.k + 1e-13 * self.count)
        saddle = self._saddle
        self._bound(saddle.s, chernoff(saddle), epsilon)
        bound = min(self.log_bound(epsilon), 0.0)
        return min(saddle.log_delta, bound) if bound - 12.0 < saddle.log_delta < math.inf else bound - 3.0

    def _bound(self, s: Reals, height: Reals, epsilon: float) -> None:
        best = int(np.argmin(height - s * epsilon))
        self._tail = float(height[best]), float(s[best])

    def log_bound(self, epsilon: float) -> float:
        """log of a Chernoff bound on what this piece adds."""
        return self._tail[0] - self._tail[1] * epsilon

    def draw(self, log_delta: float) -> bool:
        """A line good enough where delta, of all pieces together, is about exp(log_delta)."""
        if self._saddle is None:
            return False
        if self.line is not None and abs(log_delta - self._aim) < SAME:
            return True
        self._aim = log_delta
        saddle = self._saddle._replace(log_delta=log_delta)
        line = self._draw(self.moments, saddle)
        if not line.feasible and isinstance(self.moments, LayerMoments):
            # Close to where K ends, panels cannot be bounded; a place further left serves nearly as well.
            line = self._draw(self.moments, _at(saddle, _near(saddle, LOWER)))
        if line.feasible:
            self.line = line
        return self.line is not None  # one drawn for another delta still holds

    def draws(self, epsilon: float, guess: float, others: float, worth: float = REFIT) -> bool:
        """Whether a line says enough here, beside other pieces of about exp(others): one that had to stay left of
        its saddle, where the cut lets K end, does not.
        """
        if not self.draw(max(guess, others)) or self.line is None:
            return False
        low, high = self.line.delta(epsilon)
        return high - low <= max(worth * low, 1e-9 * math.exp(min(others, 0.0)))

    def delta(self, epsilon: float) -> Bounds:
        if self.line is not None:
            return self.line.delta(epsilon)
        return Bounds(0.0, exp_up(min(self.log_bound(epsilon), 0.0)) * (1 + 1e-9))


class Beyond(Piece):
    """What lies beyond all levels, of which only a bound on its mass is known."""

    def __init__(self, log_mass: float) -> None:
        self.line = None
        self._tail = (log_mass, 0.0)

    def look(self, epsilon: float, enough: float = -math.inf) -> float:
        return self.log_bound(epsilon)

    def draw(self, log_delta: float) -> bool:
        return False


def _moved(saddle: Saddle) -> Saddle:
    """The saddle, or a place to its left with a shorter period, where K climbs a wall right of it."""
    excess = alias_excess(saddle)
    least, best = period_at(saddle, excess, saddle.c), -1
    height = saddle.log_mgf - saddle.c * saddle.epsilon - math.log(saddle.c) - math.log1p(saddle.c)
    for j in (_near(saddle, share) for share in (0.75, 0.5, 0.35)):
        c = float(saddle.s[j])
        if not 0.2 * saddle.c < c < 0.9 * saddle.c:
            continue
        period = period_at(saddle, excess, c)
        if (
            period < 0.5 * least
            and float(saddle.k[j]) - c * saddle.epsilon - math.log(c) - math.log1p(c) < height + 4.0
        ):
            least, best = period, j
    return saddle if best < 0 else _at(saddle, best)


def _near(saddle: Saddle, share: float) -> int:
    """Which of the places where K is known is near this share of the saddle."""
    return int(np.argmin(np.abs(saddle.s - share * saddle.c)))


def _at(saddle: Saddle, j: int) -> Saddle:
    """The saddle moved to a place where K is known."""
    c = float(saddle.s[j])
    keep = np.abs(saddle.s - c) > 1e-4 * c
    return saddle._replace(c=c, log_mgf=float(saddle.k[j]), s=saddle.s[keep], k=saddle.k[keep])
