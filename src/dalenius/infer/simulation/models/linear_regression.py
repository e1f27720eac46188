"""Linear regression from noisy sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.models.priors import positive_pair


@dataclass(frozen=True)
class LinearRegression(Family):
    """Rows (x, y), jointly normal before they are cut off at bounds; sums and sums of products were released.

    With z = (x_1, ..., x_p, y) cut off at `bounds`, the release is the sum of z, then the sums of z_i z_j for i <= j,
    in the order of `numpy.triu_indices`. The slopes are Cov(x)^-1 Cov(x, y) (Bernstein and Sheldon 2019 model the
    predictors as normal, too: without a model of them their products cannot be filled in).

    Parameters
    ----------
    bounds
        (lowest, highest) of each predictor, then of y.
    prior_rows
        How many rows the normal-inverse-Wishart prior counts as: of the means, and of the covariance. It is centred in
        the middle of the bounds, with standard deviations of a quarter of their distances and no correlation.

    Examples
    --------
    >>> from dalenius.infer import models
    >>> models.LinearRegression(bounds=[(-3, 3), (-10, 10)]).names
    ('const', 'x1', 'sd')
    """

    bounds: Sequence[tuple[float, float]]
    prior_rows: tuple[float, float] = (0.1, 2.0)
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        given: object = self.bounds
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) < 2:
            raise InvalidParameter.of(
                "bounds", "bounds must list (lowest, highest) of every predictor, then of y."
            )
        bounds = tuple(checks.interval("bounds", pair) for pair in self.bounds)
        names = ("const", *(f"x{k + 1}" for k in range(len(bounds) - 1)), "sd")
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "prior_rows", positive_pair("prior_rows", self.prior_rows))
        object.__setattr__(self, "names", names)

    @property
    def _columns(self) -> int:
        return len(self.bounds)

    @property
    def _pairs(self) -> tuple[Any, Any]:
        first, second = np.triu_indices(self._columns)
        return first, second

    def _prior(self) -> tuple[Reals, Reals, float, float]:
        """Mean, scatter, rows of the mean and degrees of freedom."""
        ends = np.array(self.bounds)
        k, more = self.prior_rows
        variances = (np.diff(ends, axis=1)[:, 0] / 4) ** 2
        df = self._columns + 1 + more
        return ends.mean(axis=1), np.diag(variances * more), k, df

    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        k = self._columns
        return self.parameter(np.zeros((chains, k + k * (k + 1) // 2)), 0, rng)

    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        mean, covariance = self._split(theta)
        root = np.linalg.cholesky(covariance)
        z = rng.standard_normal((len(theta), size, self._columns))
        return mean[:, None, :] + z @ root.transpose(0, 2, 1)

    def contributions(self, rows: Array) -> Reals:
        low, high = np.array(self.bounds).T
        return self.sufficient(np.clip(rows, low, high))

    def sufficient(self, rows: Array) -> Reals:
        first, second = self._pairs
        return np.concatenate((rows, rows[..., first] * rows[..., second]), axis=-1)

    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        """Mean and covariance, as one row: the draw of a normal-inverse-Wishart law by Bartlett's decomposition."""
        m, scatter, k, df = self._prior()
        sums, products = self._sums(totals)
        mean = (k * m + sums) / (k + n)
        middle = k * np.outer(m, m) - (k + n) * mean[:, :, None] * mean[:, None, :]
        psi = _positive(scatter + products + middle, 1e-9 * np.trace(scatter))
        size, q = len(totals), self._columns
        lower = np.tril(rng.standard_normal((size, q, q)), -1)
        lower[:, range(q), range(q)] = np.sqrt(rng.chisquare(df + n - np.arange(q), (size, q)))
        inverse = np.linalg.inv(lower)
        root = np.linalg.cholesky(psi) @ inverse.transpose(0, 2, 1)
        covariance = root @ root.transpose(0, 2, 1)
        z = rng.standard_normal((size, q, 1))
        drawn = mean + (np.linalg.cholesky(covariance) @ z)[..., 0] / np.sqrt(k + n)
        return np.concatenate((drawn, covariance.reshape(size, -1)), axis=1)

    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        """Of normal z and its products (Isserlis 1918)."""
        m, c = self._split(theta)
        i, j = self._pairs
        products = c[:, i, j] + m[:, i] * m[:, j]
        cross = m[:, None, i] * c[:, :, j] + m[:, None, j] * c[:, :, i]
        a, b = np.ix_(i, i), np.ix_(j, j)
        ij, ji = np.ix_(i, j), np.ix_(j, i)
        centred = c[:, a[0], a[1]] * c[:, b[0], b[1]] + c[:, ij[0], ij[1]] * c[:, ji[0], ji[1]]
        mi, mj = m[:, i], m[:, j]
        shifted = (
            mi[:, :, None] * mi[:, None, :] * c[:, b[0], b[1]]
            + mi[:, :, None] * mj[:, None, :] * c[:, ji[0], ji[1]]
            + mj[:, :, None] * mi[:, None, :] * c[:, ij[0], ij[1]]
            + mj[:, :, None] * mj[:, None, :] * c[:, a[0], a[1]]
        )
        top = np.concatenate((c, cross), axis=2)
        bottom = np.concatenate((cross.transpose(0, 2, 1), centred + shifted), axis=2)
        return np.concatenate((m, products), axis=1), np.concatenate((top, bottom), axis=1)

    def possible(self, totals: Reals, n: int) -> Reals:
        sums, products = self._sums(totals)
        outer = sums[:, :, None] * sums[:, None, :] / max(n, 1)
        kept = outer + _positive(products - outer, 1e-9 * n * np.trace(self._prior()[1]))
        first, second = self._pairs
        return np.concatenate((sums, kept[:, first, second]), axis=1)

    def reported(self, theta: Reals) -> Reals:
        mean, c = self._split(theta)
        slopes = np.linalg.solve(c[:, :-1, :-1], c[:, :-1, -1:])[..., 0]
        rest = c[:, -1, -1] - (slopes * c[:, :-1, -1]).sum(axis=1)
        intercept = mean[:, -1] - (slopes * mean[:, :-1]).sum(axis=1)
        return np.column_stack((intercept, slopes, np.sqrt(np.maximum(rest, 0.0))))

    def _split(self, theta: Reals) -> tuple[Reals, Reals]:
        q = self._columns
        return theta[:, :q], theta[:, q:].reshape(-1, q, q)

    def _sums(self, totals: Reals) -> tuple[Reals, Reals]:
        q = self._columns
        first, second = self._pairs
        products = np.empty((len(totals), q, q))
        products[:, first, second] = products[:, second, first] = totals[:, q:]
        return totals[:, :q], products


def _positive(matrices: Reals, least: float) -> Reals:
    """With eigenvalues of at least this."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.maximum(values, least)[:, None, :] @ vectors.transpose(0, 2, 1))
