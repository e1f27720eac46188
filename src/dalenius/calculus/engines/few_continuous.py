"""Losses with atoms and a continuous part: what a sum owes to outcomes in which all releases but a few show atoms.

With A the atomic and C the continuous part of each release, the law of a sum is a product of A + C. The products with
one C among them are a mixture, over the sums of the other atoms, of one continuous part each: a finite sum of
`Pair.continuous_delta`. Those with two are the same with `Pair.two_continuous_delta`, when all releases are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dalenius.calculus.engines.contour import exp_up, log_peak
from dalenius.calculus.engines.enumeration import enumerated
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Reals, Terms

LEAST_MASS = 1e-200
"""Atoms below this together are not written down; what underflows beside others is bounded by far less."""
UNSEEN = 1e-13
"""Atoms of the others are left out, and bounded, as long as they add less than this share."""


class Shown(NamedTuple):
    """Continuous parts that may show, in how many ways, and the atoms of all other releases."""

    part: Callable[[Reals], tuple[Reals, Reals] | None]
    ways: float
    others: Atoms
    end: float
    """No loss of these parts is larger."""


class FewContinuous:
    """The outcomes in which at most `most` releases show continuous parts, and a bound on those in which more do."""

    def __init__(self, terms: Terms, atoms: Atoms, shown: tuple[Shown, ...], most: int) -> None:
        self.terms, self.atoms, self.shown, self.most = terms, atoms, shown, most
        self._last: tuple[float, Bounds] | None = None
        self._chernoff = math.inf, 0.0
        """Of `more`: a bound is exp(offset - s epsilon)."""

    @classmethod
    def of(cls, terms: Terms) -> FewContinuous | None:
        """None when a continuous part has no form, or the atoms are too many to write down."""
        parts = [(pair.atomic, n) for pair, n in terms if pair.atomic is not None]
        if all(pair.as_atoms is not None for pair, _ in terms):
            return None
        atoms = enumerated(tuple(parts)) if len(parts) == len(terms) else None
        if atoms is None or float(atoms.mass.sum()) < LEAST_MASS:
            return None
        shown, most = [], 1
        for k, (pair, n) in enumerate(terms):
            if pair.as_atoms is not None:
                continue
            if pair.continuous_delta(np.zeros(1)) is None:
                return None
            others = _without(parts, k, 1)
            if others is None:
                return None
            shown.append(Shown(pair.continuous_delta, float(n), others, pair.largest))
            if len(terms) == 1 and pair.counts_two:
                most = 2
                others = _without(parts, 0, 2) if n > 1 else None
                if others is not None:
                    end = 2 * pair.largest
                    shown.append(Shown(pair.two_continuous_delta, n * (n - 1) / 2, others, end))
        return cls(terms, atoms, tuple(shown), most)

    def delta(self, epsilon: float) -> Bounds:
        """Certified bounds on their share of D(epsilon)."""
        if self._last is None or self._last[0] != epsilon:
            self._last = epsilon, self._delta(epsilon)
        return self._last[1]

    def _delta(self, epsilon: float) -> Bounds:
        lower, upper = self.atoms.delta(epsilon)
        for part, ways, others, end in self.shown:
            keep = others.mass * ways > UNSEEN * lower / len(others.mass)
            unseen = float(others.mass[~keep].sum())
            upper += ways * unseen * (1 + others.slack + (len(others.mass) + 16) * UNIT)
            loss, mass = others.loss[keep], others.mass[keep]
            x = epsilon - loss
            # Each part falls with x: the losses are off by `blur`, the difference by a rounding.
            off = others.blur + 2 * UNIT * (np.abs(loss) + np.abs(x))
            left = x - off < end
            x, off, mass = x[left], off[left], mass[left]
            if len(x) == 0:
                continue
            both = part(np.concatenate((x + off, x - off)))
            assert both is not None
            slack = others.slack + (len(x) + 16) * UNIT
            lower += ways * float(mass @ both[0][: len(x)]) * (1 - slack)
            upper += ways * float(mass @ both[1][len(x) :]) * (1 + slack)
        return Bounds(max(0.0, lower), upper + 1e-290)

    def least_epsilon(self, delta: float, largest: float) -> float:
        """An epsilon at which the largest atom alone has this delta; -inf when it never has."""
        top = float(self.atoms.mass[np.argmax(self.atoms.loss)])
        return largest + math.log1p(-delta / top) if delta < top else -math.inf

    def more_again(self, epsilon: float) -> float:
        """`more` with the s that was best for another epsilon: any serves. 1 where none is known."""
        offset, s = self._chernoff
        return exp_up(min(offset - s * epsilon, 0.0))

    def more(self, epsilon: float, largest: float) -> float:
        """A bound on what more continuous parts add to D(epsilon): Chernoff's, from the products themselves.

        With X the sum of n C(s)/A(s) those with j of them or more are at most X^j/j! times M(s). The best s is near the
        inverse of the distance to the largest loss, when that is small.
        """
        if self._shown_ratio(np.array([1.0 / (largest - epsilon)]))[0] > 0.5:
            return 1.0
        s = 10.0 ** np.arange(-1.0, 3.1, 0.25) / (largest - epsilon)
        total, j, wholes = log_peak(s), self.most + 1, []
        for pair, n in self.terms:
            whole = pair.log_mgf(s)
            wholes.append(whole)
            total += n * whole + n * (1e-12 + 64 * UNIT * np.abs(whole))
        offsets = total + j * np.log(self._shown_ratio(s, wholes)) - math.lgamma(j + 1)
        best = int(np.argmin(offsets - s * epsilon))
        self._chernoff = float(offsets[best]), float(s[best])
        return self.more_again(epsilon)

    def _shown_ratio(self, s: Reals, wholes: Sequence[Reals] = ()) -> Reals:
        """The sum of n C(s)/A(s), rounded up; `wholes` are log M(s) of the terms, if known."""
        ratio = np.full(len(s), 1e-300)
        for k, (pair, n) in enumerate(self.terms):
            if pair.as_atoms is None and pair.atomic is not None:
                whole = wholes[k] if wholes else pair.log_mgf(s)
                beside = np.expm1(np.maximum(whole - pair.atomic.log_mgf(s), 0.0))
                ratio += n * (beside + 1e-12 + 64 * UNIT * np.abs(whole))
        return ratio


def _without(parts: list[tuple[Pair, int]], k: int, fewer: int) -> Atoms | None:
    """The atoms of all releases but a few of the k-th kind."""
    counts = [(part, n - fewer * (j == k)) for j, (part, n) in enumerate(parts)]
    return enumerated(tuple((part, n) for part, n in counts if n > 0))
