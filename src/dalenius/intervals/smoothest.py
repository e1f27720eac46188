"""The fourth moment of a population of which bounds, mean and variance are known.

Among all densities with these the one of greatest entropy is exp(a + b x + c x^2) between the bounds. While c <= 0 it
has one peak: a truncated normal density, uniform or exponential at the end. Beyond, with more variance than the
exponential density of the same mean, it would be a small share of rows at the far bound, far from all others, and its
fourth moment as large as can be; Beta densities, which lean to both ends, are taken there. Both end in the populations
that have all rows at the bounds. So the fourth moment is exact for truncated normal, uniform, exponential and
Bernoulli populations, and a guess for others.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dalenius.core.arrays import Reals

NEAREST = 0.02
"""Means nearer to a bound (of width 2) than this have the shape of those that are as near: the other bound is far."""

_DELTAS = np.geomspace(NEAREST, 1.0, 24)
_RATIOS = np.linspace(0.06, 1.0, 25)


def kurtosis(mean: Reals, variance: Reals) -> Reals:
    """E (x - mean)^4 / variance^2, for bounds -1 and 1; at least 1."""
    delta = np.clip(1 - np.abs(mean), 1e-9, 1.0)
    most = delta * (2 - delta)
    exponential, peaked = _table()
    row = np.interp(np.log(np.maximum(delta, NEAREST)), np.log(_DELTAS), np.arange(len(_DELTAS)))
    border = np.interp(row, np.arange(len(_DELTAS)), exponential) * delta**2
    ratio = np.clip(variance / border, 0.0, 1.0)
    inner = _between(peaked, row, np.interp(ratio, _RATIOS, np.arange(len(_RATIOS))))
    # Less spread than any of the table: nearly normal.
    inner = np.where(ratio < _RATIOS[0], 3 + (inner - 3) * ratio / _RATIOS[0], inner)
    share = np.clip(variance / most, 1e-12, 1.0)
    least = np.clip(border / most, 1e-12, 1 - 1e-9)
    outer = _beta(most, np.maximum(share, least)) * (inner / _beta(most, least)) ** np.clip(
        (1 - share) / (1 - least), 0.0, 1.0
    )
    return np.maximum(np.where(share > least, outer, inner), 1.0)


def _beta(most: Reals, share: Reals) -> Reals:
    """Of the Beta density between the bounds whose variance is this share of the most there can be."""
    pq, size = most / 4, 1 / share - 1
    excess = 6 * ((1 - 4 * pq) * (size + 1) - pq * (size + 2)) / (pq * (size + 2) * (size + 3))
    return np.asarray(3 + excess)


def _between(table: Reals, row: Reals, column: Reals) -> Reals:
    """A table between its entries."""
    i = np.minimum(row.astype(np.int64), table.shape[0] - 2)
    j = np.minimum(column.astype(np.int64), table.shape[1] - 2)
    a, b = row - i, column - j
    return np.asarray(
        (1 - a) * ((1 - b) * table[i, j] + b * table[i, j + 1])
        + a * ((1 - b) * table[i + 1, j] + b * table[i + 1, j + 1])
    )


@lru_cache(maxsize=1)
def _table() -> tuple[Reals, Reals]:
    """The variances of exponential densities by their means (over the square of the mean from the bound), and the
    kurtosis of truncated normal ones by mean and variance, as a part of the former."""
    u, weights = np.polynomial.legendre.leggauss(96)
    y = (1 + u) ** 3 / 4  # from the nearer bound; more nodes there
    family = _Family(y, weights * (1 + u) ** 2)
    one = np.zeros_like(_DELTAS)
    slope = family.fit(one, one, _DELTAS, None)[0]
    exponential = family.central(slope, one, 2)
    kurtoses = np.empty((len(_DELTAS), len(_RATIOS)))
    b = c = one
    for k, ratio in enumerate(_RATIOS):
        variance = ratio * exponential
        if k == 0:
            b, c = _DELTAS / variance, -1 / (2 * variance)
        b, c = family.fit(b, c, _DELTAS, variance + _DELTAS**2)
        kurtoses[:, k] = family.central(b, c, 4) / family.central(b, c, 2) ** 2
    return exponential / _DELTAS**2, kurtoses


class _Family:
    """Densities exp(a + b y + c y^2) on nodes."""

    def __init__(self, y: Reals, weights: Reals) -> None:
        self.y, self.weights = y, weights

    def fit(self, b: Reals, c: Reals, first: Reals, second: Reals | None) -> tuple[Reals, Reals]:
        """With these moments (only the first, if there is no second): Newton's method on a convex function."""
        for _ in range(40):
            p = self.density(b, c)
            m = [p @ self.y**k for k in range(5)]
            v, w, cross = m[2] - m[1] ** 2, m[4] - m[2] ** 2, m[3] - m[1] * m[2]
            gap = first - m[1]
            if second is None:
                db, dc = gap / v, 0.0 * b
            else:
                other = second - m[2]
                det = v * w - cross**2
                db, dc = (w * gap - cross * other) / det, (v * other - cross * gap) / det
            # The decrement of a self-concordant function: steps below 1/4 of it are safe in full.
            size = np.sqrt(np.maximum(db**2 * v + 2 * db * dc * cross + dc**2 * w, 0.0))
            step = np.where(size > 0.25, 1 / (1 + size), 1.0)
            b, c = b + step * db, c + step * dc
        return b, c

    def density(self, b: Reals, c: Reals) -> Reals:
        exponent = b[:, None] * self.y + c[:, None] * self.y**2
        p = self.weights * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def central(self, b: Reals, c: Reals, power: int) -> Reals:
        p = self.density(b, c)
        return np.asarray((p * (self.y - (p @ self.y)[:, None]) ** power).sum(axis=1))
