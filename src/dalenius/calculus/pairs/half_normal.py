"""Losses of the form offset + |normal vector|: the bounds of objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import erf, erfcx, gammaincc, gammaln, log_ndtr, ndtr, wofz

from dalenius.calculus.pairs.mixture import Rule
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Decay, Pair, Reals, Tilted, Transform
from dalenius.calculus.pairs.panels import panels
from dalenius.calculus.theorems.gaussian import gaussian_delta_bounds

MOST_WORK = 1e8
"""Exponentials that one line may take; on an even line they are products of fewer."""


@dataclass(frozen=True)
class HalfNormalPair(Pair):
    """L = offset + mu^2/2 + |N(0, mu^2)| under P (Redberg 2023, Lemma C.4.6, corrected).

    M(s) = exp(s (offset + mu^2/2) + s^2 mu^2/2) 2 Phi(s mu). Q has mass E[exp(-L)] where P lives.
    """

    offset: float
    mu: float

    @property
    def start(self) -> float:
        return self.offset + 0.5 * self.mu**2

    @property
    def asymptote(self) -> tuple[float, float]:
        # D_order = offset + order mu^2/2 + log(2 Phi((order-1) mu)) / (order-1), Phi <= 1.
        return 0.5 * self.mu**2 * (1 + 4 * UNIT), (self.offset + math.log(2)) * (1 + 4 * UNIT)

    def delta(self, epsilon: float) -> Bounds:
        x = epsilon - self.start
        if x >= 0:
            # epsilon - offset >= mu^2/2 > 0; its rounding moves log delta by at most that times (1 + x/mu^2).
            low, high = gaussian_delta_bounds(self.mu, epsilon - self.offset)
            slack = 8 * UNIT * (abs(epsilon) + self.offset + 1) * (1 + 4 * (x + 1) / self.mu**2)
            return Bounds(2 * low * max(0.0, 1 - slack), min(1.0, 2 * high * (1 + slack)))
        value = -math.expm1(x) + math.exp(x) * (1 - float(erfcx(self.mu / math.sqrt(2))))
        gap = 16 * UNIT * (1 + abs(epsilon) + self.start)
        return Bounds(max(0.0, value - gap), min(1.0, value + gap))

    def log_mgf(self, s: Reals) -> Reals:
        return s * self.start + 0.5 * (s * self.mu) ** 2 + math.log(2) + log_ndtr(s * self.mu)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # 2 Phi(x) = 1 + erf(x/sqrt2): for s > 0 all terms are positive, and good to a few roundings.
        twice = np.log1p(erf(s * self.mu / math.sqrt(2)))
        return np.asarray((s * self.start + 0.5 * (s * self.mu) ** 2 + twice) * (1 + 32 * UNIT))

    def tilted(self, c: float, t: Reals) -> Tilted:
        mu = self.mu
        # Phi(z) = erfc(-z/sqrt2)/2 and erfc(w) = exp(-w^2) wofz(i w), taken on the side where wofz is tame.
        z = mu * (c + 1j * t) / math.sqrt(2)
        upper = 0.5 * wofz(1j * z)
        gauss = np.exp(-(mu**2) * t * t / 2 + 1j * c * mu**2 * t)
        bottom = float(ndtr(c * mu))
        # exp(z^2/..) Phi: exp(s^2 mu^2/2) Phi(s mu) = exp(s^2 mu^2/2) - exp(s^2 mu^2/2) Phi(-s mu)
        tail = upper * math.exp(-0.5 * (c * mu) ** 2)
        values = np.exp(1j * t * self.start) * (gauss - tail) / bottom
        scale = c * self.start + 0.5 * (c * mu) ** 2 + math.log(2 * bottom)
        # wofz is good to 1e-13 (Johnson's Faddeeva package); the rest are exponentials of rounded products.
        error = 4e-13 + UNIT * (
            64 + 8 * np.abs(t) * (self.start + abs(c) * mu**2) + 8 * (mu * t) ** 2 * np.abs(gauss)
        )
        return Tilted(scale, values, error / bottom)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        # One mode with a jump at the start: variation twice the largest density 1/(mu sqrt(2 pi) Phi(c mu)).
        peak = 1 / (self.mu * math.sqrt(2 * math.pi) * float(ndtr(c * self.mu)))
        return np.minimum(1.0, 2 * peak * (1 + 1e-12) / np.maximum(t, 1e-300))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        y = np.maximum(edges - self.start, 0.0) / self.mu
        above_p = np.append(np.insert(2 * ndtr(-y), 0, 1.0), 0.0)
        # E[exp(-L); L > l] = 2 exp(mu^2/2 - start) Phi(-(y + mu)), start - mu^2/2 = offset
        above_q = np.append(
            2 * math.exp(-self.offset) * np.insert(ndtr(-y - self.mu), 0, ndtr(-self.mu)), 0.0
        )
        return np.maximum(-np.diff(above_p), 0.0), np.maximum(-np.diff(above_q), 0.0)

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        mu, offset = flint.arb(self.mu), flint.arb(self.offset)
        root = flint.arb(2).sqrt()
        return lambda s: (s * (offset + mu**2 / 2) + (s * mu) ** 2 / 2).exp() * (1 + (s * mu / root).erf())

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        arb = flint.arb
        mu = arb(self.mu)
        peak = 1 / (mu * (2 * arb.pi()).sqrt() * (1 + (arb(c) * mu / arb(2).sqrt()).erf()) / 2)
        return lambda t, _: 2 * peak / t


@dataclass(frozen=True)
class ChiPair(Pair):
    """L = offset + mu^2/2 + mu chi_d: the dimension-dependent bound for losses that are not GLMs."""

    offset: float
    mu: float
    dimension: int

    @property
    def start(self) -> float:
        return self.offset + 0.5 * self.mu**2

    @property
    def roughness(self) -> float:  # type: ignore[override]
        # log densities add up terms of size d log d; the rest is for the quadratures and scipy's gammaincc.
        return 16 * UNIT * self.dimension * (1 + math.log(self.dimension)) + 1e-13

    @property
    def asymptote(self) -> tuple[float, float]:
        # |g| <= sqrt(d) + N-like deviation: E exp(s mu |g|) <= exp(s mu sqrt(d) + s^2 mu^2/2), g a normal
        # vector.
        return 0.5 * self.mu**2 * (1 + 1e-12), (self.offset + self.mu * math.sqrt(self.dimension)) * (
            1 + 1e-12
        )

    def delta(self, epsilon: float) -> Bounds:
        # E[1 - exp(epsilon - L); L > epsilon], a positive integrand in r = (L - start)/mu beyond r_0.
        # Below its peak - 40 the density is less than exp(-800) of it, and the rest smaller, too.
        x = (epsilon - self.start) / self.mu
        peak = math.sqrt(max(self.dimension - 1.0, 0.0))
        first = max(x, 0.0, peak - 40.0)
        rule = panels(first, max(first, peak) + 40.0, min(0.5, 20.0 / self.mu))
        gain = -np.expm1(epsilon - self.start - self.mu * rule.x)
        value = float(rule.weights @ (np.exp(_log_density(rule.x, self.dimension)) * gain))
        slack = 1e-10 + self.roughness
        slack += 16 * UNIT * (1 + (abs(epsilon) + self.start) / self.mu * (first + peak + 1))
        return Bounds(value * max(0.0, 1 - slack), min(1.0, max(value * (1 + slack), 5e-324)))

    def log_mgf(self, s: Reals) -> Reals:
        rules = [self._rule(float(x), 0.0) for x in s]
        return np.array([rule.log_scale + rule.fixed for rule in rules])

    def renyi_log_mgf(self, s: Reals) -> Reals:
        value = self.log_mgf(s)
        return np.asarray(value + 8 * UNIT * (1 + np.abs(value)))

    def _peak(self, c: float) -> tuple[float, float]:
        """Where the tilted density is largest, and its logarithm there."""
        u, d = c * self.mu, self.dimension
        peak = max((u + math.sqrt(u * u + 4 * (d - 1))) / 2, 1e-300)
        return peak, c * (self.start + self.mu * peak) + float(_log_density(np.array([peak]), d)[0])

    def _rule(self, c: float, reach: float) -> Rule:
        """Gauss-Legendre panels for E exp((c + it) L), in r = (L - start)/mu; see `panels` for the error.

        At r = x + iy the density is, in modulus, that at |r| times exp(y^2), since x^2 - y^2 = |r|^2 - 2 y^2;
        and exp(c mu x) is at most exp(c mu |r|) for c >= 0. So on the ellipses the integrand is at most the
        largest real value, times exp(b^2 + |t| mu b). (For c < 0, |r| - x <= 2 long + b.) For real r its
        logarithm bends by at least 1: beyond 12 of the peak nothing is left.
        """
        peak, height = self._peak(c)
        low, high = max(0.0, peak - 12.0), peak + 12.0
        parts = panels(low, high, min(0.5, 5.0 / max(reach * self.mu, 1e-9)))
        loss = self.start + self.mu * parts.x
        exponent = c * loss + _log_density(parts.x, self.dimension) + np.log(parts.weights)
        growth = parts.b**2 + reach * self.mu * parts.b
        growth += max(0.0, -c) * self.mu * (2 * parts.long + parts.b)
        top = float(exponent.max())
        outside = math.exp(growth) * parts.error + math.exp(-72.0)
        outside *= math.exp(height - top) * (1 + self.roughness)
        outside += self.roughness * float(np.exp(exponent - top).sum())
        return Rule(loss, exponent, np.full(len(loss), c), 4 * np.abs(loss), parts.x, outside)

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        reach = float(np.max(np.abs(t)))
        if len(t) * 60.0 * max(24.0, 24.0 * reach * self.mu / 10.0) > MOST_WORK:
            return None
        return self._rule(c, reach).along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        # A log-concave density in r: one mode, variation at most twice its largest value.
        rule = self._rule(c, 0.0)
        top = self._peak(c)[1] - rule.log_scale
        slack = 1 + 1e-9 + 2 * rule.fixed
        slow = 2 * math.exp(top) / self.mu * slack / np.maximum(t, 1e-300)
        # Along r = rho exp(i angle), angle < pi/4, the integrand is no larger than that of E exp(u chi_d) in
        # rho sqrt(cos 2 angle), over cos(2 angle)^(d/2), u = (c cos - t sin) mu/sqrt(cos 2 angle), which falls with t.
        log_real = rule.log_scale - c * self.start + math.log1p(-min(rule.fixed, 0.5))
        widening = np.cos(2 * ANGLES)
        u = (c * np.cos(ANGLES) - np.multiply.outer(t, np.sin(ANGLES))) * self.mu / np.sqrt(widening)
        known = _log_mgf_of_chi(self.dimension, float(2 ** math.ceil(math.log2(max(u.max(), 1.0)))))
        exponent = np.interp(u, *known) - self.dimension / 2 * np.log(widening) - log_real
        fast = np.exp(np.minimum(exponent.min(axis=1), 0.0)) * (1 + 1e-9 + self.roughness)
        return np.asarray(np.minimum(1.0, np.minimum(slow, fast)))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        y = np.maximum(edges - self.start, 0.0) / self.mu
        above = np.append(np.insert(gammaincc(self.dimension / 2, y * y / 2), 0, 1.0), 0.0)
        p = np.maximum(-np.diff(above), 0.0)
        ends = np.concatenate(([0.0], y, [np.maximum(y[-1], math.sqrt(self.dimension)) + 40.0]))
        return p, math.exp(-self.start) * _exp_chi_cells(ends, self.mu, self.dimension)


ANGLES = np.linspace(0.03, 0.72, 16)


@lru_cache(maxsize=16)
def _log_mgf_of_chi(d: int, most: float) -> tuple[Reals, Reals]:
    """(u, log E exp(u chi_d) rounded up) for u up to `most`, from where it can be told: convex, so below its chords."""
    pair = ChiPair(0.0, 1.0, d)
    places = np.concatenate((-np.geomspace(60.0, 0.5, 60), np.linspace(0.0, most, math.ceil(2 * most) + 2)))
    rules = [pair._rule(float(u), 0.0) for u in places]
    told = [k for k, rule in enumerate(rules) if rule.fixed < 1e-3]
    logs = [rules[k].log_scale + 2 * rules[k].fixed - float(places[k]) * pair.start for k in told]
    # Further out it is less than at the last place.
    return places[told], np.minimum.accumulate(np.array(logs)[::-1])[::-1] + 1e-9


def _log_density(r: Reals, d: int) -> Reals:
    with np.errstate(divide="ignore"):
        powers = (d - 1) * np.log(r) if d > 1 else np.zeros_like(r)
        return powers - r * r / 2 - (d / 2 - 1) * math.log(2) - float(gammaln(d / 2))


def _exp_chi_cells(ends: Reals, mu: float, d: int) -> Reals:
    """E[exp(-mu chi_d)] over consecutive cells, by Gauss-Legendre in parts narrow enough for 12 nodes.

    Beyond sqrt(d) + 40 the density is below exp(-800).
    """
    nodes, weights = np.polynomial.legendre.leggauss(12)
    ends = np.minimum(ends, math.sqrt(d) + 40.0)
    parts = np.maximum(np.ceil(np.diff(ends) / min(0.25, 20.0 / mu)), 1.0).astype(np.int64)
    starts = np.cumsum(parts) - parts
    width = np.repeat(np.diff(ends) / parts, parts)
    left = np.repeat(ends[:-1], parts) + width * (np.arange(len(width)) - np.repeat(starts, parts))
    x = left[:, None] + width[:, None] * (0.5 + 0.5 * nodes)
    values = np.exp(-mu * x + _log_density(np.maximum(x, 1e-300), d))
    return np.asarray(np.add.reduceat(0.5 * width * (values @ weights), starts))
