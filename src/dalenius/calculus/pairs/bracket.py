"""A pair known only to lie between two others in the order of domination."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.pairs.pair import Pair, Reals


@dataclass(frozen=True)
class Bracket(Pair):
    """Dominates `below`, dominated by `above`. Upper bounds are computed from one, lower from the other.

    `known`, if given, bounds its Renyi divergences, and its rho and mu, for reasons of their own. A table often counts
    a far tail as a loss of +inf, and then has none.
    """

    below: Pair
    above: Pair
    known: Pair | None = None

    @property
    def infinite(self) -> float:  # type: ignore[override]
        return self.above.infinite

    @property
    def tail_only(self) -> bool:  # type: ignore[override]
        return self.known is not None or self.above.tail_only

    @property
    def renyi_is_tighter(self) -> bool:  # type: ignore[override]
        return self.known is not None and self.known.renyi_is_tighter

    @property
    def _sources(self) -> tuple[Pair, ...]:
        """The pairs whose divergences bound those of this one."""
        tabulated = (self.above,) if self.above.infinite == 0 or self.above.tail_only else ()
        return tabulated if self.known is None else (self.known, *tabulated)

    @property
    def largest(self) -> float:
        return self.above.largest

    @property
    def reach(self) -> float:
        return self.above.reach

    @property
    def asymptote(self) -> tuple[float, float]:
        # Every source bounds the divergences; the flattest line is the least at high orders.
        return min((pair.asymptote for pair in self._sources), default=(math.inf, 0.0))

    @property
    def zcdp_is_loose(self) -> bool:  # type: ignore[override]
        """A table without infinite losses has divergences of its own."""
        return self.known is not None and self.above in self._sources and math.isfinite(self.above.reach)

    @property
    def zcdp(self) -> float:
        return min((pair.zcdp for pair in self._sources), default=math.inf)

    @property
    def gdp(self) -> float:
        return min((pair.gdp for pair in self._sources), default=math.inf)

    @property
    def lower(self) -> Pair:
        return self.below

    @property
    def upper(self) -> Pair:
        return self.above

    def log_mgf(self, s: Reals) -> Reals:
        return self.above.log_mgf(s)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        known = [pair.renyi_log_mgf(s) for pair in self._sources]
        return np.asarray(np.min(known, axis=0)) if known else np.full(len(s), math.inf)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        return self.above.cells(edges)

    @property
    def is_provable(self) -> bool:
        if self.below is self.above:
            return self.below.is_provable
        return all(end.is_exact and end.is_provable for end in (self.below, self.above))

    def _each(self, become: Callable[[Pair], Pair]) -> Bracket:
        """What an operation that keeps the order of domination makes of it."""
        above = become(self.above)
        below = above if self.below is self.above else become(self.below)
        return Bracket(below, above, None if self.known is None else become(self.known))

    def sampled(self, rate: float, added: bool) -> Pair:
        return self._each(lambda pair: pair.sampled(rate, added))

    def mirrored(self) -> Pair:
        return self._each(lambda pair: pair.mirrored())
