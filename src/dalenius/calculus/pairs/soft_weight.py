"""Soft weights of outcomes: the function D that parts a law between two soft cuts, and sums over what it leaves.

A part weighs the outcome x, which is N(0, 1), by

    D(x) = P(a, a exp(mu (x - low))) - P(a, a exp(mu (x - high))),

P the regularized incomplete gamma function, which grows from 0 to 1 around each cut, within about 1/(mu sqrt(a));
without a low cut the first term is 1, without a high one the second is 0. Parts with cuts in a row add up to the law.

- D is analytic. From P(a, zeta) = zeta^a / Gamma(a) * integral of u^(a-1) exp(-zeta u) over 0 < u < 1, for
  |theta| < pi/2

      |D(x + i theta/mu)| <= cos(theta)^-a D(x + log(cos(theta))/mu).

- Beyond a high cut D falls like exp(-a exp(mu (x - high))), faster than any power of exp(exp(mu x)) below a grows.
- D is log-concave, as the convolution of an indicator with the density exp(a u - exp(u)), u = mu x. With G a gamma
  variable of shape a, given that it lies between zeta_high and zeta_low, zeta = a exp(mu (x - cut)),
  (log D)' = mu (a - E G) and (log D)'' >= -mu^2 E G. Here E G <= a + zeta_high, for the hazard rate of a gamma law with
  a >= 1 is at most 1.

The laws that are parted so, `soft_cut` and `mixture_cuts`, have transforms that are integrals of D exp(-x^2/2) times
a power.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.pair import UNIT, Complexes, Part, Reals, Tilted
from dalenius.core.bisection import last_true

FARTHEST = 50.0
"""Without a high cut, orders that put weight on outcomes beyond this many standard deviations are of no use."""
MOST_TILT = 1e14
MOST_CELLS = 32_000
"""Enough for every mu up to 38 and all that lies above a cut."""
FEW_CELLS = 1_000
FEW_PRODUCTS = 50_000
PER_WIDTH = 3
"""Cells per `narrowest`."""
WORTH = 60.0
"""Cells below exp of this, relative to the largest, add nothing that a float would show."""


class Sharp(Protocol):
    """Cuts of one scale and one sharpness."""

    @property
    def mu(self) -> float: ...

    @property
    def sharpness(self) -> float: ...


def log_normal_beyond(mu: float, a: float, low: float) -> float:
    """An upper bound on the log of E P(a, a exp(mu (x - low))), x ~ N(0, 1).

    That is the probability that x - log(G/a)/mu > low, G a gamma variable of shape a, and Markov's inequality
    bounds it by E exp(s (x - low)) (G/a)^(-s/mu) = exp(s^2/2 - s low) Gamma(a - q) a^q / Gamma(a), q = s/mu < a.
    """
    s = min(max(low, 0.0) / (1.0 + 1.0 / (mu * mu * a)), 0.9 * a * mu)
    q = s / mu
    bound = s * s / 2 - s * low + math.lgamma(a - q) - math.lgamma(a) + q * math.log(a)
    return min(0.0, bound + 1e-12 * (1.0 + s * s + abs(s * low) + a * (1.0 + abs(math.log(a)))))


class Weighted(Part):
    """The part of a law between a low and a high cut: exp(log D - x^2/2) times a power, summed over cells of x.

    The transform at s is the mean of exp(fixed + order(s) * grown), where `fixed` holds the weight of an outcome, and
    `grown`, which is monotone in x, what is raised to a power.
    """

    cuts: Sharp
    low: float | None
    high: float | None

    @abstractmethod
    def order(self, s: Any) -> Any:
        """The power at s."""

    @property
    @abstractmethod
    def orders(self) -> tuple[float, float]:
        """Powers below and beyond these are of no use."""

    @abstractmethod
    def window(self, least: float, most: float) -> tuple[float, float]:
        """An interval outside which the log integrand falls steeply, whatever the order between two.

        It has fallen by more than 40 at its ends, and so it does on lines x + i theta/mu with D moved along.
        """

    @abstractmethod
    def look(self, x: Reals) -> tuple[Reals, Reals]:
        """`fixed` and `grown` at x."""

    @abstractmethod
    def rule(self, c: float, reach: float) -> mixture.Rule | None:
        """A rule for the transform at c + i t, |t| <= reach; None when that takes too many nodes."""

    @cached_property
    def narrowest(self) -> float:
        """The least width of the two factors D and exp(-x^2/2)."""
        return 1.0 / math.sqrt(1.0 + self.cuts.mu**2 * self.cuts.sharpness)

    def zeta(self, x: Reals, cut: float) -> Reals:
        return np.asarray(self.cuts.sharpness * np.exp(np.clip(self.cuts.mu * (x - cut), -600.0, 60.0)))

    def log_weight(self, x: Reals) -> Reals:
        """log D(x), good to a few units times `shape error` (see `slack`)."""
        a = self.cuts.sharpness
        if self.low is None:
            return np.zeros_like(x) if self.high is None else log_q(a, self.zeta(x, self.high))
        if self.high is None:
            return log_p(a, self.zeta(x, self.low))
        # The smaller two of the four tails.
        middle = x > (self.low + self.high) / 2
        left, right = x[~middle], x[middle]
        result = np.empty_like(x)
        more, less = log_p(a, self.zeta(left, self.low)), log_p(a, self.zeta(left, self.high))
        result[~middle] = more + np.log1p(-np.exp(np.minimum(less - more, -1e-9)))
        more, less = log_q(a, self.zeta(right, self.high)), log_q(a, self.zeta(right, self.low))
        result[middle] = more + np.log1p(-np.exp(np.minimum(less - more, -1e-9)))
        return result

    def slack(self, x: Reals, log_weight: Reals) -> Reals:
        """What rounding may do to log D, in units: P and Q err by 16 (a + 16) units of themselves.

        Their arguments err by 4 units of mu (|x| + |cut|), which (log D)' passes on; Q near 1 errs by those of P. Where
        two cuts are close, D is a small difference of such.
        """
        mu, a = self.cuts.mu, self.cuts.sharpness
        ends = abs(self.low or 0.0) + abs(self.high or 0.0)
        slope = a + (0.0 if self.high is None else self.zeta(x, self.high))
        whole = self._cancels * (16 * (a + 16) + 8 * mu * (np.abs(x) + ends) * slope)
        if self.low is None:
            whole = whole * np.minimum(1.0, -2 * log_weight)
        return np.asarray(8 + whole)

    @cached_property
    def _cancels(self) -> float:
        """How much larger than D the sum of the two tails is that it is the difference of: most midway."""
        if self.low is None or self.high is None:
            return 1.0
        a, x = self.cuts.sharpness, np.array([(self.low + self.high) / 2])
        below = log_p(a, self.zeta(x, self.high)) - log_p(a, self.zeta(x, self.low))
        above = log_q(a, self.zeta(x, self.low)) - log_q(a, self.zeta(x, self.high))
        most = max(float(below[0]), float(above[0]))
        return (1 + math.exp(most)) / -math.expm1(most) if most < -1e-9 else math.inf

    # -- real arguments --------------------------------------------------------------------------------

    def grid(self, least: float, most: float) -> tuple[Reals, Reals, Reals]:
        """Cells over the windows of orders between two: edges, and what `look` says there."""
        gap = self.narrowest / PER_WIDTH
        first, last = (end / gap for end in self.window(least, most))
        # Rounded, so that orders of similar size find the same cells.
        return _grid(self, 64 * math.floor(first / 64), 64 * math.ceil(last / 64))

    @cached_property
    def _grids(self) -> list[tuple[float, float, tuple[Reals, Reals, Reals]]]:
        return []

    def grid_for(self, least: float, most: float) -> tuple[Reals, Reals, Reals]:
        """As `grid`, or cells found before for more orders than these, if they are few."""
        for low, high, known in self._grids:
            if low <= least and most <= high:
                return known
        # With a high cut the window hardly depends on the order; others are likely to follow.
        low, high = min(least, 0.0), max(most, 1.0)
        if self.high is not None:
            low, high = max(8 * low, self.orders[0]), 8 * high
        found = self.grid(low, high)
        if len(found[0]) > FEW_CELLS:
            return self.grid(least, most)
        if len(self._grids) > 3:
            self._grids.clear()
        self._grids.append((low, high, found))
        return found

    def log_mgf(self, s: Reals) -> Reals:
        """log of the transform on the real axis, by the trapezoid rule; inf for orders beyond use.

        On the line x + i theta/mu, theta = 2/sqrt(a), the factors D and exp(-x^2/2) grow by about exp(4), and the rule
        errs by that times exp(-2 pi theta / (mu gap)), or exp(-37).
        """
        s = np.asarray(s, dtype=float)
        key = s.tobytes()
        if key not in self._moments:
            if len(self._moments) > 7:
                self._moments.clear()
            self._moments[key] = self._log_mgf(s)
        return self._moments[key].copy()

    @cached_property
    def _moments(self) -> dict[bytes, Reals]:
        return {}

    def _log_mgf(self, s: Reals) -> Reals:
        result = np.full(len(s), np.inf)
        orders = self.order(s)
        mu, (least, most) = self.cuts.mu, self.orders
        finite = np.flatnonzero((orders <= most) & (orders >= least))
        if len(finite) == 0:
            return result
        if len(s) == 1:
            return self._log_mgf_at(float(orders[0]))
        finite = finite[np.argsort(orders[finite], kind="stable")]
        for block in [finite] if len(finite) < 80 else np.array_split(finite, len(finite) // 40):
            x, fixed, grown = self.grid_for(float(orders[block[0]]), float(orders[block[-1]]))
            if len(x) > MOST_CELLS:
                continue
            kept = worth_cells(fixed, grown, float(orders[block[0]]), float(orders[block[-1]]))
            exponent = np.multiply.outer(orders[block], grown[kept])
            exponent += fixed[kept]
            peak = exponent.argmax(axis=1)
            top = exponent[np.arange(len(block)), peak]
            exponent -= top[:, None]
            np.maximum(exponent, -700.0, out=exponent)
            total = np.exp(exponent, out=exponent).sum(axis=1)
            result[block] = top + np.log(total * float(x[1] - x[0])) - 0.5 * math.log(2 * math.pi)
            if self.high is not None:  # a peak far beyond the cut is too narrow for these cells
                far = block[mu * (x[kept][peak] - self.high) > math.log(8.0)]
                if len(far):
                    result[far] = self._narrow(orders[far], float(x[0]), float(x[-1]), float(x[1] - x[0]) / 4)
        return result

    def _log_mgf_at(self, order: float) -> Reals:
        """The same for one order."""
        x, fixed, grown = self.grid_for(order, order)
        if len(x) > MOST_CELLS:
            return np.full(1, np.inf)
        exponent, gap = fixed + order * grown, float(x[1] - x[0])
        peak = int(exponent.argmax())
        if self.high is not None and self.cuts.mu * (float(x[peak]) - self.high) > math.log(8.0):
            return self._narrow(np.array([order]), float(x[0]), float(x[-1]), gap / 4)
        top = float(exponent[peak])
        total = float(np.exp(np.maximum(exponent - top, -700.0)).sum())
        return np.array([top + math.log(total * gap) - 0.5 * math.log(2 * math.pi)])

    def _narrow(self, orders: Reals, start: float, end: float, gap: float) -> Reals:
        """The same with finer cells; inf where even these are too wide."""
        assert self.high is not None
        mu = self.cuts.mu
        x = np.arange(start, end, gap)
        fixed, grown = self.look(x)
        exponent = np.multiply.outer(orders, grown) + fixed
        top = exponent.max(axis=1)
        total = np.exp(np.maximum(exponent - top[:, None], -700.0)).sum(axis=1)
        value = top + np.log(total * gap) - 0.5 * math.log(2 * math.pi)
        return np.where(mu * (x[exponent.argmax(axis=1)] - self.high) > math.log(128.0), np.inf, value)

    def spread(self, c: float) -> float:
        """Roughly the mean absolute deviation of the loss, the law tilted by c."""
        m = self.order(c)
        _, fixed, grown = self.grid_for(m, m)
        exponent = fixed + m * grown
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        weight /= weight.sum()
        return float(weight @ np.abs(grown - weight @ grown))

    # -- along a line ----------------------------------------------------------------------------------

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        rule = self.rule_for(c, float(np.max(np.abs(t))), len(t))
        return None if rule is None else along(rule, t)

    @cached_property
    def _rules(self) -> dict[float, list[tuple[float, mixture.Rule]]]:
        return {}

    def rule_for(self, c: float, reach: float, count: int) -> mixture.Rule | None:
        """A rule for |t| <= reach: one found before that reaches further serves few t as well."""
        if c not in self._rules and len(self._rules) > 3:
            self._rules.clear()
        known = self._rules.setdefault(c, [])
        for far, rule in known:
            if far == reach or (far > reach and count * len(rule.loss) < FEW_PRODUCTS):
                return rule
        found = self.rule(c, reach)
        if found is not None:
            known.append((reach, found))
        return found


@lru_cache(maxsize=128)
def _grid(part: Weighted, first: int, last: int) -> tuple[Reals, Reals, Reals]:
    if last - first > MOST_CELLS:
        return (np.zeros(MOST_CELLS + 1),) * 3
    x = np.arange(first, last + 1) * (part.narrowest / PER_WIDTH)
    return x, *part.look(x)


@lru_cache(maxsize=256)
def saturated(a: float) -> tuple[float, float]:
    """Where P(a, zeta), left of the first, and Q(a, zeta), right of the second, are below exp(-40): 1 - them is 1.

    By the bounds in `log_p` and `log_q`, on the logarithm of zeta / a.
    """
    fixed = float(gammaln(a)) - a * math.log(a)

    def log_density(x: float) -> float:
        return a * x - a * math.exp(x) - fixed

    def is_left(x: float) -> bool:
        return log_density(x) - math.log(a) - math.log1p(-math.exp(x) * a / (a + 1)) < -41.0

    def is_right(x: float) -> bool:
        return log_density(x) - math.log(a * math.expm1(x) + 1) < -41.0

    left = last_true(is_left, -60.0, 0.0, relative=1e-2)[0]
    right = last_true(is_right, 12.0, 0.0, relative=1e-2)[0]
    return a * math.exp(left), a * math.exp(right)


def log_p(a: float, zeta: Reals) -> Reals:
    """log P(a, zeta); where that is no float, the bound zeta^a exp(-zeta) / (Gamma(a + 1) (1 - zeta/(a + 1)))."""
    result = np.zeros_like(zeta)
    less = zeta < saturated(a)[1]
    zeta = zeta[less]
    value = gammainc(a, zeta)
    tiny = value < 1e-290
    logs = np.log(np.where(tiny, 1.0, value))
    near = zeta[tiny]
    logs[tiny] = a * np.log(near) - near - float(gammaln(a + 1)) - np.log1p(-near / (a + 1))
    result[less] = logs
    return result


def log_q(a: float, zeta: Reals) -> Reals:
    """log Q(a, zeta); where that is no float, the bound zeta^a exp(-zeta) / (Gamma(a) (zeta - a + 1))."""
    result = np.zeros_like(zeta)
    more = zeta > saturated(a)[0]
    zeta = zeta[more]
    value = gammaincc(a, zeta)
    tiny = value < 1e-290
    logs = np.log(np.where(tiny, 1.0, value))
    far = zeta[tiny]
    logs[tiny] = a * np.log(far) - far - float(gammaln(a)) - np.log(far - a + 1)
    result[more] = logs
    return result


def nearest(holds: Callable[[float], bool], at: float, far: float, within: float) -> float:
    """A place beyond `at` where a condition holds, `within` one where it does not, if it holds at at + far (signed)."""
    end = at + math.copysign(far * (1 + 1e-9) + 1e-9, within)
    while not holds(end):
        end += within
    while abs(end - at) > abs(within):
        middle = (at + end) / 2
        at, end = (at, middle) if holds(middle) else (middle, end)
    return end


def drag_of(a: float, zeta: float) -> float:
    """zeta times the hazard rate of the gamma law, which grows and is at most 1: -d log Q(a, zeta) / d log zeta."""
    above = float(gammaincc(a, zeta))
    if above < 1e-290 or zeta < 1e-290:
        return zeta
    return min(zeta, math.exp(min(a * math.log(zeta) - zeta - float(gammaln(a)), 700.0)) / above * (1 + 1e-9))


def push_of(a: float, zeta: float) -> float:
    """zeta times the reversed hazard rate of the gamma law, which falls: d log P(a, zeta) / d log zeta."""
    below = float(gammainc(a, zeta))
    return (
        math.exp(min(a * math.log(zeta) - zeta - float(gammaln(a)), 700.0)) / below if below > 1e-290 else a
    )


def worth_cells(fixed: Reals, log_w: Reals, least: float, most: float) -> slice:
    """Cells that hold all but exp(-WORTH) each of every law exp(fixed + m log w), m between two orders.

    log w grows with x, so a larger order only moves mass to the right: what lies left of a cell is at most its share
    for the least order, what lies right of one that for the largest.
    """
    first, last = fixed + least * log_w, fixed + most * log_w
    left = int(np.argmax(first > first.max() - WORTH))
    right = len(last) - int(np.argmax(last[::-1] > last.max() - WORTH))
    return slice(left, max(right, left + 1))


def tops(part: Weighted, x: Reals, concave: Reals) -> Reals:
    """Upper bounds in the cells on log D - x^2/2, given at the edges (D may have been moved to the right)."""
    bend = 1.0 + part.cuts.mu**2 * (
        part.cuts.sharpness + (0.0 if part.high is None else np.minimum(part.zeta(x[1:], part.high), 1e6))
    )
    gap = float(x[1] - x[0])
    return np.asarray(np.maximum(concave[1:], concave[:-1]) + np.minimum(bend * (gap * gap / 8), 50.0))


class Nodes(NamedTuple):
    """Nodes of a rule as `mixture.Rule` takes them; what it misses is at most `missed` exp(peak)."""

    loss: Reals
    exponent: Reals
    order: Reals
    noise: Reals
    x: Reals
    slack: Reals
    peak: float
    missed: float


def rule_of(parts: Sequence[Nodes]) -> mixture.Rule:
    """The rule of all these nodes together."""
    loss, exponent, order, noise, x, slack = (np.concatenate([part[k] for part in parts]) for k in range(6))
    top = float(exponent.max())
    outside = sum(math.exp(min(part.peak - top, 50.0)) * part.missed for part in parts)
    return mixture.Rule(loss, exponent, order, noise, x, outside, slack)


def along(rule: mixture.Rule, t: Reals) -> Tilted:
    """The rule along a line, as 1 + sum of weights (exp(i t loss) - 1): most losses are tiny, and so are the errors.

    exp(i (u + v)) - 1 = (exp(i u) - 1) exp(i v) + exp(i v) - 1 makes two factors of most exponentials. A sum of N
    products errs by N units of the sum of their sizes; the weights add up to 1 up to those of pairwise summation, 40 at
    most.
    """
    size = len(t)
    if not np.array_equal(t, np.arange(size) * t[min(1, size - 1)]):
        return rule.along(t)
    block = math.isqrt(size)
    starts, offsets = t[::block], t[:block]
    values = np.zeros((len(starts), block), dtype=complex)
    sizes = np.zeros(values.shape)
    many = max(1, mixture.CHUNK // len(starts))
    for k in range(0, len(rule.loss), many):
        loss, weights = rule.loss[k : k + many], rule.weights[k : k + many]
        fine, fine_size = _turned(np.multiply.outer(loss, offsets))
        coarse, coarse_size = _turned(np.multiply.outer(starts, loss))
        values += (coarse * weights) @ (1.0 + fine) + weights @ fine
        sizes += (coarse_size @ weights)[:, None] + weights @ fine_size
    count = len(rule.loss)
    fixed = rule.fixed - (3 * count + 8) * UNIT + 48 * UNIT
    error = fixed + rule.per_t * np.abs(t) + 2 * (count + 16) * UNIT * sizes.ravel()[:size]
    return Tilted(rule.log_scale, 1.0 + values.ravel()[:size], error)


def _turned(phase: Reals) -> tuple[Complexes, Reals]:
    """exp(i phase) - 1, and its size."""
    half = np.sin(0.5 * phase)
    return -2 * half * half + 1j * np.sin(phase), 2 * np.abs(half)
