"""One of t steps, chosen at random: the mean of N(mu e_i, I) over i = 1 .. t against N(0, I) in t dimensions.

The ratio of the densities is S/t, S = W_1 + ... + W_t, W_i = exp(mu x_i - mu^2/2): under Q independent log-normal
variables of mean 1. With remove and add direction

    delta(epsilon) = E_Q (S/t - e^epsilon)_+    and    E_Q (1 - e^epsilon S/t)_+,

the profile is the mean of convex functions of S. So S may be replaced by anything larger in convex order from above,
and by anything smaller from below. The order survives independent sums, so it may be done after every addition, and
t - 1 additions are done by about 2 log2(t) of laws on a thousand points:

- from above, the mass at a point goes to the two points of a grid around it so that mass and mean are kept. What
  lies beyond the last point goes there, and what its mean loses counts as an infinite loss of the remove direction;
- from below, the masses of a cell of the grid are told as one, at their mean.

The grid is fine where the law is, and geometric on the way to a tail that reaches far (Feldman and Shenfeld 2026 sum on
geometric grids, too). All masses are sums of products of positive numbers: small ones are as good as large ones. A mass
is known to a relative error `tau`, a point to `rho`, which add up along with the laws: if E Z = X given X, then
E (1 + e) Z = (1 + e) X for an error e that depends on X.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Reals

FAR = 10.5
"""Standard deviations kept of a step, beyond the shift of the one that the record took."""
FINENESS = 0.012
"""A gap of a grid, in widths of the law."""
CELLS_OF_W = 64
"""Cells of one step, to a standard deviation."""
OUTSIDE = 1e-24
"""About what a grid leaves out at its ends."""
ROWS = 64
LEAST = 1e-280
"""Masses below this are not kept from below; from above, what underflows is less than LEAST in all, and of the mean
less than what `lost` is raised by."""


class Law(NamedTuple):
    """Masses at increasing points; `lost` of the mean has gone to infinity."""

    points: Reals
    mass: Reals
    lost: float
    tau: float
    rho: float


@lru_cache(maxsize=32)
def allocated(mu: float, t: int) -> tuple[tuple[Atoms, Atoms], tuple[Atoms, Atoms]]:
    """(below, above) of the remove direction, and of the add direction."""
    below, above = (_pairs(_summed(mu, t, up), t) for up in (False, True))
    return (below[0], above[0]), (below[1], above[1])


def _pairs(law: Law, t: int) -> tuple[Atoms, Atoms]:
    positive = law.points > 0.0
    points, mass = law.points[positive], law.mass[positive]
    loss = np.log(points / t)
    off = law.tau + law.rho + 8 * UNIT
    slack = off / (1 - 2 * off)  # t factors of 1 + tau / t and their inverses
    blur = law.rho / (1 - 2 * law.rho) + 4 * UNIT * (1 + float(np.abs(loss).max()))
    of_remove = mass * (points / t)
    kept = of_remove > 0.0
    # A sum of 0 is an infinite loss of the add direction.
    zero = float(law.mass[~positive].sum()) * (1 + slack)
    infinite = law.lost / t * (1 + slack)
    remove = Atoms(loss[kept], of_remove[kept], min(1.0, infinite), slack=slack, blur=blur)
    return remove, Atoms(-loss[::-1], mass[::-1], min(1.0, zero), slack=slack, blur=blur)


def _summed(mu: float, t: int, up: bool) -> Law:
    """The law of S, by squares and products."""
    power, result = _one(mu, up), None
    while True:
        if t & 1:
            result = power if result is None else _added(result, power, mu, up)
        t >>= 1
        if not t:
            assert result is not None
            return result
        power = _added(power, power, mu, up)


def _one(mu: float, up: bool) -> Law:
    """W in cells of equal width h of x, by Gauss's rule of eight points: it misses less than 1e-20 of a smooth cell.

    A float exponent is off by a rounding or two, so a mass by a few times the largest exponent.
    """
    h = 1.0 / (CELLS_OF_W if mu <= 4.0 else CELLS_OF_W // 2)
    left = h * np.arange(-math.ceil(FAR / h), math.ceil((FAR + mu) / h))
    node, weight = np.polynomial.legendre.leggauss(8)
    ahead = (node + 1) * (h / 2)
    x = np.add.outer(left, ahead)
    density = np.exp(-0.5 * x**2) * (weight * (h / 2 / math.sqrt(2 * math.pi)))
    edges = np.append(left, left[-1] + h)
    points = np.exp(mu * edges - mu * mu / 2)
    far = float(np.abs(edges).max())
    rho = UNIT * (8 + 4 * mu * far + 4 * mu * mu)
    tau = UNIT * (64 + 4 * far * far) + rho
    outside = 1 + 1e-9  # SciPy's ndtr is good to 1e-12
    low = float(ndtr(edges[0])) * outside
    if not up:
        whole, mean = density.sum(axis=1), (density * np.exp(mu * ahead)).sum(axis=1)
        kept = whole > LEAST
        # The first and the last cell are dropped with what is outside.
        return Law((points[:-1] * mean / whole)[kept], whole[kept], 0.0, tau, tau + rho)
    # Shares of the right end, (w - l)/(r - l), and of the left one.
    right = density @ (np.expm1(mu * ahead) / math.expm1(mu * h))
    rest = density @ (np.exp(mu * ahead) * np.expm1(mu * (h - ahead)) / math.expm1(mu * h))
    mass = np.append(rest, 0.0)
    mass[1:] += right
    mass[0] += float(ndtr(edges[0] - mu)) * outside / points[0]
    mass[-1] += float(ndtr(-edges[-1])) * outside
    lost = float(ndtr(mu - edges[-1])) * outside
    return Law(np.append(0.0, points), np.append(low, mass), lost, tau + 4 * UNIT, rho)


def _added(a: Law, b: Law, mu: float, up: bool) -> Law:
    """The law of the sum of two independent ones, on a grid of its own."""
    points = _grid(a, b, mu)
    if up:
        points = np.append(0.0, points)
    size = len(points)
    mass, moment = np.zeros(size + 1), np.zeros(size + 1)
    lost, longest = a.lost + b.lost, 0
    for first in range(0, len(a.points), ROWS):
        rows = slice(first, first + ROWS)
        # Half of a square is the other half.
        start = first if a is b else 0
        factor = np.where(np.arange(start, len(b.points)) < first + ROWS, 1.0, 2.0) if a is b else 1.0
        x = np.add.outer(a.points[rows], b.points[start:]).ravel()
        m = np.multiply.outer(a.mass[rows], b.mass[start:] * factor).ravel()
        place = np.searchsorted(points, x, side="right")
        longest = max(longest, int(np.bincount(place).max()))
        if not up:
            mass += np.bincount(place, m, size + 1)
            moment += np.bincount(place, m * x, size + 1)
            continue
        beyond = place == size
        if beyond.any():
            lost += float(m[beyond] @ (x[beyond] - points[-1]))
            mass[-2] += float(m[beyond].sum())
            x, m, place = x[~beyond], m[~beyond], place[~beyond]
        at = points[place - 1]
        right = m * ((x - at) / (points[place] - at))
        mass += np.bincount(place, right, size + 1)
        mass[:-1] += np.bincount(place, m - right, size + 1)[1:]
    blocks = len(a.points) // ROWS + 1
    rounding = UNIT * (2 * longest + 2 * blocks + 16)
    tau = a.tau + b.tau + rounding
    rho = max(a.rho, b.rho) + 8 * UNIT
    if up:
        kept = mass[:-1] > 0.0
        return Law(points[kept], mass[:-1][kept], lost * (1 + rounding + 1e-12) + LEAST, tau, rho)
    kept = mass > LEAST
    mean = moment[kept] / mass[kept]
    # A mean of numbers that were rounded as they were added.
    return Law(mean, mass[kept], 0.0, tau, rho + 2 * rounding)


def _grid(a: Law, b: Law, mu: float) -> Reals:
    """Points from where next to nothing is below to where next to nothing of the mean is above.

    None of this has to be right: what lies outside is counted.
    """
    (middle_a, width_a), (middle_b, width_b) = _shape(a), _shape(b)
    middle, width = middle_a + middle_b, math.hypot(width_a, width_b)
    # A small sum needs both terms small, and one of them below its share.
    ends_a, ends_b = _below(a), _below(b)
    either = sum(float(np.interp(OUTSIDE, *ends)) for ends in (ends_a, ends_b))
    near = np.union1d(ends_a[1], ends_b[1])
    both = np.interp(near, *ends_a[::-1]) * np.interp(near, *ends_b[::-1])
    both_at = float(near[min(int(np.searchsorted(both, OUTSIDE)), len(near) - 1)])
    low = min(max(either, both_at), middle)
    high = _top(a) + _top(b)

    def gap(x: float) -> float:
        away = abs(x - middle)
        return FINENESS * min(mu * x, max(width, away / 3, mu * (away - 4 * width)))

    up, down = [middle], [middle]
    while up[-1] < high:
        up.append(up[-1] + gap(up[-1]))
    while down[-1] > low:
        down.append(down[-1] - min(gap(down[-1]), down[-1] / 2))
    return np.array(down[:0:-1] + up)


def _below(law: Law) -> tuple[Reals, Reals]:
    """How much is below each point above 0, and the points."""
    positive = law.points > 0.0
    return np.cumsum(law.mass[positive]), law.points[positive]


def _shape(law: Law) -> tuple[float, float]:
    """The median, and half of what the middle two thirds span."""
    total = np.cumsum(law.mass)
    low, middle, high = (float(np.interp(p * total[-1], total, law.points)) for p in (0.16, 0.5, 0.84))
    return middle, (high - low) / 2


def _top(law: Law) -> float:
    above = np.cumsum((law.mass * law.points)[::-1])
    return float(law.points[::-1][np.searchsorted(above, OUTSIDE * above[-1])])
