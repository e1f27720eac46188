"""Sums of few discrete losses, multiplied out: exact where no common lattice is needed."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import TINY, UNIT, Reals, Terms

MOST_ATOMS = 200_000
MOST_POINTS = 20_000
"""Values of the sum of n copies of one loss."""


def enumerated(terms: Terms) -> Atoms | None:
    """The law of a sum of atoms, or None when it has too many values to write down."""
    loss, mass, log_finite, slack = np.zeros(1), np.ones(1), 0.0, 0.0
    blur = size = 0.0
    sums = 0
    for term, n in terms:
        pair = term.as_atoms
        if pair is None or pair.infinite >= 1.0:
            return None
        power = _power(pair, n)
        if power is None or len(power[0]) * len(loss) > MOST_ATOMS:
            return None
        loss = np.add.outer(loss, power[0]).ravel()
        mass = np.multiply.outer(mass, power[1]).ravel()
        log_finite += n * math.log1p(-pair.infinite)
        slack += n * (pair.slack + 8 * UNIT) + power[2] * UNIT
        blur += n * pair.blur
        # Losses are sums of this many rounded numbers, none of them larger than `size` on the way.
        size += n * float(np.abs(pair.loss).max(initial=0.0))
        sums += 3 if pair.lattice is not None else n + 1
    order = np.argsort(loss, kind="stable")
    blur += sums * UNIT * size
    return Atoms(loss[order], mass[order], -math.expm1(log_finite), slack=slack + 8 * UNIT, blur=blur)


Power = tuple[Reals, Reals, float]
"""Losses and masses of n copies, and how many roundings a mass has seen beyond eight a copy.

Positive products and sums keep relative accuracy.
"""


def _power(pair: Atoms, n: int) -> Power | None:
    if n == 1:
        return pair.loss, pair.mass, 0.0
    if pair.lattice is None or pair.index is None:
        kinds = len(pair.loss)
        if max(n, kinds * (kinds + 1) // 2) > MOST_POINTS or math.comb(kinds + n - 1, n) > MOST_POINTS:
            return None
        return _by_draws(pair, n) if n < kinds else _by_outcomes(pair, n)
    base = np.bincount(pair.index - pair.index.min(), weights=pair.mass)
    if len(base) * n > MOST_POINTS:
        return None
    result = _binomial(base, n) if len(base) == 2 else _convolved(base, n)
    start = n * (pair.lattice.offset + pair.lattice.spacing * int(pair.index.min()))
    return start + pair.lattice.spacing * np.arange(len(result)), result, 64.0 * len(result)


def _convolved(base: Reals, n: int) -> Reals:
    result, square, left = np.ones(1), base, n
    while left:
        if left & 1:
            result = np.convolve(result, square)
        left >>= 1
        if left:
            square = np.convolve(square, square)
    return result


def _binomial(base: Reals, n: int) -> Reals:
    """The powers of two masses: ratios of neighbours multiplied up on either side of the largest, and their sum known.

    Each ratio is good to three roundings, the power of the sum to n of its own and a few of its logarithm.
    """
    low, high = float(base[0]), float(base[1])
    mode = min(int((n + 1) * high / (low + high)), n)
    up, down = np.arange(mode, n), np.arange(mode, 0, -1)
    right = np.cumprod((n - up) / (up + 1) * (high / low))
    left = np.cumprod(down / (n - down + 1) * (low / high))
    weights = np.concatenate((left[::-1], [1.0], right))
    return np.asarray(weights / weights.sum() * (low + high) ** n)


def _by_draws(pair: Atoms, n: int) -> Power:
    """Outcomes in increasing order, one more at a time.

    n! / (k_1! k_2! ...) is the product over draws of their number over the length of the run they extend.
    """
    last, run = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    loss, mass = np.zeros(1), np.ones(1)
    for draw in range(1, n + 1):
        parent, steps = _branches(len(pair.loss) - last)
        chosen = last[parent] + steps
        run = np.where(steps == 0, run[parent], 0) + 1
        loss = loss[parent] + pair.loss[chosen]
        mass = mass[parent] * pair.mass[chosen] * draw / run
        last = chosen
    return loss, np.maximum(mass, TINY), 0.0


def _by_outcomes(pair: Atoms, n: int) -> Power:
    """How often the first outcome occurs, then the second, and so on; the last one takes what is left.

    A mass is the exponential of log n!, logarithms of factorials that add up to no more, and those of powers: where
    it is a float, they add up to at most log n! + 745. So no partial sum is larger than twice log n! + 745.
    """
    left, loss, log_mass = np.array([n]), np.zeros(1), np.array([math.lgamma(n + 1)])
    for x, p in zip(pair.loss[:-1], pair.mass[:-1], strict=True):
        parent, k = _branches(left + 1)
        left = left[parent] - k
        loss = loss[parent] + k * x
        log_mass = log_mass[parent] + (k * math.log(p) - gammaln(k + 1.0))
    log_mass += left * math.log(pair.mass[-1]) - gammaln(left + 1.0)
    roundings = 8 * len(pair.loss) * (2 * math.lgamma(n + 1) + 745)
    return loss + left * pair.loss[-1], np.maximum(np.exp(log_mass), TINY), roundings


def _branches(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Entry i counts_i times, and 0, 1, ..., counts_i - 1 beside it."""
    parent = np.repeat(np.arange(len(counts)), counts)
    return parent, np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
