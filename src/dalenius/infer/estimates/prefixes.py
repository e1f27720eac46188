"""All counts of rows up to an edge, at once, by the square root of the matrix of prefix sums.

With x the counts of m bins, the prefix sums are C C x, where C is the lower triangular Toeplitz matrix with entries
c_0 = 1, c_k = c_(k-1) (2 k - 1) / (2 k): the coefficients of (1 - z)^(-1/2), whose square is 1 + z + z^2 + ...
Released is C x with Gaussian noise; C times that is every prefix sum, with noise at most c_0^2 + ... + c_(m-1)^2, about
1 + log(m) / pi, times as large as that of a single count (Fichtenberger, Henzinger and Upadhyay 2023, "Constant
matters").

One row adds a column of C; replacing one adds a column and takes one away, and as entries are not negative the change
is at most sqrt(2) columns long. Entries are rounded to 2^-30, so that all is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer.estimates.bounded import up
from dalenius.infer.promise import gaussian_mu
from dalenius.mechanisms import Gaussian

STEP = 2**30


@dataclass(frozen=True)
class Prefixes:
    """The release of all prefix sums of so many bins."""

    guarantee: Guarantee
    adjacency: Adjacency
    bins: int

    @cached_property
    def entries(self) -> Ints:
        """Of C, in units of 2^-30."""
        k = np.arange(1, self.bins)
        return np.rint(STEP * np.cumprod(np.concatenate(([1.0], (2 * k - 1) / (2 * k))))).astype(np.int64)

    @cached_property
    def mechanism(self) -> Gaussian:
        squares = sum(int(entry) ** 2 for entry in self.entries)
        columns = 1.0 if self.adjacency is ADD_REMOVE else math.sqrt(2)
        sensitivity = up(math.sqrt(squares) * columns)
        mu = gaussian_mu(
            self.guarantee, "a quantile with an interval (dp.mechanisms.Quantile has none, and keeps PureDP)"
        )
        return Gaussian(sensitivity=sensitivity, sigma=sensitivity / mu, adjacency=self.adjacency)

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.mechanism.loss

    def release(self, counts: list[Ints]) -> Reals:
        """Noisy prefix sums (data sets x bins) of counts in bins."""
        exact = np.array([np.convolve(self.entries, one)[: self.bins] for one in counts])
        noisy = np.asarray(self.mechanism.release(exact), dtype=float) / STEP
        size = next_fast_len(2 * self.bins, real=True)
        root = rfft(self.entries / STEP, size)
        return np.asarray(irfft(rfft(noisy, size, axis=1) * root, size, axis=1)[:, : self.bins])

    def variances(self, level: float, known: bool) -> Reals:
        """Of the noise of every prefix sum less level times the last one, or less a known number."""
        c = self.entries / STEP
        one = np.cumsum(c**2)
        if known:
            spread = one
        else:
            size = next_fast_len(2 * self.bins, real=True)
            f = rfft(c, size)
            lags = irfft(f * np.conj(f), size)[: self.bins]  # sum of c_j c_(j + lag)
            spread = one - 2 * level * lags[::-1] + level**2 * one[-1]
        return np.asarray((self.mechanism.sigma / STEP) ** 2 * np.maximum(spread, 0.0))
