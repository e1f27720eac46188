"""What is known of the divergences of a pair that was otherwise tabulated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.pair import UNIT, Pair, Reals, Terms
from dalenius.errors import UnsupportedComposition


class _Known(Pair):
    """Bounds on divergences, and no law."""

    has_law = False

    @property
    def largest(self) -> float:
        return math.inf

    def log_mgf(self, s: Reals) -> Reals:
        return self.renyi_log_mgf(s)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        raise UnsupportedComposition(
            "nothing but divergences is known of this pair; it has no law to tabulate."
        )


@dataclass(frozen=True)
class WorstOf(_Known):
    """At every order no more than the largest of several sums of losses."""

    sums: tuple[Terms, ...]

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(np.max([divergences.log_mgf(terms, s) for terms in self.sums], axis=0))

    @cached_property
    def asymptote(self) -> tuple[float, float]:
        return self.zcdp, 0.0

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
    def asymptote(self) -> tuple[float, float]:
        return self.zcdp, 0.0

    @property
    def gdp(self) -> float:
        return self.size * self.step.gdp * (1 + 2 * UNIT)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(s * (1 + s) * self.zcdp * (1 + 8 * UNIT))


def worst_of(*sums: Terms) -> WorstOf | None:
    """None where some outcome gives a neighbour away: no divergence is finite then."""
    distinct = tuple(dict.fromkeys(sums))
    return None if any(map(divergences.reveals, distinct)) else WorstOf(distinct)
