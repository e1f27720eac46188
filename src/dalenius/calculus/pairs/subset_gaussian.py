"""A fixed number of records sampled before Gaussian noise, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import erf

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Cuts, Reals, Tilted
from dalenius.calculus.pairs.panels import NODES, Panels, panels
from dalenius.calculus.pairs.sampled_gaussian import FAR_APART, FARTHEST, SampledGaussianPair
from dalenius.calculus.pairs.soft_halves import HalvesCuts, SoftHalves
from dalenius.calculus.pairs.subset import SubsetPair

CLEAR = 30.0
"""The log weight of an outcome of loss 0 above a cut is about this far below 0."""

MOST_NODES = 2e6
"""Nodes of one rule at a rate next to 1, some 100 MB."""


@dataclass(frozen=True)
class SubsetGaussianPair(SubsetPair):
    """C_p of a Gaussian pair."""

    inner: SampledGaussianPair

    @property
    def _mu(self) -> float:
        return self.inner.base.mu

    def renyi_log_mgf(self, s: Reals) -> Reals:
        mu, rate = self._mu, self.inner.rate
        return np.array([log_moment_up(mu, rate, x) if x * mu < 1e3 else math.inf for x in s.tolist()])

    @cached_property
    def _whole(self) -> SoftHalves | None:
        """The law as a part without cuts: its panels follow the loss."""
        if self._mu > FAR_APART:
            return None
        return SoftHalves(HalvesCuts(self._mu, self.inner.rate, 16.0), None, None)

    @property
    def atomic(self) -> Atoms:
        return Atoms(np.zeros(1), np.array([_tie(self._mu, self.inner.rate)]))

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        """D(x) less tie (1 - exp(x))_+; below 0 that is (1 - tie) (1 - exp(x)) + exp(x) D(-x), a sum."""
        rest = 1.0 - _tie(self._mu, self.inner.rate)
        ends = []
        for y in x.tolist():
            bounds = self.inner.delta(abs(y))
            assert bounds is not None
            scale, more = (math.exp(y), -rest * math.expm1(y)) if y < 0 else (1.0, 0.0)
            off = 16 * UNIT * (1.0 + abs(y)) if y < 0 else 0.0
            ends.append(
                (
                    (more + scale * bounds.lower) * (1 - off) - 4 * UNIT * (y < 0),
                    (more + scale * bounds.upper) * (1 + off) + 4 * UNIT * (y < 0),
                )
            )
        low, high = np.array(ends).T
        return np.maximum(low, 0.0), high

    def log_mgf(self, s: Reals) -> Reals:
        if self._whole is not None:
            return self._whole.log_mgf(s)
        result = np.full(len(s), np.inf)
        for k in np.flatnonzero(np.abs(s) * self._mu < 1e4):
            c = float(s[k]) if s[k] >= 0 else -1.0 - float(s[k])  # symmetric: M(s) = M(-1-s)
            if c >= 0 and nodes_of(self._mu, c, 0.0) < MOST_NODES:
                result[k] = half_line(self._mu, self.inner.rate, c, 0.0).log_scale
        return result

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        if self._whole is not None:
            return self._whole.tilted(c, t)
        reach = float(np.max(np.abs(t)))
        nodes = nodes_of(self._mu, c, reach)
        if nodes > MOST_NODES or len(t) * nodes > mixture.MOST_WORK:
            return None
        return half_line(self._mu, self.inner.rate, c, reach).along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        if self._whole is not None:
            return self._whole.envelope(c, t, times)
        return half_line_envelope(self._mu, self.inner.rate, c, mixture.level_for(times)).on(t)

    def cuts(self, level: float) -> Cuts | None:
        """Cuts as sharp as those of the Poisson sample, and so sharp that they leave nothing of what is close to 0."""
        mu, rate = self._mu, self.inner.rate
        if mu > FAR_APART or not 0 < level < math.inf:
            return None
        place = min(HalvesCuts(mu, rate, 1.0).place(level), FARTHEST + mu)
        v = max(mu * (place - mu / 2), 1e-9)
        clear = CLEAR / (v + math.expm1(-v) if v > 1e-4 else v * v / 2)
        return HalvesCuts(mu, rate, min(max(16.0, 2.0 * place / mu, 4.0 / mu**2, clear), 3000.0))

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        if self._whole is not None:
            return self._whole.beside_atoms(c, t)
        return decay(self._mu, self.inner.rate, c)(t)


def _tie(mu: float, rate: float) -> float:
    """Mass of the atom at loss 0: what neither side of the sampled Gaussian pair claims."""
    return (1 - rate) * float(erf(mu / 2 / math.sqrt(2)))


def _radius(mu: float, c: float, reach: float) -> float:
    """Half width of panels on which the Gauss rule is good to about 1e-15 (see half_line)."""
    steep = mixture.REACH + 2 * (2 + c) * mu
    return min(0.75, 1.8 / mu, 7 / (mu * max(reach, 1e-9)), 15 / steep, math.sqrt(60 / (1 + c)) / mu)


def nodes_of(mu: float, c: float, reach: float) -> float:
    """How many nodes the rule has."""
    return len(NODES) * ((1 + c) * mu + 2 * mixture.REACH) / (2 * _radius(mu, c, reach))


@lru_cache(maxsize=16)
def half_line(mu: float, rate: float, c: float, reach: float) -> mixture.Rule:
    """Gauss-Legendre panels for M(c+it) = A(s) + A(-1-s) + tie, A(s) = E[w^(1+s); x > mu/2], x ~ N(0,1).

    On the Bernstein ellipse of a panel (`panels`) the integrand is at most its largest real value within the
    ellipse, times exp(b^2/2 + |t| mu b), times cos(mu b/2)^-c for the falling part. Beyond the last panel
    log|integrand| falls at least as fast as REACH.
    """
    start, tie = mu / 2, _tie(mu, rate)
    # Loss, exponent, order, noise and x of the atom at 0, and then of both halves.
    atom = (0.0, math.log(tie) if tie > 0 else -800.0, 0.0, 0.0, 0.0)
    parts = [tuple(np.array([value]) for value in atom)]
    missed = []
    for power, sign in ((1.0 + c, 1.0), (-c, -1.0)):
        end = max(power * mu, start) + mixture.REACH
        rule = panels(start, end, _radius(mu, c, reach))
        x = rule.x
        log_w, noise = mixture.log_mixture(mu * x - mu * mu / 2, rate)
        noise = noise + 4 * (np.abs(mu * x) + mu * mu)
        exponent = power * log_w - 0.5 * x * x - 0.5 * math.log(2 * math.pi)
        beyond = math.exp(-mixture.REACH * mixture.REACH / 2) / mixture.REACH
        error = _rule_error(rule, mu, abs(power), max(0.0, -power), reach)
        missed.append((float(exponent.max()), error + beyond))
        parts.append((sign * log_w, exponent + np.log(rule.weights), np.full(len(x), power), noise, x))
    loss, exponent, order, noise, x = (np.concatenate(part) for part in zip(*parts, strict=True))
    top = float(exponent.max())
    outside = sum(math.exp(min(peak - top, 50.0)) * share for peak, share in missed)
    return mixture.Rule(loss, exponent, order, noise, x, outside)


def _rule_error(rule: Panels, mu: float, power: float, fall: float, reach: float) -> float:
    """How far `half_line` may be off, relative to the largest value at its nodes.

    Between the nodes, and out to the ends of the ellipses, log|integrand| moves by at most its slope times the way.
    """
    farthest = float(rule.x[-1]) + 2 * rule.half + rule.long
    steep = farthest + power * mu
    growth = rule.b**2 / 2 + reach * mu * rule.b - fall * math.log(math.cos(mu * rule.b / 2))
    return rule.error * math.exp(growth + steep * (rule.long + 0.05 * rule.half))


def log_moment_up(mu: float, rate: float, s: float) -> float:
    """log M(s) rounded up, s > 0: M(0) = 1, so that M(s) - 1 = E[w expm1(s v) + expm1(-s v); x > mu/2], v = log w.

    v > 0 there and the integrand is positive. It is made of four powers of w times the density, of which
    w^(1+s) is the largest; each is integrated with the error of `half_line`. What is rounded are v, which moves
    the integrand by at most s (w^(1+s) + 1) times as much, and the two terms.
    """
    start = mu / 2
    nodes = panels(start, max((1.0 + s) * mu, start) + mixture.REACH + 4.0, _radius(mu, s, 0.0))
    x = nodes.x
    weights = nodes.weights * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    z = mu * x - mu * mu / 2
    gain = rate * np.expm1(np.minimum(z, 700.0))  # w - 1
    v = np.log1p(gain)
    if float(z.max()) > 700.0 or s * float(v.max()) > 600.0:
        rule = half_line(mu, rate, s, 0.0)
        return rule.log_scale + rule.fixed + 8 * UNIT * (1 + abs(rule.log_scale))
    rising, falling = (1 + gain) * np.expm1(s * v), np.expm1(-s * v)
    off_v = 8 * UNIT * v + 8 * UNIT * (np.abs(mu * x) + mu * mu) * (gain + rate) / (1 + gain)
    off = 8 * UNIT * (rising - falling) + s * (rising + 2 + gain) * off_v
    off += UNIT * (2 * x * x + 16) * (rising + falling)
    peak = math.exp(float(((1 + s) * v - 0.5 * x * x).max()))
    error = _rule_error(nodes, mu, 1.0 + s, s, 0.0)
    outside = 4 * peak * (error + math.exp(-0.5 * (mixture.REACH + 4.0) ** 2) / mixture.REACH)
    total = float(weights @ (rising + falling)) + float(weights @ off) + outside
    return math.log1p(total * (1 + (3 * len(x) + 8) * UNIT)) * (1 + 4 * UNIT)


@lru_cache(maxsize=64)
def decay(mu: float, rate: float, c: float) -> Callable[[Reals], Reals]:
    """A bound on |M(c+it)|/M(c) from t on, and on its parts apart: the atom at 0, and two densities in L.

    They have at most three maxima on the right, and fall on the left.
    """
    rule = half_line(mu, rate, c, 0.0)
    bend = 1.0 + (c + 2.0) * mu * mu / 4
    variation = 0.0
    for order, maxima in ((1.0 + c, 3.0), (-c, 1.0)):
        end = max(order * mu, mu / 2) + mixture.REACH + mu
        x = np.linspace(mu / 2, end, math.ceil((end - mu / 2) * math.sqrt(bend) / 0.2) + 2)
        gap = float(x[1] - x[0])
        z = mu * x - mu * mu / 2
        log_w, _ = mixture.log_mixture(z, rate)
        density = (order + 1) * log_w - 0.5 * x * x - 0.5 * math.log(2 * math.pi) - math.log(mu * rate) - z
        peak = math.exp(float(density.max()) + bend * gap * gap / 8 - rule.log_scale)
        variation += 2 * maxima * peak * (1 + 1e-9)
    atom = _tie(mu, rate) * math.exp(-rule.log_scale) * (1 + 1e-9)

    def smooth(t: Reals) -> Reals:
        return np.asarray(np.minimum(1.0, atom + variation / np.maximum(t, 1e-300)))

    return smooth


@lru_cache(maxsize=64)
def half_line_envelope(mu: float, rate: float, c: float, level: float) -> mixture.Envelope:
    """That for large t; below, the law of the rule."""
    smooth = decay(mu, rate, c)

    def law(reach: float) -> mixture.Law | None:
        if nodes_of(mu, c, reach) > 1e6:
            return None
        fine = half_line(mu, rate, c, reach)
        return mixture.Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach)

    return mixture.Envelope(*mixture.stepped(half_line(mu, rate, c, 0.0).spread, smooth, law, level), smooth)
