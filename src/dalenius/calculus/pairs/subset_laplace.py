"""A fixed number of records sampled before Laplace noise, by quadrature.

In terms of the loss z of the Laplace pair (`sampled_laplace`): L = log w for z in (0, e], mirrored, and the rest of the
mass at 0. The atoms are at -log w(e), 0 and log w(e), on a lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.mixture import MOST_WORK, Envelope, Law, Rule
from dalenius.calculus.pairs.pair import UNIT, Reals, Tilted
from dalenius.calculus.pairs.sampled import before_sampling
from dalenius.calculus.pairs.sampled_laplace import (
    SampledLaplacePair,
    depth_for,
    graded_nodes,
    log_mixture,
    nodes_between,
    stepped,
    variation_between,
)
from dalenius.calculus.pairs.subset import SubsetPair


@dataclass(frozen=True)
class SubsetLaplacePair(SubsetPair):
    """C_p of a Laplace pair."""

    inner: SampledLaplacePair

    @property
    def _parameters(self) -> tuple[float, float]:
        return self.inner.base.shift, self.inner.rate

    @cached_property
    def atomic(self) -> Atoms:
        e, rate = self._parameters
        log_w, noise = log_mixture(np.array([e]), rate)
        top = float(log_w[0])
        mass = np.array([0.5 * math.exp(-e), _tie(e, rate), 0.5 * math.exp(top - e)])
        slack, blur = UNIT * (32 + 4 * e + float(noise[0])), UNIT * (float(noise[0]) + 4 * top)
        return Atoms(
            top * np.array([-1.0, 0.0, 1.0]), mass, 0.0, Lattice(top, 0.0), np.array([-1, 0, 1]), slack, blur
        )

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        # Above 0 that of the sample. Below, all of the upper half, whose masses under P and Q differ by `lead`, and of
        # the lower half exp(x - e/2) g/2 (exp(m/2) - 1)^2, m the loss that sampling turns into -x, as long as m < e.
        e, g = self._parameters
        lead, mass = 0.5 * g * math.expm1(-e / 2) ** 2, -0.5 * math.exp(-e / 2) * math.expm1(-e / 2)
        low, high = self.inner.continuous_delta(np.maximum(x, 0.0))
        y = np.maximum(-x, 0.0)
        m = before_sampling(y, g)
        off = 64 * UNIT * m  # nothing cancels in log(1 + expm1(y)/g), y >= 0
        fall, slack = -np.expm1(-y), UNIT * (64 + 8 * np.abs(x) + 8 * e)

        def below(m: Reals) -> Reals:
            part = 0.5 * g * np.exp(-y - e / 2) * np.expm1(np.minimum(m, e) / 2) ** 2
            part = np.where(m < e, part, mass * fall - np.exp(-y) * lead)
            return np.asarray(lead + mass * fall + part)

        negative = x < 0
        return (
            np.where(negative, below(m - off) * (1 - slack), low),
            np.where(negative, below(m + off) * (1 + slack), high),
        )

    def log_mgf(self, s: Reals) -> Reals:
        order = np.where(s >= 0, s, -1.0 - s)  # symmetric: M(s) = M(-1-s)
        result = np.full(len(s), np.inf)
        known = order >= 0
        if known.any():
            result[known] = log_moments(*self._parameters, order[known])
        return result

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        rule = quadrature(*self._parameters, c, float(np.max(np.abs(t))))
        if rule is None or len(t) * len(rule.loss) > MOST_WORK:
            return None
        return rule.along(t)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return envelope_for(*self._parameters, c, mixture.level_for(times)).on(t)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        return decay(*self._parameters, c)(t)


def _tie(e: float, rate: float) -> float:
    """Mass of the atom at loss 0: what neither side of the sampled pair claims."""
    return -(1 - rate) * math.expm1(-e / 2)


@lru_cache(maxsize=256)
def quadrature(e: float, rate: float, c: float, reach: float) -> Rule | None:
    """M(c + it) for |t| <= reach: three atoms, and panels on both halves."""
    log_top, noise_top = (float(part[0]) for part in log_mixture(np.array([e]), rate))
    tie = _tie(e, rate)
    # Loss, exponent, order, noise and size of z.
    parts = [
        (np.zeros(1), np.array([math.log(tie) if tie > 0 else -800.0]), np.zeros(1), np.ones(1), np.ones(1))
    ]
    missed = []
    for order, sign in ((1.0 + c, 1.0), (-c, -1.0)):
        inside = nodes_between(rate, order, (0.0, e), reach)
        if inside is None:
            return None
        log_w, noise = log_mixture(inside.z, rate)
        loss = sign * np.append(log_w, log_top)
        exponent = np.append(
            order * log_w - (inside.z + e) / 2 + np.log(inside.weights / 4),
            order * log_top - e - math.log(2.0),
        )
        z = np.append(inside.z, e)
        parts.append(
            (loss, exponent, np.full(len(z), order), np.append(noise, noise_top), np.sqrt(np.abs(z) + e))
        )
        missed.append((inside.top - e / 2 - math.log(4.0), inside.missed))
    loss, exponent, orders, noise, size = (np.concatenate(part) for part in zip(*parts, strict=True))
    top = float(exponent.max())
    outside = sum(math.exp(height - top) * share for height, share in missed)
    return Rule(loss, exponent, orders, noise, size, outside)


@lru_cache(maxsize=256)
def decay(e: float, rate: float, c: float) -> Callable[[Reals], Reals]:
    """A bound on |M(c + it)|/M(c) from t on: the atoms, and a density on either half."""
    rule = quadrature(e, rate, c, 0.0)
    if rule is None:
        return np.ones_like
    variation = sum(variation_between(e, rate, order, (0.0, e), rule.log_scale) for order in (1.0 + c, -c))
    log_top = float(mixture.log_mixture(np.array([e]), rate)[0][0])
    is_atom = (rule.loss == 0.0) | (np.abs(rule.loss) == log_top)
    atoms = float(rule.weights[is_atom].sum()) * (1 + 1e-12)
    rest = float(rule.weights[~is_atom].sum()) * (1 + 1e-12) + rule.fixed

    def smooth(t: Reals) -> Reals:
        return np.asarray(np.minimum(1.0, atoms + np.minimum(rest, variation / np.maximum(t, 1e-300))))

    return smooth


@lru_cache(maxsize=64)
def envelope_for(e: float, rate: float, c: float, level: float) -> Envelope:
    """That for large t; below, the law of the rule."""
    smooth = decay(e, rate, c)

    def law(reach: float) -> Law | None:
        fine = quadrature(e, rate, c, reach)
        return None if fine is None else Law(fine.loss, fine.weights, fine.fixed + fine.per_t * reach)

    first = quadrature(e, rate, c, 0.0)
    if first is None:
        return Envelope(np.zeros(1), np.ones(1), smooth)
    return Envelope(*stepped(first.spread, smooth, law, level), smooth)


def log_moments(e: float, rate: float, s: Reals) -> Reals:
    """log M(s) for s >= 0: M(0) = 1, so M - 1 is the mean of (w - 1) expm1(v) + 4 sinh(v/2)^2, v = s log w, z > 0."""
    log_top = float(mixture.log_mixture(np.array([e]), rate)[0][0])
    steepest = 0.5 + (1.0 + float(s.max())) * math.exp(math.log(rate) + e - log_top)
    z, weights = graded_nodes((0.0, e), depth_for(e, steepest))
    mass = np.append(weights * np.exp(-(z + e) / 2) / 4, 0.5 * math.exp(-e))
    log_w, _ = mixture.log_mixture(np.append(z, e), rate)
    gain = rate * np.expm1(np.append(z, e))
    result = np.empty(len(s))
    near = s * log_top < 300.0
    if near.any():
        v = np.multiply.outer(s[near], log_w)
        result[near] = np.log1p((gain * np.expm1(v) + 4 * np.sinh(v / 2) ** 2) @ mass)
    if not near.all():
        exponent = np.multiply.outer(1.0 + s[~near], log_w) + np.log(
            mass
        )  # beside these the others are nothing
        top = exponent.max(axis=1)
        result[~near] = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
    return result
