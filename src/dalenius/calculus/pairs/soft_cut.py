"""Parts of a sampled Gaussian law between two soft cuts, for `engines.layers`.

With x ~ N(0, 1) the loss is +-log w(x), w = 1 - g + g exp(mu x - mu^2/2). A part weighs the outcome x by

    D(x) = P(a, a exp(mu (x - low))) - P(a, a exp(mu (x - high))),

P the regularized incomplete gamma function, which grows from 0 to 1 around each cut, within about 1/(mu sqrt(a));
without a low cut the first term is 1, without a high one the second is 0. Parts with cuts in a row add up to the law.

- D is analytic. From P(a, zeta) = zeta^a / Gamma(a) * integral of u^(a-1) exp(-zeta u) over 0 < u < 1, for
  |theta| < pi/2

      |D(x + i theta/mu)| <= cos(theta)^-a D(x + log(cos(theta))/mu),

  and so the transform of a part with a low cut decays fast: on that line |w^(i t)| = exp(-t arg w), and arg w grows
  with x.
- Beyond a high cut D falls like exp(-a exp(mu (x - high))), faster than any power of w grows.
- D is log-concave, as the convolution of an indicator with the density exp(a u - exp(u)), u = mu x. With G a gamma
  variable of shape a, given that it lies between zeta_high and zeta_low, zeta = a exp(mu (x - cut)),
  (log D)' = mu (a - E G) and (log D)'' >= -mu^2 E G. Here E G <= a + zeta_high, for the hazard rate of a gamma law with
  a >= 1 is at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, ndtri

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.pair import UNIT, Complexes, Cuts, Part, Reals, Tilted
from dalenius.core.bisection import last_true

CUT = 45.0
"""Outcomes whose weight is below exp(-CUT) of the largest are left out, and charged to the error."""
STEEP = 10.0
"""Beyond the window the log integrand falls with at least this slope."""
FARTHEST = 50.0
"""Without a high cut, orders that put weight on outcomes beyond this many standard deviations are of no use."""
MOST_TILT = 1e14
MOST_CELLS = 32_000
"""Enough for every mu up to 38 and all that lies above a cut."""
FEW_CELLS = 1_000
FEW_PRODUCTS = 50_000
PER_WIDTH = 3
"""Cells per `narrowest`."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
RHO = 4.0
LONG, TALL = (RHO + 1 / RHO) / 2, (RHO - 1 / RHO) / 2
MOST_GROWTH = 35.0
"""A panel errs by 64/15 RHO^-64 exp(growth) relative to its largest value: exp(-50) at most of the largest of all."""
MOST_MORE = 40.0
TOO_COARSE = 60.0
"""Cells whose bounds are so far above what is seen of the integrand miss its peak."""
LESS_CUT, MORE_GROWTH = 36.0, 45.0
"""CUT and MOST_GROWTH for a part with a low cut."""
WORTH = 60.0
"""Cells below exp of this, relative to the largest, add nothing that a float would show."""
ANGLES = (1.5, 3.0, 4.5, 6.0)
"""Shifts theta of the line, in units of 1/sqrt(a)."""
SOME, LITTLE = 30, 1e-15
GROUP = 2
"""Cells that share a bound on exp(-t arg w), that at the left end of the first."""


@dataclass(frozen=True)
class SoftCuts(Cuts):
    """The soft cuts of one sampled Gaussian pair, all of the same sharpness a."""

    mu: float
    rate: float
    added: bool
    sharpness: float

    @cached_property
    def log_odds(self) -> float:
        """log(g/(1-g) exp(z)) at x = 0."""
        return math.log(self.rate) - math.log1p(-self.rate) - self.mu**2 / 2

    def place(self, level: float) -> float:
        """The x whose loss is `level` away from the end of its range: log1p(g/(1-g) exp(z)) = level."""
        return (level + math.log(-math.expm1(-level)) - self.log_odds) / self.mu

    def steepest(self, level: float) -> float:
        return 0.9 * self.sharpness / math.expm1(min(level, 1.0))

    def highest(self, mass: float) -> float:
        # The cut reaches further to the left than the normal law alone.
        wide = math.sqrt(1.0 + 1.0 / (self.mu**2 * self.sharpness))
        x = -float(ndtri(mass)) * wide + (0.0 if self.added else self.mu)
        return float(np.logaddexp(0.0, self.log_odds + self.mu * x))

    def jump(self, s: float) -> float:
        return max(0.0, self.log_odds + self.mu**2 * (-s if self.added else 1.0 + s))

    def log_beyond(self, level: float) -> float:
        low = self.place(level)
        if self.added:
            return self.log_normal_beyond(low)
        without, record = self.log_normal_beyond(low), self.log_normal_beyond(low - self.mu)
        return float(np.logaddexp(without, math.log(self.rate) + record))

    def log_normal_beyond(self, low: float) -> float:
        """An upper bound on the log of E P(a, a exp(mu (x - low))), x ~ N(0, 1).

        That is the probability that x - log(G/a)/mu > low, G a gamma variable of shape a, and Markov's inequality
        bounds it by E exp(s (x - low)) (G/a)^(-s/mu) = exp(s^2/2 - s low) Gamma(a - q) a^q / Gamma(a), q = s/mu < a.
        """
        mu, a = self.mu, self.sharpness
        s = min(max(low, 0.0) / (1.0 + 1.0 / (mu * mu * a)), 0.9 * a * mu)
        q = s / mu
        bound = s * s / 2 - s * low + math.lgamma(a - q) - math.lgamma(a) + q * math.log(a)
        return min(0.0, bound + 1e-12 * (1.0 + s * s + abs(s * low) + a * (1.0 + abs(math.log(a)))))

    def below(self, level: float) -> SoftPart:
        return part_of(self, None, self.place(level))

    def between(self, low: float, high: float) -> SoftPart:
        return part_of(self, self.place(low), None if high == math.inf else self.place(high))

    def whole(self) -> SoftPart:
        return part_of(self, None, None)

    def crowd(self, low: float, high: float, s: float) -> float:
        part = self.below(high)
        m = part.order(s)
        x, fixed, log_w = part.grid_for(m, m)
        exponent = fixed + m * log_w
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        return float(weight[x > self.place(low)].sum() / weight.sum())


@dataclass(frozen=True)
class SoftPart(Part):
    """The part of the law between a low and a high cut."""

    cuts: SoftCuts
    low: float | None
    high: float | None

    @cached_property
    def narrowest(self) -> float:
        """The least width of the two factors D and exp(-x^2/2)."""
        return 1.0 / math.sqrt(1.0 + self.cuts.mu**2 * self.cuts.sharpness)

    def order(self, s: float) -> float:
        """The power of w whose weighted mean is the transform at s."""
        return -s if self.cuts.added else 1.0 + s

    def zeta(self, x: Reals, cut: float) -> Reals:
        return np.asarray(self.cuts.sharpness * np.exp(np.clip(self.cuts.mu * (x - cut), -600.0, 60.0)))

    def log_weight(self, x: Reals) -> Reals:
        """log D(x), good to a few units times `shape error` (see `slack`)."""
        a = self.cuts.sharpness
        if self.low is None:
            return np.zeros_like(x) if self.high is None else _log_q(a, self.zeta(x, self.high))
        if self.high is None:
            return _log_p(a, self.zeta(x, self.low))
        # The smaller two of the four tails.
        middle = x > (self.low + self.high) / 2
        left, right = x[~middle], x[middle]
        result = np.empty_like(x)
        more, less = _log_p(a, self.zeta(left, self.low)), _log_p(a, self.zeta(left, self.high))
        result[~middle] = more + np.log1p(-np.exp(np.minimum(less - more, -1e-9)))
        more, less = _log_q(a, self.zeta(right, self.high)), _log_q(a, self.zeta(right, self.low))
        result[middle] = more + np.log1p(-np.exp(np.minimum(less - more, -1e-9)))
        return result

    def slack(self, x: Reals, log_weight: Reals) -> Reals:
        """What rounding may do to log D, in units: P and Q err by 16 (a + 16) units of themselves.

        Their arguments err by 4 units of mu (|x| + |cut|), which (log D)' passes on; Q near 1 errs by those of P.
        """
        mu, a = self.cuts.mu, self.cuts.sharpness
        ends = abs(self.low or 0.0) + abs(self.high or 0.0)
        slope = a + (0.0 if self.high is None else self.zeta(x, self.high))
        whole = 16 * (a + 16) + 8 * mu * (np.abs(x) + ends) * slope
        if self.low is None:
            whole = whole * np.minimum(1.0, -2 * log_weight)
        return np.asarray(8 + whole)

    @property
    def is_low(self) -> bool:
        # D falls with x, and so with L in the remove direction: E_P D = E_Q w D <= E_Q w E_Q D, for E_Q w = 1.
        return self.low is None and not self.cuts.added

    def mass(self) -> tuple[float, float, float]:
        return self._mass

    @cached_property
    def _mass(self) -> tuple[float, float, float]:
        """log of the P-mass of a part below a cut, of its Q-mass over its P-mass, and a bound on the error of both.

        E w = 1, so both follow from what is above the cut: p = E P and q = E (w - 1) P. The trapezoid rule adds to the
        roundings of D (`slack`) about exp(-33), see `log_mgf`, and those of the exponents.
        """
        assert self.low is None
        if self.high is None:
            return 0.0, 0.0, 0.0
        mu, rate = self.cuts.mu, self.cuts.rate
        above = part_of(self.cuts, self.high, None)
        x, fixed, _ = above.grid_for(0.0, 1.0)
        if len(x) > MOST_CELLS:
            return math.nan, math.nan, math.inf
        unit = float(x[1] - x[0]) / math.sqrt(2 * math.pi)
        z = mu * x - mu * mu / 2
        weight = np.exp(fixed)
        # exp(z) alone may be no float where the weight is 0.
        grown = rate * np.where(z < 1.0, np.expm1(np.minimum(z, 1.0)) * weight, np.exp(fixed + z) - weight)
        gone, gain = unit * float(weight.sum()), unit * float(grown.sum())
        if gone + gain > 0.5:  # little is left
            one, other = (float(k) for k in self.log_mgf(np.array([0.0, -1.0])))
            return one, other - one, 1e-12 * (1 + abs(one) + abs(other))
        units = above.slack(x, fixed + 0.5 * x * x) + 4 * (x * x + np.abs(z)) + len(x)
        off = 4 * unit * float((UNIT * units + 1e-14) @ (weight + np.abs(grown)))
        if self.cuts.added:  # E[w (1 - P)] / E[1 - P] = 1 - q / (1 - p)
            return math.log1p(-gone), math.log1p(-gain / (1 - gone)), off
        return math.log1p(-gone - gain), -math.log1p(-gain / (1 - gone)), off

    # -- real arguments --------------------------------------------------------------------------------

    def window(self, least: float, most: float) -> tuple[float, float]:
        """An interval outside which the log integrand m log w - x^2/2 + log D falls at slope STEEP or more.

        This holds for all orders m between two, since the slope grows with m. At its ends it has fallen by CUT.
        """
        mu, a = self.cuts.mu, self.cuts.sharpness
        m = most
        tame = False

        def rises(x: float) -> float:
            """A lower bound on the slope, that holds left of x."""
            pull = 0.0 if self.high is None else mu * _drag(a, a * math.exp(min(mu * (x - self.high), 60.0)))
            return -x + min(0.0, least) * mu * min(1.0, 2 * self.share(x)) - pull

        def falls(x: float) -> float:
            """An upper bound on the slope, that holds right of x."""
            push = (
                0.0
                if self.low is None
                else mu * min(a, _pull(a, a * math.exp(min(mu * (x - self.low), 60.0))))
            )
            if self.high is not None:
                push = min(push, mu * (a - a * math.exp(min(mu * (x - self.high), 60.0))))
            return -x + max(0.0, m) * mu + push

        left = -STEEP if self.high is None else min(-STEEP, self.high)
        if rises(left) < STEEP:
            # What the slope lacks there it lacks no more of further left.
            left = _nearest(lambda x: rises(x) >= STEEP, left, STEEP - rises(left), -1.0)
        right = STEEP + max(0.0, m) * mu
        if self.high is not None:
            enough = 1.0 + max(m, 0.0) / a + max(0.0, STEEP - left) / (a * mu)
            right = min(right, self.high + math.log(enough) / mu)
            # Right of the high cut m log w grows no faster than exp(mu x), as what pulls down does.
            beside = max(m, 0.0) * self.share(self.high) / a
            if beside < 0.9:
                enough = (1.0 + max(0.0, STEEP - self.high) / (a * mu)) / (1.0 - beside)
                tame = self.high + math.log(enough) / mu <= right
                right = min(right, self.high + math.log(enough) / mu)
        if not tame and falls(right) > -STEEP:
            right = _nearest(lambda x: falls(x) <= -STEEP, right, falls(right) + STEEP, 0.5)
        # There d more units take it down by STEEP d + d^2/2, or with the high cut by d^2 / (2 narrowest^2).
        right += 3.6 if self.high is None else min(3.6, 9.5 * self.narrowest)
        return left - 3.6, max(right, left + 1.0)

    def share(self, x: float) -> float:
        """g exp(z) / w."""
        return 1.0 / (1.0 + math.exp(-min(max(self.cuts.log_odds + self.cuts.mu * x, -700.0), 700.0)))

    def grid(self, least: float, most: float) -> tuple[Reals, Reals, Reals]:
        """Cells over the windows of orders between two: edges, log D - x^2/2 and log w there."""
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
            low, high = 8 * low, 8 * high
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
        orders = -s if self.cuts.added else 1.0 + s
        mu, a = self.cuts.mu, self.cuts.sharpness
        most = FARTHEST / mu
        if self.high is not None:  # where exp(-zeta) still holds w^m
            most = 3 * a * (1.0 + math.exp(min(-self.cuts.log_odds - mu * self.high, 600.0)))
        finite = np.flatnonzero((orders <= most) & (-orders * mu <= MOST_TILT))
        if len(finite) == 0:
            return result
        if len(s) == 1:
            return self._log_mgf_at(float(orders[0]))
        finite = finite[np.argsort(orders[finite], kind="stable")]
        for block in [finite] if len(finite) < 80 else np.array_split(finite, len(finite) // 40):
            x, fixed, log_w = self.grid_for(float(orders[block[0]]), float(orders[block[-1]]))
            if len(x) > MOST_CELLS:
                continue
            kept = _worth(fixed, log_w, float(orders[block[0]]), float(orders[block[-1]]))
            exponent = np.multiply.outer(orders[block], log_w[kept])
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
        x, fixed, log_w = self.grid_for(order, order)
        if len(x) > MOST_CELLS:
            return np.full(1, np.inf)
        exponent, gap = fixed + order * log_w, float(x[1] - x[0])
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
        log_w = mixture.log_mixture(mu * x - mu**2 / 2, self.cuts.rate)[0]
        exponent = np.multiply.outer(orders, log_w) + (self.log_weight(x) - 0.5 * x * x)
        top = exponent.max(axis=1)
        total = np.exp(np.maximum(exponent - top[:, None], -700.0)).sum(axis=1)
        value = top + np.log(total * gap) - 0.5 * math.log(2 * math.pi)
        return np.where(mu * (x[exponent.argmax(axis=1)] - self.high) > math.log(128.0), np.inf, value)

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
        found = part_rule(self, c, reach)
        if found is not None:
            known.append((reach, found))
        return found

    def spread(self, c: float) -> float:
        """Roughly the mean absolute deviation of the loss, the law tilted by c."""
        m = self.order(c)
        _, fixed, log_w = self.grid_for(m, m)
        exponent = fixed + m * log_w
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        weight /= weight.sum()
        return float(weight @ np.abs(log_w - weight @ log_w))

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if self.low is not None:
            return part_envelope(self, c).at(t)
        if times >= mixture.MANY:
            uniform = self._uniform(c)
            if uniform.serves(times):
                return uniform.on(t)
        return below_envelope(self, c, mixture.level_for(times)).on(t)

    def _uniform(self, c: float) -> mixture.Uniform:
        """As `mixture.uniform_for`; D is log-concave."""
        m, mu = self.order(c), self.cuts.mu
        x, fixed, log_w = self.grid_for(m, m)
        if len(x) > MOST_CELLS:
            return mixture.NOTHING
        gap = float(x[1] - x[0])
        height = fixed + m * log_w
        weights = np.exp(np.maximum(height - float(height.max()), -700.0))
        total = float(weights.sum())
        log_density = height - (float(height.max()) + math.log(total * gap))
        variance = mixture.variance_of(weights / total, log_w)
        log_slope = math.log(mu * self.cuts.rate) + mu * x - mu * mu / 2 - log_w
        return mixture.uniform_in(log_density, log_w, log_slope, max(m, 0.0) * (mu * gap) ** 2 / 32, variance)


@lru_cache(maxsize=256)
def part_of(cuts: SoftCuts, low: float | None, high: float | None) -> SoftPart:
    return SoftPart(cuts, low, high)


def along(rule: mixture.Rule, t: Reals) -> Tilted:
    """The rule along a line, as 1 + sum of weights (exp(i t loss) - 1): most losses are tiny, and so are the errors.

    exp(i (u + v)) - 1 = (exp(i u) - 1) exp(i v) + exp(i v) - 1 makes two factors of most exponentials. A sum of N
    products errs by N units of the sum of their sizes; the weights add up to 1 up to those of pairwise summation, 40 at
    most.
    """
    size = len(t)
    if size > 1 and not np.array_equal(t, np.arange(size) * t[1]):
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


@lru_cache(maxsize=256)
def _ends(a: float) -> tuple[float, float]:
    """Where P(a, zeta), left of the first, and Q(a, zeta), right of the second, are below exp(-40): 1 - them is 1.

    By the bounds in `_log_p` and `_log_q`, on the logarithm of zeta / a.
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


def _log_p(a: float, zeta: Reals) -> Reals:
    """log P(a, zeta); where that is no float, the bound zeta^a exp(-zeta) / (Gamma(a + 1) (1 - zeta/(a + 1)))."""
    result = np.zeros_like(zeta)
    less = zeta < _ends(a)[1]
    zeta = zeta[less]
    value = gammainc(a, zeta)
    tiny = value < 1e-290
    logs = np.log(np.where(tiny, 1.0, value))
    near = zeta[tiny]
    logs[tiny] = a * np.log(near) - near - float(gammaln(a + 1)) - np.log1p(-near / (a + 1))
    result[less] = logs
    return result


def _log_q(a: float, zeta: Reals) -> Reals:
    """log Q(a, zeta); where that is no float, the bound zeta^a exp(-zeta) / (Gamma(a) (zeta - a + 1))."""
    result = np.zeros_like(zeta)
    more = zeta > _ends(a)[0]
    zeta = zeta[more]
    value = gammaincc(a, zeta)
    tiny = value < 1e-290
    logs = np.log(np.where(tiny, 1.0, value))
    far = zeta[tiny]
    logs[tiny] = a * np.log(far) - far - float(gammaln(a)) - np.log(far - a + 1)
    result[more] = logs
    return result


def _nearest(holds: Callable[[float], bool], at: float, far: float, within: float) -> float:
    """A place beyond `at` where a condition holds, `within` one where it does not, if it holds at at + far (signed)."""
    end = at + math.copysign(far * (1 + 1e-9) + 1e-9, within)
    while not holds(end):
        end += within
    while abs(end - at) > abs(within):
        middle = (at + end) / 2
        at, end = (at, middle) if holds(middle) else (middle, end)
    return end


def _drag(a: float, zeta: float) -> float:
    """zeta times the hazard rate of the gamma law, which grows and is at most 1: -d log Q(a, zeta) / d log zeta."""
    above = float(gammaincc(a, zeta))
    if above < 1e-290 or zeta < 1e-290:
        return zeta
    return min(zeta, math.exp(min(a * math.log(zeta) - zeta - float(gammaln(a)), 700.0)) / above * (1 + 1e-9))


def _pull(a: float, zeta: float) -> float:
    """zeta times the reversed hazard rate of the gamma law, which falls: d log P(a, zeta) / d log zeta."""
    below = float(gammainc(a, zeta))
    return (
        math.exp(min(a * math.log(zeta) - zeta - float(gammaln(a)), 700.0)) / below if below > 1e-290 else a
    )


def _worth(fixed: Reals, log_w: Reals, least: float, most: float) -> slice:
    """Cells that hold all but exp(-WORTH) each of every law exp(fixed + m log w), m between two orders.

    log w grows with x, so a larger order only moves mass to the right: what lies left of a cell is at most its share
    for the least order, what lies right of one that for the largest.
    """
    first, last = fixed + least * log_w, fixed + most * log_w
    left = int(np.argmax(first > first.max() - WORTH))
    right = len(last) - int(np.argmax(last[::-1] > last.max() - WORTH))
    return slice(left, max(right, left + 1))


@lru_cache(maxsize=128)
def _grid(part: SoftPart, first: int, last: int) -> tuple[Reals, Reals, Reals]:
    if last - first > MOST_CELLS:
        return (np.zeros(MOST_CELLS + 1),) * 3
    x = np.arange(first, last + 1) * (part.narrowest / PER_WIDTH)
    log_w = mixture.log_mixture(part.cuts.mu * x - part.cuts.mu**2 / 2, part.cuts.rate)[0]
    return x, part.log_weight(x) - 0.5 * x * x, log_w


def tops(part: SoftPart, x: Reals, concave: Reals) -> Reals:
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


@lru_cache(maxsize=64)
def part_rule(part: SoftPart, c: float, reach: float) -> mixture.Rule | None:
    """Gauss-Legendre panels for the transform at c + i t, |t| <= reach; None when that takes too many."""
    found = part_nodes(part, c, reach)
    return None if found is None else rule_of([found])


def rule_of(parts: Sequence[Nodes]) -> mixture.Rule:
    """The rule of all these nodes together."""
    loss, exponent, order, noise, x, slack = (np.concatenate([part[k] for part in parts]) for k in range(6))
    top = float(exponent.max())
    outside = sum(math.exp(min(part.peak - top, 50.0)) * part.missed for part in parts)
    return mixture.Rule(loss, exponent, order, noise, x, outside, slack)


def part_nodes(
    part: SoftPart, c: float, reach: float, start: float = -math.inf, least_top: float = -math.inf
) -> Nodes | None:
    """The nodes right of `start`, where the law may be cut off sharply; None when they are too many.

    Outcomes are left out when their log weights are CUT below the largest, or below `least_top`.

    Let theta = mu y <= 1, d = -log(cos(theta))/mu. At x + i y the integrand is at most exp(u(x - d)), where
    u = m log w + log D - x^2/2, times

        cos(theta)^-a exp(y^2/2 + reach |arg w| + d |x|) max(w(x)/w(x - d), 1/cos'(theta))^|m|,

    |arg w| <= theta min(1, 2 q), w(x)/w(x - d) <= exp(d mu q), q the share g exp(z)/w (see `mixture.bulk`), and cos'
    what w may shrink by (`_log_cos`). On the Bernstein ellipse RHO of a panel of half width r, with half axes LONG r
    and TALL r, the rule of 32 nodes errs by 64/15 r RHO^-64 / (1 - RHO^-2) times the largest modulus (Trefethen 2013,
    "Approximation theory and approximation practice", Theorem 19.3).
    """
    m = part.order(c)
    x, fixed, log_w = part.grid_for(m, m)
    if len(x) > MOST_CELLS:
        return None
    gap = float(x[1] - x[0])
    plain = fixed + m * log_w
    upper = tops(part, x, fixed) + np.maximum(m * log_w[1:], m * log_w[:-1])
    # Cells from the one on that holds the sharp end.
    begin = 0 if start == -math.inf else min(max(math.floor((start - x[0]) / gap) - 1, 0), len(upper) - 1)
    top = max(float(plain[begin:].max()), least_top + 0.5 * math.log(2 * math.pi))
    if float(upper[begin:].max()) > top + TOO_COARSE:
        return None
    # What jumps is needed to fewer digits than what is raised to a power.
    deep, growth_of_one = (CUT, MOST_GROWTH) if part.low is None else (LESS_CUT, MORE_GROWTH)
    kept = np.flatnonzero(upper[begin:] > top - deep) + begin
    first, last = (int(kept[0]), int(kept[-1])) if len(kept) else (len(upper), len(upper))
    # Cells left out, and what lies beyond the window.
    outside = float(np.exp(upper[begin:first] - top).sum() + np.exp(upper[last + 1 :] - top).sum()) * gap
    ends = plain[[0, -1]] if begin == 0 else plain[-1:]
    outside += float(np.exp(np.minimum(ends - top, 50.0)).sum()) / STEEP
    if len(kept) == 0 or start >= x[last + 1]:
        outside += float(np.exp(upper[begin:] - top).sum()) * gap
        return Nodes(*(np.zeros(0),) * 6, top - 0.5 * math.log(2 * math.pi), outside)
    mu, a = part.cuts.mu, part.cuts.sharpness
    at, end = max(float(x[first]), start), float(x[last + 1])
    centres: list[float] = []
    halves: list[float] = []
    growths: list[float] = []
    shifts: list[float] = []
    sliver = 1e-12 * (1.0 + abs(end))
    outside += sliver * math.exp(float(upper[last]) - top)
    heights, peak = upper.tolist(), float(x[int(np.argmax(upper))])
    origin, final = float(x[0]), len(heights) - 1
    calm, widest, likely = part.low is None, min(4.0 * part.narrowest, 1.0 / (mu * TALL)), math.inf
    while end - at > sliver:
        # Where one panel is not calm, none further right is; the next needs about the width that this one should have.
        r, growth = _calm(part, m, reach, at, end) if calm else (0.0, math.inf)
        calm = growth < math.inf
        if not calm:
            r = min(widest, likely, (end - at) / 2)
        d, most = 0.0, growth_of_one
        while growth > most:
            q = min(1.0, 2 * part.share(at + (1 + LONG) * r))
            y = TALL * r
            theta = mu * y
            d = -math.log(math.cos(theta)) / mu
            growth = (
                a * mu * d + y * y / 2 + reach * theta * q + d * (max(abs(at), abs(at + 2 * r)) + LONG * r)
            )
            growth += m * d * mu * q if m > 0 else m * _log_cos(theta, q)
            # Where the integrand is small, it may grow by more.
            near, far = at - (LONG - 1) * r - d, at + (1 + LONG) * r
            if near > peak or far < peak:
                highest = heights[min(max(int(((near if near > peak else far) - origin) / gap), 0), final)]
                most = growth_of_one + min(max(top - highest, 0.0), MOST_MORE)
            else:
                most = growth_of_one
            if growth > most:
                r *= max(0.3, 0.95 * most / growth)
        if len(centres) >= mixture.MOST_PANELS or at + r == at:
            return None
        centres.append(at + r)
        halves.append(r)
        growths.append(growth)
        shifts.append(d)
        if not calm:
            likely = r * min(2.0, 0.95 * most / growth)
        at += 2 * r
    middle, half = np.array(centres), np.array(halves)
    nodes = (middle[:, None] + half[:, None] * NODES).ravel()
    log_nodes, noise = fine_log_mixture(
        mu * nodes - mu * mu / 2, mu * np.abs(nodes) + mu * mu, part.cuts.rate
    )
    log_d = part.log_weight(nodes)
    exponent = m * log_nodes + log_d - 0.5 * nodes * nodes - 0.5 * math.log(2 * math.pi)
    exponent += np.log(half[:, None] * WEIGHTS).ravel()
    reached = np.array([middle - LONG * half - np.array(shifts), middle + LONG * half])
    cells = np.clip(np.floor((reached - x[0]) / gap).astype(int), 0, len(upper) - 1)
    cells[1] += 1
    peaks = np.maximum.reduceat(np.append(upper, -math.inf), cells.T.ravel())[::2]
    with np.errstate(over="ignore"):  # then nothing is known
        each = np.exp(peaks - top + np.array(growths)) * half
    error = 64 / 15 * RHO**-64 / (1 - RHO**-2) * float(each.sum())
    largest = float(exponent.max())
    if top > largest + TOO_COARSE:
        return None
    outside = (outside + error) / math.sqrt(2 * math.pi) * math.exp(top - largest)
    keep = exponent > largest - deep
    outside += float(np.count_nonzero(~keep)) * math.exp(-deep)
    loss = -log_nodes if part.cuts.added else log_nodes
    slack = part.slack(nodes[keep], log_d[keep])
    orders = np.full(np.count_nonzero(keep), m)
    return Nodes(loss[keep], exponent[keep], orders, noise[keep], nodes[keep], slack, largest, outside)


def _calm(part: SoftPart, m: float, reach: float, at: float, end: float) -> tuple[float, float]:
    """Half the width of a panel far left of all cuts, and the growth of the integrand there; inf elsewhere.

    There |P(a, zeta)| <= |zeta|^a exp(|zeta|) / Gamma(a + 1) is negligible and v = g/(1-g) |exp(z)| at most 1/10, so
    that |w| lies between 1 - g times 1 - v and 1 + v, and |arg w| is at most 1.06 v.
    """
    mu, a = part.cuts.mu, part.cuts.sharpness
    widest = min(4.0 * part.narrowest, 1.0 / (mu * TALL))
    r = min(3.0, (end - at) / 2)
    while r > widest:
        right = at + (1 + LONG) * r
        v = math.exp(min(part.cuts.log_odds + mu * right, 0.0))
        growth = (TALL * r) ** 2 / 2 + 1.06 * reach * v + 2.2 * abs(m) * v + 1e-9
        far = -math.inf
        if part.high is not None:
            log_zeta = math.log(a) + mu * (right - part.high)
            far = a * log_zeta + math.exp(min(log_zeta, 700.0)) - math.lgamma(a + 1)
        if v <= 0.1 and far < -45.0 and growth <= MOST_GROWTH:
            return r, growth
        r *= 0.7
    return r, math.inf


def _log_cos(theta: float, q: float) -> float:
    """A lower bound on log |w(x + i y)| - log w(x): at worst all of w turns by theta/2, or a share q by 1 - cos."""
    whole = math.log(math.cos(theta / 2))
    share = 1.0 - q * (1.0 - math.cos(theta))
    return max(whole, math.log(share)) if share > 0 else whole


def fine_log_mixture(z: Reals, size: Reals, rate: float) -> tuple[Reals, Reals]:
    """`mixture.log_mixture`, with an error that knows how little of z a small rate leaves.

    z errs by 4 units of `size`; d log w / dz is the share g exp(z)/w, and expm1, the product and log1p err by units of
    the result.
    """
    log_w, noise = mixture.log_mixture(z, rate)
    noise = noise + 4 * size
    if rate > 0.5 or float(z.max()) >= 700.0:
        return log_w, noise
    share = rate * np.exp(z - log_w)
    return log_w, np.minimum(noise, 8 * np.abs(log_w) + 8 * share * (size + np.abs(z)))


class PartEnvelope:
    """The L1 norm on lines x + i theta/mu as a function of t.

    On a cell log D(x - d) - x^2/2 is below its top there, |w|^m at most that at one end (|w(x + i theta/mu)| grows with
    x), and exp(-t arg w) at most that at the left end. Where D is nearly 1 its growth is not: without a low cut,
    |D| <= 1 + cos(theta)^-a P(a, zeta_high(x - d)). Beyond the window the bounds fall with slope STEEP, as for
    theta = 0, if D is not moved: d log|w| / dx, mu times the real part of v exp(i theta) / (1 + v exp(i theta)), lies
    between 0 and mu min(1, 2 v/(1+v)). So the window is moved along with D.
    """

    def __init__(self, part: SoftPart, c: float) -> None:
        m = part.order(c)
        x, fixed, log_w = part.grid_for(m, m)
        self.rows: list[tuple[Reals, Reals, float]] = []
        if len(x) > MOST_CELLS:
            return
        gap = float(x[1] - x[0])
        mu, rate, a = part.cuts.mu, part.cuts.rate, part.cuts.sharpness
        whole = float(np.logaddexp.reduce(fixed + m * log_w)) + math.log(gap)
        log_d = fixed + 0.5 * x * x
        for unit in ANGLES:
            theta = unit / math.sqrt(a)
            if theta > 1.4:
                break
            d = -math.log(math.cos(theta)) / mu
            moved = x + d  # the weight at `moved` is bounded by D at x
            growth = a * mu * d + theta * theta / mu**2 / 2
            size = tops(part, x, log_d - 0.5 * moved * moved) + growth
            if part.low is None:
                normal = -0.5 * moved * moved
                bare = np.maximum(normal[1:], normal[:-1]) + gap * gap / 8 + theta * theta / mu**2 / 2
                if part.high is not None:
                    crossing = _log_p(a, part.zeta(x[1:], part.high))
                    bare = bare + np.logaddexp(0.0, crossing + a * mu * d)
                size = np.minimum(size, bare)
            z = mu * moved - mu * mu / 2
            if z[-1] > 340.0:
                break
            swing = rate * np.exp(z)
            real, imaginary = 1 - rate + swing * math.cos(theta), swing * math.sin(theta)
            log_modulus = np.log(np.hypot(real, imaginary))
            power = m * log_modulus[1:] if m > 0 else m * log_modulus[:-1]
            weight = np.exp(np.minimum(size + power + math.log(gap) - whole, 700.0)) * (1 + 1e-9)
            near = np.flatnonzero(weight > 1e-20)
            if len(near) == 0:
                continue
            kept = slice(int(near[0]), int(near[-1]) + 1)
            rest = float(weight[: near[0]].sum() + weight[near[-1] + 1 :].sum())
            rest += float(weight[0] + weight[-1]) / (gap * STEEP)
            turn, weight = np.arctan2(imaginary, real)[:-1][kept], weight[kept]
            groups = np.arange(0, len(turn), GROUP)
            self.rows.append((turn[groups], np.add.reduceat(weight, groups), rest))

    def at(self, t: Reals) -> Reals:
        """The bound for t in increasing order, which falls: some at a time, until the last is good for all others."""
        best = np.ones(len(t))
        for start in range(0, len(t), SOME):
            some = slice(start, start + SOME)
            for turn, weight, rest in self.rows:
                bound = np.exp(-np.multiply.outer(t[some], turn)) @ weight * (1 + 1e-9) + rest
                best[some] = np.minimum(best[some], bound)
            if start + SOME < len(t) and best[start + SOME - 1] < LITTLE:
                best[start + SOME :] = best[start + SOME - 1]
                break
        return best


@lru_cache(maxsize=64)
def part_envelope(part: SoftPart, c: float) -> PartEnvelope:
    return PartEnvelope(part, c)


@lru_cache(maxsize=32)
def below_envelope(part: SoftPart, c: float, level: float) -> mixture.Envelope:
    """Bounds on the decay of a part without a low cut."""
    return below_envelope_of(
        part, c, level, part_envelope(part, c).at, lambda *ends: SoftPart(part.cuts, *ends)
    )


class Whole(Protocol):
    """What `below_envelope_of` needs to know of a part without a low cut."""

    @property
    def high(self) -> float | None: ...

    @property
    def narrowest(self) -> float: ...

    def spread(self, c: float) -> float: ...

    def rule_for(self, c: float, reach: float, count: int) -> mixture.Rule | None: ...

    def log_mgf(self, s: Reals) -> Reals: ...


def below_envelope_of(
    part: Whole,
    c: float,
    level: float,
    plain: Callable[[Reals], Reals],
    between: Callable[[float | None, float | None], Part],
) -> mixture.Envelope:
    """The bound `plain`; or whatever lies below another cut, in full, and the rest decays.

    Small t are covered by a discrete law, as in `mixture.envelope_for`. Of many steps each needs to decay but a little.
    """
    spread = part.spread(c)

    def law(reach: float) -> mixture.Law | None:
        fine = part.rule_for(c, reach, 1)
        return None if fine is None else mixture.Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach)

    if level > 0.5 and spread > 0.0 and plain(np.array([15.0 / spread]))[0] <= level:
        return mixture.Envelope(*mixture.stepped(spread, plain, law, level), plain)
    rule = part.rule_for(c, 0.0, 1)
    if rule is None:
        return mixture.Envelope(np.zeros(1), np.ones(1), np.ones_like)
    whole = float(part.log_mgf(np.array([c]))[0])
    order = np.argsort(rule.x)
    at, cumulated = rule.x[order], np.cumsum(rule.weights[order])
    options: list[tuple[float, float, Part]] = []
    for share in (0.3, 0.01, 1e-4) if level < 0.9 else (0.5, 0.1):
        cut = float(at[min(int(np.searchsorted(cumulated, share)), len(at) - 1)])
        if part.high is not None and cut > part.high - part.narrowest:
            continue
        below, above = between(None, cut), between(cut, part.high)
        logs = [float(p.log_mgf(np.array([c]))[0]) - whole for p in (below, above)]
        shares = [math.exp(min(log, 1.0)) * (1 + 1e-9) if log < 1.0 else math.inf for log in logs]
        options.append((shares[0], shares[1], above))

    def smooth(t: Reals) -> Reals:
        parts = [left + right * above.envelope(c, t) for left, right, above in options]
        return np.asarray(np.min([plain(t), *parts], axis=0))

    return mixture.Envelope(*mixture.stepped(rule.spread, smooth, law, level), smooth)
