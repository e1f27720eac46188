"""Poisson sampling: the mechanism sees each record independently with probability `rate`.

With W the output law without the record and R the law with it (conditionally on the rest), the
sampled mechanism has (1-rate) W + rate R in place of R. Advanced joint convexity gives both
directions exactly (Balle, Barthe and Gaboardi 2018, Theorem 2; Zhu, Dong and Wang 2022, Theorem 11):

    remove  ((1-g) W + g R, W)   delta(e) = g delta_remove(log(1 + (exp(e) - 1) / g)),
    add     (W, (1-g) W + g R)   delta(e) = (1 - a (1-g)) delta_add(log(a g / (1 - a (1-g)))), a = exp(e).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.calculus.pairs.pair import TINY, UNIT, Bounds, Pair, Reals
from dalenius.calculus.theorems.subsampling import amplified
from dalenius.core.checks import float_up


@dataclass(frozen=True)
class SampledPair(Pair):
    """One direction of a Poisson-sampled pair; `added` is True for the add direction."""

    base: Pair
    rate: float
    added: bool

    def sampled(self, rate: float, added: bool) -> Pair:
        """A sample of a sample is one at the product of the rates."""
        if added is not self.added:
            return super().sampled(rate, added)
        return self.base.sampled(float_up(Fraction(rate) * Fraction(self.rate)), added)

    @property
    def infinite(self) -> float:  # type: ignore[override]
        most = 0.0 if self.added else self.base.infinite
        return float_up(Fraction(self.rate) * Fraction(most)) if most else 0.0

    @property
    def largest(self) -> float:
        if not self.added:
            return amplified(self.base.largest, self.rate)
        top = math.inf if self.base.infinite > 0 else self.base.largest
        gone = -self.rate * math.expm1(-top)
        # Next to rate 1 the first form cancels; both are good to a few roundings of themselves.
        value = -math.log1p(-gone) if gone < 0.5 else -math.log((1 - self.rate) + self.rate * math.exp(-top))
        return value * (1 + 16 * UNIT)

    @property
    def blur(self) -> float:  # type: ignore[override]
        # Edges are mapped to losses m of the base: a few roundings of m, where an atom may be, times dL/dm,
        # which is 1 - (1-g) exp(-|L|) <= |L| + g.
        most = self.base.reach
        if most == math.inf:
            most = 0.0 if self.base.atomic is None else self.base.atomic.largest
        return self.base.blur + 16 * UNIT * most * min(1.0, amplified(most, self.rate) + self.rate)

    def delta(self, epsilon: float) -> Bounds | None:
        # With y = (exp(+-epsilon) - 1)/rate the inner epsilon is +-log(1 + y). `blur` bounds the relative
        # error of 1 + y, which near y = -1 is what is left of two numbers that cancel.
        sign = -1.0 if self.added else 1.0
        if sign * epsilon > 700.0:
            if self.added:
                return None
            inner, blur = epsilon - math.log(self.rate), 8 * UNIT * (1.0 + epsilon)
            alpha = rest = 0.0
        else:
            alpha = math.exp(min(epsilon, 700.0))
            y = math.expm1(sign * epsilon) / self.rate
            rest = 1.0 + y
            error = 8 * UNIT * (1.0 + abs(y) * (1.0 + abs(epsilon)))
            near_one = self.rate > 0.5 and sign * epsilon < -0.5
            if (
                near_one
            ):  # then 1 - rate is exact, and what is left of exp(epsilon) beside it keeps its digits
                left = math.exp(sign * epsilon)
                rest = (left - (1.0 - self.rate)) / self.rate
                error = 8 * UNIT * (left / self.rate + abs(rest))
            if rest <= 2 * error:  # at or beyond the end of the range
                most = self.rate * max(0.0, rest + error)
                gap = -math.expm1(epsilon)
                if self.added:
                    return Bounds(0.0, alpha * most)
                # There every outcome is more likely than exp(epsilon) times, but for what is left.
                return Bounds(gap * (1 - 4 * UNIT), min(1.0, gap + most + 4 * UNIT * (gap + most)))
            inner, blur = sign * (math.log(rest) if near_one else math.log1p(y)), error / rest
        factor = self.rate * alpha * rest if self.added else self.rate
        wobble = blur + 8 * UNIT * abs(inner)
        high, low = self.base.delta(inner - wobble), self.base.delta(inner + wobble)
        if high is None or low is None:
            return None
        widen = (2 * blur if self.added else 0.0) + 16 * UNIT * (1.0 + abs(epsilon) * self.added)
        upper = high.upper * factor * (1 + widen)
        if high.upper > 0.0 and factor > 0.0:  # what underflows is small, not nothing
            upper = max(math.nextafter(upper, math.inf), TINY)
        return Bounds(low.lower * factor * (1 - widen), min(1.0, upper))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        g = self.rate
        if self.added:
            # L' = -log(1 - g + g exp(-L)) grows with L and stays below -log(1-g).
            p, q = self.base.cells(-before_sampling(-edges, g))
            p[np.searchsorted(edges, -math.log1p(-g), side="left") if g < 1 else -1] += self.base.infinite
            return p, (1 - g) * p + g * q
        p, q = self.base.cells(before_sampling(edges, g))
        missing = max(0.0, 1.0 - q.sum())
        q[np.searchsorted(edges, math.log1p(-g), side="left") if g < 1 else 0] += missing
        return (1 - g) * q + g * p, q

    @property
    def asymptote(self) -> tuple[float, float]:
        # Sampling never tells more.
        return super().asymptote if self._is_bounded else self.base.asymptote

    @property
    def _is_bounded(self) -> bool:
        return self.infinite == 0 and self.largest < math.inf

    @property
    def gdp(self) -> float:
        return min(self.base.gdp, super().gdp)

    @property
    def reach(self) -> float:
        return amplified(self.base.reach, self.rate)

    @property
    def tail_only(self) -> bool:  # type: ignore[override]
        return self.base.tail_only

    @property
    def has_law(self) -> bool:  # type: ignore[override]
        return self.base.has_law

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # Jensen, as in log_mgf; expm1 keeps what a small rate leaves.
        known = self.base.renyi_log_mgf(s)
        grown = np.expm1(np.minimum(known, 700.0))
        jensen = np.where(known < 700.0, np.log1p(self.rate * grown), known) * (1 + 16 * UNIT)
        if self._is_bounded:
            jensen = np.minimum(jensen, s * self.largest * (1 + 4 * UNIT))
        return np.asarray(np.minimum(jensen, self.log_mgf_by_reach(s)))

    def log_mgf(self, s: Reals) -> Reals:
        # Jensen: (1 - g + g e^L)^(1+s) and (1 - g + g e^-L)^-s are below their chords. An upper bound.
        jensen = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + self.base.log_mgf(s))
        return np.asarray(np.minimum(jensen, s * self.largest) if self.largest < math.inf else jensen)

    def mirrored(self) -> Pair:
        from dalenius.calculus.pairs.subset import SubsetPair

        return SubsetPair(self)


def before_sampling(edges: Reals, rate: float) -> Reals:
    """log(1 + (exp(e) - 1)/rate), the loss that sampling turns into e; -inf where there is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = np.expm1(edges) / rate
        if y.size and y.max() < 1e18 and edges.min() > -0.5:  # as a rule
            return np.asarray(np.log1p(np.maximum(y, -1.0)))
        room = np.maximum(np.exp(np.minimum(edges, 0.0)) - (1.0 - rate), 0.0) / rate  # 1 + y, for e < 0
        near = np.where(edges > -0.5, np.log1p(np.maximum(y, -1.0)), np.log(room))
        # log y without forming exp(e), and log(1 + y) - log y = 1/y.
        far = edges + np.log(-np.expm1(-edges)) - math.log(rate) + 1 / y
    return np.asarray(np.where(y < 1e18, near, far))
