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
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.arrays import Array, Bools
from dalenius.mechanisms._support.hull import Hull
from dalenius.noise import geometric
from dalenius.noise.chunks import until_enough
from dalenius.noise.uniform import below_each

FLAT = 1 << 16
"""Radii below this are not drawn: the law is flat near 0, where h is FLAT; h(y) - h(z) <= h(y - z) still."""

AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Polytope:
    """The ball of a hull, from its bounding box, whose widths are rounded up to whole grid steps a tick.

    The body drawn from is that much larger in places, which only makes every norm smaller.
    """

    hull: Hull
    ratio: int

    @property
    def dimension(self) -> int:
        return self.hull.dimension

    @property
    def extent(self) -> Fraction:
        """How far a coordinate can reach for a norm of one tick, in grid steps."""
        return Fraction(max(self.hull.widths)) * self.ratio

    def draw(self, scale: float, count: int) -> Array:
        """So many independent vectors of scale s = `scale` ticks, one row each."""

        def attempt(missing: int) -> Array:
            radius = radii(scale, self.dimension, self.batch(missing))
            return self.points(radius[radius >= FLAT])

        return until_enough(count, attempt)

    def batch(self, missing: int) -> int:
        """The number of proposals to make for `missing` draws."""
        wanted = math.ceil((missing + 2) / self.hull.share * 1.05)
        return max(1, min(wanted, AT_ONCE * 8 // self.dimension))

    def points(self, radius: Array) -> Array:
        """Proposals for these radii (kept ones only), one row each."""
        widths = [math.ceil(Fraction(w) * self.ratio) for w in self.hull.widths]
        radius = fits(radius, 4 * max(widths))
        rows, kept = in_box(radius, widths)
        rows, radius = rows[kept], radius[kept]
        return rows[self.hull.contains(rows, radius * self.ratio)] if len(rows) else rows


def radii(scale: float, dimension: int, count: int) -> Array:
    """Sums of dimension + 1 geometric numbers."""
    parts = np.asarray(geometric(scale, (count, dimension + 1)))
    if parts.dtype != object and int(parts.max(initial=0)) > (1 << 62) // (dimension + 1):
        parts = parts.astype(object)
    return np.asarray(parts.sum(axis=1))


def fits(radius: Array, factor: int) -> Array:
    """The radii, as Python integers if factor times them would not fit 62 bits."""
    if len(radius) and radius.dtype != object and int(radius.max()) > (1 << 61) // factor:
        return radius.astype(object)
    return radius


def in_box(radius: Array, widths: list[int]) -> tuple[Array, Bools]:
    """z_i in [-r w_i, r w_i] drawn from 2 w_i (r + i) numbers, and whether all were in."""
    if not len(radius):
        return np.empty((0, len(widths)), dtype=np.int64), np.empty(0, dtype=np.bool_)
    width = np.array(widths, dtype=radius.dtype)
    i = np.arange(1, len(widths) + 1)
    drawn = below_each(2 * width * (radius[:, None] + i))
    rows = drawn - width * radius[:, None]
    return rows, np.asarray((rows <= width * radius[:, None]).all(axis=1))
