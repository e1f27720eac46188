"""Sums of gradients without rounding, at the speed of floating-point matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.learn.data.rows import Records
from dalenius.learn.numerics.rounded_rows import Blocks, RoundedRows
from dalenius.mechanisms._support import grid_noise
from dalenius.noise import Grid, discrete_gaussian
from dalenius.sums.curves import Curve
from dalenius.sums.grids import MOST, ROW_BITS

DRAWN = 1 << 16
"""Numbers of noise drawn together."""

SLACK = 0.01
"""By so much, relative to its norm, rounding may lengthen the gradient of a record."""


def grid_for(noise_multiplier: float, slack: float = SLACK) -> tuple[float, float, Grid]:
    """Sensitivity, noise and grid of sums of gradients; refused where the sums would show between its steps.

    With the largest slack it is refused for any number of columns: plans do so, before there is a row.
    """
    sensitivity = 4.0**ROW_BITS * (1 + slack)
    sigma = noise_multiplier * sensitivity
    grid = Grid.fine(sensitivity, sigma)
    if grid.granularity > 1:
        raise InvalidParameter(
            f"the promise asks for {noise_multiplier:.3g} times as much noise as one record can move the "
            "gradient; so much cannot be added exactly. Ask for a weaker promise, or for fewer steps."
        )
    return sensitivity, sigma, grid


class ExactSums:
    """sum_i f'(x_i.theta; y_i) x_i plus Gaussian noise, for rows of norm 1 at most, as whole numbers of a public unit.

    Rows are divided by `reach`, the largest norm they can have, and theta is multiplied by it: whoever descends along
    these sums does the same whatever the units of the features are.

    Each row is rounded to a grid of its own accord, and so is each slope; then all products and sums in a block of
    2^15 rows are integers below 2^53, which doubles hold exactly in whatever order a matrix product adds them, and
    blocks are added as integers. x.theta is exact too, theta being on a grid (`grids.on_grid`; a function of what is
    released) with |theta| at most 2^32 steps. So the sum with a record and the sum without it differ by the gradient of
    that record and by nothing else, and its norm is at most the steepest slope times 1 + 2^-17 (1 + sqrt(size)), which
    is the sensitivity the noise is drawn for.

    Nothing of this depends on which rows are fetched together or how much noise is drawn at once: the numbers that are
    added are the same.
    """

    def __init__(
        self, records: Records, curve: Curve, bound: float, noise_multiplier: float, steps: int, whole: bool
    ) -> None:
        self.records, self.curve = records, curve
        self.reach = bound / curve.steepest
        self.slope_step = curve.steepest * 2.0**-ROW_BITS
        self.unit = self.slope_step * 2.0**-ROW_BITS
        slack = 2.0 ** (1 - ROW_BITS) * (1 + math.sqrt(records.size))
        if slack > SLACK:
            raise InvalidParameter(f"X has {records.size} columns, too many for exact sums; use fewer.")
        sensitivity, sigma, grid = grid_for(noise_multiplier, slack)
        self.shift = float(1 / grid.granularity)
        self.noise = self._drawn(
            grid_noise.discrete_gaussian_sigma(sensitivity, sigma, records.size, grid), steps
        )
        wide = float(len(records) + 1) * 2.0 ** (2 * ROW_BITS + 2) * self.shift >= 2.0**61
        self.integers: Any = object if wide else np.int64
        self.blocks = RoundedRows(records, self.reach * 2.0**-ROW_BITS, keep=whole)

    def noisy_gradient(self, theta: Reals, chosen: Any = None) -> Reals:
        """The sum over the chosen rows (all for None), with noise."""
        return self.noisy_sum(theta, self.blocks.of(chosen))

    def noisy_gradients(self, samples: Iterable[Any]) -> Iterator[Callable[[Reals], Reals]]:
        """For every sample of rows, in turn, the map from theta to the sum over it with noise; to be called once."""
        for blocks in self.blocks.of_many(samples):
            yield partial(self.noisy_sum, blocks=blocks)

    def noisy_sum(self, theta: Reals, blocks: Blocks) -> Reals:
        """The sum over rows in whole numbers, with noise, then as doubles.

        The sum of one block and (mostly) its noise are whole numbers of unit/shift that doubles hold, so that their sum
        as doubles is the exact sum, rounded once; anything larger is added as integers and rounded once, too.
        """
        theta = theta * 2.0**-ROW_BITS
        parts = [self._block(rows @ theta, rows, labels) for rows, labels in blocks]
        noise = next(self.noise)
        if len(parts) == 1 and noise.dtype != object:
            noisy = parts[0] * self.shift
            noisy += noise
        else:
            total = sum((self._integers(part) for part in parts), np.zeros(len(theta), dtype=self.integers))
            noisy = (total * int(self.shift) + self._integers(noise)).astype(np.float64)
        noisy *= self.unit / self.shift
        return np.asarray(noisy)

    def _block(self, scores: Reals, rows: Reals, labels: Reals) -> Reals:
        """The sum of one block: whole numbers of the unit."""
        slopes = self.curve.slope(scores, labels)
        slopes *= 1 / self.slope_step
        np.rint(slopes, out=slopes)
        np.minimum(np.maximum(slopes, -MOST, out=slopes), MOST, out=slopes)
        return np.asarray(slopes @ rows)

    def gram(self) -> Reals:
        """The sum of row row^T over all rows, in units of 4^-ROW_BITS: whole numbers."""
        size = self.records.size
        wide = float(len(self.records) + 1) * 4.0 ** (ROW_BITS + 1) >= 2.0**62
        total = np.zeros((size, size), dtype=object if wide else np.int64)
        for rows, _ in self.blocks.of():
            total += (rows.T @ rows).astype(np.int64)
        return total

    def _integers(self, values: Reals) -> Reals:
        if values.dtype == object:
            return values
        whole = values.astype(np.int64)
        return whole if self.integers is np.int64 else np.array(whole.tolist(), dtype=object)

    def _drawn(self, parameter: float, steps: int) -> Iterator[Reals]:
        """The noise of every step in whole numbers of unit / shift: as doubles if all are below 2^53."""
        together = max(1, DRAWN // self.records.size)
        for done in range(0, steps, together):
            drawn = np.asarray(discrete_gaussian(parameter, (min(together, steps - done), self.records.size)))
            small = float(np.abs(drawn).max()) < 2.0**53
            yield from drawn.astype(np.float64) if small else np.array(drawn.tolist(), dtype=object)
