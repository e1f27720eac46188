"""Vectors of whole numbers with P(z) proportional to exp(-h(z)/s), h the norm of a body rounded up to ticks.

A tick is `ratio` grid steps; h(z) is the least whole r with z in r `ratio` K (and at least FLAT). Since
exp(-h/s) is proportional to the sum over r >= h of exp(-r/s), a pair (r, z) with

    P(r, z) proportional to exp(-r/s) for z in r ratio K

has the z wanted. Proposals: r is a sum of d + 1 geometric numbers, P(r) proportional to (r+1)...(r+d)
exp(-r/s); then z is drawn in a way that makes up for the factor and is refused outside the body. Each step
is exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.hull import Hull
from dalenius.noise import bernoulli_exp, discrete_gaussian, geometric, uniform_integers

FLAT = 1 << 16
"""Radii below this are not drawn: the law is flat near 0, where h is FLAT; h(y) - h(z) <= h(y - z) still."""

AT_ONCE = 1 << 12


class Body(ABC):
    """Draws whole-numbered vectors of dimension `dimension`."""

    dimension: int
    ratio: int

    @property
    @abstractmethod
    def extent(self) -> Fraction:
        """How far a coordinate can reach for a norm of one tick, in grid steps."""

    @abstractmethod
    def points(self, radius: NDArray[Any]) -> NDArray[Any]:
        """Proposals for these radii (kept ones only), one row each."""

    def draw(self, scale: float, count: int) -> NDArray[Any]:
        """So many independent vectors of scale s = `scale` ticks, one row each."""
        found: list[NDArray[Any]] = []
        missing = count
        while missing > 0:
            radius = radii(scale, self.dimension, self.batch(missing))
            rows = self.points(radius[radius >= FLAT])[:missing]
            found.append(rows)
            missing -= len(rows)
        return np.concatenate(found) if found else np.empty((0, self.dimension), dtype=np.int64)

    def batch(self, missing: int) -> int:
        """How many proposals to make for so many draws."""
        return min(missing + 2, max(1, AT_ONCE * 8 // self.dimension))


def radii(scale: float, dimension: int, count: int) -> NDArray[Any]:
    """Sums of dimension + 1 geometric numbers."""
    parts = np.asarray(geometric(scale, (count, dimension + 1)))
    if parts.dtype != object and int(parts.max(initial=0)) > (1 << 62) // (dimension + 1):
        parts = parts.astype(object)
    return np.asarray(parts.sum(axis=1))


def below(bounds: NDArray[Any]) -> NDArray[Any]:
    """A uniform whole number in [0, bound) for each bound: digits enough for the largest, again if over."""
    digits = int(bounds.max()).bit_length()
    result = np.asarray(uniform_integers(0, 1 << digits, bounds.shape))
    if result.dtype != bounds.dtype:
        bounds, result = bounds.astype(object), result.astype(object)
    over = result >= bounds
    while over.any():
        result[over] = uniform_integers(0, 1 << digits, int(over.sum()))
        over = result >= bounds
    return result


def fits(radius: NDArray[Any], factor: int) -> NDArray[Any]:
    """The radii, as Python integers if factor times them would not fit 62 bits."""
    if len(radius) and radius.dtype != object and int(radius.max()) > (1 << 61) // factor:
        return radius.astype(object)
    return radius


@dataclass(frozen=True)
class Box(Body):
    """The ball of the l-infinity norm: z_i is one of 2 ratio (r + i) numbers, refused if beyond the box."""

    dimension: int
    ratio: int

    @property
    def extent(self) -> Fraction:
        return Fraction(self.ratio)

    def points(self, radius: NDArray[Any]) -> NDArray[Any]:
        widths = [self.ratio] * self.dimension
        rows, kept = in_box(fits(radius, 4 * self.ratio), widths)
        return rows[kept]


@dataclass(frozen=True)
class Polytope(Body):
    """The ball of a hull, from its bounding box, whose widths are rounded up to whole grid steps a tick.

    The body drawn from is that much larger in places, which only makes every norm smaller.
    """

    hull: Hull
    ratio: int

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.hull.dimension

    @property
    def extent(self) -> Fraction:
        return Fraction(max(self.hull.widths)) * self.ratio

    def batch(self, missing: int) -> int:
        wanted = math.ceil((missing + 2) / self.hull.share * 1.05)
        return max(1, min(wanted, AT_ONCE * 8 // self.dimension))

    def points(self, radius: NDArray[Any]) -> NDArray[Any]:
        widths = [math.ceil(Fraction(w) * self.ratio) for w in self.hull.widths]
        radius = fits(radius, 4 * max(widths))
        rows, kept = in_box(radius, widths)
        rows, radius = rows[kept], radius[kept]
        return rows[self.hull.contains(rows, radius * self.ratio)] if len(rows) else rows


def in_box(radius: NDArray[Any], widths: list[int]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """z_i in [-r w_i, r w_i] drawn from 2 w_i (r + i) numbers, and whether all were in."""
    if not len(radius):
        return np.empty((0, len(widths)), dtype=np.int64), np.empty(0, dtype=np.bool_)
    width = np.array(widths, dtype=radius.dtype)
    i = np.arange(1, len(widths) + 1)
    drawn = below(2 * width * (radius[:, None] + i))
    rows = drawn - width * radius[:, None]
    return rows, np.asarray((rows <= width * radius[:, None]).all(axis=1))


@dataclass(frozen=True)
class SmallBall(Body):
    """The ball of the l2 norm in few dimensions, from the box around it."""

    dimension: int
    ratio: int

    @property
    def extent(self) -> Fraction:
        return Fraction(self.ratio)

    def batch(self, missing: int) -> int:
        share = math.pi ** (self.dimension / 2) / math.gamma(self.dimension / 2 + 1) / 2**self.dimension
        return max(1, min(math.ceil((missing + 2) / float(share) * 1.05), AT_ONCE * 8 // self.dimension))

    def points(self, radius: NDArray[Any]) -> NDArray[Any]:
        radius = fits(radius, 4 * self.ratio)
        rows, kept = in_box(radius, [self.ratio] * self.dimension)
        rows, wide = rows[kept], radius[kept] * self.ratio
        # Squares in doubles are off by a relative 2^-49; nearer than 2^-40 to the sphere they are exact.
        gap = (rows.astype(np.float64) ** 2).sum(axis=1) - wide.astype(np.float64) ** 2
        inside = gap < 0
        for i in np.flatnonzero(np.abs(gap) <= wide.astype(np.float64) ** 2 * 2.0**-40):
            inside[i] = sum(int(x) ** 2 for x in rows[i]) <= int(wide[i]) ** 2
        return np.asarray(rows[inside])


@dataclass(frozen=True)
class Ball(Body):
    """The ball of the l2 norm, from discrete Gaussian vectors.

    Let b be r rounded up to k binary digits, R = b ratio and sigma = R/sqrt(d) (rounded). A discrete Gaussian
    vector z with |z| <= r ratio is kept with probability exp((|z|^2 - R^2)/(2 sigma^2)), which leaves every
    point of the ball the same chance exp(-R^2/(2 sigma^2))/Z^d, where Z = sigma sqrt(2 pi) to within
    exp(-2 pi^2 sigma^2): so (c/b)^d to within d 2^-100. The radius is kept with the product over i of
    m b/((m + 1)(r + i)), m = 2^(k-1), which makes it the same for every r. With m >= 4 d about one in
    2 sqrt(d) is kept, and few values of sigma occur.
    """

    dimension: int
    ratio: int

    @property
    def extent(self) -> Fraction:
        return Fraction(self.ratio)

    def batch(self, missing: int) -> int:
        return max(1, min((missing + 2) * math.isqrt(6 * self.dimension), AT_ONCE * 64 // self.dimension))

    def points(self, radius: NDArray[Any]) -> NDArray[Any]:
        groups: dict[int, list[tuple[int, int]]] = {}
        for i, r in enumerate(radius.tolist()):
            digits = max(0, r.bit_length() - self.dimension.bit_length() - 3)
            groups.setdefault(-(-r >> digits) << digits, []).append((i, r))
        found = [pair for b, group in groups.items() for pair in self.near(b, group)]
        # In the order of the proposals: those taken first must not be of one radius.
        found.sort(key=lambda pair: pair[0])
        return np.array([z for _, z in found]).reshape(len(found), self.dimension)

    def near(self, b: int, group: list[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
        """The proposals kept for (place, radius) with radii that round up to b."""
        wide = b * self.ratio
        sigma = wide / math.sqrt(self.dimension)
        drawn = np.asarray(discrete_gaussian(sigma, (len(group), self.dimension)))
        for (i, r), z in zip(group, drawn.tolist(), strict=True):
            square = sum(x * x for x in z)
            if square > (r * self.ratio) ** 2:
                continue
            if bernoulli_exp((wide * wide - square) / (2 * Fraction(sigma) ** 2)) and self.shrunk(b, r):
                yield i, z

    def shrunk(self, b: int, r: int) -> bool:
        """A coin that comes up with the product of m b/((m + 1)(r + i))."""
        m = 1 << (self.dimension.bit_length() + 2)
        i = range(r + 1, r + 1 + self.dimension)
        kind = np.int64 if r < (1 << 61) // (m + 1) else object
        return bool((below((m + 1) * np.array(i, dtype=kind)) < m * b).all())
