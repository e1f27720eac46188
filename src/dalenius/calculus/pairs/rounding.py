"""Moving a pair onto a lattice so that it dominates what it was ("connect the dots").

Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022: the mass of each cell goes to its two ends so that
its P-mass and its Q-mass are both kept; of all pairs on the lattice that dominate, this is the least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.pair import UNIT, Pair
from dalenius.core.bisection import last_true


class Rounded(NamedTuple):
    """A dominating pair on a lattice, and what the move did to the loss.

    With U the rounded and L the true loss, |U - L| <= spacing except with probability `lost`;
    E[U - L] <= shift and E[(U - L)^2] <= variance. Of what is lost, `escaped` became a loss of +inf.
    Rounding errors were settled upward: that raised any E[(1 - exp(e - U))_+] by at most `pushed`. Cells
    whose Q-mass is no float went to their right ends, which is part of shift and variance, rather than along
    the chord: at most `raised` more. Atoms may still sit `drift` too low.
    """

    atoms: Atoms
    shift: float
    variance: float
    lost: float
    escaped: float
    pushed: float
    raised: float
    drift: float


@lru_cache(maxsize=8)  # some megabytes each
def round_up(pair: Pair, spacing: float, spare: float) -> Rounded:
    """The least pair on spacing * integers that dominates `pair`, tails of mass `spare` cut off."""
    low, high = support(pair, spare)
    first = math.floor(low / spacing + 1e-9)
    index = np.arange(first, max(math.ceil(high / spacing - 1e-9), first + 1) + 1)
    edges = spacing * index
    p, q = pair.cells(edges)
    # Cells are differences of distribution functions: each may be off by a few roundings of the smaller tail.
    tail = 4 * UNIT * np.minimum(np.cumsum(p), np.cumsum(p[::-1])[::-1]) + pair.roughness * p
    p = p + np.where(p > 0, tail, 0.0)
    inner_p, inner_q = p[1:-1], q[1:-1]
    share = -math.expm1(-spacing)
    # Fractions f and 1 - f to the right and left ends keep p and q if f = (1 - exp(left) q / p) / share. In
    # logarithms, for exp(left) may overflow; where q left the range of floats f = 1 is the safe side.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = inner_q / inner_p
        known = (inner_q > LEAST_MASS) & np.isfinite(ratio)
        log_ratio = np.where(known, np.log(ratio), -np.inf)
    to_right = inner_p * -np.expm1(np.minimum(edges[:-1] + log_ratio, 0.0)) / share
    # The errors of masses and logarithms are pushed to the dominating side.
    unsure = 8 * UNIT * inner_p * (1 + np.abs(edges[:-1])) + 2 * tail[1:-1]
    to_right = np.clip(to_right + unsure / share, 0.0, inner_p)
    pushed = float(tail.sum()) + 2 * float(unsure.sum()) * spacing / share
    raised = float(inner_p[~known].sum()) * share
    mass = np.zeros(len(edges))
    mass[:-1] += inner_p - to_right
    mass[1:] += to_right
    mass[0] += p[0]
    with np.errstate(invalid="ignore"):
        fraction = np.where(inner_p > 0, to_right / inner_p, 0.0)
        # Jensen: E[L | cell] >= log(P-mass / Q-mass) of the cell.
        least = np.where(known, -log_ratio, edges[:-1])
    shift = float(np.sum(inner_p * np.clip(edges[:-1] + fraction * spacing - least, 0.0, spacing)))
    # Mass on an edge stays put. A loss l above the left end sends b = (1 - exp(-l)) / share to the right: l
    # is at most h b, and h - l at most (exp(h) - 1) (1 - b). If a fraction f of the cell goes to one end,
    # E|U - L| is therefore at most f (h + exp(h) - 1).
    lever = 1 + math.expm1(min(spacing, 700.0)) / spacing
    moved = np.where(known, np.minimum(1.0, lever * np.minimum(fraction, 1 - fraction)), 1.0)
    variance = float(np.sum(inner_p * moved)) * spacing**2
    atoms = Atoms(
        edges, mass * (1 + 8 * UNIT), pair.infinite + p[-1], Lattice(spacing, 0.0), index, slack=1e-13
    )
    inflate = 1 + 1e-9
    escaped = float(p[-1]) * inflate
    drift = 16 * UNIT * float(np.abs(edges).max()) + pair.blur
    lost = float(p[0]) * inflate + escaped
    return Rounded(atoms, shift * inflate, variance * inflate, lost, escaped, pushed, raised * inflate, drift)


LEAST_MASS = 1e-290
"""Q-masses below this may have lost digits on their way to zero."""


def rounded_roughly(pair: Pair) -> Atoms:
    """A coarse dominating pair that shows the shape of the loss: spacing about a fiftieth of its spread."""
    size = np.geomspace(1e-12, 1e6, 400)
    edges = np.concatenate((-size[::-1], size))
    mass = pair.cells(edges)[0][1:-1]
    middle = (edges[1:] + edges[:-1]) / 2
    seen = float(mass.sum())
    spread = math.sqrt(float(mass @ middle**2) / seen) if seen > 0 else 1.0
    low, high = support(pair, 1e-18)
    return round_up(pair, max(spread / 50, (high - low) / 50_000, 1e-12), 1e-18).atoms


def support(pair: Pair, spare: float) -> tuple[float, float]:
    """An interval that leaves at most `spare` of P-mass on either side (the upper end exact if bounded)."""
    high = pair.largest
    if not math.isfinite(high):
        high = _turning_point(lambda x: float(pair.cells(np.array([x]))[0][1]) <= spare)
    low = -_turning_point(lambda x: float(pair.cells(np.array([-x]))[0][0]) <= spare)
    return min(low, high), high


def _turning_point(holds: Callable[[float], bool]) -> float:
    """Roughly the least x, of either sign, at which a monotone predicate has turned true."""
    low, high = -1.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high > 1e6:
            return high
    while holds(low):
        high, low = low, 2 * low
        if low < -1e6:
            return low
    return last_true(holds, high, low, relative=1e-3, steps=60)[0]
