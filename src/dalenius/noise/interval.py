"""Certified arithmetic on intervals of fixed-point numbers, for what is settled beyond a single logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dalenius.noise.enclosure import Bounds
from dalenius.noise.lazy import LazyUniform


@dataclass(frozen=True, slots=True)
class Interval:
    """A number in [low, high] / 2^precision. Operations round outward; both sides have one precision."""

    low: int
    high: int
    precision: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high, self.precision)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners) >> self.precision, -(-max(corners) >> self.precision), self.precision)

    def __truediv__(self, other: Interval) -> Interval:
        """By a number known to be above 0."""
        edges = (other.low, other.high)
        low = min((self.low << self.precision) // edge for edge in edges)
        high = max(-((-self.high << self.precision) // edge) for edge in edges)
        return Interval(low, high, self.precision)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.precision)

    def times(self, n: int) -> Interval:
        """By a whole number, 0 or more."""
        return Interval(n * self.low, n * self.high, self.precision)

    def sqrt(self) -> Interval:
        """Of a number known to be 0 or more."""
        low, high = (max(edge, 0) << self.precision for edge in (self.low, self.high))
        return Interval(math.isqrt(low), math.isqrt(high) + 1, self.precision)

    def nearest(self, bits: int) -> int | None:
        """floor(x 2^bits + 1/2), if all of the interval agrees."""
        spare = self.precision - bits
        half = 1 << (spare - 1)
        low, high = (self.low + half) >> spare, (self.high + half) >> spare
        return low if low == high else None


def whole(n: int, precision: int) -> Interval:
    """A whole number."""
    return Interval(n << precision, n << precision, precision)


def uniform(u: LazyUniform, precision: int) -> Interval:
    """U itself."""
    spare = precision - u.bits
    return Interval(u.value << spare, (u.value + 1) << spare, precision)


def exponential(u: LazyUniform, precision: int) -> Interval:
    """-ln(1 - U)."""
    while u.value + 1 == 1 << u.bits:
        u.more()
    low, high = u.mirrored().minus_log(precision)
    return Interval(max(low, 0), high, precision)


def circle(u: LazyUniform, precision: int) -> tuple[Interval, Interval]:
    """cos and sin of 2 pi U: the series at the middle of the interval, widened by half its length."""
    work = precision + 24
    pi = _pi(work)
    low, high = (2 * pi[0] * u.value) >> u.bits, -((-2 * pi[1] * (u.value + 1)) >> u.bits)
    middle = (low + high) // 2
    radius = high - middle + 1
    # The error of a term is at most x/k of that of the one before plus 2; with x < 6.3 these sum to less
    # than 512 + 4 a term.
    sums, term, k = [0, 0], 1 << work, 0
    while term:
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = (term * middle >> work) // k
    error = 512 + 4 * k + radius
    cosine, sine = (Interval((s - error) >> 24, -((-s - error) >> 24), precision) for s in sums)
    return cosine, sine


@lru_cache(maxsize=64)
def _pi(work: int) -> Bounds:
    """pi = 16 atan(1/5) - 4 atan(1/239), each term of the series cut off by less than 2 units."""
    five, error_five = _atan_inverse(5, work)
    rest, error_rest = _atan_inverse(239, work)
    middle, error = 16 * five - 4 * rest, 16 * error_five + 4 * error_rest
    return middle - error, middle + error


def _atan_inverse(q: int, work: int) -> tuple[int, int]:
    total, power, k = 0, (1 << work) // q, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power //= q * q
        k += 2
    return total, k + 4
