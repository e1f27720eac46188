"""Losses with atoms and a continuous part: what a sum owes to outcomes in which all releases, or all but one, show atoms.

With A the atomic and C the continuous part of each release, the law of a sum is a product of A + C. The products with
one C among them are a mixture, over the sums of the other atoms, of one continuous part each: a finite sum of
`Pair.continuous_delta`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.contour import exp_up, log_peak
from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Terms


class Shown(NamedTuple):
    """One pair that may show its continuous part, in how many releases, and the atoms of all others."""

    pair: Pair
    times: int
    others: Atoms


class OneContinuous:
    """The outcomes in which at most one release shows its continuous part, and a bound on those in which more do."""

    def __init__(self, terms: Terms, atoms: Atoms, shown: tuple[Shown, ...]) -> None:
        self.terms, self.atoms, self.shown = terms, atoms, shown

    @classmethod
    def of(cls, terms: Terms) -> OneContinuous | None:
        """None when a continuous part has no form, or the atoms are too many to write down."""
        parts = [(pair.atomic, n) for pair, n in terms if pair.atomic is not None]
        atoms = enumerated(tuple(parts)) if len(parts) == len(terms) else None
        if atoms is None:
            return None
        shown = []
        for k, (pair, n) in enumerate(terms):
            if pair.as_atoms is not None:
                continue
            if pair.continuous_delta(np.zeros(1)) is None:
                return None
            counts = [(part, m - (j == k)) for j, (part, m) in enumerate(parts)]
            others = enumerated(tuple((part, m) for part, m in counts if m > 0))
            if others is None:
                return None
            shown.append(Shown(pair, n, others))
        return cls(terms, atoms, tuple(shown))

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on their share of D(epsilon)."""
        lower, upper = self.atoms.delta(epsilon)
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

    def more(self, epsilon: float, largest: float) -> float:
        """A bound on what two or more continuous parts add to D(epsilon): Chernoff's, from the products themselves.

        With X the sum of n C(s)/A(s) those with two C or more are at most X^2/2 times M(s). The best s is near the
        inverse of the distance to the largest loss, when that is small.
        """
        s = 10.0 ** np.arange(-1.0, 3.1, 0.25) / (largest - epsilon)
        total, ratio = log_peak(s) - s * epsilon, np.zeros(len(s))
        for pair, n in self.terms:
            whole = pair.log_mgf(s)
            total += n * whole + 1e-12 * n * (1 + np.abs(whole))
            if pair.as_atoms is None and pair.atomic is not None:
                ratio += n * (np.expm1(np.maximum(whole - pair.atomic.log_mgf(s), 0.0)) + 1e-12 * (1 + np.abs(whole)))
        best = float(np.min(total + 2 * np.log(np.maximum(ratio, 1e-300)) - math.log(2.0)))
        return exp_up(min(best, 0.0))
