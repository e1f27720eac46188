"""Pairs of which nothing but bounds on divergences is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.pair import UNIT, Ball, Pair, Reals, Terms
from dalenius.core.checks import float_up
from dalenius.errors import UnsupportedComposition


class _Known(Pair):
    """Bounds on divergences, and no law."""

    has_law = False

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.zcdp, 0.0

    def log_mgf(self, s: Reals) -> Reals:
        return self.renyi_log_mgf(s)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        raise UnsupportedComposition(
            "nothing but divergences is known of this pair; it has no law to tabulate."
        )


@dataclass(frozen=True)
class RenyiPair(_Known):
    """All that is known is D_order(P||Q) <= rho * order for order > 1, or curve(order), and mu, if that is finite.

    `floor` is a pair the worst case is known to dominate (for lower bounds), if any.
    """

    rho: float = math.inf
    floor: Pair | None = None
    mu: float = math.inf
    curve: Callable[[float], float] | None = None

    renyi_is_tighter = True

    def divergence(self, order: float) -> float:
        """The bound at this order."""
        return self.rho * order if self.curve is None else self.curve(order)

    @property
    def zcdp(self) -> float:
        return self.rho

    @property
    def gdp(self) -> float:
        return self.mu

    @property
    def lower(self) -> Pair:
        return self if self.floor is None else self.floor

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # The curve is asked at an order that is a float, never below 1 + s.
        orders = [float_up(1 + Fraction(x)) for x in s.tolist()]
        return np.asarray(s * np.array([self.divergence(order) for order in orders]) * (1 + 8 * UNIT))

    def chained(self, size: int) -> RenyiPair | None:
        """rho-zCDP of neighbours is size^2 rho-zCDP of a group (Bun and Steinke 2016, Proposition 27)."""
        if self.curve is not None:
            return None
        floor = None if self.floor is None else self.floor.chained(size)
        rho = float_up(size * size * Fraction(self.rho))
        return RenyiPair(rho, floor, self.mu * size * (1 + 2 * UNIT))

    def dominates(self, other: Pair) -> bool:
        linear = self.curve is None and self.mu == math.inf
        return self == other or (linear and isinstance(other, RenyiPair) and self.rho >= other.rho)

    @property
    def is_provable(self) -> bool:
        return True

    def renyi_in_balls(self, flint: Any, s: float) -> Ball:
        if self.curve is not None:
            raise UnsupportedComposition(
                "a Renyi curve given as a function is known in floats only, so nothing can be proved about it; use "
                "engine='auto', or losses.zcdp."
            )
        x = flint.arb(s)
        return flint.arb(self.rho) * x * (1 + x)


@dataclass(frozen=True)
class WorstOf(_Known):
    """At every order no more than the largest of several sums of losses."""

    sums: tuple[Terms, ...]

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(np.max([divergences.log_mgf(terms, s) for terms in self.sums], axis=0))

    @cached_property
    def zcdp(self) -> float:
        return max(divergences.zcdp(terms) for terms in self.sums)

    @cached_property
    def gdp(self) -> float:
        return max(divergences.gdp(terms) for terms in self.sums)


@dataclass(frozen=True)
class GroupOf(_Known):
    """The ends of a chain of `size` steps, each of which is no more than the largest of several sums of losses.

    rho grows with the square of the size (Bun and Steinke 2016, Proposition 27), mu with the size (Dong, Roth and Su
    2022, section 2.5).
    """

    step: WorstOf
    size: int

    @property
    def renyi_is_tighter(self) -> bool:  # type: ignore[override]
        """Where a step is known by its divergences, a group is better bounded by them than by a table of steps."""
        return any(not pair.has_law for terms in self.step.sums for pair, _ in terms)

    @property
    def zcdp(self) -> float:
        return min(self.size**2 * self.step.zcdp, self.gdp**2 / 2) * (1 + 8 * UNIT)

    @property
    def gdp(self) -> float:
        return self.size * self.step.gdp * (1 + 2 * UNIT)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(s * (1 + s) * self.zcdp * (1 + 8 * UNIT))


def worst_of(*sums: Terms) -> WorstOf | None:
    """None where some outcome gives a neighbour away: no divergence is finite then."""
    distinct = tuple(dict.fromkeys(sums))
    return None if any(map(divergences.reveals, distinct)) else WorstOf(distinct)
