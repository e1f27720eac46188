"""Sums of few discrete losses, multiplied out: exact where no common lattice is needed."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import UNIT, Reals, Terms

MOST_ATOMS = 200_000


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
        # Positive products and sums keep relative accuracy: roundings per factor, and per term of a sum.
        slack += n * (pair.slack + 8 * UNIT) + 64 * len(power[0]) * UNIT
        blur += n * pair.blur
        # Losses are sums of this many rounded numbers, none of them larger than `size` on the way.
        size += n * float(np.abs(pair.loss).max(initial=0.0))
        sums += 3 if pair.lattice is not None else n + 1
    order = np.argsort(loss, kind="stable")
    blur += sums * UNIT * size
    return Atoms(loss[order], mass[order], -math.expm1(log_finite), slack=slack + 8 * UNIT, blur=blur)


def _power(pair: Atoms, n: int) -> tuple[Reals, Reals] | None:
    """Losses and masses of n copies."""
    if n == 1:
        return pair.loss, pair.mass
    if pair.lattice is None or pair.index is None:
        if len(pair.loss) ** min(n, 20) > 20_000:
            return None
        loss, mass = pair.loss, pair.mass
        for _ in range(n - 1):
            loss, mass = np.add.outer(loss, pair.loss).ravel(), np.multiply.outer(mass, pair.mass).ravel()
        return loss, mass
    base = np.bincount(pair.index - pair.index.min(), weights=pair.mass)
    if len(base) * n > 20_000:
        return None
    result = _binomial(base, n) if len(base) == 2 else _convolved(base, n)
    start = n * (pair.lattice.offset + pair.lattice.spacing * int(pair.index.min()))
    return start + pair.lattice.spacing * np.arange(len(result)), result


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
