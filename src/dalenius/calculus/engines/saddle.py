"""Where to put the contour: the moment generating function of a sum of losses on the real axis."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs.pair import Reals, Terms

PER_DECADE = 12
NARROW, WIDE = 1e-12, 1e12


class Saddle(NamedTuple):
    """A place for the contour, and what is known of K = log M around it (all but `s` and `k` estimates)."""

    c: float
    epsilon: float
    log_delta: float
    log_mgf: float
    s: Reals
    """Where K is known; never c itself."""
    k: Reals
    """K there, rounded up."""


NEAR = np.concatenate((1 - 0.5 ** np.arange(1.0, 11.0), 1 + 0.5 ** np.arange(1.0, 11.0)))
"""K may bend within one step of the grid: it is looked at here, relative to c, too."""


class Moments:
    """K(s) = log M(s) of a sum, or a bound on it, on a geometric grid that grows on demand."""

    def __init__(self, terms: Terms, start: float = 1e-2, decades: int = 3) -> None:
        self.terms = terms
        self.s: Reals = np.empty(0)
        self.k: Reals = np.empty(0)
        self._low = self._high = min(max(start, 1e-10), 1e8)
        self._grow(up=True, decades=decades)
        while np.isfinite(self.k).sum() < 8 and self._low > 10 * NARROW:
            self._grow(up=False)

    def log_mgf(self, s: Reals) -> Reals:
        return sum((n * pair.rough_log_mgf(s) for pair, n in self.terms), np.zeros_like(s))

    @cached_property
    def log_mass(self) -> float:
        """log P(L < inf)."""
        return sum(n * math.log1p(-pair.infinite) for pair, n in self.terms)

    def _grow(self, up: bool, decades: int = 1) -> bool:
        start = self._high if up else self._low / 10
        if start >= WIDE or start < NARROW:
            return False
        s = start * 10.0 ** (np.arange(PER_DECADE * decades) / PER_DECADE)
        with np.errstate(all="ignore"):
            k = self.log_mgf(s)
        if up:
            self._high *= 10.0**decades
            self.s, self.k = np.append(self.s, s), np.append(self.k, k)
        else:
            self._low /= 10
            self.s, self.k = np.append(s, self.s), np.append(k, self.k)
        self._known: tuple[Reals, Reals, Reals] | None = None
        return bool(np.isfinite(k).all())

    def _estimates(self) -> tuple[Reals, Reals, Reals]:
        """On the finite grid: log s, the epsilon whose saddle is s, log delta there (Laplace's method)."""
        if self._known is None:
            finite = np.isfinite(self.k)
            s = self.s[finite]
            x = np.log(s)
            value = self.k[finite] - x - np.log1p(s)
            slope = _derivative(self.k[finite], s) - 1 / s - 1 / (1 + s)
            curvature = np.maximum(_derivative(slope, s), 1e-300)
            self._known = x, slope, value - s * slope - 0.5 * np.log(2 * math.pi * curvature)
        return self._known

    def for_epsilon(self, epsilon: float) -> float:
        """A contour near the saddle for this epsilon."""
        while True:
            x, slope, _ = self._estimates()
            if slope[0] > epsilon and self._grow(up=False):
                continue
            if slope[-1] < epsilon and np.isfinite(self.k[-1]) and self._grow(up=True):
                continue
            break
        return math.exp(float(np.interp(epsilon, np.maximum.accumulate(slope), x)))

    def saddle(self, epsilon: float) -> Saddle:
        """The saddle for epsilon, and log delta by Laplace's method there."""
        x, width = math.log(self.for_epsilon(epsilon)), 2.5 / PER_DECADE * math.log(10)
        s = k = np.empty(0)
        for _ in range(3):
            grid = x + width * RANGE
            near = np.exp(grid)
            asked = np.concatenate((near, math.exp(x) * NEAR))
            with np.errstate(all="ignore"):
                values = self.log_mgf(asked)
            s, k = np.concatenate((s, asked)), np.concatenate((k, values))
            height = values[: len(grid)] - near * epsilon - grid - np.log1p(near)
            best = int(np.argmin(np.where(np.isfinite(height), height, np.inf)))
            inside = 0 < best < len(grid) - 1
            best = min(max(best, 1), len(grid) - 2)
            x = float(grid[best])
            left, here, right = (float(y) for y in height[best - 1 : best + 2])
            gap = float(grid[1] - grid[0])
            bend = (left - 2 * here + right) / gap**2
            # A parabola through three points, when they are close enough to each other for one.
            if inside and math.isfinite(left + right) and max(left, right) - here < 1.0:
                move = max(-0.5, min(0.5, (left - right) / (2 * gap * gap * bend))) if bend > 0 else 0.0
                x, here = x + move * gap, here - (left - right) * move / 4
                break
            width /= 4
        if not math.isfinite(bend):  # K ends here
            bend = 1.0
        c = math.exp(x)
        log_delta = here - 0.5 * math.log(2 * math.pi * max(bend, 1e-6)) + x
        s, k = np.concatenate((self.s, s)), np.concatenate((self.k, k))
        keep = np.isfinite(k) & (np.abs(s - c) > 1e-4 * c)
        return Saddle(
            c, epsilon, log_delta, here + c * epsilon + x + math.log1p(c), s[keep], self.above(k[keep])
        )

    def above(self, k: Reals) -> Reals:
        return above(self.terms, k)

    def for_delta(self, log_delta: float) -> tuple[float, float]:
        """A contour near the saddle for this delta, and an estimate of epsilon."""
        while True:
            x, slope, estimate = self._estimates()
            if estimate[-1] > log_delta and np.isfinite(self.k[-1]) and self._grow(up=True):
                continue
            if estimate[0] < log_delta and self._grow(up=False):
                continue
            break
        falling = np.minimum.accumulate(estimate)
        at = float(np.interp(-log_delta, -falling, x))
        return math.exp(at), float(np.interp(at, x, slope))


def above(terms: Terms, k: Reals) -> Reals:
    """K rounded up: one log M is good to 1e-12 of itself and to 1e-13, and there is one for every release."""
    releases = float(sum(n for _, n in terms))
    return np.asarray(k + 1e-9 * (1 + np.abs(k)) + 1e-13 * releases)


RANGE = np.linspace(-1.0, 1.0, 13)


def _derivative(values: Reals, s: Reals) -> Reals:
    """That of parabolas through neighbours, so exact for straight lines, which K tends to; chords at the ends."""
    if len(values) < 2:
        return np.zeros_like(values)
    gaps = np.diff(s)
    chords = np.diff(values) / gaps
    inner = (chords[:-1] * gaps[1:] + chords[1:] * gaps[:-1]) / (gaps[:-1] + gaps[1:])
    return np.concatenate((chords[:1], inner, chords[-1:]))
