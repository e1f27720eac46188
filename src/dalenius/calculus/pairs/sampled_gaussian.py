"""Poisson sampling before Gaussian noise: the pair of DP-SGD, by quadrature."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.near_the_line import near
from dalenius.calculus.pairs.pair import UNIT, Ball, Cuts, Decay, Pair, Reals, Tilted, Transform
from dalenius.calculus.pairs.sampled import SampledPair
from dalenius.calculus.pairs.soft_cut import SoftCuts, SoftPart

FAR_APART = 38.0
"""From this mu on the two normal laws hardly overlap."""

REVEALED = Atoms(np.zeros(0), np.zeros(0), infinite=1.0)
"""Two distributions that cannot be confused."""

MOST_WORK = 2e7
"""Exponentials that one line may take; beyond, layers take fewer."""
LARGE = 40.0
"""A logarithm beside which 0 is next to nothing."""
FAR_TILT = 1e5
"""From this tilt on, times mu, the trapezoid rule takes too many nodes."""
FARTHEST = 15.0
"""Outcomes further out than this many standard deviations need no cut."""
LEAST_CUT = 1e-100
"""Below this mu, whose square is hardly a float, the law is not cut."""


@dataclass(frozen=True)
class SampledGaussianPair(SampledPair):
    """One direction of a Poisson-sampled Gaussian pair: moments of w = 1 - g + g exp(mu x - mu^2/2), x ~ N(0, 1).

    Outcomes that hardly overlap are composed as less than that, and as giving the sampled record away.
    """

    base: GaussianPair

    def _order(self, c: Any) -> Any:
        """The power of w whose mean is M(c)."""
        return -c if self.added else 1.0 + c

    @property
    def lower(self) -> Pair:
        return GaussianPair(FAR_APART).sampled(self.rate, self.added) if self.base.mu > FAR_APART else self

    @property
    def upper(self) -> Pair:
        return REVEALED.sampled(self.rate, self.added) if self.base.mu > FAR_APART else self

    def renyi_log_mgf(self, s: Reals) -> Reals:
        if self.added:  # w >= 1 - g
            return np.minimum(
                mixture.log_moments_up(self.base.mu, self.rate, s, True),
                -s * math.log1p(-self.rate) * (1 + 8 * UNIT),
            )
        # By Minkowski's inequality for the powers 1 + s, log M <= (1 + s) log(1 - g + g exp(mu^2 s/2)), the second term
        # alone being a bound from below: where it is nearly all, quadrature says no more, and large tilts take long.
        rise, tall = math.log(self.rate), 0.5 * self.base.mu**2 * s
        result = (1.0 + s) * (rise + tall + np.exp(-np.minimum(rise + tall, 700.0)))
        result += 8 * UNIT * (1.0 + s) * (tall - rise)
        near = rise + tall < LARGE
        result[near] = mixture.log_moments_up(self.base.mu, self.rate, s[near], False)
        return result

    def log_mgf(self, s: Reals) -> Reals:
        far = s * self.base.mu > FAR_TILT
        orders = self._order(s)
        if len(s) == 1 and 0.0 != orders[0] != 1.0 and abs(orders[0]) * self.base.mu < mixture.FEW_TILTS:
            # A line through s will use this rule as well.
            return np.array(
                [mixture.trapezoid(self.base.mu, self.rate, self.added, float(s[0]), 0.0).log_scale]
            )
        result = mixture.log_moments(self.base.mu, self.rate, orders)
        if self._whole is not None and far.any():
            result[far] = self._whole.log_mgf(s[far])
        return result

    @cached_property
    def _whole(self) -> SoftPart | None:
        """The law itself as a part without cuts, in the add direction: its panels bear any tilt."""
        if not self.added:
            return None
        return SoftPart(SoftCuts(self.base.mu, self.rate, True, 16.0), None, None)

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        if self._whole is not None and c * self.base.mu > FAR_TILT:
            return self._whole.tilted(c, t)
        reach = float(np.max(np.abs(t)))
        if len(t) * mixture.size_for(self.base.mu, self.rate, self._order(c), reach) > MOST_WORK:
            return None
        return mixture.trapezoid(self.base.mu, self.rate, self.added, c, reach).along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if self._whole is not None and c * self.base.mu > FAR_TILT:
            return self._whole.envelope(c, t, times)
        if times >= mixture.MANY:
            uniform = mixture.uniform_for(self.base.mu, self.rate, self.added, c)
            if uniform.serves(times):
                return uniform.on(t)
        return mixture.envelope_for(self.base.mu, self.rate, self.added, c, mixture.level_for(times)).on(t)

    @property
    def anchor(self) -> float:
        return -math.log1p(-self.rate) if self.added else math.log1p(-self.rate)

    def cuts(self, level: float) -> Cuts | None:
        """Cuts so sharp that they bend log densities more than a tilt to an outcome around the level does."""
        return self._unit_cuts if level == 1.0 else self._cuts(level)

    @cached_property
    def _unit_cuts(self) -> Cuts | None:
        return self._cuts(1.0)

    def _cuts(self, level: float) -> Cuts | None:
        mu = self.base.mu
        if mu < LEAST_CUT or not 0 < level < math.inf:
            return None
        place = min(SoftCuts(mu, self.rate, self.added, 1.0).place(level), FARTHEST + mu)
        return SoftCuts(mu, self.rate, self.added, min(max(16.0, 2.0 * place / mu, 4.0 / mu**2), 3000.0))

    def mirrored(self) -> Pair:
        from dalenius.calculus.pairs.subset_gaussian import SubsetGaussianPair

        return SubsetGaussianPair(self)

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        return _transform(flint, self.base.mu, self.rate, self.added, c, reach)

    def work_in_balls(self, c: float, reach: float) -> float:
        return mixture.size_for(self.base.mu, self.rate, self._order(c), reach)

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        return near(flint, self, c, top, _far(flint, self.base.mu, self.rate, self._order(c), top))


def _transform(flint: Any, mu: float, rate: float, added: bool, c: float, reach: float) -> Transform:
    """The trapezoid rule of `mixture.trapezoid` with its remainder as the radius of the ball."""
    arb, acb = flint.arb, flint.acb
    m = -c if added else 1.0 + c
    width, growth = mixture.strip(mu, m, reach)
    h = 2 * math.pi * width / (growth + 60.0)
    low, high = mixture.window(mu, rate, m)
    # The window ends where the log integrand falls with slope REACH; four more units take it down by
    # exp(-46) more.
    first, last = math.floor((low - 4.0) / h), math.ceil((high + 4.0) / h)
    g, shift, step = arb(rate), arb(mu), arb(h)
    nodes = []
    weight: Ball = arb(0)
    for k in range(first, last + 1):
        x = step * k
        log_w = (1 - g + g * (shift * x - shift**2 / 2).exp()).log()
        gauss = (-x * x / 2).exp() * step / (2 * arb.pi()).sqrt()
        size = gauss * (log_w * arb(m)).exp()
        weight += size
        nodes.append((log_w, gauss, size))
    # Remainder: 2 exp(a^2/2 + |t| mu a) cos(mu a / 2)^min(m, 0) M(c) / (exp(2 pi a / h) - 1), and both tails.
    a = arb(width)
    spread = (a * a / 2 + arb(reach) * shift * a).exp() * (shift * a / 2).cos() ** min(arb(m), arb(0))
    rest = 2 * spread / ((2 * arb.pi() * a / step).exp() - 1)
    ends = nodes[0][2] + nodes[-1][2]
    tails = ends / (1 - (-arb(mixture.REACH) * step).exp())
    radius = (rest * 2 * weight + tails).upper()

    def mgf(s: Ball) -> Ball:
        order = -s if added else 1 + s
        total = sum((gauss * (order * log_w).exp() for log_w, gauss, _ in nodes), acb(0))
        return total + acb(arb(0, radius), arb(0, radius))

    return mgf


def _far(flint: Any, mu: float, rate: float, m: float, top: Ball) -> Transform:
    """The bound for large t of `mixture.envelope_for`: what lies left of some x_0, and the variation of the rest."""
    arb = flint.arb
    bend = 1.0 + (abs(m) + 1.0) * mu * mu / 4
    low, high = mixture.window(mu, rate, m)
    low, high = low - mu, high + mu
    x = np.linspace(low, high, math.ceil((high - low) * math.sqrt(bend) / 0.2) + 2)
    gap = arb(float(x[1])) - arb(float(x[0]))
    slack = (arb(bend) * gap**2 / 8 * (1 + arb(1e-6))).exp()
    g, u, order = arb(rate), arb(mu), arb(m)
    f, peaks = [], []
    for value in x.tolist():
        v = arb(value)
        z = (u * v - u * u / 2).exp()
        w = 1 - g + g * z
        f.append((order * w.log() - v * v / 2).exp() / (2 * arb.pi()).sqrt() / top * slack)
        peaks.append(f[-1] * w / (u * g * z))
    left, largest = [f[0] / arb(mixture.REACH)], [peaks[-1]]
    for a, b in itertools.pairwise(f):
        left.append(left[-1] + gap * (1 + arb(1e-9)) * a.max(b))
    for peak in reversed(peaks[:-1]):
        largest.append(largest[-1].max(peak))
    largest.reverse()
    modes = 1 if (m + 1.0) * mu * mu / 4 <= 1.0 - 1e-9 else 2
    some = np.unique(np.linspace(0, len(x) - 1, 48).astype(int)).tolist()
    lines = [(left[k], 2 * (modes + 1) * largest[k]) for k in some]

    def envelope(t: Ball) -> Ball:
        best: Ball = arb(1)
        for missed, variation in lines:
            best = best.min(missed + variation / t)
        return best

    return envelope
