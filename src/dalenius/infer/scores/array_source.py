"""Rows in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Array, Bools, Reals
from dalenius.core.quiet import beyond_floats
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Rows, Source, Standard, Totals
from dalenius.sums.grids import MOST, ROW_BITS

PASS = 1 << 12
"""Rows taken together, small enough for the cache; any number up to `grids.TOGETHER` gives the same sums."""


@dataclass(frozen=True)
class ArraySource(Source):
    """A matrix of features (n, columns) and n responses; rows with a NaN or an infinity count as absent.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.infer.scores import ArraySource
    >>> source = ArraySource(np.array([[1.0], [2.0], [np.nan]]), np.array([0.0, 5.0, 1.0]))
    >>> source.count(), source.column_counts(np.array([[1.5], [7.0]]))
    (2, array([[1, 1],
           [2, 0]]))
    """

    features: Reals
    responses: Reals

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.features.shape[1])

    def count(self) -> int:
        return sum(int(self._whole(part).sum()) for part in self._parts())

    def column_counts(self, edges: Reals) -> Array:
        found = np.zeros((self.columns + 1, edges.shape[1] + 1), dtype=np.int64)
        for part in self._parts():
            whole = self._whole(part)
            for j in range(self.columns + 1):
                values = (self.features[part, j] if j < self.columns else self.responses[part])[whole]
                found[j] += np.bincount(np.searchsorted(edges[j], values), minlength=edges.shape[1] + 1)
        return found

    def rows(self, standard: Standard) -> ArrayRows:
        return ArrayRows.of(self, standard)

    def _whole(self, part: slice) -> Array:
        whole = np.isfinite(self.responses[part])
        return np.asarray(whole & np.isfinite(self.features[part]).all(axis=1))

    def _parts(self) -> list[slice]:
        return [slice(start, start + PASS) for start in range(0, len(self.responses), PASS)]


class ArrayRows(Rows):
    """Rows rounded once and kept as single-precision floats, which hold whole numbers up to 2^24."""

    def __init__(self, standard: Standard, table: Array, weights: Reals, labels: Reals) -> None:
        self.standard, self.table, self.weights, self.labels = standard, table, weights, labels
        n, size = table.shape
        self.present: Bools = np.asarray(table.any(axis=1))
        self.space = np.empty((min(n, PASS), size))
        # u = Z.theta times this: exact products first, then what is done to each row alone
        self.stretch = standard.reach / MOST / weights
        wide = (n + 1) * 4.0 ** (ROW_BITS + 1) >= 2.0**62
        self.integers = object if wide else np.int64

    @classmethod
    def of(cls, source: ArraySource, standard: Standard) -> ArrayRows:
        n = len(source.responses)
        table = np.empty((n, standard.size), dtype=np.float32)
        weights, labels = np.empty(n), np.empty(n)
        for start in range(0, n, PASS):
            part = slice(start, start + PASS)
            rows, weights[part] = standard.weighted(source.features[part])
            y = standard.responses(source.responses[part])
            odd = ~np.isfinite(y)
            if odd.any():
                rows[odd], y[odd] = 0.0, 0.0
            labels[part] = y
            rows *= MOST / standard.reach
            np.rint(rows, out=rows)
            table[part] = rows
        return cls(standard, table, weights, labels)

    @beyond_floats
    def totals(
        self, theta: Reals, score: Score, *, want_score: bool, want_bend: bool, want_square: bool
    ) -> Totals:
        k, size = score.outcomes, self.size
        table = theta.reshape(k, size).T if k > 1 else theta
        whole = k * size
        sums = self._zeros(whole) if want_score else None
        bends = self._zeros(whole, whole) if want_bend else None
        squares = self._zeros(whole, whole) if want_square else None
        for start in range(0, len(self.labels), PASS):
            part = slice(start, start + PASS)
            rows = self.space[: len(self.labels[part])]
            rows[...] = self.table[part]
            u = rows @ table
            y, stretch, weights = self.labels[part], self.stretch[part], self.weights[part]
            u *= stretch if k == 1 else stretch[:, None]
            if want_bend:
                roots = score.bounded_roots(u, y)
                bends += _gram(roots if k > 1 else roots[:, None, None], rows, self.integers)
            if want_score or want_square:
                slopes = score.bounded_slopes(u, y)
                slopes *= weights if k == 1 else weights[:, None]
                if want_square:
                    squares += _gram(slopes.reshape(len(y), 1, k), rows, self.integers)
                if want_score:
                    slopes *= MOST
                    np.rint(slopes, out=slopes)
                    sums += _whole(np.ravel(slopes.T @ rows), self.integers)
        return Totals(sums, bends, squares)

    @beyond_floats
    def residual_counts(self, theta: Reals, edges: Reals) -> Array:
        found = np.zeros(len(edges) + 1, dtype=np.int64)
        for start in range(0, len(self.labels), PASS):
            part = slice(start, start + PASS)
            rows = self.space[: len(self.labels[part])]
            rows[...] = self.table[part]
            away: Reals = np.abs(rows @ theta * self.stretch[part] - self.labels[part])
            found += np.bincount(np.searchsorted(edges, away[self.present[part]]), minlength=len(edges) + 1)
        return found

    def _zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.integers)


def _gram(factors: Reals, rows: Reals, integers: object) -> Array:
    """The sum of R R^T, R = rint(factor (x) row), over m rows and r factors each: (m, r, k) and (m, p)."""
    total = None
    for each in range(factors.shape[1]):
        long = (factors[:, each, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        np.rint(long, out=long)
        part = _whole(long.T @ long, integers)
        total = part if total is None else total + part
    assert total is not None
    return total


def _whole(values: Reals, integers: object) -> Array:
    """Whole numbers below 2^53 as integers."""
    whole = values.astype(np.int64)
    return whole if integers is np.int64 else np.asarray(whole.astype(object))
