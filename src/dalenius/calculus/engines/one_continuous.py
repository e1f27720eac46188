"""Losses with atoms and a continuous part: what a sum owes to the outcomes in which all but one release show an atom.

With A the atomic and C the continuous part of each release, the law of a sum is a product of A + C. The products with
one C among them are a mixture, over the sums of the other atoms, of one continuous part each: a finite sum of
`Pair.continuous_delta`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Terms


class Shown(NamedTuple):
    """One pair that may show its continuous part, in how many releases, and the atoms of all others."""

    pair: Pair
    times: int
    others: Atoms


class OneContinuous:
    """The outcomes in which exactly one release shows its continuous part."""

    def __init__(self, shown: tuple[Shown, ...]) -> None:
        self.shown = shown

    @classmethod
    def of(cls, terms: Terms) -> OneContinuous | None:
        """None when a continuous part has no form, or the atoms are too many to write down."""
        parts = [(pair.atomic, n) for pair, n in terms]
        if any(part is None for part, _ in parts):
            return None
        shown = []
        for k, (pair, n) in enumerate(terms):
            if pair.as_atoms is not None:
                continue
            if pair.continuous_delta(np.zeros(1)) is None:
                return None
            counts = [(part, m - (j == k)) for j, (part, m) in enumerate(parts) if part is not None]
            others = enumerated(tuple((part, m) for part, m in counts if m > 0))
            if others is None:
                return None
            shown.append(Shown(pair, n, others))
        return cls(tuple(shown))

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on their share of D(epsilon)."""
        lower = upper = 0.0
        for pair, n, others in self.shown:
            x = epsilon - others.loss
            # Each part falls with x: the losses are off by `blur`, the difference by a rounding.
            off = others.blur + 2 * UNIT * (np.abs(others.loss) + np.abs(x))
            low, high = pair.continuous_delta(x + off), pair.continuous_delta(x - off)
            assert low is not None
            assert high is not None
            slack = others.slack + (len(x) + 16) * UNIT
            lower += n * float(others.mass @ low[0]) * (1 - slack)
            upper += n * float(others.mass @ high[1]) * (1 + slack)
        return Bounds(max(0.0, lower), upper)
