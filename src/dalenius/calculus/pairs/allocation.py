"""One of the k steps out of t that a record takes part in, chosen uniformly at random."""

from __future__ import annotations

import math

from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.lognormal_sums import allocated
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.calculus.pairs.several_of_many import told_by_sum

SMALLEST, LARGEST = 1e-3, 25.0
"""Outside this range of mu nothing is amplified: the step counts as if it were known."""


class AllocationPair(Bracket):
    """One direction. Of k chosen steps each counts as one out of floor(t/k).

    From below, k steps are what the sum of all releases tells, N(k mu, t) against N(0, t), a k-th part of it each, or
    all k together what a sum of scores tells, where that is more. Renyi divergences are those of a step that is known.
    """

    mu: float
    steps: int
    chosen: int
    added: bool

    def __init__(self, mu: float, steps: int, chosen: int, added: bool) -> None:
        known = GaussianPair(mu)
        part = steps // chosen
        below: Pair = GaussianPair(mu * math.sqrt(chosen / steps) * (1 - 1e-12))
        above: Pair = known
        if part > 1 and SMALLEST <= mu <= LARGEST:
            from_below, above = allocated(mu, part)[added]
            below = from_below if chosen == 1 else below
        super().__init__(below, above, known)
        for name, value in (("mu", mu), ("steps", steps), ("chosen", chosen), ("added", added)):
            object.__setattr__(self, name, value)

    def lower_terms(self, times: int) -> Terms:
        if self.chosen == 1 or not SMALLEST <= self.mu <= LARGEST:
            return super().lower_terms(times)
        told = told_by_sum(self.mu, self.steps, self.chosen)[self.added]
        # The Kullback-Leibler divergences say which is more, all in all; either is right.
        if float(told.mass @ told.loss) <= self.chosen * self.below.zcdp:
            return super().lower_terms(times)
        return ((told, times // self.chosen),)

    def __repr__(self) -> str:
        return f"AllocationPair({self.mu!r}, {self.steps}, {self.chosen}, {self.added})"
