"""Sampling a fixed number of records: the symmetric operator C_p of f-DP.

For f symmetric, C_p(f) is the convex hull of min(f_p, f_p^-1), f_p = p f + (1-p) Id (Dong, Roth and Su
2022, section 4). In terms of profiles: for epsilon >= 0 it is that of the remove direction of
Poisson sampling, and below 0 its mirror image, which leaves an atom of loss 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.calculus.pairs.pair import Bounds, Pair, Reals
from dalenius.calculus.pairs.sampled import SampledPair


@dataclass(frozen=True)
class SubsetPair(Pair):
    """P(L > x) and Q(L > x) for x >= 0 are those of `inner` (remove direction); the rest is their mirror."""

    inner: SampledPair

    @property
    def infinite(self) -> float:  # type: ignore[override]
        return self.inner.infinite

    @property
    def tail_only(self) -> bool:  # type: ignore[override]
        return self.inner.tail_only

    @property
    def has_law(self) -> bool:  # type: ignore[override]
        return self.inner.has_law

    @property
    def largest(self) -> float:
        return self.inner.largest

    @property
    def blur(self) -> float:  # type: ignore[override]
        return self.inner.blur

    @property
    def reach(self) -> float:
        return self.largest

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.inner.base.asymptote

    @property
    def gdp(self) -> float:
        return min(self.inner.base.gdp, super().gdp)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # Sampling never tells more, at any order.
        return np.minimum(self.inner.base.renyi_log_mgf(s), self.log_mgf_by_reach(s))

    def log_mgf(self, s: Reals) -> Reals:
        return self.inner.base.log_mgf(s)

    @property
    def lower(self) -> Pair:
        return self if self.inner.lower is self.inner else self.inner.lower.mirrored()

    @property
    def upper(self) -> Pair:
        return self if self.inner.upper is self.inner else self.inner.upper.mirrored()

    def delta(self, epsilon: float) -> Bounds | None:
        bounds = self.inner.delta(abs(epsilon))
        return bounds if bounds is None or epsilon >= 0 else bounds.mirrored(epsilon)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        # Mass above each |edge| under both laws of the inner pair, then mirrored.
        size = np.abs(edges)
        order = np.argsort(size)
        p_cells, q_cells = self.inner.cells(size[order])
        above_p, above_q = np.empty(len(edges)), np.empty(len(edges))
        above_p[order] = np.cumsum(p_cells[::-1])[::-1][1:]
        above_q[order] = np.cumsum(q_cells[::-1])[::-1][1:]
        left = edges < 0
        # P(L <= e) for e < 0 is Q(L >= -e) of the inner pair, which has no atoms.
        return _from_tails(above_p, above_q, left, self.infinite), _from_tails(
            above_q, above_p, left, self.infinite
        )


def _from_tails(above: Reals, below: Reals, left: np.ndarray, infinite: float) -> Reals:
    """Cell masses from P(L > e) at edges >= 0 and P(L <= e) at edges < 0, total 1 - infinite."""
    cells = np.empty(len(above) + 1)
    negative, positive = below[left], above[~left]
    cells[: len(negative)] = np.diff(negative, prepend=0.0)
    cells[len(negative) + 1 :] = -np.diff(positive, append=0.0)
    cells[len(negative)] = (
        1.0 - infinite - (negative[-1] if len(negative) else 0.0) - (positive[0] if len(positive) else 0.0)
    )
    return np.maximum(cells, 0.0)
