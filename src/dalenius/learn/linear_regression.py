"""Linear regression from noisy sufficient statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.bounded_regression import BoundedRegression
from dalenius.learn.curves import Reals
from dalenius.learn.linear_model import checked_guarantee
from dalenius.learn.rows import Records, Rows, checked_norm, records, training
from dalenius.learn.targets import Bounds, Targets
from dalenius.mechanisms import AnalyzeGauss, Gaussian

BITS = 18
"""Rows and targets are whole numbers of 2^-18 of their bounds."""
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53: doubles hold them exactly."""


@dataclass(frozen=True)
class NoisyStatistics:
    """X^T X and X^T y of rows with norm <= row_bound and |y| <= 1, with Gaussian noise.

    One record moves X^T X by |x|^2 in Frobenius norm, X^T y by |x| |y| (seed 000 A12 with Gaussian noise; Wang 2018).
    mu is the Gaussian privacy of both together; `share` of mu^2 is spent on X^T X. Rows and targets are rounded to
    grids each on its own, and their products are added exactly (blocks of 2^15 in doubles, blocks as integers).
    """

    mu: float
    row_bound: float
    share: float = 0.5

    @classmethod
    def calibrated(cls, guarantee: Guarantee, row_bound: float, share: float = 0.5) -> NoisyStatistics:
        mu = 1 / calibrate(lambda s: losses.gaussian(s), guarantee)
        return cls(mu * (1 - 1e-9), row_bound, share)

    def _slack(self, size: int) -> float:
        return (1 + 2.0**-BITS * math.sqrt(size)) ** 2

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
        sensitivity = self.row_bound / self.step * 2.0**BITS * self._slack(size)
        mu = self.mu * math.sqrt(1 - self.share)
        return Gaussian(sensitivity=sensitivity, sigma=sensitivity / mu)

    @cached_property
    def step(self) -> float:
        return 2.0 ** (math.ceil(math.log2(self.row_bound)) - BITS)

    def release(self, data: Records) -> tuple[Reals, Reals]:
        """X^T X and X^T y, noise included."""
        size = data.size
        gram, product = np.zeros((size, size), dtype=object), np.zeros(size, dtype=object)
        for start in range(0, len(data), TOGETHER):
            part = slice(start, start + TOGETHER)
            x = np.rint(data.rows(part) / self.step)
            y = np.rint(data.labels[part] * 2.0**BITS)
            gram += (x.T @ x).astype(np.int64).astype(object)
            product += (y @ x).astype(np.int64).astype(object)
        noisy_gram = self.gram(size).release(gram) * self.step**2
        return noisy_gram, np.asarray(self.product(size).release(product) * (self.step * 2.0**-BITS))

    def noise(self, size: int) -> tuple[float, float]:
        """Standard deviations of an off-diagonal entry of X^T X and of an entry of X^T y."""
        return self.gram(size).sigma * self.step**2, self.product(size).sigma * self.step * 2.0**-BITS


class LinearRegression(BoundedRegression):
    """Least squares from noisy X^T X and X^T y (AdaSSP, Wang 2018, but for one release). Add/remove neighbours.

    Targets are clipped to the public `target_bounds` and moved to [-1, 1]; rows have norm `row_norm` at most, and a
    constant column `intercept_scale * row_norm` is added. Released: X^T X with symmetric Gaussian noise and X^T y with
    Gaussian noise. Everything after that is post-processing: the ridge makes up for what the noise does to the
    smallest eigenvalue, read off the noisy matrix itself, and `shrink` times the noise of X^T y.

    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2)) / 2; y = 10 + 20 * X[:, 0]
    >>> model = dp.learn.LinearRegression(dp.GDP(0.5), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), round(model.loss_.gdp(), 6)
    (True, 0.5)
    """

    def __init__(
        self,
        guarantee: Guarantee,
        *,
        target_bounds: Bounds = (-1.0, 1.0),
        row_norm: float = 1.0,
        rows: Rows = "clip",
        intercept_scale: float = 0.3,
        share: float = 0.5,
        shrink: float = 0.5,
    ) -> None:
        self.guarantee = guarantee
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.rows = rows
        self.intercept_scale = intercept_scale
        self.share = share
        self.shrink = shrink

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        features, targets, plan = training(self, X), Targets(self.target_bounds), self._plan()
        norm, constant = self.row_norm, self.row_norm * self.intercept_scale
        shrink = checks.nonnegative("shrink", self.shrink)
        found, usable = targets.to_unit(y, len(features))
        data = records(features, found, usable, norm, self.rows, constant)
        gram, product = plan.release(data)
        theta = _solution(gram, product, *plan.noise(data.size), shrink)
        self.plan_ = plan
        return self._set(theta, features.shape[1], plan.loss)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._plan().loss

    def _plan(self) -> NoisyStatistics:
        norm = checked_norm(self.row_norm)
        constant = norm * checks.nonnegative("intercept_scale", self.intercept_scale)
        if not 0 < checks.number("share", self.share) < 1:
            raise InvalidParameter(f"share is {self.share}; it must be above 0 and below 1.")
        bound = math.hypot(norm, constant) * (1 + 1e-12)
        return _statistics(checked_guarantee(self.guarantee), bound, self.share)


@lru_cache(maxsize=64)
def _statistics(guarantee: Guarantee, bound: float, share: float) -> NoisyStatistics:
    return NoisyStatistics.calibrated(guarantee, bound, share)


def _solution(gram: Reals, product: Reals, gram_noise: float, product_noise: float, shrink: float) -> Reals:
    """(G + ridge)^-1 p. Noise moves eigenvalues by up to 2 sqrt(d) sigma; below that nothing is known of them."""
    size = len(product)
    values, vectors = np.linalg.eigh(gram)
    edge = 2 * math.sqrt(size) * gram_noise
    ridge = max(0.0, edge - float(values[0])) + shrink * product_noise * math.sqrt(size)
    return np.asarray(vectors @ ((vectors.T @ product) / (values + ridge)))
