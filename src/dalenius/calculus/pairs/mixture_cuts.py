"""Parts of the law of a pair of Gaussian mixtures between two soft cuts, for `engines.layers`.

With x ~ N(0, 1), W(x) = sum p_j exp(s_j x - s_j^2/2) over the shifts of P, and V(x) = sum q_j exp(-r_j x - r_j^2/2)
over those of Q, the loss log W - log V grows with x, and only on the right without an end: there it is cut. Where P has
no shift the roles change: then W is that of Q, x is turned around, and the loss is -log W, which falls. A part weighs
the outcome x by D(x) of `soft_weight`, of scale mu, the largest shift of all.

Beside the real line, at x + i y with mu y <= WIDEST < pi/2, write rho_j(x) for the share of each term of W(x),
r(x) = sum rho_j s_j = (log W)' for the mean shift, and theta_j = s_j y. Then W(x + i y)/W(x) is the sum of all
rho_j exp(i theta_j).

- Its modulus is at most 1, at least cos(mu y/2), for turned back by mu y/2 no term is further than that from 1; and at
  least 1 - mu y^2 r/2, its real part, for 1 - cos(theta_j) <= theta_j^2/2 <= (mu y/2) theta_j.
- Its arg is at most mu y, and at most asin(y r / cos(mu y/2)), for its imaginary part is at most y r.
- With Z = sum rho_j exp(i theta_j), d log W(x + i y)/dx = sum rho_j s_j exp(i theta_j) / Z, whose real part is
  sum_jk rho_j rho_k (s_j + s_k)/2 cos(theta_j - theta_k) / |Z|^2 and whose imaginary part is
  sum_jk rho_j rho_k (s_j - s_k)/2 sin(theta_j - theta_k) / |Z|^2. Both are sums of what is nowhere negative. So |W| and
  arg W grow with x. The real part is a mean of (s_j + s_k)/2 and so at most mu; it also is at most
  r/|Z| <= r/cos(WIDEST/2).

The same holds of V with x turned around.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.gaussian_mixtures import Side, unshifted, weight_of
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.pairs.panels import parted
from dalenius.calculus.pairs.soft_envelope import MARGIN, STEEP, TURNED, PlacedCuts, Shifted
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

CUT, LESS_CUT = 45.0, 36.0
"""Outcomes whose weight is below exp(-CUT) of the largest are left out, and charged; less with a low cut."""
GROWTH = 35.0
"""On a panel the integrand may grow by exp of this towards the edge of its ellipse."""
DEEP = 20.0
"""Where the integrand is small it may grow by this much more."""
RHO, COUNT = 4.0, 32
NODES, WEIGHTS = np.polynomial.legendre.leggauss(COUNT)
LONG, TALL = (RHO + 1 / RHO) / 2, (RHO - 1 / RHO) / 2
MOST_PANELS = 2000
MOST_NODES = 2_000_000
"""Nodes times components."""
TOO_COARSE = 60.0
"""Cells whose bounds are so far above what is seen of the integrand miss its peak."""
CALM = 0.1
"""Where all that is shifted is below this share of what is not, W is close to the latter far from the real line."""


@dataclass(frozen=True)
class MixtureCuts(PlacedCuts):
    """The soft cuts of one pair of Gaussian mixtures, all of the same sharpness a."""

    up: Side
    down: Side
    sharpness: float

    @property
    def added(self) -> bool:
        """Whether only Q has shifts."""
        return not self.up

    @cached_property
    def rising(self) -> Side:
        """The shifts of W."""
        return self.up or self.down

    @cached_property
    def falling(self) -> Side:
        """The shifts of V."""
        return self.down if self.up else ()

    @cached_property
    def mu(self) -> float:
        return max(side[-1][0] for side in (self.up, self.down) if side)

    @cached_property
    def anchor(self) -> float:
        return math.log(unshifted(self.up)) - math.log(unshifted(self.down))

    def loss(self, x: Reals) -> Reals:
        rise, fall = weight_of(self.rising, x).log, weight_of(self.falling, -x).log
        return np.asarray(-rise if self.added else rise - fall)

    def away(self, x: float) -> float:
        """How far the loss at x is from the anchor, in the direction of the jumps."""
        gap = float(self.loss(np.array([x]))[0]) - self.anchor
        return -gap if self.added else gap

    def place(self, level: float) -> float:
        return _place(self, level)

    def steepest(self, level: float) -> float:
        # Right of the cut (log W)' grows no faster than exp(mu x), as what pulls down does.
        slope = float(weight_of(self.rising, np.array([self.place(level)])).slope[0])
        return 0.9 * self.sharpness * self.mu / max(slope, 1e-300)

    def highest(self, mass: float) -> float:
        # The cut reaches further to the left than the normal law alone.
        wide = math.sqrt(1.0 + 1.0 / (self.mu**2 * self.sharpness))
        x = -float(ndtri(mass)) * wide
        if not self.added:
            x = max(
                x,
                *(
                    shift - float(ndtri(mass / weight)) * wide
                    for shift, weight in self.up
                    if weight > 2 * mass
                ),
                -math.inf,
            )
        return max(self.away(x), 1e-300)

    def jump(self, s: float) -> float:
        rest = math.log(unshifted(self.rising))
        lift = -0.5 - s if self.added else 0.5 + s
        return max(0.0, *(math.log(weight) - rest + shift**2 * lift for shift, weight in self.rising))

    def log_beyond(self, level: float) -> float:
        low = self.place(level)
        mu, a = self.mu, self.sharpness
        still = log_normal_beyond(mu, a, low)
        if self.added:
            return still
        parts = [math.log(unshifted(self.up)) + still]
        parts += [math.log(weight) + log_normal_beyond(mu, a, low - shift) for shift, weight in self.up]
        return float(np.logaddexp.reduce(parts)) + 1e-12

    def part(self, low: float | None, high: float | None) -> MixturePart:
        return _part(self, low, high)


LEAST_SHARP, MOST_SHARP = 16.0, 3000.0
FARTHEST_CUT = 15.0
"""Outcomes further out than this many standard deviations need no cut."""


@lru_cache(maxsize=256)
def cuts_for(up: Side, down: Side, level: float) -> MixtureCuts:
    """Cuts of a sharpness that suits levels around this one."""
    rough = MixtureCuts(up, down, LEAST_SHARP)
    place = min(rough.place(level), FARTHEST_CUT + rough.mu)
    sharp = max(LEAST_SHARP, 2.0 * place / rough.mu, 4.0 / rough.mu**2)
    return MixtureCuts(up, down, min(sharp, MOST_SHARP))


@lru_cache(maxsize=256)
def _part(cuts: MixtureCuts, low: float | None, high: float | None) -> MixturePart:
    return MixturePart(cuts, low, high)


@lru_cache(maxsize=1024)
def _place(cuts: MixtureCuts, level: float) -> float:
    """The x at which the loss is `level` away from the anchor: any will do, if it is the same for the same level."""
    low, high = -1.0, 1.0
    while cuts.away(low) > level and low > -1e6:
        low *= 2.0
    while cuts.away(high) < level and high < 1e6:
        high *= 2.0
    for _ in range(4):
        x = np.linspace(low, high, 65)
        loss = cuts.loss(x) - cuts.anchor
        first = int(np.argmax(np.append((-loss if cuts.added else loss)[:-1] >= level, True)))
        low, high = float(x[max(first - 1, 0)]), float(x[max(first, 1)])
    return high


@dataclass(frozen=True)
class MixturePart(Shifted):
    """The part of the law between a low and a high cut."""

    cuts: MixtureCuts
    low: float | None
    high: float | None

    def order(self, s: Any) -> Any:
        """The power of exp(L), or where only Q has shifts that of W, whose weighted mean is the transform at s."""
        return -s if self.cuts.added else s

    @property
    def orders(self) -> tuple[float, float]:
        mu = self.cuts.mu
        most = FARTHEST / mu
        if self.high is not None:  # where exp(-zeta) still holds W^m
            slope = float(weight_of(self.cuts.rising, np.array([self.high])).slope[0])
            most = 3 * self.cuts.sharpness * mu / max(slope, 1e-300)
        if self.cuts.added:
            return -MOST_TILT / mu, most
        return (-1.0 if self.cuts.falling else -most), most

    def _powers(self, order: float) -> tuple[float, float]:
        """Those of W and of 1/V."""
        return (order, 0.0) if self.cuts.added else (1.0 + order, order if self.cuts.falling else 0.0)

    def look(self, x: Reals) -> tuple[Reals, Reals]:
        fixed, rise = self.log_weight(x) - 0.5 * x * x, weight_of(self.cuts.rising, x).log
        if self.cuts.added:
            return fixed, rise
        return fixed + rise, rise - weight_of(self.cuts.falling, -x).log

    def window(self, least: float, most: float) -> tuple[float, float]:
        """By the slope m (log W)' + k |(log V)'| - x + (log D)' at and beside the real line, which falls by STEEP."""
        mu, a = self.cuts.mu, self.cuts.sharpness
        (low_m, low_k), (m, k) = self._powers(least), self._powers(most)
        m, k = max(m, 0.0), max(k, 0.0)

        def rise(x: float) -> float:
            return min(mu, TURNED * float(weight_of(self.cuts.rising, np.array([x])).slope[0]))

        def fall(x: float) -> float:
            if k == 0.0:
                return 0.0
            return min(mu, TURNED * float(weight_of(self.cuts.falling, np.array([-x])).slope[0]))

        def rises(x: float) -> float:
            """A lower bound on the slope, that holds left of x."""
            drag = (
                0.0 if self.high is None else mu * drag_of(a, a * math.exp(min(mu * (x - self.high), 60.0)))
            )
            turned = min(0.0, low_m) * rise(x) if low_m < 0.0 else 0.0
            return -x + turned + min(0.0, low_k) * mu - drag

        def falls(x: float) -> float:
            """An upper bound on the slope, that holds right of x."""
            push = 0.0
            if self.low is not None:
                push = mu * min(a, push_of(a, a * math.exp(min(mu * (x - self.low), 60.0))))
            if self.high is not None:
                push = min(push, mu * (a - a * math.exp(min(mu * (x - self.high), 60.0))))
            return -x + m * mu + k * fall(x) + push

        left = -STEEP if self.high is None else min(-STEEP, self.high)
        if rises(left) < STEEP:
            left = nearest(lambda x: rises(x) >= STEEP, left, STEEP - rises(left), -1.0)
        right = STEEP + (m + k) * mu
        tame = False
        if self.high is not None:
            # Wherever x is, and then right of the high cut.
            enough = 1.0 + m / a + max(0.0, STEEP - left + k * fall(left)) / (a * mu)
            right = min(right, self.high + math.log(enough) / mu)
            beside = m * rise(self.high) / (a * mu)
            if beside < 0.9:
                enough = (1.0 + max(0.0, STEEP - self.high + k * fall(self.high)) / (a * mu)) / (1.0 - beside)
                tame = self.high + math.log(enough) / mu <= right
                right = min(right, self.high + math.log(enough) / mu)
        if not tame and falls(right) > -STEEP:
            right = nearest(lambda x: falls(x) <= -STEEP, right, falls(right) + STEEP, 0.5)
        # There d more units take it down by STEEP d + d^2/2, or right of the high cut by d^2 / (2 narrowest^2).
        right = self.beyond(right)
        return left - MARGIN, max(right, left + 1.0)

    @property
    def is_low(self) -> bool:
        # As in `soft_cut`: D falls with x, and L grows.
        return self.low is None and not self.cuts.added

    def mean(self) -> float:
        m = self.order(0.0)
        _, fixed, grown = self.grid_for(m, m)
        exponent = fixed + m * grown
        weight = np.exp(np.maximum(exponent - exponent.max(), -700.0))
        mean = float(weight @ grown) / float(weight.sum())
        return -mean if self.cuts.added else mean

    # -- along a line ----------------------------------------------------------------------------------

    def like(self, low: float | None, high: float | None) -> MixturePart:
        return MixturePart(self.cuts, low, high)

    def rule(self, c: float, reach: float) -> mixture.Rule | None:
        return _part_rule(self, c, reach)

    def slopes(self, x: float, c: float) -> tuple[float, float]:
        m, k = (max(power, 0.0) for power in self._powers(self.order(c)))
        at = np.array([x])
        rise, fall = (
            weight_of(side, z).slope for side, z in ((self.cuts.rising, at), (self.cuts.falling, -at))
        )
        # What falls does so further on, too, but beside the real line it may be more.
        mu = self.cuts.mu
        return m * float(rise[0]) + k * float(fall[0]), m * mu + k * min(mu, TURNED * float(fall[0]))

    def shifted(self, x: Reals, y: float, c: float) -> tuple[Reals, Reals] | None:
        m, k = self._powers(self.order(c))
        modulus, turn = _beside(self.cuts.rising, x, y)
        power, turn = m * (modulus[1:] if m > 0 else modulus[:-1]), turn[:-1]
        if self.cuts.falling:  # |V| falls with x, and so does what it turns by
            modulus, back = _beside(self.cuts.falling, -x, y)
            power, turn = power - k * (modulus[1:] if k > 0 else modulus[:-1]), turn + back[1:]
        return power, turn


def _beside(side: Side, x: Reals, y: float) -> tuple[Reals, Reals]:
    """log |W(x + i y)| and its arg."""
    shift, weight = np.array(side).T
    z = np.multiply.outer(x, shift) - shift**2 / 2
    top = np.maximum(z.max(axis=-1), 0.0)
    parts = weight * np.exp(z - top[:, None])
    real, imaginary = unshifted(side) * np.exp(-top) + parts @ np.cos(shift * y), parts @ np.sin(shift * y)
    return top + np.log(np.hypot(real, imaginary)), np.arctan2(imaginary, real)


@lru_cache(maxsize=64)
def _part_rule(part: MixturePart, c: float, reach: float) -> mixture.Rule | None:
    """Gauss-Legendre panels for the transform at c + i t, |t| <= reach; None when that takes too many.

    On the Bernstein ellipse RHO of a panel of half width r, half axes LONG r and TALL r, let theta = mu y <= 1 at the
    highest point, d = -log(cos(theta))/mu. At x + i y the integrand is at most exp(u(x - d)), u that at real x, times

        cos(theta)^-a exp(y^2/2 + d |x| + d^2/2 + d (m (log W)' + k |(log V)'|) + reach (arg W - arg V))

    and what W may shrink by to a negative power, and V to -k. All of these are bounded by slopes at the ends of the
    ellipse, for (log W)' grows and |(log V)'| falls. The rule errs by 64/15 r RHO^-2n / (1 - RHO^-2) times the largest
    modulus (Trefethen 2013, "Approximation theory and approximation practice", Theorem 19.3).

    Far left of all cuts, where all that is shifted is a share v <= CALM of what is not, D is nearly 1 and W close to
    the weight that is not shifted, y may be larger: |arg| <= 1.06 v, and W shrinks by exp(-2.2 v) at most.
    """
    order = part.order(c)
    x, fixed, grown = part.grid_for(order, order)
    components = 2 + len(part.cuts.up) + len(part.cuts.down)
    if len(x) > MOST_CELLS or len(x) * components > MOST_NODES:
        return None
    gap = float(x[1] - x[0])
    m, k = part._powers(order)
    plain = fixed + order * grown
    rise, fall = weight_of(part.cuts.rising, x), weight_of(part.cuts.falling, -x)
    upper = tops(part, x, part.log_weight(x) - 0.5 * x * x) + _highest(m * rise.log, -k * fall.log)
    top = float(plain.max())
    if float(upper.max()) > top + TOO_COARSE:
        return None
    deep = CUT if part.low is None else LESS_CUT
    kept = np.flatnonzero(upper > top - deep)
    first, last = int(kept[0]), int(kept[-1])
    outside = float(np.exp(upper[:first] - top).sum() + np.exp(upper[last + 1 :] - top).sum()) * gap
    outside += float(np.exp(np.minimum(plain[[0, -1]] - top, 50.0)).sum()) / STEEP
    look = _Look(part, m, k, reach, x, upper, top)
    widest = 3.0 if part.low is None else min(4.0 * part.narrowest, 1.0 / (part.cuts.mu * TALL))
    panels = parted(float(x[first]), float(x[last + 1]), widest, look, MOST_PANELS)
    if panels is None or len(panels[0]) * COUNT * components > MOST_NODES:
        return None
    left, half, growth, peak = panels
    with np.errstate(over="ignore"):  # then nothing is known
        each = np.exp(peak - top + growth) * half
    error = 64 / 15 * RHO ** (-2 * COUNT) / (1 - RHO**-2) * float(each.sum())
    nodes = ((left + half)[:, None] + half[:, None] * NODES).ravel()
    rise, fall, log_d = (
        weight_of(part.cuts.rising, nodes),
        weight_of(part.cuts.falling, -nodes),
        part.log_weight(nodes),
    )
    exponent = m * rise.log - k * fall.log + log_d - 0.5 * nodes * nodes - 0.5 * math.log(2 * math.pi)
    exponent += np.log(half[:, None] * WEIGHTS).ravel()
    largest = float(exponent.max())
    if top > largest + TOO_COARSE:
        return None
    outside = (outside + error) / math.sqrt(2 * math.pi) * math.exp(top - largest)
    keep = exponent > largest - deep
    outside += float(np.count_nonzero(~keep)) * math.exp(-deep)
    loss = -rise.log if part.cuts.added else rise.log - fall.log
    noise = rise.noise + fall.noise + 2 * np.abs(rise.log) + 2 * np.abs(fall.log)
    powers = np.full(np.count_nonzero(keep), max(abs(m), abs(k)))
    slack = part.slack(nodes[keep], log_d[keep])
    return rule_of(
        [Nodes(loss[keep], exponent[keep], powers, noise[keep], nodes[keep], slack, largest, outside)]
    )


class _Look:
    """How the integrand grows on panels, for `parted`: into how many each is to be split, and what it is bounded by."""

    def __init__(
        self, part: MixturePart, m: float, k: float, reach: float, x: Reals, upper: Reals, top: float
    ) -> None:
        self.part, self.m, self.k, self.reach, self.top = part, m, k, reach, top
        self.start, self.gap, self.size = float(x[0]), float(x[1] - x[0]), len(upper)
        self.until, self.since = np.maximum.accumulate(upper), np.maximum.accumulate(upper[::-1])[::-1]

    def __call__(self, left: Reals, half: Reals) -> tuple[Reals, ...]:
        part, mu, a = self.part, self.part.cuts.mu, self.part.cuts.sharpness
        y, low, high = TALL * half, left - (LONG - 1) * half, left + (1 + LONG) * half
        theta = np.minimum(mu * y, 1.0)
        d = -np.log(np.cos(theta)) / mu
        rise, fall = weight_of(part.cuts.rising, high), weight_of(part.cuts.falling, -(low - d))
        growth = a * mu * d + y * y / 2 + d * np.maximum(np.abs(low), np.abs(high)) + d * d / 2
        growth += d * (max(self.m, 0.0) * rise.slope + max(self.k, 0.0) * fall.slope)
        for slope, power in ((rise.slope, self.m if self.m < 0 else 0.0), (fall.slope, -max(self.k, 0.0))):
            growth += self.reach * np.minimum(
                theta, np.arcsin(np.minimum(y * slope / np.cos(theta / 2), 1.0))
            )
            growth += power * np.log(np.maximum(np.cos(theta / 2), 1 - mu * y * y * slope / 2))
        growth = np.where(mu * y > 1.0, math.inf, growth)
        if part.low is None:
            growth = np.minimum(growth, self._calm(y, rise.log, high, low))
        peak = np.minimum(self.until[self._cell(high)], self.since[self._cell(low - d)])
        allowed = GROWTH + np.clip(self.top - peak, 0.0, DEEP)
        parts = np.where(growth < math.inf, np.ceil(growth / allowed), np.maximum(np.ceil(mu * y), 2.0))
        return parts, growth, peak

    def _calm(self, y: Reals, rise: Reals, high: Reals, low: Reals) -> Reals:
        """The growth far left of all cuts; inf elsewhere."""
        cuts, at = self.part.cuts, self.part.high
        more = np.expm1(np.minimum(rise - math.log(unshifted(cuts.rising)), 1.0))
        less = np.expm1(
            np.minimum(weight_of(cuts.falling, -low).log - math.log(unshifted(cuts.falling)), 1.0)
        )
        growth = (
            y * y / 2
            + 1.06 * self.reach * (more + less)
            + 2.2 * (abs(self.m) * more + abs(self.k) * less)
            + 1e-9
        )
        calm = (more <= CALM) & (less <= CALM)
        if at is not None:  # |P(a, zeta)| <= |zeta|^a exp(|zeta|) / Gamma(a + 1)
            a = cuts.sharpness
            log_zeta = math.log(a) + np.minimum(
                cuts.mu * (high - at), 0.0
            )  # at the cut itself it is not small
            calm &= a * log_zeta + np.exp(log_zeta) - math.lgamma(a + 1) < -CUT
        return np.where(calm, growth, math.inf)

    def _cell(self, x: Reals) -> Reals:
        return np.asarray(np.clip(np.floor((x - self.start) / self.gap).astype(int), 0, self.size - 1))


def _highest(rising: Reals, falling: Reals) -> Reals:
    """The most that the sum of two monotone functions is in each cell, from their values at the edges."""
    return np.asarray(np.maximum(rising[1:], rising[:-1]) + np.maximum(falling[1:], falling[:-1]))
