"""Means and standard deviations of several columns in public bounds, from one noisy count and noisy sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.arrays import Ints
from dalenius.learn.data.ranges import Range
from dalenius.learn.methods.column_noise import noise_for, noise_for_one

BITS = 20
"""A value is one of 2^20 steps on either side of the middle of its bounds."""
TOGETHER = 1 << 21
"""So many squares of at most 2^40 add up to less than 2^62."""
LEAST = 2.0**-10
"""No standard deviation is below that part of half the width of the bounds."""


@dataclass(frozen=True)
class NoisyMoments:
    """Releases the number of rows, and the sum and the sum of squares of u = (x - middle) / half of every column.

    A row has one entry of 1, and two of at most 1 for every column: so it moves 1 + 2 d numbers by at most 1. Sums are
    of whole numbers, exactly, in units of 2^-40; a row with NaN in any column counts as absent, infinity as the bound.
    """

    guarantee: Guarantee
    bounds: tuple[Range, ...]

    @property
    def loss(self) -> Loss:
        """What the release costs, whatever the number of columns."""
        return noise_for_one(self.guarantee).loss

    def release(self, blocks: Iterable[Reals]) -> tuple[Reals, Reals]:
        """The mean of every column, within its bounds, and its standard deviation, from 2^-10 to 1 times half of their
        width, for whatever rows there are."""
        rows, sums, squares = self._totals(blocks)
        unit = 4**BITS
        noise = noise_for(self.guarantee, 1 + 2 * len(self.bounds), float(unit))
        exact = np.array([rows * unit, *(total << BITS for total in sums), *squares], dtype=object)
        noisy = np.asarray(noise.release(exact), dtype=np.float64) / unit
        spread = noise.accuracy(0.68) / unit
        number = max(float(noisy[0]), 1.0)
        first, second = np.split(noisy[1:] / number, 2)
        mean = np.clip(first, -1.0, 1.0)
        # Below what noise alone makes of it nothing is known of a variance: that much stands in for it.
        variance = np.clip(second - mean**2, max(spread / number, LEAST**2), 1.0)
        middle, half = self._centres()
        return middle + half * mean, half * np.sqrt(variance)

    def _totals(self, blocks: Iterable[Reals]) -> tuple[int, list[int], list[int]]:
        """The number of rows, the sums in units of 2^-20 and those of squares in units of 2^-40."""
        rows, sums, squares = 0, [0] * len(self.bounds), [0] * len(self.bounds)
        for block in blocks:
            for start in range(0, len(block), TOGETHER):
                steps = self._steps(block[start : start + TOGETHER])
                rows += len(steps)
                sums = _added(sums, steps.sum(axis=0))
                squares = _added(squares, (steps * steps).sum(axis=0))
        return rows, sums, squares

    def _steps(self, rows: Reals) -> Ints:
        """u of every value in whole steps, each from its own row alone."""
        present = rows[~np.isnan(rows).any(axis=1)]
        lower, upper = np.array(self.bounds).T
        middle, half = self._centres()
        inside = (np.clip(present, lower, upper) - middle) / half
        most = 2.0**BITS
        return np.clip(np.rint(inside * most), -most, most).astype(np.int64)

    def _centres(self) -> tuple[Reals, Reals]:
        lower, upper = np.array(self.bounds).T
        half = upper / 2 - lower / 2
        return lower + half, half


def _added(totals: Sequence[int], more: Ints) -> list[int]:
    return [total + int(one) for total, one in zip(totals, more, strict=True)]
