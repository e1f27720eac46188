"""The sufficient statistics of least squares, X^T X and X^T y, with Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.mechanisms import AnalyzeGauss, Gaussian

GRID_BITS = 18
"""Rows and targets are whole numbers of 2^-18 of their bounds."""
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53: doubles hold them exactly."""


@dataclass(frozen=True)
class NoisyStatistics:
    """X^T X and X^T y of rows with norm <= row_bound and |y| <= 1, with Gaussian noise.

    One record moves X^T X by |x|^2 in Frobenius norm, X^T y by |x| |y| (Vu and Slavkovic 2009, with Gaussian noise;
    Wang 2018). mu is the Gaussian privacy of both together; `share` of mu^2 is spent on X^T X. Rows and targets are
    rounded to grids each on its own, and their products are added exactly (blocks of 2^15 in doubles, blocks as
    integers).

    With several `targets`, labels have a column for each, and X^T y a row. X^T X is released once; one record moves all
    X^T y together by |x| |y| <= |x| sqrt(targets), y being its targets as a vector.
    """

    mu: float
    row_bound: float
    share: float = 0.5
    targets: int = 1

    @classmethod
    @lru_cache(maxsize=64)
    def calibrated(cls, guarantee: Guarantee, row_bound: float, share: float = 0.5) -> NoisyStatistics:
        mu = 1 / calibrate(lambda s: losses.gaussian(s), guarantee)
        return cls(mu * (1 - 1e-9), row_bound, share)

    def _slack(self, size: int) -> float:
        return (1 + 2.0**-GRID_BITS * math.sqrt(size)) ** 2

    @property
    def loss(self) -> Loss:
        return self.gram(1).loss + self.product(1).loss

    def gram(self, size: int) -> AnalyzeGauss:
        """The mechanism for X^T X, in units of the grid."""
        sensitivity = (self.row_bound / self.step) ** 2 * self._slack(size)
        mu = self.mu * math.sqrt(self.share)
        return AnalyzeGauss(sensitivity=sensitivity, sigma=sensitivity * math.sqrt(0.5) / mu * (1 + 1e-12))

    def product(self, size: int) -> Gaussian:
        """The mechanism for X^T y, in units of the grid."""
        sensitivity = self.row_bound / self.step * 2.0**GRID_BITS * self._slack(size)
        if self.targets > 1:
            sensitivity *= math.sqrt(self.targets) * (1 + 1e-15)
        mu = self.mu * math.sqrt(1 - self.share)
        return Gaussian(sensitivity=sensitivity, sigma=sensitivity / mu)

    @cached_property
    def step(self) -> float:
        return 2.0 ** (math.ceil(math.log2(self.row_bound)) - GRID_BITS)

    def release(self, data: Records | RecordBlocks) -> tuple[Reals, Reals]:
        """X^T X and X^T y, noise included."""
        size = data.size
        gram = np.zeros((size, size), dtype=object)
        product = np.zeros(size if self.targets == 1 else (self.targets, size), dtype=object)
        for block in data.read() if isinstance(data, RecordBlocks) else [data]:
            for start in range(0, len(block), TOGETHER):
                part = slice(start, start + TOGETHER)
                x = np.rint(block.rows(part) / self.step)
                y = np.rint(block.labels[part] * 2.0**GRID_BITS)
                gram += (x.T @ x).astype(np.int64).astype(object)
                product += (y.T @ x).astype(np.int64).astype(object)
        noisy_gram = self.gram(size).release(gram) * self.step**2
        noisy = np.asarray(self.product(size).release(product.ravel())).reshape(product.shape)
        return noisy_gram, noisy * (self.step * 2.0**-GRID_BITS)

    def noise(self, size: int) -> tuple[float, float]:
        """Standard deviations of an off-diagonal entry of X^T X and of an entry of X^T y."""
        return self.gram(size).sigma * self.step**2, self.product(size).sigma * self.step * 2.0**-GRID_BITS
