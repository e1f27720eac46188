"""Poisson sampling: the mechanism sees each record independently with probability `rate`.

With W the output law without the record and R the law with it (conditionally on the rest), the
sampled mechanism has (1-rate) W + rate R in place of R. Advanced joint convexity gives both
directions exactly (Balle, Barthe and Gaboardi 2018; Zhu, Dong and Wang 2022, Theorem 11; seed 000
Theorem 14.3 with the remove pair corrected):

    remove  ((1-g) W + g R, W)   delta(e) = g delta_remove(log(1 + (exp(e) - 1) / g)),
    add     (W, (1-g) W + g R)   delta(e) = (1 - a (1-g)) delta_add(log(a g / (1 - a (1-g)))), a = exp(e).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import UNIT, Bounds, Pair, Reals, Tilted, in_cells
from dalenius.calculus.pairs.rounding import rounded_roughly

CUT = 45.0
"""Quadrature nodes whose weight is below exp(-CUT) of the largest are dropped, and charged to the error."""

REACH = 9.5
"""Standard deviations kept beyond the extreme saddle of the integrand: exp(-REACH^2 / 2) < exp(-CUT)."""


@dataclass(frozen=True)
class SampledPair(Pair):
    """One direction of a Poisson-sampled pair; `added` is True for the add direction."""

    base: Pair
    rate: float
    added: bool

    @property
    def infinite(self) -> float:  # type: ignore[override]
        return 0.0 if self.added else self.rate * self.base.infinite

    @property
    def largest(self) -> float:
        if not self.added:
            return amplified(self.base.largest, self.rate)
        floor = 0.0 if self.base.infinite > 0 else math.exp(-self.base.largest)
        return -math.log1p(self.rate * (floor - 1.0))

    def delta(self, epsilon: float) -> Bounds | None:
        alpha = math.exp(epsilon)
        if self.added:
            keep = -math.expm1(epsilon + math.log1p(-self.rate))
            if keep <= 0:
                return Bounds(0.0, 0.0)
            inner = self.base.delta(epsilon + math.log(self.rate) - math.log(keep))
            factor = keep
        else:
            lift = 1.0 + math.expm1(epsilon) / self.rate
            if lift <= 0:
                return Bounds(1.0 - alpha, 1.0 - alpha)
            inner = self.base.delta(math.log(lift))
            factor = self.rate
        if inner is None:
            return None
        return Bounds(inner.lower * factor * (1 - 1e-12), inner.upper * factor * (1 + 1e-12))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        g = self.rate
        if self.added:
            # L' = -log(1 - g + g exp(-L)) grows with L and stays below -log(1-g).
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                room = np.expm1(-edges) / g + 1.0
                mapped = np.where(room > 0, -np.log(np.maximum(room, 1e-320)), np.inf)
            p, q = _cells_with_infinities(self.base, mapped)
            p[np.searchsorted(edges, -math.log1p(-g), side="left") if g < 1 else -1] += self.base.infinite
            return p, (1 - g) * p + g * q
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room = 1.0 + np.expm1(edges) / g
            mapped = np.where(room > 0, np.log(np.maximum(room, 1e-320)), -np.inf)
        p, q = _cells_with_infinities(self.base, mapped)
        missing = max(0.0, 1.0 - q.sum())
        q[np.searchsorted(edges, math.log1p(-g), side="left") if g < 1 else 0] += missing
        return (1 - g) * q + g * p, q

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.base.asymptote  # sampling never tells more

    @property
    def gdp(self) -> float:
        return self.base.gdp

    @property
    def reach(self) -> float:
        return self.base.reach

    @cached_property
    def _rounded(self) -> Atoms:
        return rounded_roughly(self)

    def log_mgf(self, s: Reals) -> Reals:
        if not isinstance(self.base, GaussianPair):
            return self._rounded.log_mgf(s)
        return _log_moments(self.base.mu, self.rate, -s if self.added else 1.0 + s)

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        if not isinstance(self.base, GaussianPair):
            return None
        reach = float(np.max(np.abs(t)))
        m = -c if self.added else 1.0 + c
        if len(t) * _size(self.base.mu, self.rate, m, reach) > MOST_WORK:
            return None
        return _rule(self.base.mu, self.rate, self.added, c, reach).along(t)

    def envelope(self, c: float, t: Reals) -> Reals:
        if not isinstance(self.base, GaussianPair):
            return np.ones_like(t)
        bound = _envelope(self.base.mu, self.rate, self.added, c)
        smooth = np.min(bound.left[:, None] + bound.variation[:, None] / np.maximum(t, 1e-300), axis=0)
        return np.asarray(np.minimum(in_cells(bound.values, bound.breaks, t), smooth))


def amplified(epsilon: float, rate: float) -> float:
    """log(1 + rate (exp(epsilon) - 1)), the pure guarantee of a sampled mechanism."""
    if epsilon == math.inf or rate == 0.0:
        return math.inf if rate else 0.0
    if epsilon > 700:
        return epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon))
    return math.log1p(rate * math.expm1(epsilon))


def _cells_with_infinities(base: Pair, edges: Reals) -> tuple[Reals, Reals]:
    """base.cells on edges of which the first may be -inf and the last +inf (empty outer cells)."""
    finite = np.isfinite(edges)
    low, high = int(np.sum(edges == -np.inf)), int(np.sum(edges == np.inf))
    if not finite.any():
        p = np.zeros(len(edges) + 1)
        q = np.zeros(len(edges) + 1)
        total_p, total_q = base.cells(np.array([0.0]))
        p[low], q[low] = total_p.sum(), total_q.sum()
        return p, q
    inner_p, inner_q = base.cells(edges[finite])
    pad = (np.zeros(low), np.zeros(high))
    return np.concatenate((pad[0], inner_p, pad[1])), np.concatenate((pad[0], inner_q, pad[1]))


class _Rule:
    """Trapezoid rule for M(c + i t) = E_{x ~ N(0,1)} w(x)^m, w = 1 - g + g exp(mu x - mu^2/2).

    m = 1 + s in the remove direction, m = -s in the add direction. The integrand is analytic for
    |Im x| < pi / mu. On Im x = a, theta = mu a < pi, |w| lies between cos(theta/2) w(Re x) and
    w(Re x) and |arg w| <= theta, so the L1 norm on that line is at most

        exp(a^2/2 + |t| theta) * max(1, cos(theta/2)^Re m) * M(c),

    and the trapezoid error (Trefethen and Weideman 2014, Theorem 5.1) is at most twice that divided
    by exp(2 pi a / h) - 1. Outside the nodes kept, |d log|integrand| / dx| >= REACH on either side.
    """

    def __init__(self, mu: float, rate: float, added: bool, c: float, reach: float) -> None:
        m = -c if added else 1.0 + c
        h = _step(mu, m, reach, 40.0)
        low, high = _window(mu, rate, m)
        x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
        log_w, shift = log_mixture(mu * x - mu * mu / 2, rate)
        exponent = m * log_w - 0.5 * x * x
        top = float(exponent.max())
        keep = exponent > top - CUT
        dropped = (np.count_nonzero(~keep) + 2.0 / -math.expm1(-REACH * h)) * math.exp(-CUT)
        x, log_w, shift, exponent = x[keep], log_w[keep], shift[keep], exponent[keep]
        weights = np.exp(exponent - top)
        total = float(weights.sum())
        self.loss = -log_w if added else log_w
        self.weights = weights / total
        self.log_scale = top + math.log(total * h) - 0.5 * math.log(2 * math.pi)
        # Rounding: `shift` bounds the error of each log w in ulps; exponents and phases inherit it.
        exponent_error = UNIT * (abs(m) * shift + 2 * x * x + 2 * abs(m) * np.abs(log_w) + 8.0)
        self.fixed = float(self.weights @ exponent_error) + (3 * len(x) + 8) * UNIT
        self.fixed += dropped / total + 2.2 * math.exp(-40.0)
        self.per_t = float(self.weights @ (UNIT * (shift + 4 * np.abs(log_w))))

    def along(self, t: Reals) -> Tilted:
        values = np.exp(1j * np.multiply.outer(t, self.loss)) @ self.weights
        return Tilted(self.log_scale, values, self.fixed + self.per_t * np.abs(t))


@lru_cache(maxsize=256)
def _rule(mu: float, rate: float, added: bool, c: float, reach: float) -> _Rule:
    return _Rule(mu, rate, added, c, reach)


def log_mixture(z: Reals, rate: float) -> tuple[Reals, Reals]:
    """log(1 - g + g exp(z)) and a bound on its absolute error in rounding units."""
    small = z < 30.0
    with np.errstate(over="ignore"):
        near = np.log1p(rate * np.expm1(np.where(small, z, 0.0)))
    far = np.where(small, 0.0, z) + math.log(rate)
    far = far + np.log1p((1.0 - rate) * np.exp(-np.maximum(far, 0.0)))
    value = np.where(small, near, far)
    return value, 8.0 * (np.abs(z) + np.abs(value)) + 4.0 * abs(math.log(rate)) * ~small


def _step(mu: float, m: float, reach: float, digits: float) -> float:
    """A step whose error bound (see _Rule) is exp(-digits) relative, for |Im m| up to `reach`."""
    a = min(2.5 / mu, 8.5, math.sqrt(80.0 / max(-m, 1.0)) / mu)
    growth = a * a / 2 + reach * mu * a - min(0.0, m) * -math.log(math.cos(mu * a / 2))
    return 2 * math.pi * a / (growth + digits)


def _window(mu: float, rate: float, m: float) -> tuple[float, float]:
    """An interval outside which log|integrand|, u(x) = m log w - x^2/2, has slope at least REACH."""
    if m >= 0:  # u' = -x + m mu r(x) with 0 < r < 1
        return -REACH, m * mu + REACH
    # u'' <= -1: one peak, where x = m mu r(x) < 0.
    low, high = m * mu, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        r = rate * math.exp(mu * middle - mu * mu / 2)
        r /= 1.0 - rate + r
        low, high = (middle, high) if m * mu * r > middle else (low, middle)
    return low - REACH - 1e-6, high + REACH + 1e-6


def _size(mu: float, rate: float, m: float, reach: float) -> float:
    """How many nodes a rule would have."""
    low, high = _window(mu, rate, m)
    return (high - low) / _step(mu, m, reach, 40.0)


MOST_TILT = 1e6
MOST_WORK = 4e6


def _log_moments(mu: float, rate: float, m: Reals) -> Reals:
    """log E w(x)^m for real m (the same rule, error about 1e-13); inf for orders beyond use."""
    result = np.full(len(m), np.inf)
    usable = np.flatnonzero(np.abs(m) * mu <= MOST_TILT)
    # Orders of similar size share nodes: the window of the largest holds that of the others.
    usable = usable[np.argsort(np.abs(m[usable]), kind="stable")]
    for block in np.array_split(usable, max(1, len(usable) // 24)):
        if len(block) == 0:
            continue
        extreme = float(m[block[-1]])
        h = min(_step(mu, extreme, 0.0, 36.0), _step(mu, float(m[block[0]]), 0.0, 36.0))
        windows = [_window(mu, rate, float(m[block[0]])), _window(mu, rate, extreme)]
        low, high = min(w[0] for w in windows), max(w[1] for w in windows)
        x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
        exponent = np.multiply.outer(m[block], log_mixture(mu * x - mu * mu / 2, rate)[0]) - 0.5 * x * x
        top = exponent.max(axis=1)
        total = np.exp(exponent - top[:, None]).sum(axis=1)
        result[block] = top + np.log(total * h) - 0.5 * math.log(2 * math.pi)
    result[(m == 0) | (m == 1)] = 0.0
    return result


class _Envelope(NamedTuple):
    """|M(c+it)|/M(c) <= values_j on [breaks_j, breaks_{j+1}), and <= min(left + variation / t) for all t."""

    breaks: Reals
    values: Reals
    left: Reals
    variation: Reals


@lru_cache(maxsize=64)
def _envelope(mu: float, rate: float, added: bool, c: float) -> _Envelope:
    """Two bounds on the tilted characteristic function of L.

    For all large t: cut off the outcomes left of some x_0, where L hardly moves; what they weigh is
    `left`. The rest has a density in L of total variation at most 2 (k + 1) times its largest value,
    k its number of maxima, and a characteristic function below variation / t. With
    u(x) = log(phi w^m / |L'|), u' = -x - mu + (m + 1) mu r(x), r = g exp(z)/w a sigmoid, which a line meets
    at most three times: k <= 2, and k = 1 where u' is monotone.
    For smaller t: evaluated on a geometric grid; |M| moves by at most the mean absolute deviation per unit
    of t.
    """
    m = -c if added else 1.0 + c
    rule = _rule(mu, rate, added, c, 0.0)
    median = rule.loss[np.searchsorted(np.cumsum(rule.weights), 0.5).clip(max=len(rule.loss) - 1)]
    spread = float(rule.weights @ np.abs(rule.loss - median)) * (1 + 1e-6) + 1e-300

    bend = 1.0 + (abs(m) + 1.0) * mu * mu / 4  # bounds |u''| and the curvature of the tilted log density
    low, high = _window(mu, rate, m)
    low, high = low - mu, high + mu
    x = np.linspace(low, high, math.ceil((high - low) * math.sqrt(bend) / 0.2) + 2)
    gap = float(x[1] - x[0])
    z = mu * x - mu * mu / 2
    log_w, _ = log_mixture(z, rate)
    log_f = m * log_w - 0.5 * x * x - 0.5 * math.log(2 * math.pi) - rule.log_scale + bend * gap * gap / 8
    log_g = log_f - (math.log(mu * rate) + z - log_w)
    f = np.exp(log_f)
    left = np.concatenate(([0.0], np.cumsum(gap * np.maximum(f[1:], f[:-1]))))
    largest = np.exp(np.minimum(np.maximum.accumulate(log_g[::-1])[::-1], 700.0))
    modes = 1.0 if (m + 1.0) * mu * mu / 4 <= 1.0 else 2.0
    some = np.unique(np.linspace(0, len(x) - 1, 100).astype(int))
    left, variation = left[some] * (1 + 1e-9), 2 * (modes + 1) * largest[some] * (1 + 1e-9)

    start = 1e-2 / spread
    breaks = start * 1.1 ** np.arange(400.0)
    needed = np.min(left[:, None] + variation[:, None] / breaks, axis=0) > 0.85
    breaks = breaks[: int(np.argmin(needed)) + 1] if not needed.all() else breaks
    middle = breaks * 1.05
    values = np.ones_like(breaks)
    for block in np.array_split(np.arange(len(breaks)), max(1, len(breaks) // 10)):
        if len(block) * _size(mu, rate, m, float(middle[block[-1]])) > MOST_WORK:
            break  # 1 is always a bound
        at = _Rule(mu, rate, added, c, float(middle[block[-1]])).along(middle[block])
        values[block] = np.abs(at.values) + at.error + spread * 0.05 * breaks[block]
    steps = np.concatenate(([1.0], np.minimum(values, 1.0), [1.0]))
    return _Envelope(np.concatenate(([0.0], breaks, [breaks[-1] * 1.1])), steps, left, variation)


REVEALED = Atoms(np.zeros(0), np.zeros(0), infinite=1.0)
"""Two distributions that cannot be confused."""

FAR = 20.0


def sampled(pair: Pair, rate: float, added: bool) -> Pair:
    """The sampled pair; discrete pairs stay discrete, brackets stay brackets."""
    if isinstance(pair, Bracket):
        return Bracket(sampled(pair.lower, rate, added), sampled(pair.upper, rate, added))
    if isinstance(pair, GaussianPair) and pair.mu > FAR:
        # Outcomes hardly overlap: between a smaller shift and giving the record away whenever it is sampled.
        return Bracket(SampledPair(GaussianPair(FAR), rate, added), sampled(REVEALED, rate, added))
    if not isinstance(pair, Atoms):
        return SampledPair(pair, rate, added)
    slack = pair.slack + 32 * UNIT
    if added:
        loss = np.append(-log_mixture(-pair.loss, rate)[0], -math.log1p(-rate) if rate < 1 else np.inf)
        return Atoms(loss, np.append(pair.mass, pair.infinite), slack=slack)
    q = pair.mass * np.exp(-pair.loss)
    missing = max(0.0, 1.0 - float(q.sum()) - 4 * UNIT * len(q))
    loss = np.append(log_mixture(pair.loss, rate)[0], math.log1p(-rate) if rate < 1 else -np.inf)
    mass = np.append((1 - rate) * q + rate * pair.mass, (1 - rate) * missing)
    order = np.argsort(loss, kind="stable")
    return Atoms(loss[order], mass[order], rate * pair.infinite, slack=slack)
