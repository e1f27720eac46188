"""Where rows come from: a table of numbers, standardised by public or released numbers, summed exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.infer.scores.score import Score
from dalenius.sums.grids import ROW_BITS


@dataclass(frozen=True)
class Standard:
    """How rows are standardised and weighted: all of it public, or released before.

    A row x becomes ((x - centers)/scales, constant), of `size` numbers, a constant of 0 being left out, and y
    becomes (y - y_center)/y_scale. Its weight is w = min(1, (reach/||x||)^2), so that sqrt(w) x, which is called z,
    and w x are no longer than `reach`: the first bounds what a row adds to a matrix, the second its score. Rows
    with a NaN or an infinity count as zeros, which add nothing to any sum.
    """

    centers: Reals
    scales: Reals
    constant: float
    reach: float
    y_center: float = 0.0
    y_scale: float = 1.0

    @property
    def size(self) -> int:
        """Coefficients per outcome."""
        return len(self.centers) + (self.constant > 0)

    def weighted(self, features: Reals) -> tuple[Reals, Reals]:
        """z = v x of every row, and v = sqrt(w); zeros for rows that are not finite."""
        rows = np.empty((len(features), self.size))
        columns = len(self.centers)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(features, self.centers, out=rows[:, :columns])
            rows[:, :columns] *= 1 / self.scales
            rows[:, columns:] = self.constant
            norm = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        odd = ~(norm < 1e150)
        if odd.any():
            rows[odd] = 0.0  # not finite, or beyond any use: weights below 1e-290
            norm[odd] = 0.0
        weight = np.minimum(1.0, self.reach / np.maximum(norm, self.reach))
        rows *= weight[:, None]
        return rows, weight

    def responses(self, y: Reals) -> Reals:
        """Standardised responses."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((y - self.y_center) / self.y_scale)

    def original(self) -> tuple[Reals, Reals]:
        """(A, b): A theta + b are the coefficients in the units of the table, of one outcome; the constant last."""
        columns = len(self.centers)
        back = np.zeros((self.size, self.size))
        back[range(columns), range(columns)] = self.y_scale / self.scales
        shift = np.zeros(self.size)
        if self.constant > 0:
            back[-1, :columns] = -self.y_scale * self.centers / self.scales
            back[-1, -1] = self.y_scale * self.constant
            shift[-1] = self.y_center
        return back, shift


@dataclass(frozen=True)
class Totals:
    """Exact sums over all rows, as whole numbers (64-bit, or Python's); None for those not asked for.

    Rows are Z = rint(2^18 z/reach), slopes s = rint(2^18 f' v/steepest), both whole numbers.

    score : (k p,), the sum of s Z; one unit is steepest reach 4^-18.
    bend : (k p, k p), the sum of R R^T, R = rint(root Z/sqrt(sharpest)); one unit is sharpest reach^2 4^-18.
    square : (k p, k p), the sum of R R^T, R = rint(f' v Z/steepest); one unit is (steepest reach)^2 4^-18.
    """

    score: Array | None = None
    bend: Array | None = None
    square: Array | None = None


def score_unit(score: Score, reach: float) -> float:
    return score.steepest * reach * 4.0**-ROW_BITS


def bend_unit(score: Score, reach: float) -> float:
    return score.sharpest * reach**2 * 4.0**-ROW_BITS


def square_unit(score: Score, reach: float) -> float:
    return (score.steepest * reach) ** 2 * 4.0**-ROW_BITS


def longest(numbers: int) -> float:
    """The largest norm, in units, of one row's share of `score`, and the largest Frobenius norm of the others.

    Rounding moves each of the `numbers` = k p entries by half a unit of 2^-18, at most three times over.
    """
    return 4.0**ROW_BITS * (1 + 2.0 ** (1 - ROW_BITS) * (1 + math.sqrt(numbers))) ** 2


class Rows(ABC):
    """Standardised rows with one response each, and their exact sums for any theta.

    Every number of a row is rounded to a grid on its own, so that a sum with a row and the sum without it differ by
    what `longest` bounds, exactly. theta must lie on its grid (`dalenius.sums.grids.on_grid`).
    """

    standard: Standard

    @property
    def size(self) -> int:
        return self.standard.size

    @abstractmethod
    def totals(
        self, theta: Reals, score: Score, *, want_score: bool, want_bend: bool, want_square: bool
    ) -> Totals:
        """The sums asked for, in one pass over the rows."""

    @abstractmethod
    def residual_counts(self, theta: Reals, edges: Reals) -> Array:
        """How many rows have |y - x.theta| in (edges[i-1], edges[i]]: one number more than edges.

        Every row that is not all zeros is counted once; a residual that is not finite in the last place.
        """


class Source(ABC):
    """A table of numbers before it is standardised; `columns` features and one response."""

    columns: int

    @abstractmethod
    def count(self) -> int:
        """Rows without a missing value."""

    @abstractmethod
    def column_counts(self, edges: Reals) -> Array:
        """For every feature and then the response, how many rows lie in (edges[j, i-1], edges[j, i]].

        (columns + 1, m + 1) whole numbers for (columns + 1, m) edges; a row with a missing value is counted nowhere.
        """

    @abstractmethod
    def rows(self, standard: Standard) -> Rows:
        """The rows, standardised."""
