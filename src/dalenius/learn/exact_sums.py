"""Sums of gradients without rounding, at the speed of floating-point matrix products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dalenius.calculus.errors import InvalidParameter
from dalenius.learn.curves import Curve, Reals
from dalenius.learn.rows import Records
from dalenius.mechanisms import Gaussian

BITS = 18
"""Rows are whole numbers of 2^-18 of their largest norm (a power of two), slopes of 2^-18 of the steepest one."""
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53."""


class ExactSums:
    """sum_i f'(x_i.theta; y_i) x_i plus Gaussian noise, as whole numbers of a public unit.

    Each row is rounded to a grid of its own accord, and so is each slope; then all products and sums in a block of
    2^15 rows are integers below 2^53, which doubles hold exactly in whatever order a matrix product adds them, and
    blocks are added as integers. x.theta is exact too, theta being on a grid (`on_grid`; a function of what is
    released) with |theta| at most 2^32 steps. So the sum with a record and the sum without it differ by the gradient of
    that record and by nothing else, and its norm is at most the bound times 1 + 2^-17 (1 + sqrt(size)), which is the
    sensitivity the noise is drawn for.
    """

    def __init__(
        self, records: Records, curve: Curve, bound: float, noise_multiplier: float, steps: int, whole: bool
    ) -> None:
        self.records, self.curve = records, curve
        self.row_step = _power_above(bound / curve.steepest) * 2.0**-BITS
        self.slope_step = _power_above(curve.steepest) * 2.0**-BITS
        self.unit = self.row_step * self.slope_step
        slack = 2.0 ** (1 - BITS) * (1 + math.sqrt(records.size))
        if slack > 0.01:
            raise InvalidParameter(f"X has {records.size} columns, too many for exact sums; use fewer.")
        sensitivity = bound / self.unit * (1 + slack)
        mechanism = Gaussian(sensitivity=sensitivity, sigma=noise_multiplier * sensitivity)
        # The grid of the noise divides 1, as the sensitivity is below 2^38 and the grid 2^-40 of it or finer.
        drawn = np.asarray(mechanism.releases(np.zeros(records.size, dtype=np.int64), steps))
        self.shift = 2.0 ** max(0, 40 - math.floor(math.log2(min(1.0, noise_multiplier) * sensitivity)) + 2)
        fine = drawn * self.shift
        if not ((fine == np.rint(fine)).all() and np.abs(fine).max() < 2.0**62):
            raise InvalidParameter(
                "the noise does not fit the grid of the gradients; use a smaller noise multiplier."
            )
        self.noise = iter(fine.astype(np.int64))
        wide = float(len(records) + 1) * 2.0 ** (2 * BITS + 2) * self.shift >= 2.0**61
        self.integers: Any = object if wide else np.int64
        # Whole numbers up to 2^18 are single-precision floats, too: half the memory to fetch rows from.
        self.table = self._rows(slice(None)).astype(np.float32) if whole else None

    def on_grid(self, theta: Reals) -> Reals:
        """theta rounded so that products with rows are exact: to 2^-31 of its own size."""
        size = float(np.linalg.norm(theta))
        if size == 0 or not math.isfinite(size):
            return np.zeros_like(theta)
        self.theta_step = _power_above(size) * 2.0**-31
        return np.asarray(np.rint(theta / self.theta_step) * self.theta_step)

    def noisy_gradient(self, theta: Reals, chosen: Any = None) -> Reals:
        """The sum over the chosen rows (all for None), with noise."""
        total = np.zeros(self.records.size, dtype=self.integers)
        for rows, labels in self._blocks(chosen):
            slopes = self.curve.slope((rows @ theta) * self.row_step, labels)
            whole = np.clip(np.rint(slopes / self.slope_step), -self._most, self._most)
            block = whole @ rows
            total = total + (
                block.astype(np.int64) if self.integers is np.int64 else np.array([int(v) for v in block])
            )
        noisy = (
            total * self.integers(int(self.shift)) + next(self.noise)
            if self.integers is np.int64
            else (total * int(self.shift) + np.array([int(v) for v in next(self.noise)], dtype=object))
        )
        return np.asarray(noisy.astype(np.float64) * (self.unit / self.shift))

    @property
    def _most(self) -> float:
        return math.floor(self.curve.steepest / self.slope_step)

    def _blocks(self, chosen: Any) -> Iterator[tuple[Reals, Reals]]:
        count = len(self.records) if chosen is None else len(chosen)
        for start in range(0, count, TOGETHER):
            part: Any = slice(start, start + TOGETHER) if chosen is None else chosen[start : start + TOGETHER]
            if self.table is None:
                yield self._rows(part), self.records.labels[part]
            elif chosen is None:
                yield self.table[part].astype(np.float64), self.records.labels[part]
            else:
                yield self.table.take(part, axis=0).astype(np.float64), self.records.labels.take(part)

    def _rows(self, part: Any) -> Reals:
        rows = self.records.rows(part)
        rows /= self.row_step
        return np.asarray(np.rint(rows, out=rows))


def _power_above(x: float) -> float:
    """The least power of two that is x or more."""
    mantissa, power = math.frexp(x)
    return 2.0 ** (power - 1 if mantissa == 0.5 else power)
