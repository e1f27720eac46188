"""Sums of gradients without rounding, at the speed of floating-point matrix products."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dalenius.calculus.errors import InvalidParameter
from dalenius.learn.curves import Curve, Reals
from dalenius.learn.rows import Records, some
from dalenius.mechanisms import Gaussian

Blocks = Iterable[tuple[Reals, Reals]]
"""Rows in whole numbers with their labels, at most `TOGETHER` at a time."""
BITS = 18
"""Rows are whole numbers of 2^-18 of their largest norm (a power of two), slopes of 2^-18 of the steepest one."""
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53."""
FETCHED = 1 << 11
"""Sampled rows fetched and rounded together: few enough to stay in the cache until their step comes."""
DRAWN = 1 << 16
"""Numbers of noise drawn together."""
MOST_NUMBERS = 1 << 24
"""Up to so many numbers (64 MB) the rounded rows are kept for later steps; beyond, they are rounded where used."""


class ExactSums:
    """sum_i f'(x_i.theta; y_i) x_i plus Gaussian noise, as whole numbers of a public unit.

    Each row is rounded to a grid of its own accord, and so is each slope; then all products and sums in a block of
    2^15 rows are integers below 2^53, which doubles hold exactly in whatever order a matrix product adds them, and
    blocks are added as integers. x.theta is exact too, theta being on a grid (`on_grid`; a function of what is
    released) with |theta| at most 2^32 steps. So the sum with a record and the sum without it differ by the gradient of
    that record and by nothing else, and its norm is at most the bound times 1 + 2^-17 (1 + sqrt(size)), which is the
    sensitivity the noise is drawn for.

    Nothing of this depends on which rows are fetched together or how much noise is drawn at once: both are settled by
    public numbers or by the sampling alone, and the numbers added are the same.
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
        self.shift = 2.0 ** max(0, 40 - math.floor(math.log2(min(1.0, noise_multiplier) * sensitivity)) + 2)
        self.noise = self._drawn(mechanism, steps)
        wide = float(len(records) + 1) * 2.0 ** (2 * BITS + 2) * self.shift >= 2.0**61
        self.integers: Any = object if wide else np.int64
        self._most = float(math.floor(curve.steepest / self.slope_step))
        self._per_slope, self._per_row, self._out = (
            1 / self.slope_step,
            1 / self.row_step,
            self.unit / self.shift,
        )
        self.table: Reals | None = None
        if whole and len(records) * records.size <= MOST_NUMBERS:
            self.table = self._tabled()

    def on_grid(self, theta: Reals) -> Reals:
        """theta rounded so that products with rows are exact: to 2^-31 of its own size."""
        size = math.sqrt(float(theta @ theta))
        if size == 0 or not math.isfinite(size):
            return np.zeros_like(theta)
        step = _power_above(size) * 2.0**-31
        found = np.rint(theta / step)
        found *= step
        return np.asarray(found)

    def noisy_gradient(self, theta: Reals, fetched: Blocks | None = None) -> Reals:
        """The sum over some rows (all for None), with noise."""
        total: Any = None
        for rows, labels in self._all() if fetched is None else fetched:
            scores = rows @ theta
            scores *= self.row_step
            slopes = self.curve.slope(scores, labels)
            slopes *= self._per_slope
            np.rint(slopes, out=slopes)
            np.minimum(np.maximum(slopes, -self._most, out=slopes), self._most, out=slopes)
            block = (slopes @ rows).astype(np.int64)
            if self.integers is object:
                block = np.array([int(v) for v in block], dtype=object)
            total = block if total is None else total + block
        if total is None:
            total = np.zeros(self.records.size, dtype=self.integers)
        total *= int(self.shift)
        noise = next(self.noise)
        total += noise if self.integers is np.int64 else np.array([int(v) for v in noise], dtype=object)
        return np.asarray(total.astype(np.float64) * self._out)

    def fetched(self, samples: Iterable[Any], together: int = FETCHED) -> Iterator[Blocks | None]:
        """The rounded rows of every sample, those of many samples fetched at once; None for all rows stays None."""
        waiting: list[Any] = []
        held = 0
        for sample in samples:
            if sample is None:
                yield None
                continue
            if waiting and held + len(sample) > min(together, TOGETHER):
                yield from self._split(waiting)
                waiting, held = [], 0
            waiting.append(sample)
            held += len(sample)
        yield from self._split(waiting)

    def _split(self, samples: list[Any]) -> Iterator[Blocks]:
        """Samples that are fetched together; one that is larger than a block comes block by block."""
        if len(samples) == 1:
            sample = samples[0]
            yield (self._block(sample[i : i + TOGETHER]) for i in range(0, len(sample), TOGETHER))
        elif samples:
            rows, labels = self._block(np.concatenate(samples))
            start = 0
            for sample in samples:
                end = start + len(sample)
                yield [(rows[start:end], labels[start:end])]
                start = end

    def _all(self) -> Iterator[tuple[Reals, Reals]]:
        for start in range(0, len(self.records), TOGETHER):
            yield self._block(slice(start, start + TOGETHER))

    def _block(self, part: Any) -> tuple[Reals, Reals]:
        """Some rows, rounded, as whole numbers of row_step; and their labels."""
        labels = some(self.records.labels, part)
        if self.table is not None:
            return some(self.table, part).astype(np.float64), labels
        rows = self.records.rows(part, self._per_row)
        return np.rint(rows, out=rows), labels

    def _tabled(self) -> Reals:
        """All rows; whole numbers up to 2^18 are single-precision floats, too, at half the memory."""
        table = np.empty((len(self.records), self.records.size), dtype=np.float32)
        for start in range(0, len(table), TOGETHER):
            part = slice(start, start + TOGETHER)
            table[part] = self._block(part)[0]
        return table

    def _drawn(self, mechanism: Gaussian, steps: int) -> Iterator[Reals]:
        """The noise of every step in whole numbers of unit / shift."""
        nothing = np.zeros(self.records.size, dtype=np.int64)
        together = max(1, DRAWN // self.records.size)
        for done in range(0, steps, together):
            fine = np.asarray(mechanism.releases(nothing, min(together, steps - done))) * self.shift
            if not ((fine == np.rint(fine)).all() and np.abs(fine).max() < 2.0**62):
                raise InvalidParameter(
                    "the noise does not fit the grid of the gradients; use a smaller noise multiplier."
                )
            yield from fine.astype(np.int64)


def _power_above(x: float) -> float:
    """The least power of two that is x or more."""
    mantissa, power = math.frexp(x)
    return 2.0 ** (power - 1 if mantissa == 0.5 else power)
