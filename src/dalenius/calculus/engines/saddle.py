"""Where to put the contour: the moment generating function of a sum of losses on the real axis."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dalenius.calculus.pairs.pair import Reals, Terms

PER_DECADE = 18
NARROW, WIDE = 1e-12, 1e12


class Moments:
    """K(s) = log M(s) of a sum, or a bound on it, on a geometric grid that grows on demand."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.s: Reals = np.empty(0)
        self.k: Reals = np.empty(0)
        self._low, self._high = 1e-2, 1e-2
        self._grow(up=True, decades=3)

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
        return bool(np.isfinite(k).all())

    def _estimates(self) -> tuple[Reals, Reals, Reals]:
        """On the finite grid: s, the epsilon whose saddle is s, and log delta there (Laplace's method)."""
        finite = np.isfinite(self.k)
        s, x = self.s[finite], np.log(self.s[finite])
        value = self.k[finite] - x - np.log1p(s)
        slope = np.gradient(value, x) / s
        curvature = np.maximum(np.gradient(slope, x) / s, 1e-300)
        log_delta = value - s * slope - 0.5 * np.log(2 * math.pi * curvature)
        return s, slope, log_delta

    def for_epsilon(self, epsilon: float) -> tuple[float, float]:
        """A contour near the saddle for this epsilon, and an estimate of log delta."""
        while True:
            s, slope, log_delta = self._estimates()
            if slope[0] > epsilon and self._grow(up=False):
                continue
            if slope[-1] < epsilon and np.isfinite(self.k[-1]) and self._grow(up=True):
                continue
            break
        slope = np.maximum.accumulate(slope)
        x = float(np.interp(epsilon, slope, np.log(s)))
        guess = float(np.interp(x, np.log(s), log_delta + s * slope)) - math.exp(x) * epsilon
        return math.exp(x), guess

    def refined(self, c: float, epsilon: float) -> tuple[float, float]:
        """The saddle for epsilon near c, and log delta by Laplace's method there."""
        x, width = math.log(c), 2.5 / PER_DECADE * math.log(10)
        for _ in range(2):
            grid = x + np.linspace(-width, width, 25)
            s = np.exp(grid)
            with np.errstate(all="ignore"):
                height = self.log_mgf(s) - s * epsilon - grid - np.log1p(s)
            best = int(np.clip(np.argmin(np.where(np.isfinite(height), height, np.inf)), 1, 23))
            x, width = float(grid[best]), width / 10
        bend = (height[best - 1] - 2 * height[best] + height[best + 1]) / (grid[1] - grid[0]) ** 2
        log_delta = height[best] - 0.5 * math.log(2 * math.pi * max(bend, 1e-6)) + x
        return math.exp(x), float(log_delta)

    def for_delta(self, log_delta: float) -> tuple[float, float]:
        """A contour near the saddle for this delta, and an estimate of epsilon."""
        while True:
            s, slope, estimate = self._estimates()
            if estimate[-1] > log_delta and np.isfinite(self.k[-1]) and self._grow(up=True):
                continue
            if estimate[0] < log_delta and self._grow(up=False):
                continue
            break
        falling = np.minimum.accumulate(estimate)
        x = float(np.interp(-log_delta, -falling, np.log(s)))
        return math.exp(x), float(np.interp(x, np.log(s), slope))
