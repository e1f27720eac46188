"""One of several pairs, and which one is told: what joint convexity bounds a mixture by.

With P = sum w_i P_i and Q = sum w_i Q_i the divergences of (P, Q) are at most those of ((i, P_i), (i, Q_i)), whose
profile is sum w_i delta_i and whose moment generating function is sum w_i M_i.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dalenius.calculus.pairs import revealed_cuts
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Cuts, Decay, Pair, Reals, Tilted, Transform

STEEP = 1e12
"""A tilt that lifts whatever jumps up."""
LAG = 1000.0
"""Levels of jumps down beside those of jumps up."""


@dataclass(frozen=True)
class RevealedPair(Pair):
    """Pair i with probability weights[i]; the weights sum to 1, or to a rounding more."""

    weights: tuple[float, ...]
    pairs: tuple[Pair, ...]

    @property
    def infinite(self) -> float:  # type: ignore[override]
        return min(1.0, sum(w * pair.infinite for w, pair in self._each) * (1 + 16 * UNIT))

    @property
    def _each(self) -> tuple[tuple[float, Pair], ...]:
        return tuple(zip(self.weights, self.pairs, strict=True))

    @property
    def _log_weights(self) -> tuple[float, ...]:
        return tuple(np.log(np.array(self.weights)).tolist())

    @property
    def largest(self) -> float:
        return max(pair.largest for pair in self.pairs)

    @property
    def blur(self) -> float:  # type: ignore[override]
        return max(pair.blur for pair in self.pairs)

    @property
    def roughness(self) -> float:  # type: ignore[override]
        return max(pair.roughness for pair in self.pairs) + 8 * UNIT

    @property
    def tail_only(self) -> bool:  # type: ignore[override]
        return all(pair.tail_only for pair in self.pairs if pair.infinite > 0.0)

    @property
    def has_law(self) -> bool:  # type: ignore[override]
        return all(pair.has_law for pair in self.pairs)

    @property
    def reach(self) -> float:
        return max(pair.reach for pair in self.pairs)

    # What holds for every pair holds for whichever it is.

    @property
    def asymptote(self) -> tuple[float, float]:
        slopes, rises = zip(*(pair.asymptote for pair in self.pairs), strict=True)
        return max(slopes), max(rises)

    @property
    def zcdp(self) -> float:
        # mu-GDP is mu^2/2-zCDP.
        return min(max(pair.zcdp for pair in self.pairs), self.gdp**2 / 2 * (1 + 4 * UNIT))

    @property
    def gdp(self) -> float:
        return max(pair.gdp for pair in self.pairs)

    @property
    def lower(self) -> Pair:
        below = tuple(pair.lower for pair in self.pairs)
        return (
            self
            if all(a is b for a, b in zip(below, self.pairs, strict=True))
            else RevealedPair(self.weights, below)
        )

    @property
    def upper(self) -> Pair:
        above = tuple(pair.upper for pair in self.pairs)
        return (
            self
            if all(a is b for a, b in zip(above, self.pairs, strict=True))
            else RevealedPair(self.weights, above)
        )

    def delta(self, epsilon: float) -> Bounds | None:
        bounds = [pair.delta(epsilon) for pair in self.pairs]
        lower = upper = 0.0
        for weight, known in zip(self.weights, bounds, strict=True):
            if known is None:
                return None
            lower, upper = lower + weight * known.lower, upper + weight * known.upper
        rounding = 4 * UNIT * (2 + len(bounds))
        return Bounds(min(1.0, lower) * (1 - rounding), min(1.0, upper * (1 + rounding)))

    def log_mgf(self, s: Reals) -> Reals:
        return revealed_cuts.log_mgf(self._log_weights, self.pairs, s)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        known = np.array([pair.renyi_log_mgf(s) for pair in self.pairs])
        # log(1 + sum w (M - 1)), which keeps what is small.
        near = np.log1p(np.array(self.weights) @ np.expm1(np.minimum(known, 600.0)))
        far = logsumexp(known + np.array(self._log_weights)[:, None], axis=0) + 32 * UNIT * (
            1 + len(self.pairs)
        )
        return np.asarray(np.where((known < 600.0).all(axis=0), near, far) * (1 + 32 * UNIT))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        p, q = np.zeros(len(edges) + 1), np.zeros(len(edges) + 1)
        for weight, pair in self._each:
            own_p, own_q = pair.cells(edges)
            p += weight * own_p
            q += weight * own_q
        return p, q

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        return revealed_cuts.tilted(self._log_weights, self.pairs, c, t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return revealed_cuts.envelope(self._log_weights, self.pairs, c, t, times)

    @cached_property
    def atomic(self) -> Atoms | None:
        return revealed_cuts.atomic(self._log_weights, self.pairs)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        return revealed_cuts.beside_atoms(self._log_weights, self.pairs, c, t)

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals] | None:
        low, high = np.zeros_like(x), np.zeros_like(x)
        for weight, pair in self._each:
            known = pair.continuous_delta(x)
            if known is None:
                return None
            low, high = low + weight * known[0], high + weight * known[1]
        rounding = 4 * UNIT * (2 + len(self.pairs))
        return low * (1 - rounding), high * (1 + rounding)

    @property
    def anchor(self) -> float:
        return self.pairs[int(np.argmax(self.weights))].anchor

    def cuts(self, level: float) -> Cuts | None:
        """Those of all laws; where some jump up, those of laws that jump down come after."""
        each = [pair.cuts(level) for pair in self.pairs]
        if all(one is None for one in each):
            return None
        rises = [one is not None and one.jump(STEEP) > 0.0 for one in each]
        if any(rises):
            each = [
                one if up or one is None else revealed_cuts.LateCuts(one, LAG)
                for one, up in zip(each, rises, strict=True)
            ]
        return revealed_cuts.RevealedCuts(self._log_weights, self.pairs, tuple(each))

    # -- ball arithmetic -------------------------------------------------------------------------------

    @property
    def is_provable(self) -> bool:
        # Atoms of several pairs are put together in floats.
        return self.atomic is None and all(pair.is_provable for pair in self.pairs)

    def _sum(self, flint: Any, terms: Iterable[Ball]) -> Ball:
        """The mean, by probabilities: weights that sum to a rounding more than 1 are divided by their sum."""
        weights = [flint.arb(w) for w in self.weights]
        total = sum(weights, flint.arb(0))
        parts = (w * term for w, term in zip(weights, terms, strict=True))
        return sum(parts, flint.arb(0)) / (total if total > 1 else 1)

    def delta_in_balls(self, flint: Any, epsilon: float) -> Ball | None:
        known = [pair.delta_in_balls(flint, epsilon) for pair in self.pairs]
        return None if any(one is None for one in known) else self._sum(flint, known)

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        each = [pair.in_balls(flint, c, reach) for pair in self.pairs]
        return lambda s: self._sum(flint, (mgf(s) for mgf in each))

    def work_in_balls(self, c: float, reach: float) -> float:
        return sum(pair.work_in_balls(c, reach) for pair in self.pairs)

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        """The mean of the bounds of each, by their shares of M(c)."""
        at = flint.acb(flint.arb(c))
        tops = [pair.in_balls(flint, c, 0.0)(at).real for pair in self.pairs]
        bounds = [pair.decay_in_balls(flint, c, own) for pair, own in zip(self.pairs, tops, strict=True)]

        def bound(t: Ball, end: Ball) -> Ball:
            one = flint.arb(1)
            terms = (own * decay(t, end).min(one) for own, decay in zip(tops, bounds, strict=True))
            return self._sum(flint, terms) / top

        return bound
