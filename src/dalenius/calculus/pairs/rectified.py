"""Losses of the form offset + max(Gaussian loss, 0): one direction of objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, wofz

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Decay, Pair, Reals, Tilted, Transform
from dalenius.calculus.theorems.gaussian import gaussian_delta_bounds


@dataclass(frozen=True)
class RectifiedPair(Pair):
    """L = offset + max(N(mu^2/2, mu^2), 0) under P: an atom at `offset`, then the tail of the Gaussian pair.

    With z = mu (s + 1/2), M(s) = exp(s offset) (Phi(-mu/2) + exp(z^2/2 - mu^2/8) Phi(z)). Q has mass
    E[exp(-L)] where P lives.
    """

    offset: float
    mu: float

    @property
    def _tie(self) -> float:
        return float(ndtr(-self.mu / 2))

    @property
    def asymptote(self) -> tuple[float, float]:
        # M(s) <= exp(s offset + s (s+1) mu^2/2) (1 + Phi(-mu/2)), and s = order - 1 >= 1.
        return 0.5 * self.mu**2 * (1 + 4 * UNIT), (self.offset + math.log(1.5)) * (1 + 4 * UNIT)

    @property
    def atomic(self) -> Atoms:
        return Atoms(np.array([self.offset]), np.array([self._tie]))

    def delta(self, epsilon: float) -> Bounds:
        x = epsilon - self.offset
        if x >= 0:
            # Rounding of x moves log delta by at most that times (1 + x/mu^2).
            low, high = gaussian_delta_bounds(self.mu, x)
            slack = 8 * UNIT * (abs(epsilon) + self.offset + 1) * (1 + 4 * (x + 1) / self.mu**2)
            return Bounds(low * max(0.0, 1 - slack), min(1.0, high * (1 + slack)))
        value = 1 - 2 * math.exp(x) * self._tie
        gap = 16 * UNIT * (1 + abs(epsilon) + self.offset)
        return Bounds(max(0.0, value - gap), min(1.0, value + gap))

    def log_mgf(self, s: Reals) -> Reals:
        tail = 0.5 * s * (s + 1) * self.mu**2 + log_ndtr(self.mu * (s + 0.5))
        return np.asarray(s * self.offset + np.logaddexp(float(log_ndtr(-self.mu / 2)), tail))

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # exp(-s offset) M - 1 = expm1(q) Phi(b) + Phi(b) - Phi(a), q = s (s+1) mu^2/2, a = mu/2, b = a + mu s.
        # The difference is at most (b - a) phi(a), and that of two tails, each good to a few roundings.
        a, b = self.mu / 2, self.mu * (s + 0.5)
        q = 0.5 * s * (s + 1) * self.mu**2
        near = q < 600.0
        density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        rise = np.minimum(self.mu * s * density, ndtr(-a) - ndtr(-b) + 16 * UNIT * float(ndtr(-a)))
        excess = np.expm1(np.where(near, q, 0.0)) * ndtr(b) + rise
        small = (s * self.offset + np.log1p(excess)) * (1 + 64 * UNIT * (1 + a * a))
        large = self.log_mgf(s)
        return np.asarray(np.where(near, small, large + 64 * UNIT * (1 + np.abs(large) + a * a)))

    def _shares(self, c: float) -> tuple[float, float]:
        """The atom and the tail at s = c, both divided by exp(c offset + c (c+1) mu^2/2)."""
        return self._tie * math.exp(-0.5 * c * (c + 1) * self.mu**2), float(ndtr(self.mu * (c + 0.5)))

    def tilted(self, c: float, t: Reals) -> Tilted:
        mu = self.mu
        atom, tail = self._shares(c)
        bottom = atom + tail
        # exp(z^2/2) Phi(z) = exp(z^2/2) - wofz(i z/sqrt2)/2, on the side where wofz is tame.
        z = mu * (c + 0.5 + 1j * t) / math.sqrt(2)
        gauss = np.exp(-(mu**2) * t * t / 2 + 1j * t * (c + 0.5) * mu**2)
        missing = 0.5 * wofz(1j * z) * math.exp(-0.5 * (c + 0.5) ** 2 * mu**2)
        values = np.exp(1j * t * self.offset) * (atom + gauss - missing) / bottom
        scale = c * self.offset + 0.5 * c * (c + 1) * mu**2 + math.log(bottom)
        # wofz is good to 1e-13 (Johnson's Faddeeva package); the rest are exponentials of rounded products.
        error = 4e-13 + UNIT * (
            64 + 8 * np.abs(t) * (self.offset + (abs(c) + 1) * mu**2) + 8 * (mu * t) ** 2 * np.abs(gauss)
        )
        return Tilted(scale, values, error / bottom)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        # The atom, and a density with one mode and a jump: variation twice its largest value.
        atom, tail = self._shares(c)
        peak = 1 / (self.mu * math.sqrt(2 * math.pi))
        bound = (atom + 2 * peak / np.maximum(t, 1e-300)) / (atom + tail)
        return np.minimum(1.0, bound * (1 + 1e-12))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        inside = edges >= self.offset - 4 * UNIT * self.offset  # an atom that meets an edge lies left of it
        y = np.maximum(edges - self.offset, 0.0) / self.mu
        above_p = np.where(inside, ndtr(self.mu / 2 - y), 1.0)
        above_q = np.where(inside, ndtr(-self.mu / 2 - y), 2 * self._tie)
        ends_p = np.concatenate(([1.0], above_p, [0.0]))
        ends_q = np.concatenate(([2 * self._tie], above_q, [0.0])) * math.exp(-self.offset)
        return np.maximum(-np.diff(ends_p), 0.0), np.maximum(-np.diff(ends_q), 0.0)

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        arb = flint.arb
        mu, offset, root = arb(self.mu), arb(self.offset), arb(2).sqrt()

        def mgf(s: Ball) -> Ball:
            z = mu * (s + flint.acb(0.5)) / root
            tie = (1 - (mu / 2 / root).erf()) / 2
            return (s * offset).exp() * (tie + (mu**2 * s * (s + 1) / 2).exp() * (1 + z.erf()) / 2)

        return mgf

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        arb = flint.arb
        x, mu, root = arb(c), arb(self.mu), arb(2).sqrt()
        atom = (mu / 2 / root).erfc() / 2 * (-x * (x + 1) * mu**2 / 2).exp()
        tail = (1 + (mu * (x + arb(0.5)) / root).erf()) / 2
        return lambda t, _: (atom + 2 / (mu * (2 * arb.pi()).sqrt()) / t) / (atom + tail)
