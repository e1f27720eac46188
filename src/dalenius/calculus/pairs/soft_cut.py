"""Parts of a sampled Gaussian law between two soft cuts, for `engines.layers`.

With x ~ N(0, 1) the loss is +-log w(x), w = 1 - g + g exp(mu x - mu^2/2). A part weighs the outcome x by D(x) of
`soft_weight`. Where it has a low cut its transform decays fast: on the line x + i theta/mu |w^(i t)| is exp(-t arg w),
and arg w grows with x. Beyond a high cut D falls faster than any power of w grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.pair import UNIT, Reals
from dalenius.calculus.pairs.soft_envelope import MARGIN, STEEP, PlacedCuts, Shifted
from dalenius.calculus.pairs.soft_weight import (
    FARTHEST,
    MOST_CELLS,
    MOST_TILT,
    Nodes,
    drag_of,
    log_normal_beyond,
    nearest,
    push_of,
    rule_of,
    tops,
)

CUT = 45.0
"""Outcomes whose weight is below exp(-CUT) of the largest are left out, and charged to the error."""
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


@dataclass(frozen=True)
class SoftCuts(PlacedCuts):
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
        mu, a = self.mu, self.sharpness
        without = log_normal_beyond(mu, a, low)
        if self.added:
            return without
        return float(np.logaddexp(without, math.log(self.rate) + log_normal_beyond(mu, a, low - mu)))

    def part(self, low: float | None, high: float | None) -> SoftPart:
        return part_of(self, low, high)


@dataclass(frozen=True)
class SoftPart(Shifted):
    """The part of the law between a low and a high cut."""

    cuts: SoftCuts
    low: float | None
    high: float | None

    def order(self, s: Any) -> Any:
        """The power of w whose weighted mean is the transform at s."""
        return -s if self.cuts.added else 1.0 + s

    @property
    def orders(self) -> tuple[float, float]:
        mu = self.cuts.mu
        most = FARTHEST / mu
        if self.high is not None:  # where exp(-zeta) still holds w^m
            most = (
                3 * self.cuts.sharpness * (1.0 + math.exp(min(-self.cuts.log_odds - mu * self.high, 600.0)))
            )
        return -MOST_TILT / mu, most

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
            pull = (
                0.0 if self.high is None else mu * drag_of(a, a * math.exp(min(mu * (x - self.high), 60.0)))
            )
            return -x + min(0.0, least) * mu * min(1.0, 2 * self.share(x)) - pull

        def falls(x: float) -> float:
            """An upper bound on the slope, that holds right of x."""
            push = (
                0.0
                if self.low is None
                else mu * min(a, push_of(a, a * math.exp(min(mu * (x - self.low), 60.0))))
            )
            if self.high is not None:
                push = min(push, mu * (a - a * math.exp(min(mu * (x - self.high), 60.0))))
            return -x + max(0.0, m) * mu + push

        left = -STEEP if self.high is None else min(-STEEP, self.high)
        if rises(left) < STEEP:
            # What the slope lacks there it lacks no more of further left.
            left = nearest(lambda x: rises(x) >= STEEP, left, STEEP - rises(left), -1.0)
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
            right = nearest(lambda x: falls(x) <= -STEEP, right, falls(right) + STEEP, 0.5)
        # There d more units take it down by STEEP d + d^2/2, or right of the high cut by d^2 / (2 narrowest^2).
        right = self.beyond(right)
        return left - MARGIN, max(right, left + 1.0)

    def share(self, x: float) -> float:
        """g exp(z) / w."""
        return 1.0 / (1.0 + math.exp(-min(max(self.cuts.log_odds + self.cuts.mu * x, -700.0), 700.0)))

    def look(self, x: Reals) -> tuple[Reals, Reals]:
        """log D - x^2/2, and log w."""
        log_w = mixture.log_mixture(self.cuts.mu * x - self.cuts.mu**2 / 2, self.cuts.rate)[0]
        return self.log_weight(x) - 0.5 * x * x, log_w

    # -- along a line ----------------------------------------------------------------------------------

    def rule(self, c: float, reach: float) -> mixture.Rule | None:
        return part_rule(self, c, reach)

    def like(self, low: float | None, high: float | None) -> SoftPart:
        return SoftPart(self.cuts, low, high)

    def slopes(self, x: float, c: float) -> tuple[float, float]:
        rise = max(self.order(c), 0.0) * self.cuts.mu
        return rise * self.share(x), rise

    def shifted(self, x: Reals, y: float, c: float) -> tuple[Reals, Reals] | None:
        """Along x + i y: bounds in the cells on log |w^m|, which is monotone there, and arg w, which grows."""
        mu, rate, m = self.cuts.mu, self.cuts.rate, self.order(c)
        z = mu * x - mu * mu / 2
        if z[-1] > 340.0:
            return None
        swing = rate * np.exp(z)
        real, imaginary = 1 - rate + swing * math.cos(mu * y), swing * math.sin(mu * y)
        log_modulus = np.log(np.hypot(real, imaginary))
        return m * (log_modulus[1:] if m > 0 else log_modulus[:-1]), np.arctan2(imaginary, real)[:-1]

    def uniform(self, c: float) -> mixture.Uniform:
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


@lru_cache(maxsize=64)
def part_rule(part: SoftPart, c: float, reach: float) -> mixture.Rule | None:
    """Gauss-Legendre panels for the transform at c + i t, |t| <= reach; None when that takes too many."""
    found = part_nodes(part, c, reach)
    return None if found is None else rule_of([found])


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
