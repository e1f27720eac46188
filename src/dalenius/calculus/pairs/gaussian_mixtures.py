"""Mixtures of Gaussians on either side: P = sum p_i N(s_i, 1) against Q = sum q_j N(-r_j, 1), all s_i and r_j >= 0.

Theorem. Let P = sum p_i N(x_i, I) and Q = sum q_j N(y_j, I) in any dimension, |x_i| <= s_i and |y_j| <= r_j. Then the
scalar pair above dominates (P, Q). Proof: take a set S, let a = N(0, I)(S), and let H be the half line of the
same measure a under N(0, 1). By the lemma of Neyman and Pearson N(x, I)(S) <= Phi(Phi^-1(a) + |x|) and
N(y, I)(S) >= Phi(Phi^-1(a) - |y|), which are N(s, 1)(H) and N(-r, 1)(H) for |x| = s and |y| = r and only move apart as
these grow. So P(S) - e^epsilon Q(S) is at most that difference of the scalar pair at H, whatever epsilon. One H serves
all components at once, which is the point. (For one side this is Ganesh 2024, "Tight group-level DP guarantees for
DP-SGD with sampling via mixture of Gaussians mechanisms", and Choquette-Choo, Ganesh, Steinke and Thakurta 2024.)

It follows that moving weight to larger shifts, on either side, only makes the pair easier to tell apart.

With w_P(x) = sum p_i exp(s_i x - s_i^2/2) and w_Q likewise, both densities by N(0, 1), the loss L = log w_P - log w_Q
grows with x: its derivative is r_P + r_Q, the means of s and of r under the weights that the terms of w_P and w_Q have
at x, r_P growing with x and r_Q falling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from dalenius.calculus.pairs.gaussian import normal_cells
from dalenius.calculus.pairs.mixture import CUT, DIGITS, REACH, Envelope, Law, Rule, level_for, stepped
from dalenius.calculus.pairs.pair import (
    TINY,
    UNIT,
    Ball,
    Bounds,
    Cuts,
    Decay,
    Pair,
    Reals,
    Tilted,
    Transform,
)

if TYPE_CHECKING:
    from dalenius.calculus.pairs.mixture_cuts import MixturePart

Side = tuple[tuple[float, float], ...]
"""Shifts above 0, increasing, each with its weight; what is missing from 1 is not shifted."""

FURTHER = 4.0
MOST_TILT = 1e5
"""Orders times shifts beyond this are not integrated: the bounds do without."""
MOST_WORK = 3e7
MOST_NODES = 2_000_000
"""Nodes times components of one rule."""
MOST_CELLS = 400_000
RARE = 0.5
"""Where less than this is not shifted the law is not cut: it is narrow and far, and no jump is rare."""
LEAST_TAIL = 1e-290
"""Normal masses below this are not told from 0."""
ROUGH = 1e-12
"""Where sums of what is shifted are off by more than this share of delta, the two tails may say more."""


class Weight(NamedTuple):
    """log w at some points, its error in rounding units, and its derivative."""

    log: Reals
    noise: Reals
    slope: Reals


@lru_cache(maxsize=4096)
def unshifted(side: Side) -> float:
    """The weight of shift 0, never below 0."""
    return max(0.0, float(1 - sum((Fraction(weight) for _, weight in side), Fraction(0))))


def largest_shift(side: Side) -> float:
    return side[-1][0] if side else 0.0


def least_shift(side: Side) -> float:
    return side[0][0] if side and unshifted(side) == 0.0 else 0.0


def weight_of(side: Side, x: Reals) -> Weight:
    """log w at x. While little is shifted it is log1p of what the shifts add, which keeps the digits of small losses.

    An exponent s x - s^2/2 is off by two roundings of either part; a sum by one rounding a term.
    """
    if not side:
        return Weight(np.zeros_like(x), np.zeros_like(x), np.zeros_like(x))
    shift, weight = np.array(side).T
    z = np.multiply.outer(x, shift) - shift**2 / 2
    rest = unshifted(side)
    highest = z.max(axis=-1)
    if rest >= 0.5 and float(highest.max(initial=0.0)) < 600.0:
        return _near_one(x, z, shift, weight, rest)
    top = np.maximum(highest, 0.0 if rest > 0.0 else -math.inf)
    parts = weight * np.exp(z - top[..., None])
    whole = rest * np.exp(-top) + parts.sum(axis=-1) if rest > 0.0 else parts.sum(axis=-1)
    off = parts @ (2 * shift**2) + 2 * np.abs(x) * (parts @ shift)  # of the exponents
    log_w = top + np.log(whole)
    noise = (off + (len(side) + 8) * whole) / whole + 4 * np.abs(log_w) + 4 * top
    slope = parts @ shift / whole
    near = (rest >= 0.5) & (highest < 600.0)
    if near.any():
        close = _near_one(x[near], z[near], shift, weight, rest)
        log_w[near], noise[near], slope[near] = close
    return Weight(log_w, noise, slope)


def _near_one(x: Reals, z: Reals, shift: Reals, weight: Reals, rest: float) -> Weight:
    """The same as log1p of what is added to 1, which by the same roundings is good relative to that."""
    grown = np.exp(z)
    parts = weight * grown
    grown -= 1.0
    small = np.abs(z) < 0.5
    grown[small] = np.expm1(z[small])
    grown *= weight
    whole = rest + parts.sum(axis=-1)
    total = grown.sum(axis=-1)
    log_w = np.log1p(total)
    sums = parts @ np.stack((shift, shift**2), axis=1)
    off = 2 * sums[..., 1] + 2 * np.abs(x) * sums[..., 0]
    size = np.abs(grown, out=grown).sum(axis=-1)
    noise = off / whole + (len(shift) + 12) * size / (1 + total) + 4 * np.abs(log_w)
    return Weight(log_w, noise, sums[..., 0] / whole)


def tail_noise(x: float) -> float:
    """Relative error of the normal mass beyond x: a rounding of x moves its logarithm by x^2 as much, and so on."""
    return UNIT * (32 + 8 * x * x)


def tail_beyond(side: Side, x: float, sign: float) -> tuple[float, float]:
    """sum of weight * |N(sign s, 1)(X > x) - N(0, 1)(X > x)|, and how far that may be off."""
    value = off = 0.0
    here = min(float(ndtr(x)), float(ndtr(-x))) * tail_noise(x)
    for shift, weight in side:
        there = x - sign * shift
        # Both from the same side, the one where they are small.
        tails = (ndtr(-there), ndtr(-x)) if x > 0 else (ndtr(x), ndtr(there))
        moved = float(tails[0]) - float(tails[1])
        value += weight * max(0.0, sign * moved)
        off += weight * (here + min(float(ndtr(there)), float(ndtr(-there))) * tail_noise(there))
    return value, off


def scaled_tail(side: Side, x: float, sign: float, scale: float) -> tuple[float, float]:
    """exp(scale) times the mass beyond x of the mixture, and how far that may be off; floats may end on the way."""
    shift, weight = np.array(((0.0, unshifted(side)), *side)).T
    there = x - sign * shift
    parts = weight * np.exp(scale + log_ndtr(-there))
    noise = UNIT * (64 + 4 * abs(scale) + 8 * there**2)
    return float(parts.sum()), float(noise @ parts) * (1 + 1e-6) + TINY * len(parts)


@dataclass(frozen=True)
class GaussianMixturesPair(Pair):
    """One direction of a pair of Gaussian mixtures: P is shifted up, Q down. At least one side has a shift."""

    up: Side
    down: Side

    @property
    def _reach_of_shifts(self) -> float:
        return largest_shift(self.up) + largest_shift(self.down)

    @property
    def largest(self) -> float:
        if self.up:
            return math.inf
        rest = unshifted(self.down)
        return -math.log(rest) * (1 + 4 * UNIT) + 4 * UNIT if rest > 0.0 else math.inf

    @property
    def least(self) -> float:
        """Infimum of L, rounded down."""
        if self.down:
            return -math.inf
        rest = unshifted(self.up)
        return math.log(rest) * (1 + 4 * UNIT) - 4 * UNIT if rest > 0.0 else -math.inf

    @property
    def blur(self) -> float:  # type: ignore[override]
        # `_where` ends within a few roundings of the losses at the edges; those of the edges themselves are counted
        # by whoever chose them.
        return 64 * UNIT * (4.0 + len(self.up) + len(self.down) + self._reach_of_shifts**2)

    @property
    def gdp(self) -> float:
        """All weight on the largest shifts: one Gaussian pair."""
        return self._reach_of_shifts * (1 + 4 * UNIT)

    @property
    def asymptote(self) -> tuple[float, float]:
        if math.isfinite(self.largest):
            return 0.0, self.largest
        return self.gdp**2 / 2 * (1 + 4 * UNIT), 0.0

    @property
    def zcdp(self) -> float:
        return self.gdp**2 / 2 * (1 + 4 * UNIT)

    def _loss(self, x: Reals) -> Weight:
        """L, its error in rounding units, and its derivative."""
        above, below = weight_of(self.up, x), weight_of(self.down, -x)
        return Weight(above.log - below.log, above.noise + below.noise, above.slope + below.slope)

    # -- outcomes beyond a threshold -------------------------------------------------------------------

    @cached_property
    def _table(self) -> tuple[Reals, Reals]:
        """L at points from where it has hardly moved to far out."""
        shifts = [shift for shift, _ in self.up + self.down]
        far = 40.0 + self._reach_of_shifts
        x = np.concatenate((np.linspace(-far, far, 3001), far * np.geomspace(1.001, 1e3, 500)))
        x = np.unique(np.concatenate((-x[x > far], x, -800.0 / np.array(shifts), 800.0 / np.array(shifts))))
        return x, np.maximum.accumulate(self._loss(x).log)

    def _where(self, edges: Reals) -> Reals:
        """The x at which L is each of these: Newton's steps, halved where they leave the bracket."""
        x, loss = self._table
        place = np.clip(np.searchsorted(loss, edges), 1, len(x) - 1)
        low, high = x[place - 1].copy(), x[place].copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = loss[place] - loss[place - 1]
            share = np.where(rise > 0, (edges - loss[place - 1]) / rise, 0.5)
        at = low + np.clip(share, 0.0, 1.0) * (high - low)
        open_ = np.flatnonzero((edges > loss[0]) & (edges < loss[-1]))
        for _ in range(100):
            if len(open_) == 0:
                break
            here = self._loss(at[open_])
            gap = here.log - edges[open_]
            above = gap > 0
            high[open_[above]], low[open_[~above]] = at[open_[above]], at[open_[~above]]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = at[open_] - gap / here.slope
            inside = (step > low[open_]) & (step < high[open_])
            step = np.where(inside, step, (low[open_] + high[open_]) / 2)
            done = (np.abs(gap) <= 4 * UNIT * (1 + np.abs(edges[open_]))) | (step == at[open_])
            at[open_] = np.where(np.abs(gap) <= 4 * UNIT * (1 + np.abs(edges[open_])), at[open_], step)
            open_ = open_[~done]
        return np.where(edges <= loss[0], -math.inf, np.where(edges >= loss[-1], math.inf, at))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        x = self._where(edges)
        return self._masses(self.up, x), self._masses(self.down, x, -1.0)

    @staticmethod
    def _masses(side: Side, x: Reals, sign: float = 1.0) -> Reals:
        rest = unshifted(side)
        total = rest * normal_cells(x) if rest > 0.0 else np.zeros(len(x) + 1)
        for shift, weight in side:
            total += weight * normal_cells(x - sign * shift)
        return total

    def delta(self, epsilon: float) -> Bounds | None:
        """P(X > x) - e^epsilon Q(X > x) at the x where L is epsilon: at any other x it is less.

        It is sum p_i T_i + e^epsilon sum q_j T_j - (e^epsilon - 1) Phi(-x), T the mass that the shift takes across x:
        terms of the size of what is shifted. Where these cancel or floats end, it is the difference of the two tails.
        Where L is known to `near`, the x may be off by as much as that moves it, and what lies between loses or gains
        at most `near` of its mass.
        """
        if not -600.0 < epsilon < 600.0:
            return None
        if epsilon >= self.largest:
            return Bounds(0.0, 0.0)
        if epsilon <= self.least:
            gap = -math.expm1(epsilon)
            return Bounds(gap * (1 - 4 * UNIT), gap * (1 + 4 * UNIT))
        x = float(self._where(np.array([epsilon]))[0])
        if not math.isfinite(x):
            return None
        alpha, more = math.exp(epsilon), math.expm1(epsilon)
        first, off_first = tail_beyond(self.up, x, 1.0)
        second, off_second = tail_beyond(self.down, x, -1.0)
        middle = more * float(ndtr(-x))
        value = first + alpha * second - middle
        # For x below 0 what is left of 1: H(a) - (1 - a) in its own digits would need another branch; this is ample.
        off = (
            off_first
            + alpha * off_second
            + 32 * UNIT * (first + alpha * second)
            + tail_noise(x) * abs(middle)
        )
        off += 8 * UNIT * (1 + abs(epsilon)) * (abs(middle) + alpha * second)
        off += LEAST_TAIL * (1 + alpha)  # what is so far out has lost its digits, and alpha brings it back
        if off > ROUGH * value:
            (above, off_above), (below, off_below) = (
                scaled_tail(self.up, x, 1.0, 0.0),
                scaled_tail(self.down, x, -1.0, epsilon),
            )
            plain = above - below, off_above + off_below + UNIT * (above + below)
            value, off = min((value, off), plain, key=lambda known: known[1])
        here = self._loss(np.array([x]))
        near = 2 * (abs(float(here.log[0]) - epsilon) + UNIT * (float(here.noise[0]) + 8 * abs(epsilon) + 1))
        wide = 2 * near / max(float(here.slope[0]), 1e-300) + 8 * UNIT * abs(x)
        between = self._masses(self.up, np.array([x - wide, x + wide]))[1]
        lower = max(value - off, -math.expm1(epsilon) * (1 - 4 * UNIT) if epsilon < 0 else 0.0, 0.0)
        upper = value + off + 4 * near * (float(between) * (1 + 1e-9) + 1e-300)
        return Bounds(min(lower, 1.0), min(1.0, max(upper, lower, math.nextafter(0.0, 1.0))))

    @property
    def anchor(self) -> float:
        """Where the loss is without any shift."""
        if not (self._is_rare):
            return 0.0
        return math.log(unshifted(self.up)) - math.log(unshifted(self.down))

    @property
    def _is_rare(self) -> bool:
        return min(unshifted(self.up), unshifted(self.down)) >= RARE

    def cuts(self, level: float) -> Cuts | None:
        """Cuts so sharp that they bend log densities more than a tilt to an outcome around the level does."""
        from dalenius.calculus.pairs.mixture_cuts import cuts_for

        return cuts_for(self.up, self.down, level) if self._is_rare and 0 < level < math.inf else None

    # -- moments -----------------------------------------------------------------------------------------

    def _window(self, c: float) -> tuple[float, float]:
        """Outside it the log integrand u = (1+c) log w_P - c log w_Q - x^2/2 is below CUT and falls with slope REACH.

        u' = (1+c) r_P + c r_Q - x, where r_P lies between the least and the largest shift and r_Q falls with x. Where
        that alone is steep enough u may hardly have fallen yet: FURTHER units take it down by REACH FURTHER +
        FURTHER^2/2, which is CUT and more.
        """
        top, bottom = (1 + c) * largest_shift(self.up), (1 + c) * least_shift(self.up)
        if not self.down:
            return bottom - REACH, top + REACH

        def pull(x: Reals) -> Reals:
            return c * weight_of(self.down, -x).slope

        most = c * largest_shift(self.down)
        low, high = bottom - REACH - 1.0, top + most + REACH + 1.0
        return (
            _falling(lambda x: bottom + pull(x) - x - REACH, low, high)[0] - FURTHER,
            _falling(lambda x: top + pull(x) - x + REACH, low, high)[1] + FURTHER,
        )

    def _strip(self, c: float, reach: float) -> tuple[float, float]:
        """A strip |Im x| <= a, and the logarithm of what the L1 norm of the integrand grows by on its edge.

        There the terms of w_P lie in a sector of angle a max s: |w_P| is at most w_P(Re x), |arg w_P| at most that
        angle, and |w_Q| at least cos(a max r / 2) w_Q(Re x).
        """
        s, r = largest_shift(self.up), largest_shift(self.down)
        a = min(2.5 / max(s, r), 8.5, math.sqrt(80.0 / max(c, 1.0)) / r if r > 0.0 else math.inf)
        return a, a * a / 2 + reach * a * (s + r) - c * math.log(math.cos(a * r / 2))

    def _nodes(self, c: float, reach: float, digits: float) -> tuple[float, Reals] | None:
        """Step and nodes of the trapezoid rule whose error is exp(-digits) of the integral of the modulus.

        Trefethen and Weideman 2014, Theorem 5.1, as in `mixture.trapezoid`.
        """
        a, growth = self._strip(c, reach)
        h = 2 * math.pi * a / (growth + digits)
        low, high = self._window(c)
        if (high - low) / h * (1 + len(self.up) + len(self.down)) > MOST_NODES:
            return None
        return h, np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h

    def rule(self, c: float, reach: float) -> Rule | None:
        return _rule(self, c, reach)

    @cached_property
    def _whole(self) -> MixturePart | None:
        """The law itself as a part without cuts: its panels are as wide as the shares of the shifts allow."""
        from dalenius.calculus.pairs.mixture_cuts import LEAST_SHARP, MixtureCuts

        return MixtureCuts(self.up, self.down, LEAST_SHARP).part(None, None) if self._is_rare else None

    def log_mgf(self, s: Reals) -> Reals:
        if self._whole is None:
            return np.array([self._log_moment(float(x)) for x in s])
        result = self._whole.log_mgf(s)
        rest = np.flatnonzero(np.isinf(result))
        result[rest] = [self._log_moment(float(x)) for x in s[rest]]
        return result

    def _log_moment(self, s: float) -> float:
        if (1 + s) * self._reach_of_shifts > MOST_TILT:
            return math.inf
        known = self._nodes(s, 0.0, 36.0)
        if known is None:
            return math.inf
        h, x = known
        exponent = self._exponent(s, x)
        top = float(exponent.max())
        return top + math.log(float(np.exp(exponent - top).sum()) * h) - 0.5 * math.log(2 * math.pi)

    def _exponent(self, c: float, x: Reals) -> Reals:
        return np.asarray(
            (1 + c) * weight_of(self.up, x).log - c * weight_of(self.down, -x).log - 0.5 * x * x
        )

    def renyi_log_mgf(self, s: Reals) -> Reals:
        rough = s * (1 + s) * (self.gdp**2 / 2) * (1 + 8 * UNIT)
        with np.errstate(over="ignore", invalid="ignore"):
            exact = np.array([self._log_moment_up(float(x)) for x in s])
        far = ~np.isfinite(exact)
        exact[far] = self.log_mgf(s[far]) * (1 + 1e-12) + 1e-12  # the rule errs by exp(-36)
        return np.asarray(np.fmin(rough, np.minimum(exact, self.log_mgf_by_reach(s))))

    def _log_moment_up(self, s: float) -> float:
        """log M(s) rounded up. M - 1 is the mean under Q of e^L (e^(sL) - 1) - s (e^L - 1), which is nowhere below 0.

        The rule integrates w_P^(1+s) w_Q^-s, w_P and w_Q times the normal density, with the strip of the first.
        """
        if (1 + s) * self._reach_of_shifts > 60.0:
            return math.inf
        a, growth = self._strip(s, 0.0)
        h = 2 * math.pi * a / (growth + DIGITS)
        ends = (*self._window(s), *self._window(0.0), -largest_shift(self.down) - REACH)
        x = np.arange(math.floor((min(ends) - 5.0) / h), math.ceil((max(ends) + 5.0) / h) + 1) * h
        if len(x) > MOST_NODES:
            return math.inf
        above, below = weight_of(self.up, x), weight_of(self.down, -x)
        loss = above.log - below.log
        if (1 + s) * float(np.abs(loss).max()) > 600.0:
            return math.inf
        ratio, power = np.exp(loss), np.expm1(s * loss)
        first, second = ratio * power, -s * np.expm1(loss)
        slope = (1 + s) * ratio * np.abs(power)
        density = np.exp(below.log - 0.5 * x * x) * (h / math.sqrt(2 * math.pi))
        value = np.maximum(first + second, 0.0)
        off = 16 * UNIT * (np.abs(first) + np.abs(second)) + 2 * slope * UNIT * (above.noise + below.noise)
        off += UNIT * (2 * x * x + 16 + below.noise) * value
        sizes = ratio * (1 + power) + (1 + s) * (1 + ratio)
        tails = float((sizes * density)[[0, -1]].sum()) / -math.expm1(-REACH * h)
        rest = 2.2 * math.exp(-DIGITS) * float(sizes @ density)
        total = (float(value @ density) + float(off @ density)) * (1 + (3 * len(x) + 8) * UNIT) + tails + rest
        return math.log1p(total) * (1 + 4 * UNIT) if math.isfinite(total) else math.inf

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        found = None if self._whole is None else self._whole.tilted(c, t)
        if found is not None:
            return found
        rule = self.rule(c, float(np.max(np.abs(t))))
        if rule is None or len(t) * len(rule.loss) > MOST_WORK:
            return None
        return rule.along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return _envelope(self, c, level_for(times)).on(t)

    is_exact = True

    def delta_in_balls(self, flint: Any, epsilon: float) -> Ball | None:
        from dalenius.calculus.pairs.gaussian_mixtures_in_balls import delta

        return delta(flint, self, epsilon)

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        from dalenius.calculus.pairs.gaussian_mixtures_in_balls import transform

        return transform(flint, self, c, reach)

    def work_in_balls(self, c: float, reach: float) -> float:
        from dalenius.calculus.pairs.gaussian_mixtures_in_balls import size

        return size(self, c, reach)

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        from dalenius.calculus.pairs.gaussian_mixtures_in_balls import decay

        return decay(flint, self, c, top)


def _falling(f: Callable[[Reals], Reals], low: float, high: float) -> tuple[float, float]:
    """Two points between which a falling function changes its sign, 0.05 apart; f(low) > 0 > f(high)."""
    while high - low > 0.05:
        x = np.linspace(low, high, 33)
        first = max(1, int(np.argmax(np.append(f(x[:-1]) < 0, True))))
        low, high = float(x[first - 1]), float(x[first])
    return low, high


@lru_cache(maxsize=256)
def _rule(pair: GaussianMixturesPair, c: float, reach: float) -> Rule | None:
    """The trapezoid rule for M(c + i t), |t| <= reach; what lies outside the nodes is charged as in `mixture`."""
    known = pair._nodes(c, reach, 40.0)
    if known is None:
        return None
    h, x = known
    above, below = weight_of(pair.up, x), weight_of(pair.down, -x)
    exponent = pair._exponent(c, x) + math.log(h) - 0.5 * math.log(2 * math.pi)
    top = float(exponent.max())
    keep = exponent > top - CUT
    dropped = (np.count_nonzero(~keep) + 2.0 / -math.expm1(-REACH * h)) * math.exp(-CUT)
    outside = dropped + 2.2 * math.exp(-40.0) * float(np.exp(exponent[keep] - top).sum())
    loss, noise = (
        above.log - below.log,
        above.noise + below.noise + 2 * np.abs(above.log) + 2 * np.abs(below.log),
    )
    return Rule(
        loss[keep], exponent[keep], np.full(np.count_nonzero(keep), 1 + c), noise[keep], x[keep], outside
    )


@lru_cache(maxsize=64)
def _envelope(pair: GaussianMixturesPair, c: float, level: float) -> Envelope:
    """Bounds on |M(c + it)| / M(c).

    Large t: with f the tilted density and any set of intervals on which L' >= l, integration by parts gives

        |integral of f e^(itL)| <= (sum of f / L' at the ends + integral of |(f / L')'|) / t,

    |(f / L')'| <= f (|u'| + m) / L', u = log f, for |L''| = |Var_P - Var_Q| <= m L', m the largest shift of all; the
    outcomes where L' < l count in full. On a cell of width g, u bends by at most `bend`, and log L' moves by at most
    m g. Smaller t: from the rule itself, as in `mixture`.
    """
    rule = pair.rule(c, 0.0)
    low, high = pair._window(c)
    s, r = largest_shift(pair.up), largest_shift(pair.down)
    steep = max(s, r)
    bend = 1.0 + (1 + c) * s * s / 4 + c * r * r / 4
    size = math.ceil((high - low) * max(math.sqrt(bend), steep) / 0.2) + 2
    if rule is None or size * (1 + len(pair.up) + len(pair.down)) > MOST_CELLS:
        return Envelope(np.zeros(1), np.ones(1), np.ones_like)
    x = np.linspace(low, high, size)
    gap = float(x[1] - x[0]) * (1 + 1e-9)
    here = pair._loss(x)
    above, below = weight_of(pair.up, x), weight_of(pair.down, -x)
    log_f = pair._exponent(c, x) - 0.5 * math.log(2 * math.pi) - rule.log_scale
    pull = np.abs((1 + c) * above.slope + c * below.slope - x)
    f = np.exp(np.maximum(log_f[1:], log_f[:-1]) + bend * gap * gap / 8) * (1 + 1e-9)
    moved = np.maximum(pull[1:], pull[:-1]) + bend * gap / 2
    slope = np.minimum(here.slope[1:], here.slope[:-1]) * math.exp(-steep * gap) * (1 - 1e-9)
    mass, varied = gap * f, gap * f * (moved + steep)
    around = np.maximum(np.append(f, 0.0), np.insert(f, 0, 0.0))
    beyond = 2e-14  # outside the window
    lines = []
    for least in np.quantile(slope, np.linspace(0.0, 1.0, 24, endpoint=False)):
        good = slope >= max(float(least), 1e-280)
        if not good.any():
            continue
        ends = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
        edge = float(around[ends].sum() / slope[good].min())
        lines.append((float(mass[~good].sum()) + beyond, edge + float((varied[good] / slope[good]).sum())))
    missed, variation = np.array(lines or [(1.0, 0.0)]).T * (1 + 1e-9)

    def smooth(t: Reals) -> Reals:
        with np.errstate(over="ignore"):
            return np.asarray(
                np.minimum(1.0, np.min(missed[:, None] + variation[:, None] / np.maximum(t, 1e-300), axis=0))
            )

    def law(reach: float) -> Law | None:
        fine = pair.rule(c, reach)
        if fine is None:
            return None
        return Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach + 1e-14)

    return Envelope(*stepped(rule.spread, smooth, law, level), smooth)
