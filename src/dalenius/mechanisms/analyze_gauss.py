"""Symmetric matrices with noise from the Gaussian orthogonal ensemble."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.core.bisection import change_point
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import Numbers, real_numbers
from dalenius.mechanisms._support.exact_sums import noisy_reals
from dalenius.mechanisms._support.grid_noise import coordinate_failure, discrete_gaussian_sigma
from dalenius.mechanisms._support.scaled_noise import ScaledNoise
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import Grid, discrete_gaussian

ROOT_HALF = math.nextafter(math.sqrt(0.5), math.inf)


@dataclass(frozen=True, kw_only=True)
class AnalyzeGauss(ScaledNoise):
    """Releases the symmetric matrix H + (Z + Z^T)/sqrt(2), Z with independent entries N(0, sigma^2).

    That is N(0, sigma^2) off the diagonal and N(0, 2 sigma^2) on it. Neighbours (`adjacency`) move H by at
    most `sensitivity` in Frobenius norm: the largest ||x||^2 for a sum of x x^T. Off-diagonal entries occur
    twice in that norm, so the loss is that of Gaussian noise for a sensitivity of `sensitivity`/sqrt(2)
    (Redberg 2023, Theorem A.4.1, with the exact Gaussian profile); the usual Analyze-Gauss (Dwork,
    Talwar, Thakurta and Zhang 2014), which puts the noise
    of the diagonal everywhere, has twice the variance off it for the same loss.

    Only the upper triangle of H is read; the other half is its mirror image. The entries go to a grid and
    get exact discrete Gaussian noise there, as in `Gaussian`. The released matrix need not be positive:
    `positive` repairs that afterwards.

    Parameters
    ----------
    sensitivity
        The most that one record changes H, in Frobenius norm.
    sigma
        The standard deviation of the noise off the diagonal.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> from dalenius.mechanisms import AnalyzeGauss
    >>> m = AnalyzeGauss.calibrated(dp.ApproxDP(0.1, 1e-6), sensitivity=0.25)
    >>> round(m.sigma, 2)
    6.42
    >>> noisy = m.release(np.eye(3))
    >>> bool((noisy == noisy.T).all()), bool((np.linalg.eigvalsh(m.positive(noisy)) >= 0).all())
    (True, True)
    """

    sensitivity: float
    sigma: float
    adjacency: Adjacency = ADD_REMOVE
    _size = "sigma"

    @cached_property
    def loss(self) -> Loss:
        return losses.gaussian(self.sigma, self.sensitivity * ROOT_HALF * (1 + 2.0**-52), self.adjacency)

    def release(self, value: Any) -> Reals:
        """The matrix with symmetric noise.

        Parameters
        ----------
        value
            A square matrix, of which the upper triangle is read.

        Returns
        -------
        ndarray
            The matrix with symmetric noise, as doubles.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        released: Reals = self.releases(value, 1)[0]
        return released

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent releases of one matrix, along the first axis.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        matrix, times = _matrix(value), checks.count("times", times)
        d = len(matrix)
        s = self._units(d)
        rows, columns = np.triu_indices(d, 1)
        noise = np.zeros((times, d, d), dtype=np.int64)
        apart = np.asarray(discrete_gaussian(s, (times, len(rows))))
        along = np.asarray(discrete_gaussian(_root_two(s), (times, d)))
        if apart.dtype != np.int64 or along.dtype != np.int64:  # beyond 2^62: never seen in practice
            noise = noise.astype(object)
        noise[:, rows, columns] = apart
        noise[:, columns, rows] = apart
        noise[:, np.arange(d), np.arange(d)] = along
        upper = np.triu(matrix)
        return noisy_reals(self._grid, upper + np.triu(matrix, 1).T, noise)

    @staticmethod
    def positive(matrix: Any, least: float = 0.0) -> Reals:
        """The nearest symmetric matrix (in Frobenius norm) whose eigenvalues are `least` or more.

        Post-processing: it looks at the released matrix alone and costs nothing.

        Parameters
        ----------
        matrix
            A square matrix.
        least
            The least eigenvalue of the result.

        Returns
        -------
        ndarray
            The matrix.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        given = _matrix(matrix).astype(np.float64)
        least = checks.nonnegative("least", least)
        values, vectors = np.linalg.eigh((given + given.T) / 2)
        nearest = (vectors * np.maximum(values, least)) @ vectors.T
        nearest = (nearest + nearest.T) / 2
        # Rounding may leave an eigenvalue a little below: lift all of them by as little.
        lift = 2.0**-52 * max(float(np.abs(values).max()), least)
        while float(np.linalg.eigvalsh(nearest)[0]) < least:
            nearest, lift = nearest + lift * np.eye(len(nearest)), 2 * lift
        return np.asarray(nearest)

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, all entries of a `size` x `size` matrix stay within.

        Exact for independent entries: P(|N| <= x/(sigma sqrt 2))^size P(|N| <= x/sigma)^(size (size-1)/2).

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of rows of the matrix.

        Returns
        -------
        float
            The error of an entry.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        coordinate_failure(confidence, size)  # checks both
        d, target = checks.count("size", size, least=1), math.log(confidence)

        def log_chance(x: float) -> float:
            inside = np.log(-np.expm1(math.log(2) + log_ndtr(np.array([-x / math.sqrt(2), -x]))))
            return float(d * inside[0] + d * (d - 1) / 2 * inside[1])

        high = change_point(lambda x: log_chance(x) < target, 1.0, relative=1e-13)[1]
        return float(self._grid.granularity) * (1.5 + self._units(d) * high * (1 + 1e-12))

    def spectral_accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """A bound that, with probability `confidence`, the eigenvalues of the noise stay within in size.

        sigma (2 sqrt(d) + 2 sqrt(ln(2/(1 - confidence)))): the expected largest eigenvalue is at most 2
        sqrt(d) sigma (Slepian), and it is sqrt(2)-Lipschitz in independent normal numbers. Some 25 % above
        the true quantile, which is not known in closed form. (The printed tau = 12 for d = 50 belongs to
        another normalisation: 12 sqrt(2) is meant.)

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of rows of the matrix.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        d = checks.count("size", size, least=1)
        coordinate_failure(confidence, d)
        grid = float(self._grid.granularity) * 2 * d
        return (
            self.sigma * 1.000001 * (2 * math.sqrt(d) + 2 * math.sqrt(math.log(2 / (1 - confidence)))) + grid
        )

    @property
    def worst_pair(self) -> Neighbours:
        off = self.sensitivity * math.sqrt(0.5)
        return Neighbours(np.zeros((2, 2)), np.array([[0.0, off], [off, 0.0]]))

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The diagonal, of a larger matrix, as well."""
        return self.worst_pair, Neighbours(np.zeros((4, 4)), np.diag([0.0, 0.0, 0.0, self.sensitivity]))

    @cached_property
    def _grid(self) -> Grid:
        return Grid.fine(self.sensitivity * ROOT_HALF, self.sigma)

    def _units(self, d: int) -> float:
        """The noise off the diagonal, in grid steps."""
        return discrete_gaussian_sigma(
            self.sensitivity * ROOT_HALF, self.sigma, self._rounding(d), self._grid
        )

    @staticmethod
    def _rounding(d: int) -> int:
        """Rounding moves d^2 entries by a step at most: by sqrt(d^2/2) in the norm of the loss."""
        return max(2, -(-d * d // 2))


def _matrix(value: Any) -> Numbers:
    matrix = real_numbers(value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(f"value has shape {matrix.shape}; it must be a square matrix.")
    return matrix


def _root_two(s: float) -> float:
    """sqrt(2) s, rounded up."""
    root = math.sqrt(2) * s
    while Fraction(root) ** 2 < 2 * Fraction(s) ** 2:
        root = math.nextafter(root, math.inf)
    return root
