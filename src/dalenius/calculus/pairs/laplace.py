"""The Laplace pair: Lap(1) shifted by `shift` against Lap(1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, lattice_atoms
from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Complexes, Decay, Pair, Reals, Tilted, Transform
from dalenius.core.checks import float_up

LARGEST_SAMPLED = 200.0
"""Up to this shift the loss of a sample is integrated; beyond, it is rounded."""


@dataclass(frozen=True)
class LaplacePair(Pair):
    """L = +e with probability 1/2, -e with probability exp(-e)/2, else density exp((l-e)/2)/4 on (-e, e).

    e = `shift` = sensitivity / scale. With y = s + 1/2,
    M(s) = exp(s e) B(y),  B(y) = (1 + exp(-2 y e))/2 + (1 - exp(-2 y e))/(4 y).
    """

    shift: float

    @property
    def largest(self) -> float:
        return self.shift

    @property
    def reach(self) -> float:
        return self.shift

    @property
    def atomic(self) -> Atoms:
        return lattice_atoms(2 * self.shift, -self.shift, np.array([0.5 * math.exp(-self.shift), 0.5]))

    def delta(self, epsilon: float) -> Bounds:
        e = self.shift
        if epsilon >= e:
            return Bounds(0.0, 0.0)
        value = -math.expm1(epsilon) if epsilon <= -e else -math.expm1((epsilon - e) / 2)
        gap = 4 * UNIT * (abs(epsilon) + e)
        return Bounds(max(0.0, value * (1 - 4 * UNIT) - gap), min(1.0, value * (1 + 4 * UNIT) + gap))

    def _bracket(self, y: Complexes) -> Complexes:
        fall = np.exp(-2 * y * self.shift)
        return np.asarray(0.5 * (1 + fall) - np.expm1(-2 * y * self.shift) / (4 * y))

    def _bottom(self, c: float) -> float:
        """M(c) exp(-c e)."""
        return float(self._bracket(np.array([c + 0.5 + 0j]))[0].real)

    def log_mgf(self, s: Reals) -> Reals:
        y = np.where(s == -0.5, 1e-12, s + 0.5)
        left = y < 0  # B(-y) = B(y) exp(2 y e): the pair is symmetric, M(s) = M(-1-s)
        bracket = self._bracket(np.abs(y).astype(complex)).real
        return np.asarray(np.where(left, -1 - s, s) * self.shift + np.log(bracket))

    def renyi_log_mgf(self, s: Reals) -> Reals:
        # (2 s + 1) (M - 1) = (s + 1) expm1(s e) + s (exp(-e) expm1(-s e) + expm1(-e)): terms of size s e.
        e = self.shift
        near = s * e < 600.0
        x = np.where(near, s, 0.0)
        grown, fallen = np.expm1(x * e), math.exp(-e) * np.expm1(-x * e) + math.expm1(-e)
        excess = (x + 1) * grown + x * fallen + 16 * UNIT * ((x + 1) * grown - x * fallen)
        small = np.log1p(excess / (2 * x + 1)) * (1 + 16 * UNIT)
        # The bracket is at least 1/2 and good to a few roundings of itself and of y e exp(-2 y e) < 1.
        large = self.log_mgf(s) + UNIT * (64 + 8 * s * e)
        return np.asarray(np.where(near, small, large))

    def rough_log_mgf(self, s: Reals) -> Reals:
        return self.renyi_log_mgf(s)  # what rounding leaves of `log_mgf` counts when there are many

    def tilted(self, c: float, t: Reals) -> Tilted:
        bottom = self._bottom(c)
        values = np.exp(1j * t * self.shift) * self._bracket(c + 0.5 + 1j * t) / bottom
        error = UNIT * (24 + 8 * (np.abs(t) + abs(c) + 1) * self.shift)
        return Tilted(c * self.shift + math.log(bottom), values, error)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        # The atoms a at e and b at -e turn against each other: what is lost of 1 is a + b - |a exp(ite) + b exp(-ite)|
        # = x / (a + b + sqrt((a + b)^2 - x)), x = 4 a b sin(te)^2. On a cell within [0, pi] it is least at an end.
        bottom = self._bottom(c)
        a, b = 0.5 / bottom, 0.5 * math.exp(-(2 * c + 1) * self.shift) / bottom
        turned = np.sin(t * self.shift) ** 2
        least = np.where(
            np.append(t[1:], math.inf) * self.shift < math.pi,
            np.minimum(turned, np.append(turned[1:], 0.0)),
            0.0,
        )
        x = 4 * a * b * least * (1 - 1e-9)
        lost = x / (a + b + np.sqrt((a + b) ** 2 - x))
        return np.minimum(self.beside_atoms(c, t), 1.0 - lost + 4 * UNIT)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        # Two atoms, and a density that rises to exp(c e)/4 and drops to zero: its variation is twice that.
        bottom = self._bottom(c)
        atoms = 0.5 * (1 + math.exp(-(2 * c + 1) * self.shift)) / bottom
        return np.minimum(1.0, (atoms + 0.5 / (bottom * np.maximum(t, 1e-300))) * (1 + 1e-12))

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        e = self.shift
        near = 4 * UNIT * e  # an end of the range that meets an edge belongs to it
        inside = (edges >= -e - near) & (edges < e - near)
        low = np.clip(edges, -e, e)
        below_p = np.where(inside, 0.5 * np.exp((low - e) / 2), np.where(edges < 0, 0.0, 1.0))
        above_q = np.where(inside, 0.5 * np.exp((-low - e) / 2), np.where(edges < 0, 1.0, 0.0))
        p = np.diff(np.concatenate(([0.0], below_p, [1.0])))
        q = -np.diff(np.concatenate(([1.0], above_q, [0.0])))
        return p, q

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals]:
        e, slack = self.shift, UNIT * (32 + 4 * np.abs(x) + 4 * self.shift)
        below = -0.5 * math.expm1(-e) * -np.expm1(np.minimum(x, 0.0))

        def at(x: Reals) -> Reals:
            return np.where(x > -e, 0.5 * np.expm1(np.clip(x - e, -2 * e, 0.0) / 2) ** 2, below)

        off = 2 * UNIT * (np.abs(x) + e)
        return at(x + off) * (1 - slack), at(x - off) * (1 + slack) + 1e-300

    def sampled(self, rate: float, added: bool) -> Pair:
        if self.shift > LARGEST_SAMPLED:
            return super().sampled(rate, added)
        from dalenius.calculus.pairs.sampled_laplace import SampledLaplacePair

        return SampledLaplacePair(self, rate, added)

    def chained(self, size: int) -> LaplacePair:
        """A log-concave location family: a chain of shifts is one long shift."""
        return LaplacePair(float_up(size * Fraction(self.shift)))

    def dominates(self, other: Pair) -> bool:
        return isinstance(other, LaplacePair) and self.shift >= other.shift

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        e = flint.arb(self.shift)

        def mgf(s: Ball) -> Ball:
            y = s + flint.acb(0.5)
            fall = (-2 * y * e).exp()
            return (s * e).exp() * ((1 + fall) / 2 + (1 - fall) / (4 * y))

        return mgf

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        y = flint.arb(c) + flint.arb(0.5)
        fall = (-2 * y * flint.arb(self.shift)).exp()
        bottom = (1 + fall) / 2 + (1 - fall) / (4 * y)
        return lambda t, _: ((1 + fall) / 2 + flint.arb(0.5) / t) / bottom
