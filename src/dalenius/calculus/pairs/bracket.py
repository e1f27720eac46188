"""A pair known only to lie between two others in the order of domination."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.calculus.pairs.pair import Pair, Reals


@dataclass(frozen=True)
class Bracket(Pair):
    """Dominates `below`, dominated by `above`. Upper bounds are computed from one, lower from the other."""

    below: Pair
    above: Pair

    @property
    def infinite(self) -> float:  # type: ignore[override]
        return self.above.infinite

    @property
    def largest(self) -> float:
        return self.above.largest

    @property
    def reach(self) -> float:
        return self.above.reach

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.above.asymptote

    @property
    def gdp(self) -> float:
        return self.above.gdp

    @property
    def lower(self) -> Pair:
        return self.below

    @property
    def upper(self) -> Pair:
        return self.above

    def log_mgf(self, s: Reals) -> Reals:
        return self.above.log_mgf(s)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return self.above.renyi_log_mgf(s)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        return self.above.cells(edges)
