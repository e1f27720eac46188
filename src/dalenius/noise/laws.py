"""Laws of the noise that smooth sensitivity is multiplied by: each a function of two uniform numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.arrays import Words
from dalenius.noise.affine import Floats, Law
from dalenius.noise.enclosure import exp_bounds
from dalenius.noise.exponential import exponentials
from dalenius.noise.interval import Interval, circle, exponential
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.normal import certified_pair, normals

HALF = np.uint64(1 << 63)


@dataclass(frozen=True)
class NormalLaw(Law):
    """Standard normal."""

    uniforms = 2

    def values(self, drawn: Words) -> tuple[Floats, Floats]:
        z, error = normals(drawn[:, 0], drawn[:, 1])
        return z[:, 0], error[:, 0]

    def enclose(self, uniforms: list[LazyUniform], precision: int) -> Interval:
        return certified_pair(uniforms[0], uniforms[1], precision)[0]


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """Laplace of scale 1: an exponential number, and a sign from the first digit of another uniform number."""

    uniforms = 2

    def values(self, drawn: Words) -> tuple[Floats, Floats]:
        e, relative = exponentials(drawn[:, 0], 64)
        return np.where(drawn[:, 1] < HALF, e, -e), e * relative

    def enclose(self, uniforms: list[LazyUniform], precision: int) -> Interval:
        e = exponential(uniforms[0], precision)
        return e if _first_half(uniforms[1]) else -e


@dataclass(frozen=True)
class StudentTLaw(Law):
    """Student's t: sqrt(df (U^(-2/df) - 1)) cos(2 pi V) for uniform U, V (Bailey 1994), any df > 0.

    Doubles: with x = 2 E / df, E = -ln U off by a relative r, exp(x) - 1 is off by a relative r (1 + x) and a few
    roundings, its root by half of that; the cosine by 2^-48 as for normal numbers.
    """

    df: Fraction
    uniforms = 2

    def values(self, drawn: Words) -> tuple[Floats, Floats]:
        e, relative = exponentials(drawn[:, 0], 64)
        df = float(self.df)
        x = 2.0 * e / df
        with np.errstate(over="ignore", invalid="ignore"):
            radius = np.sqrt(df * np.expm1(x))
            angle = (drawn[:, 1].astype(np.float64) + 0.5) * (2.0 * math.pi * 2.0**-64)
            error = radius * ((relative + 2.0**-46) * (1.0 + x) * 2.0 + 2.0**-46)
            return radius * np.cos(angle), np.where(relative * (1 + x) < 0.01, error, np.inf)

    def enclose(self, uniforms: list[LazyUniform], precision: int) -> Interval:
        e = exponential(uniforms[0], precision)
        cosine, _ = circle(uniforms[1], precision)
        work = precision + 64 + 4 * math.ceil(Fraction(e.high, 1 << precision) / self.df)
        rate = 2 / (self.df * (1 << precision))
        low, high = (_minus_one(edge * rate, work, precision) for edge in (e.low, e.high))
        top, bottom = self.df.numerator, self.df.denominator
        square = Interval(low[0] * top // bottom, -(-high[1] * top // bottom), precision)
        return square.sqrt() * cosine


@dataclass(frozen=True)
class LaplaceLogNormalLaw(Law):
    """X exp(shape Y), X Laplace of scale 1 and Y standard normal (Bun and Steinke 2019).

    Y = R cos(2 pi V) with R from a uniform number of its own; the sign of X is that of sin(2 pi V), which is
    independent of Y.
    """

    shape: Fraction
    uniforms = 3

    def values(self, drawn: Words) -> tuple[Floats, Floats]:
        e, relative = exponentials(drawn[:, 0], 64)
        y, off = normals(drawn[:, 1], drawn[:, 2])
        shape = float(self.shape)
        size = e * np.exp(shape * y[:, 0])
        part = relative + 2.0 * shape * off[:, 0] + np.abs(shape * y[:, 0]) * 2.0**-50 + 2.0**-48
        error = np.where(part < 0.01, size * part * 1.1, np.inf)
        return np.where(drawn[:, 2] < HALF, size, -size), error

    def enclose(self, uniforms: list[LazyUniform], precision: int) -> Interval:
        y = certified_pair(uniforms[1], uniforms[2], precision)[0]
        factor = Interval(
            _exp(self.shape * Fraction(y.low, 1 << precision), precision)[0],
            _exp(self.shape * Fraction(y.high, 1 << precision), precision)[1],
            precision,
        )
        size = exponential(uniforms[0], precision) * factor
        return size if _first_half(uniforms[2]) else -size


def _first_half(u: LazyUniform) -> bool:
    """The first digit, which is drawn with the first word."""
    return u.value >> (u.bits - 1) == 0


def _exp(x: Fraction, precision: int) -> tuple[int, int]:
    """Bounds on exp(x) 2^precision, x of either sign."""
    if x <= 0:
        return exp_bounds(-x, precision)
    work = precision + 64 + 2 * math.ceil(x)
    low, high = exp_bounds(x, work)
    return (1 << (precision + work)) // high, -(-(1 << (precision + work)) // low)


def _minus_one(x: Fraction, work: int, precision: int) -> tuple[int, int]:
    """Bounds on (exp(x) - 1) 2^precision for x >= 0, from exp(-x) at a precision that leaves it above 0."""
    low, high = exp_bounds(x, work)
    one = 1 << work
    return max((one - high) << precision, 0) // high, -(-((one - low) << precision) // low)
