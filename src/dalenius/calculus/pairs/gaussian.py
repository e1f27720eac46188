"""The Gaussian pair N(mu, 1) against N(0, 1): the extremal pair of mu-GDP."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from dalenius.calculus.pairs.pair import UNIT, Ball, Bounds, Decay, Pair, Reals, Terms, Tilted, Transform
from dalenius.calculus.theorems.gaussian import gaussian_delta_bounds
from dalenius.core.checks import float_up


def normal_cells(edges: Reals) -> Reals:
    """Standard normal masses of (-inf, e_0], ..., (e_J, inf), relative accuracy kept in both tails."""
    below, above = ndtr(edges), ndtr(-edges)
    middle = np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.concatenate((below[:1], np.maximum(middle, 0.0), above[-1:]))


class GaussianPair(Pair):
    """L ~ N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q; M(s) = exp(mu^2 s (s+1) / 2).

    `square` keeps mu^2 exactly, so that sums are the same however they are grouped.
    """

    def __init__(self, mu: float, square: Fraction | None = None) -> None:
        self.mu = mu
        self.square = Fraction(mu) ** 2 if square is None else square

    @classmethod
    def of_square(cls, square: Fraction) -> GaussianPair:
        """The pair with this mu^2, mu rounded up."""
        # By a power of 4, so that what is tiny keeps its digits.
        shift = max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
        mu = math.ldexp(math.sqrt(float(square * 4**shift)), -shift)
        while Fraction(mu) ** 2 < square:
            mu = math.nextafter(mu, math.inf)
        return cls(mu, square)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianPair) and self.square == other.square

    @cached_property
    def _hash(self) -> int:
        return hash(self.square)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"GaussianPair(mu={self.mu!r})"

    @property
    def zcdp(self) -> float:
        # Rounded up only when mu^2/2 is not a float, so that a promise met exactly counts as met.
        return float_up(self.square / 2)

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.zcdp, 0.0

    @property
    def gdp(self) -> float:
        return self.mu

    def delta(self, epsilon: float) -> Bounds:
        bounds = Bounds(*gaussian_delta_bounds(self.mu, abs(epsilon)))
        return bounds if epsilon >= 0 else bounds.mirrored(epsilon)

    def log_mgf(self, s: Reals) -> Reals:
        return 0.5 * self.mu**2 * s * (s + 1.0)

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return self.log_mgf(s) * (1 + 8 * UNIT)

    def tilted(self, c: float, t: Reals) -> Tilted:
        variance = self.mu**2
        phase = variance * (c + 0.5) * t
        decay = 0.5 * variance * t * t
        values = np.exp(-decay + 1j * phase)
        # Each exponent is a product of at most four rounded factors; exp and cos/sin err by a few ulp.
        error = UNIT * (8.0 + 6.0 * np.abs(phase) + 6.0 * decay) * np.abs(values)
        return Tilted(0.5 * variance * c * (c + 1.0), values, error)

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        return np.exp(-0.5 * self.mu**2 * t * t)

    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        return normal_cells(edges / self.mu - self.mu / 2), normal_cells(edges / self.mu + self.mu / 2)

    @classmethod
    def merge(cls, terms: Terms) -> Terms:
        """One pair: means and variances of L add up."""
        square = sum((n * pair.square for pair, n in terms if isinstance(pair, cls)), Fraction(0))
        return ((cls.of_square(square), 1),) if square > 0 else ()

    def chained(self, size: int) -> GaussianPair:
        """A log-concave location family: a chain of shifts is one long shift."""
        return GaussianPair.of_square(size * size * self.square)

    def dominates(self, other: Pair) -> bool:
        return isinstance(other, GaussianPair) and self.square >= other.square

    def sampled(self, rate: float, added: bool) -> Pair:
        from dalenius.calculus.pairs.sampled_gaussian import SampledGaussianPair

        return SampledGaussianPair(self, rate, added)

    def _square_in_balls(self, flint: Any) -> Ball:
        return flint.arb(flint.fmpq(self.square.numerator, self.square.denominator))

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        square = self._square_in_balls(flint)
        return lambda s: (square * s * (s + 1) / 2).exp()

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        square = self._square_in_balls(flint)
        return lambda t, _: (-square * t**2 / 2).exp()
