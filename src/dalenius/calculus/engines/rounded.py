"""Any sum of losses, moved onto one lattice: the fallback, and the independent check of the contour.

Upper bound: every term is replaced by a lattice pair that dominates it (`pairs.rounding`), so the sum
dominates too, and the lattice engine evaluates it exactly.

Lower bound. Let L be the true sum, U the rounded one, h the spacing. Replace the terms one by one. With
y = exp(-x), the function g(x) = E[(1 - exp(e - x - R))_+] of one term, R the sum of the others, is convex in
y, and rounding evaluates its chords: what a chord adds on a cell is at most a quarter of its width in y times
the change of slope, which is at most (exp(h) - 1)/4 * P(R within the cell's image). Summed over cells,
one replacement adds at most (exp(h) - 1)/4 * P(|S - e| <= h), S the partly rounded sum. Couple S with U: each
rounding moves a term by at most h, with mean at most `shift` (Jensen) and second moment at most `variance`,
so by Bernstein's inequality |U - S| <= x except with probability 2 eta. Hence

    D_L(e) >= D_U(e) - count (exp(h) - 1)/4 * (P(|U - e| <= h + x) + 2 eta) - lost,

where `lost` is the mass beyond the lattice. The same coupling alone gives D_L(e) >= D_U(e + x) - eta - lost.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dalenius.calculus.engines.contour import Lines, least_period
from dalenius.calculus.engines.lattice import LatticeLine
from dalenius.calculus.engines.saddle import Moments
from dalenius.calculus.pairs.pair import Bounds, Terms
from dalenius.calculus.pairs.rounding import round_up, rounded_roughly, support

POINTS = 2**17
"""Lattice points per period: with at most 2**20 nodes of a line (`lattice.MOST_POINTS`) and the few roundings that are
kept, some 200 MB for one sum. What needs a finer lattice has a wider bracket.
"""

FEWEST = 8
"""Moments without which no saddle is sought."""

LEAST = -140.0
"""log of the least delta the lattice is laid out for; tails of that size are counted as lost."""


class RoundedSum:
    """Terms on one lattice, chosen for the delta found near one epsilon."""

    @classmethod
    def of(cls, terms: Terms, epsilon: float) -> RoundedSum | None:
        """None where the sum is so large that no float holds its moments."""
        moments = Moments(tuple((rounded_roughly(pair), n) for pair, n in terms))
        return cls(terms, epsilon, moments) if np.isfinite(moments.k).sum() >= FEWEST else None

    def __init__(self, terms: Terms, epsilon: float, moments: Moments) -> None:
        saddle = moments.saddle(epsilon)
        self.log_delta = min(max(saddle.log_delta, LEAST), 0.0)
        self.count = sum(n for _, n in terms)
        spare = max(10.0 ** math.floor(self.log_delta / math.log(10) - 12 - math.log10(self.count)), 1e-300)
        ends = [support(pair, spare) for pair, _ in terms]
        needed = least_period(saddle._replace(log_delta=self.log_delta))
        period = max(needed, *(high - low for low, high in ends))
        # A power of two, so that nearby epsilons find the terms already rounded.
        spacing = 2.0 ** math.floor(math.log2(period / POINTS))
        for pair, _ in terms:
            if spacing < pair.largest < math.inf:  # put the largest loss, often an atom, on the lattice
                spacing = pair.largest / math.ceil(pair.largest / spacing)
                break
        self.spacing = spacing
        rounded = [(round_up(pair, spacing, spare), n) for pair, n in terms]
        self.moments = Moments(tuple((r.atoms, n) for r, n in rounded))
        self.lines = Lines(self.moments, partial(LatticeLine, spacing=spacing))
        self.lost = sum(n * r.lost for r, n in rounded)
        # Mass moved from beyond the lattice to +inf: 1 - prod (1 - p)^n grew by at most this.
        self.escaped = sum(n * r.escaped for r, n in rounded)
        self.pushed = sum(n * r.pushed for r, n in rounded)
        self.raised = sum(n * r.raised for r, n in rounded)
        self.drift = sum(n * r.drift for r, n in rounded)
        eta = math.exp(self.log_delta) * 1e-9
        bits = -math.log(max(eta, 1e-300))
        third = 2 * spacing * bits / 3
        variance = sum(n * r.variance for r, n in rounded)
        bernstein = sum(n * r.shift for r, n in rounded) + third + math.sqrt(third**2 + 2 * variance * bits)
        farthest = self.count * spacing
        self.shift, self.eta = (farthest, 0.0) if farthest < bernstein else (bernstein, eta)

    def fits(self, epsilon: float) -> bool:
        """Whether delta here is still near what the lattice was made for."""
        return abs(self.moments.saddle(epsilon).log_delta - self.log_delta) < 8.0

    def delta(self, epsilon: float) -> Bounds:
        """Bounds on the finite part D(epsilon) of the true sum."""
        here = self._on_lattice(epsilon)
        chords = math.expm1(min(self.spacing, 700.0)) / 4 * (self._mass_near(epsilon) + 2 * self.eta)
        low = max(
            here.lower - self.count * chords * (1 + 1e-9) - self.raised,
            self._on_lattice(epsilon + self.shift).lower - self.eta,
        )
        low -= self.lost + self.pushed * (1 + 1e-6)
        return Bounds(max(0.0, low), self.upper(epsilon))

    def upper(self, epsilon: float) -> float:
        """The upper one alone, which takes one line of the many."""
        return min(1.0, self._on_lattice(epsilon - self.drift).upper + self.escaped)

    def _on_lattice(self, epsilon: float) -> Bounds:
        bounds = self.lines.delta(epsilon)
        assert bounds is not None
        return bounds

    def _mass_near(self, epsilon: float) -> float:
        """Upper bound on P(|U - epsilon| <= spacing + shift), from slopes of H(exp e) = D_U(e)."""
        w = self.spacing + self.shift
        points = [epsilon - 2 * w, epsilon - w, epsilon + w, epsilon + 2 * w]
        if not -600.0 < points[0] < points[-1] < 600.0:
            return 1.0
        alpha = np.exp(points)
        deltas = [self._on_lattice(e) for e in points]
        # -H' is E[exp(-U); U > .]: at most the chord to the left, at least the chord to the right.
        left = (deltas[0].upper - deltas[1].lower) / (alpha[1] - alpha[0])
        right = max(0.0, (deltas[2].lower - deltas[3].upper) / (alpha[3] - alpha[2]))
        return min(1.0, max(0.0, float(alpha[2] * (left - right))))
