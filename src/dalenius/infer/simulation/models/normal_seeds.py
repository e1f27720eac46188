"""Standard normal numbers of many data sets, and what those below a place add up to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr

from dalenius.core.arrays import Reals

APART = 100.0
"""Between one data set's sorted numbers and the next one's, so that all are searched at once."""
FEW = 4000
"""Up to so many rows every number is kept; beyond, how many are in each cell of a grid."""
FAR, WIDE = 8.2, 0.02
"""Of the grid: beyond its ends is a number in 4e15."""


class Below(NamedTuple):
    """Of each data set's numbers below a place: how many, their sum, and that of their squares."""

    number: Reals
    sums: Reals
    squares: Reals


class NormalSeeds(Protocol):
    """Standard normal numbers of many data sets."""

    def below(self, z: float) -> Below: ...


def normal_seeds(rng: np.random.Generator, n: int, size: int) -> NormalSeeds:
    """Of `size` data sets of n rows; the memory of it does not grow with n beyond some thousands."""
    return Sorted.drawn(rng, n, size) if n <= FEW else Cells.drawn(rng, n, size)


class Sorted(NamedTuple):
    """The numbers sorted, with the sums of the smallest, and of their squares."""

    apart: Reals
    sums: Reals
    squares: Reals

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int, size: int) -> Sorted:
        z = np.sort(np.clip(rng.standard_normal((size, n)), -40, 40), axis=1)
        sums, squares = np.zeros((2, size, n + 1))
        np.cumsum(z, axis=1, out=sums[:, 1:])
        np.cumsum(z * z, axis=1, out=squares[:, 1:])
        return cls((z + APART * np.arange(size)[:, None]).ravel(), sums, squares)

    def below(self, z: float) -> Below:
        rows, n = np.arange(len(self.sums)), self.sums.shape[1] - 1
        last = np.searchsorted(self.apart, min(max(z, -45.0), 45.0) + APART * rows) - n * rows
        return Below(last.astype(float), self.sums[rows, last], self.squares[rows, last])


class Cells(NamedTuple):
    """How many numbers are in each cell of a grid: their exact law. Sums within a cell are normal given that.

    Within the cell of the place itself a normal bridge takes the place of the binomial one. What is neglected is below
    a thousandth of the standard deviation of any of the three.
    """

    number: Reals
    """In the cells before each edge."""
    sums: Reals
    squares: Reals
    bridge: Reals
    """Standard normal, one for each cell."""

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int, size: int) -> Cells:
        low, high = EDGES[:-1], EDGES[1:]
        chance = _chance(low, high)
        counts = rng.multinomial(n, chance / chance.sum(), size).astype(float)
        mean = _mean(low, high)
        drift = WIDE * np.sqrt(counts / 12) * rng.standard_normal(counts.shape)
        number, sums, squares = np.zeros((3, size, len(EDGES)))
        np.cumsum(counts, axis=1, out=number[:, 1:])
        np.cumsum(counts * mean + drift, axis=1, out=sums[:, 1:])
        np.cumsum(counts * (mean**2 + WIDE**2 / 12) + 2 * mean * drift, axis=1, out=squares[:, 1:])
        return cls(number, sums, squares, rng.standard_normal(counts.shape))

    def below(self, z: float) -> Below:
        z = float(np.clip(z, -FAR, FAR))
        k = int(np.clip(np.searchsorted(EDGES, z, side="right") - 1, 0, len(EDGES) - 2))
        low, high = EDGES[k : k + 1], EDGES[k + 1 : k + 2]
        here = np.array([z])
        share = float(np.clip((_chance(low, here) / _chance(low, high))[0], 0.0, 1.0))
        all_, part = float(_mean(low, high)[0]), float(_mean(low, here)[0])
        before, sums, squares = (each[:, k] for each in (self.number, self.sums, self.squares))
        inside = self.number[:, k + 1] - before
        drift = share * (self.sums[:, k + 1] - sums - inside * all_)
        number = inside * share + np.sqrt(inside * share * (1 - share)) * self.bridge[:, k]
        return Below(
            before + number,
            sums + number * part + drift,
            squares + number * (part**2 + (z - low[0]) ** 2 / 12) + 2 * all_ * drift,
        )


EDGES = np.linspace(-FAR, FAR, round(2 * FAR / WIDE) + 1)


def _chance(low: Reals, high: Reals) -> Reals:
    """Of a standard normal number between them, with all its digits on either side."""
    right = low > 0
    return np.asarray(ndtr(np.where(right, -low, high)) - ndtr(np.where(right, -high, low)))


def _mean(low: Reals, high: Reals) -> Reals:
    """Of a standard normal number between two near places: to the third order of their distance."""
    middle = (low + high) / 2
    return np.asarray(middle - middle * (high - low) ** 2 / 12)
