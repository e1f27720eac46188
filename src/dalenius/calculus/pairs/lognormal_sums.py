"""One of t steps, chosen at random: the mean of N(mu e_i, I) over i = 1 .. t against N(0, I) in t dimensions.

The ratio of the densities is S/t, S = W_1 + ... + W_t, W_i = exp(mu x_i - mu^2/2): under Q independent log-normal
variables of mean 1. With remove and add direction

    delta(epsilon) = E_Q (S/t - e^epsilon)_+    and    E_Q (1 - e^epsilon S/t)_+,

the profile is the mean of convex functions of S. So W may be replaced by anything larger in convex order from above,
and by anything smaller from below, and the law of S is then a power of a discrete Fourier transform.

From above: the mass of each cell of a grid goes to its two ends so that mass and mean are kept, and what lies beyond
the last point goes to that point and to +inf. This pair is dominating in both directions.

From below: each cell becomes its mean given the cell, c_j. That is nearly its middle m_j: the sum of the middles is on
a grid, and t E[c - m] added to it misses the sum of the c by no more than y except with probability FAIL, by Chernoff's
bound, under either law. Outcomes beyond the last point are dropped.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.special import ndtr

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Reals

FAR = 8.4
"""Standard deviations kept of the step that the record took, where the grid reaches so far."""
FINE, COARSE = 0.008, 0.1
"""Width of a cell, in standard deviations of W: wanted, and at most; beyond, the grid ends earlier."""
LEAST_POINTS = 2**12
MOST_ABOVE, MOST_BELOW = 2**18, 2**20
"""Points of a window. From above the mesh counts by its square, from below nearly as it is."""
LOG_FAIL = -60.0
ATOMS = 2000
"""Losses that are kept, about."""

Long = npt.NDArray[Any]
"""Long doubles, where the machine has them: what rounding costs is counted in their unit."""
LONG_UNIT = float(np.finfo(np.longdouble).eps)


class Grid(NamedTuple):
    """W in cells (k h, (k+1) h]: masses under Q and P and their errors; what lies beyond; N, points of a window."""

    h: float
    q: Reals
    p: Reals
    off_q: Reals
    off_p: Reals
    beyond_q: float
    beyond_p: float
    bend: Reals
    """How far the mean of a cell can be from its middle."""
    size: int


class Law(NamedTuple):
    """Masses of a sum at start, start + 1, ...; the square root of the sum of their squared errors is `off`."""

    start: int
    mass: Reals
    off: float
    below: float
    above: float
    """Bounds on the mass outside."""


@lru_cache(maxsize=8)
def allocated(mu: float, t: int) -> tuple[tuple[Atoms, Atoms], tuple[Atoms, Atoms]]:
    """(below, above) of the remove direction, and of the add direction."""
    above, below = _above(_grid(mu, t, MOST_ABOVE), t), _below(_grid(mu, t, MOST_BELOW), t)
    return (below[0], above[0]), (below[1], above[1])


def _grid(mu: float, t: int, most: int) -> Grid:
    spread = math.sqrt(math.expm1(mu * mu))
    bulk = 26 * math.sqrt(t) * spread
    top = math.exp(min(mu * (mu / 2 + FAR), 700.0))
    h = max(FINE * spread, min((1.4 * top + bulk) / most, COARSE * spread), bulk / most * 2)
    top = min(top, (most * h - bulk) / 1.4)
    size = LEAST_POINTS
    while size * h < 1.4 * top + bulk:
        size *= 2
    cells = math.ceil(top / h)
    edges = h * np.arange(cells + 1)
    with np.errstate(divide="ignore"):
        z = np.log(edges) / mu + mu / 2
    # z is off by a few roundings of its parts, and the normal law by as much times its density.
    blur = UNIT * (8 + 8 / mu + 4 * (np.abs(z - mu / 2) + mu))
    (q, off_q), (p, off_p) = _cells(z, blur), _cells(z - mu, blur)
    # The slope of the log density of W is -(1 + z/mu)/w. A density whose log has slope g at most has, on a cell, its
    # mean within that of exp(g w): h^2 g / 12 from the middle.
    bend = np.full(cells, h / 2)
    steep = np.abs(1 + z[1:] / mu)
    bend[1:] = np.minimum(bend[1:], h * h / 12 * np.maximum(steep[1:], steep[:-1]) / edges[1:-1])
    beyond_q, beyond_p = (float(ndtr(shift - z[-1])) * (1 + 1e-11) for shift in (0.0, mu))
    return Grid(h, q, p, off_q, off_p, beyond_q, beyond_p, bend * (1 + 1e-9), size)


def _cells(z: Reals, blur: Reals) -> tuple[Reals, Reals]:
    """Normal masses between the points, and their error."""
    low, high = ndtr(z), ndtr(-z)
    finite = np.where(np.isfinite(z), z, 40.0)
    smaller = 16 * UNIT * np.minimum(low, high) + np.exp(-0.5 * finite**2) * np.where(
        np.isfinite(z), blur, 0.0
    )
    mass = np.where(z[:-1] > 0, high[:-1] - high[1:], low[1:] - low[:-1])
    return np.maximum(mass, 0.0), smaller[1:] + smaller[:-1]


def _above(grid: Grid, t: int) -> tuple[Atoms, Atoms]:
    h, count = grid.h, len(grid.q)
    left = h * np.arange(count)
    # Shares that keep mass and mean; what is known to within `off` is given to both sides.
    off = (grid.off_p + (left + h) * grid.off_q) / h
    to_right = np.clip((grid.p - left * grid.q) / h, 0.0, grid.q) + off
    to_left = np.clip(((left + h) * grid.q - grid.p) / h, 0.0, grid.q) + off
    mass = np.append(to_left, grid.beyond_q)
    mass[1:] += to_right
    own = mass * (h * np.arange(count + 1))
    infinite = max(0.0, grid.beyond_p - h * count * grid.beyond_q * (1 - 1e-9))
    for_q, for_p = _powered(mass, own, t, grid.size)
    first = 1 if for_q.start == 0 else 0  # a sum of 0 is an infinite loss of the add direction
    loss = np.log(h * (for_q.start + np.arange(first, grid.size))) - math.log(t)
    zero = float(for_q.mass[0]) if first else 0.0
    lost = _total_off(for_p, grid.size) + for_p.above
    remove = _merged_up(loss, for_p.mass[first:], infinite + lost)
    add = _merged_up(-loss[::-1], for_q.mass[first:][::-1], for_q.below + zero + _total_off(for_q, grid.size))
    return remove, add


def _total_off(law: Law, size: int) -> float:
    """The sum of the errors of all masses, by Cauchy and Schwarz."""
    return law.off * math.sqrt(size)


def _below(grid: Grid, t: int) -> tuple[Atoms, Atoms]:
    h = grid.h
    middle = h * (np.arange(len(grid.q)) + 0.5)
    q, p = np.maximum(grid.q - grid.off_q, 0.0), np.maximum(grid.p - grid.off_p, 0.0)
    known = (q > 0.5 * grid.q) & (p > 0.5 * grid.p) & (q > 1e-290) & (p > 1e-290)
    q, p = np.where(known, q, 0.0), np.where(known, p, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, grid.p / grid.q, middle) - middle
        unsure = np.where(
            known, 4 * (middle + h) * (grid.off_p / grid.p + grid.off_q / grid.q + 4 * UNIT), 0.0
        )
    high, low = np.minimum(mean + unsure, grid.bend), np.maximum(mean - unsure, -grid.bend)
    drift = float(q @ ((high + low) / 2)) / float(q.sum())
    y = _deviation(high - drift, drift - low, q, p, t)
    for_q, for_p = _powered(q, p, t, grid.size)
    s = h * (for_q.start + np.arange(grid.size) + 0.5 * t) + t * drift
    first = int(np.searchsorted(s, 2 * y + t * 1e-9))
    s = s[first:]
    # A loss that is smaller than the true one is on the safe side.
    remove = _merged_down(np.log(s - y) - math.log(t), for_p.mass[first:], for_p)
    add = _merged_down(math.log(t) - np.log(s + y)[::-1], for_q.mass[first:][::-1], for_q)
    return remove, add


def _deviation(up: Reals, down: Reals, q: Reals, p: Reals, t: int) -> float:
    """A y that the sum of t deviations, at most `up` and `down` each, exceeds with probability FAIL, under Q or P."""
    kept = q > 0
    up, down, q, p = up[kept], down[kept], q[kept], p[kept]
    most = float(np.maximum(np.abs(up), np.abs(down)).max()) + 1e-300
    best = math.inf
    for rate in np.geomspace(0.02, 60.0, 12) / most:
        worst = 0.0
        for away in (up, down):
            grown = np.exp(rate * away)
            one, other = math.log(float(q @ grown)), math.log(float(p @ grown))
            worst = max(worst, (t - 1) * max(one, 0.0) + max(one, other, 0.0))
        best = min(best, (worst + math.log(2) - LOG_FAIL) / rate)
    return best * (1 + 1e-6) + 1e-13 * t


def _powered(mass: Reals, own: Reals, t: int, size: int) -> tuple[Law, Law]:
    """The laws of t independent indices from `mass`, and of one from `own` plus t - 1 from `mass`.

    A transform of N numbers errs by 8 u log2(N) of their 2-norm, as a vector (Higham 2002, Theorem 24.2); a product
    of t values of modulus 1 at most by t times that, and by t roundings of itself; and the transform back likewise.
    Sums of more than N wrap around: that only adds, and `above` and `below` bound it.
    """
    index = np.arange(len(mass), dtype=float)
    mean = float(mass @ index)
    spread = math.sqrt(max(float(mass @ (index - mean) ** 2), 1.0) * t)
    start = max(0, math.floor(t * mean - 11 * spread))
    unit = 8 * LONG_UNIT * math.log2(size)
    f = fft.rfft(mass.astype(np.longdouble), size)
    others, square, left = None, f, t - 1
    while left:
        if left & 1:
            others = square if others is None else others * square
        left >>= 1
        if left:
            square = square * square

    def law(one: Reals, transform: Long) -> Law:
        power = transform if others is None else transform * others
        back: Long = fft.irfft(power, size)
        norms = float(np.linalg.norm(mass)) * t + float(np.linalg.norm(one))
        whole = math.sqrt(2.0 * float(np.sum(np.abs(power.astype(complex)) ** 2)) * (1 + 1e-9) + 1.0)
        off = unit * norms + (unit + 8 * LONG_UNIT * t) * whole / math.sqrt(size)
        ordered = np.roll(back.astype(float), -(start % size))
        above, below = _outside(one, mass, t, start, start + size)
        # Masses were rounded up: their sum may be above 1, and with it the moduli.
        off *= 1.01 * math.exp(t * max(0.0, math.log(float(mass.sum()))))
        return Law(start, np.maximum(ordered, 0.0), off, below, above)

    return law(mass, f), law(own, fft.rfft(own.astype(np.longdouble), size))


def _outside(own: Reals, mass: Reals, t: int, start: int, end: int) -> tuple[float, float]:
    """Chernoff's bounds on the mass from `end` on and below `start`; where the tilt goes is found on fewer points."""
    index = np.arange(len(mass), dtype=float)
    groups = np.unique(
        np.append(np.arange(min(len(mass), 2000)), np.geomspace(1, len(mass) - 1, 2000).astype(int))
    )
    mean = np.add.reduceat(mass * index, groups) / np.maximum(np.add.reduceat(mass, groups), 1e-300)
    rough = np.add.reduceat(own, groups), np.add.reduceat(mass, groups), mean
    bounds = []
    for sign, edge in ((1.0, end), (-1.0, start)):
        best = 0.0 if sign < 0 and start == 0 else 1.0
        if best > 0.0:
            tilts = sign * np.geomspace(1e-7, 10.0, 120)
            guesses = [_log_tilted(*rough, t, theta) - theta * edge for theta in tilts]
            theta = float(tilts[int(np.argmin(guesses))])
            best = math.exp(min(_log_tilted(own, mass, index, t, theta) - theta * edge + 1e-9, 0.0)) * (
                1 + 1e-6
            )
        bounds.append(best)
    return bounds[0], bounds[1]


def _log_tilted(own: Reals, mass: Reals, index: Reals, t: int, theta: float) -> float:
    """log of the mean of exp(theta * sum)."""
    x = theta * index
    top = float(x.max())
    weights = np.exp(x - top)
    one, others = max(float(own @ weights), 1e-300), max(float(mass @ weights), 1e-300)
    return (t - 1) * math.log(others) + math.log(one) + t * top


def _merged_up(loss: Reals, mass: Reals, infinite: float) -> Atoms:
    """Increasing losses on fewer points: what lies between two goes to both, so that both laws keep their mass."""
    points = _points(loss, mass)
    place = np.clip(np.searchsorted(points, loss, side="right") - 1, 0, len(points) - 2)
    left, right = points[place], points[place + 1]
    # f to the right, with exp(-loss) = f exp(-right) + (1 - f) exp(-left).
    share = np.clip(np.expm1(left - loss) / np.expm1(left - right) * (1 + 16 * UNIT), 0.0, 1.0)
    size = len(points)
    merged = np.bincount(place, weights=mass * (1 - share), minlength=size)
    merged += np.bincount(place + 1, weights=mass * share, minlength=size)
    blur = 16 * UNIT * float(np.abs(points).max())
    return Atoms(points, merged * (1 + 1e-12), min(1.0, infinite), slack=1e-12, blur=blur)


def _merged_down(loss: Reals, mass: Reals, law: Law) -> Atoms:
    """Increasing losses, neighbouring ones told as one outcome: the ratio of their masses under P and under Q.

    The ratio is a mean of the exp(-loss) of an outcome, and moves by no more than their range when weights do.
    """
    points = _points(loss, mass)
    place = np.searchsorted(points, loss, side="right")
    p = np.bincount(place, weights=mass)
    q = np.bincount(place, weights=mass * np.exp(np.minimum(-loss, 700.0)))
    spoiled = law.off * np.sqrt(np.bincount(place)) + law.above + law.below + math.exp(LOG_FAIL)
    kept = p > 2 * spoiled
    if not kept.any():
        return Atoms(np.zeros(1), np.ones(1))
    ends = np.append(np.insert(points, 0, loss[0]), loss[-1])
    width = np.diff(ends)[: len(p)][kept]
    p, q, spoiled = p[kept], q[kept], spoiled[kept]
    told = np.log(p) - np.log(q) - 4 * spoiled / p * np.expm1(width) - 1e-13
    return Atoms(told, (p - spoiled) * (1 - 1e-12), slack=1e-11, blur=1e-14)


def _points(loss: Reals, mass: Reals) -> Reals:
    """About ATOMS points, close where the mass is, and all the way out."""
    total = float(mass.sum())
    mean = float(mass @ loss) / total
    spread = math.sqrt(max(float(mass @ (loss - mean) ** 2) / total, 1e-300))
    low, high = float(loss[0]), float(loss[-1])
    near = mean + spread * np.linspace(-12.0, 12.0, ATOMS // 2)
    far = np.linspace(low, high, ATOMS // 2)
    points = np.concatenate((near[(near > low) & (near < high)], far))
    return np.unique(np.append(points, [low, np.nextafter(high, np.inf)]))
