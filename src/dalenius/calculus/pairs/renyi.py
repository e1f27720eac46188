"""Losses known only through their Renyi divergences, and the best profile a Renyi curve implies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Ball, Pair, Reals, Terms
from dalenius.calculus.pairs.tabulate import symmetric_above
from dalenius.core.checks import float_up
from dalenius.errors import UnsupportedComposition


@dataclass(frozen=True)
class Linear:
    """The curve rho * order of rho-zCDP."""

    rho: float

    def __call__(self, order: float) -> float:
        return self.rho * order


@dataclass(frozen=True)
class RenyiPair(Pair):
    """All that is known is D_order(P||Q) <= curve(order) for order > 1, and mu, if that is finite.

    `floor` is a pair the worst case is known to dominate (for lower bounds), if any; `slope` a rho
    with curve(order) <= rho * order.
    """

    curve: Callable[[float], float]
    floor: Pair | None = None
    slope: float = math.inf
    mu: float = math.inf

    renyi_is_tighter = True
    has_law = False

    @classmethod
    def zcdp_of(cls, rho: float, floor: Pair | None = None, mu: float = math.inf) -> RenyiPair:
        """What rho-zCDP says."""
        return cls(Linear(rho), floor, rho, mu)

    @property
    def largest(self) -> float:
        return math.inf

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.slope, 0.0

    @property
    def gdp(self) -> float:
        return self.mu

    @property
    def lower(self) -> Pair:
        return self if self.floor is None else self.floor

    def log_mgf(self, s: Reals) -> Reals:
        return np.array([x * self.curve(1.0 + float(x)) for x in s])

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # The curve is asked at an order that is a float, never below 1 + s.
        orders = [float_up(1 + Fraction(x)) for x in s.tolist()]
        return np.asarray(s * np.array([self.curve(order) for order in orders]) * (1 + 8 * UNIT))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        raise UnsupportedComposition("a Renyi curve has no single law; only its profile can be tabulated.")

    def chained(self, size: int) -> RenyiPair | None:
        """rho-zCDP of neighbours is size^2 rho-zCDP of a group (Bun and Steinke 2016, Proposition 27)."""
        if self.curve != Linear(self.slope):
            return None
        floor = None if self.floor is None else self.floor.chained(size)
        rho = float_up(size * size * Fraction(self.slope))
        return RenyiPair.zcdp_of(rho, floor, self.mu * size * (1 + 2 * UNIT))

    def dominates(self, other: Pair) -> bool:
        linear = self.curve == Linear(self.slope) and self.mu == math.inf
        return self == other or (linear and isinstance(other, RenyiPair) and self.slope >= other.slope)

    @property
    def is_provable(self) -> bool:
        return True

    def renyi_in_balls(self, flint: Any, s: float) -> Ball:
        if not math.isfinite(self.slope):
            raise UnsupportedComposition(
                "a Renyi curve given as a function is known in floats only, so nothing can be proved about it; use "
                "engine='auto', or losses.zcdp."
            )
        x = flint.arb(s)
        return flint.arb(self.slope) * x * (1 + x)


def profile_bound(log_mgf: Callable[[Reals], Reals], epsilon: float) -> float:
    """min over s > 0 of exp(K(s) - s epsilon) s^s / (1+s)^(1+s), an upper bound on delta(epsilon).

    For every loss L, (1 - exp(epsilon - L))_+ <= exp(s (L - epsilon)) s^s / (1+s)^(1+s)
    (Canonne, Kamath and Steinke 2020, Proposition 12, with order 1 + s). Any s is valid, so the
    search needs no certificate.
    """
    least = best_order(log_mgf, epsilon)[1]
    return min(1.0, max(math.exp(min(least, 0.0)) * (1 + 1e-12), 5e-324)) if math.isfinite(least) else 1.0


def best_order(log_mgf: Callable[[Reals], Reals], epsilon: float) -> tuple[float, float]:
    """The s of `profile_bound`, and the logarithm of the bound there; inf where no order says anything."""

    def height(x: float) -> float:
        s = math.exp(x)
        k = float(log_mgf(np.array([s]))[0])
        if not math.isfinite(k):
            return math.inf
        # s log s - (1 + s) log(1 + s), its large parts cancelled by hand
        return k * (1 + 1e-14) + 1e-15 - s * math.log1p(1 / s) - math.log1p(s) - s * epsilon

    grid = np.linspace(math.log(1e-6), math.log(1e9), 70)
    heights = np.array([height(x) for x in grid])
    best = int(np.argmin(heights))
    if not math.isfinite(heights[best]):
        return 1.0, math.inf
    ends = (grid[max(best - 1, 0)], grid[min(best + 1, 69)])
    minimum = minimize_scalar(height, bounds=ends, method="bounded", options={"xatol": 1e-9})
    if minimum.fun < heights[best]:
        return math.exp(float(minimum.x)), float(minimum.fun)
    return math.exp(float(grid[best])), float(heights[best])


def renyi_atoms(terms: Terms) -> Atoms:
    """A finite pair that dominates everything with these Renyi curves (both directions)."""

    def log_mgf(s: Reals) -> Reals:
        return sum((n * pair.log_mgf(s) for pair, n in terms), np.zeros_like(s))

    reach = 1.0
    while profile_bound(log_mgf, reach) > 1e-60 and reach < 300:
        reach *= 1.25
    epsilon = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 120)[:-1] * reach, [reach]))
    delta = np.array([profile_bound(log_mgf, float(e)) for e in epsilon])
    return symmetric_above(epsilon, delta * (1 + 1e-12))
