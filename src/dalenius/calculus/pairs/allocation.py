"""One of the k steps out of t that a record takes part in, chosen uniformly at random."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

from dalenius.calculus.pairs.allocation_far import found_step, known_choice, less_division
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.lognormal_sums import allocated
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.calculus.pairs.several_of_many import told_by_sum

SMALLEST, LARGEST = 1e-3, 25.0
"""Below this range of mu nothing is amplified: the step counts as if it were known. Above it the step is found, and the
choice is what is not known."""


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

    # Others may lie between the same two pairs, and tell more or less together.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllocationPair) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[float, int, int, bool]:
        return self.mu, self.steps, self.chosen, self.added

    @property
    def upper(self) -> Pair:
        return self.above if self._found is None else self._found

    @cached_property
    def _found(self) -> Pair | None:
        """Beside what is above as a pair, a law of losses that is, where there is hardly any noise."""
        part = self.steps // self.chosen
        return found_step(self.mu, part, self.added) if part > 1 and self.mu > LARGEST else None

    def lower_terms(self, times: int) -> Terms:
        whole = times // self.chosen
        if whole * self.chosen < times or (self.chosen == 1 and self.mu <= LARGEST):
            return super().lower_terms(times)
        # All are right; which is most, where log delta is about -10, is told by means and variances well enough.
        terms = max(self._from_below, key=lambda known: known.about(whole)).terms
        return tuple((pair, n * whole) for pair, n in terms)

    @cached_property
    def _from_below(self) -> tuple[_Known, ...]:
        """What k steps tell at least, in several ways."""
        k, rho = self.chosen, self.below.zcdp
        known = [_Known(((self.below, k),), k * rho, 2 * k * rho)]
        if not self.added:
            choice = known_choice(self.mu, self.steps, k)
            known.append(_Known(((choice, k),), k * (self.mu**2 / 2 - choice.down), k * self.mu**2))
        if k > 1 and SMALLEST <= self.mu <= LARGEST:
            told = told_by_sum(self.mu, self.steps, k)[self.added]
            known.append(_Known.of(told, 1))
            if not self.added and self.steps // k > 1:
                part = allocated(self.mu, self.steps // k)[False][0]
                less = less_division(part, self.steps, k)
                known.append(_Known.of(less, k))
        return tuple(known)

    def __repr__(self) -> str:
        return f"AllocationPair({self.mu!r}, {self.steps}, {self.chosen}, {self.added})"


class _Known(NamedTuple):
    """Losses, and the mean and the variance of their sum, roughly."""

    terms: Terms
    mean: float
    variance: float

    @classmethod
    def of(cls, told: Atoms, times: int) -> _Known:
        mean = float(told.mass @ told.loss)
        return cls(((told, times),), times * mean, times * float(told.mass @ (told.loss - mean) ** 2))

    def about(self, times: int) -> float:
        return times * self.mean + 4.0 * math.sqrt(times * self.variance)
