"""The bounded-range pair: what the exponential mechanism can do at worst."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.calculus.pairs.atoms import two_point_atoms
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Decay, Pair, Reals, Tilted, Transform


@dataclass(frozen=True)
class BoundedRangePair(Pair):
    """The least pair that dominates every mechanism whose loss varies by at most `eta` over its outputs.

    For each position t in [0, eta] of the range the worst case is two-point; the supremum of their
    profiles over t is (exp(eta/2) - exp(epsilon/2))^2 / (exp(eta) - 1) on |epsilon| <= eta, itself a
    profile, with loss density exp((l + eta)/2) / (2 (exp(eta) - 1)) on [-eta, eta]:
    M(s) = exp(eta/2)/(exp(eta)-1) * sinh((s+1/2) eta)/(s+1/2). One release can reach it; several need not.
    """

    eta: float
    renyi_is_tighter: ClassVar[bool] = True

    @property
    def largest(self) -> float:
        return self.eta

    @property
    def reach(self) -> float:
        return self.eta

    def delta(self, epsilon: float) -> Bounds:
        if epsilon >= self.eta:
            return Bounds(0.0, 0.0)
        if epsilon <= -self.eta:
            value = -math.expm1(epsilon)
        else:
            value = math.expm1((epsilon - self.eta) / 2) ** 2 / -math.expm1(-self.eta)
        gap = 8 * UNIT * (abs(epsilon) + self.eta)
        return Bounds(max(0.0, value * (1 - 1e-14) - gap), min(1.0, value * (1 + 1e-14) + gap))

    def log_mgf(self, s: Reals) -> Reals:
        y = np.maximum(np.abs(s + 0.5), 1e-12)
        # sinh(y eta)/y = exp(y eta) (1 - exp(-2 y eta)) / (2 y)
        return np.asarray(y * self.eta + np.log(-np.expm1(-2 * y * self.eta) / (2 * y)) + self._log_front)

    @property
    def _log_front(self) -> float:
        return -self.eta / 2 - math.log(-math.expm1(-self.eta))

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # eta-bounded range is eta^2/8-zCDP (Cesar and Rogers 2021), and eta-DP.
        bound = s * np.minimum((1 + s) * self.eta**2 / 8, self.eta) * (1 + 16 * UNIT)
        # Every summand of log M is good to a few roundings of itself.
        y = s + 0.5
        sizes = 4 + 4 * y * self.eta + abs(self._log_front) + np.abs(np.log(2 * y))
        return np.asarray(np.minimum(self.log_mgf(s) + 8 * UNIT * sizes, bound))

    @property
    def lower(self) -> Pair:
        # One position of the range, its middle, is randomized response with half of eta.
        return two_point_atoms(self.eta / 2)

    @property
    def zcdp(self) -> float:
        return self.eta**2 / 8 * (1 + 4 * UNIT)

    @property
    def asymptote(self) -> tuple[float, float]:
        return 0.0, self.eta

    def tilted(self, c: float, t: Reals) -> Tilted:
        y0, y = c + 0.5, c + 0.5 + 1j * t
        values = (
            np.exp(1j * t * self.eta)
            * np.expm1(-2 * y * self.eta)
            / math.expm1(-2 * y0 * self.eta)
            * (y0 / y)
        )
        error = UNIT * (32 + 8 * np.abs(t) * self.eta) * np.maximum(1.0, 1 / -math.expm1(-2 * y0 * self.eta))
        return Tilted(
            float(self.log_mgf(np.array([c]))[0]), values, error * np.minimum(1.0, 2 * y0 / np.abs(y))
        )

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        y0 = c + 0.5  # the density rises monotonically: variation twice its last value
        return np.minimum(1.0, 2 * y0 / -math.expm1(-2 * y0 * self.eta) * (1 + 1e-12) / np.maximum(t, 1e-300))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        # expm1((eta +- x)/2) / expm1(eta), which is P(L <= x) and Q(L > x), without large exponentials.
        x = np.clip(edges, -self.eta, self.eta)
        up, down = (self.eta + x) / 2, (self.eta - x) / 2
        below_p = np.exp(-down) * np.expm1(-up) / math.expm1(-self.eta)
        above_q = np.exp(-up) * np.expm1(-down) / math.expm1(-self.eta)
        p = np.diff(np.concatenate(([0.0], below_p, [1.0])))
        q = -np.diff(np.concatenate(([1.0], above_q, [0.0])))
        return np.maximum(p, 0.0), np.maximum(q, 0.0)

    @property
    def is_provable(self) -> bool:
        return True

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        eta = flint.arb(self.eta)

        def mgf(s: Ball) -> Ball:
            y = s + flint.acb(0.5)
            return (eta / 2).exp() / (eta.exp() - 1) * (y * eta).sinh() / y

        return mgf

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        y = flint.arb(c) + flint.arb(0.5)
        return lambda t, _: 2 * y / (1 - (-2 * y * flint.arb(self.eta)).exp()) / t

    def renyi_in_balls(self, flint: Any, s: float) -> Ball:
        x, eta = flint.arb(s), flint.arb(self.eta)
        return super().renyi_in_balls(flint, s).min(eta**2 / 8 * x * (1 + x)).min(eta * x)
