"""Linear regression from noisy sufficient statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.methods.noisy_statistics import NoisyStatistics
from dalenius.learn.models.bounded_regression import BoundedRegression


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(BoundedRegression):
    """Least squares from noisy X^T X and X^T y (AdaSSP, Wang 2018, but for one release). Add/remove neighbours.

    Targets are clipped to the public `target_bounds` and moved to [-1, 1]; rows have norm `row_norm` at most, and a
    constant column `intercept_scale * row_norm` is added. Released: X^T X with symmetric Gaussian noise and X^T y with
    Gaussian noise. Everything after that is post-processing: the ridge makes up for what the noise does to the
    smallest eigenvalue, read off the noisy matrix itself, and `shrink` times the noise of X^T y.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
    share
        The share of mu^2 that X^T X gets, between 0 and 1.
    shrink
        How much ridge the noise of X^T y adds.

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.
    CannotMeet
        By `fit`, if the method cannot keep the promise.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2)) / 2; y = 10 + 20 * X[:, 0]
    >>> model = dp.learn.LinearRegression(dp.GDP(0.5), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), round(model.loss_.gdp(), 6)
    (True, 0.5)
    """

    share: float = 0.5
    shrink: float = 0.5

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        data = self._data(X, y)
        return self._fit_records(data, data.features.shape[1])

    def takes_blocks(self) -> bool:
        return True

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        plan, shrink = self._plan(), checks.nonnegative("shrink", self.shrink)
        gram, product = plan.release(data)
        self.plan_ = plan
        return self._set(solution(gram, product, *plan.noise(data.size), shrink), columns, plan.loss)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._plan().loss

    def _plan(self) -> NoisyStatistics:
        bound = math.hypot(self._norm, self._constant) * (1 + 1e-12)
        share = checks.open_probability("share", self.share)
        checks.nonnegative("shrink", self.shrink)
        return NoisyStatistics.calibrated(checked_guarantee(self.guarantee), bound, share)


def solution(gram: Reals, product: Reals, gram_noise: float, product_noise: float, shrink: float) -> Reals:
    """(G + ridge)^-1 p. Noise moves eigenvalues by up to 2 sqrt(d) sigma; below that nothing is known of them."""
    size = len(product)
    values, vectors = np.linalg.eigh(gram)
    edge = 2 * math.sqrt(size) * gram_noise
    ridge = max(0.0, edge - float(values[0])) + shrink * product_noise * math.sqrt(size)
    return np.asarray(vectors @ ((vectors.T @ product) / (values + ridge)))
