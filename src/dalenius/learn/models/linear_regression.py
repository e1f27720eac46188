"""Linear regression from noisy sufficient statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee, checked_norm, constant_column
from dalenius.learn.data.rows import Rows, records, training
from dalenius.learn.data.targets import Bounds, Targets
from dalenius.learn.methods.noisy_statistics import NoisyStatistics
from dalenius.learn.models.bounded_regression import BoundedRegression


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
    target_bounds
        The least and the largest target; public.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
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
        norm, constant = checked_norm(self.row_norm), constant_column(self.row_norm, self.intercept_scale)
        shrink = checks.nonnegative("shrink", self.shrink)
        labels, usable = targets.to_unit(y, len(features))
        data = records(features, labels, usable, norm, self.rows, constant)
        gram, product = plan.release(data)
        theta = _solution(gram, product, *plan.noise(data.size), shrink)
        self.plan_ = plan
        return self._set(theta, features.shape[1], plan.loss)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._plan().loss

    def _plan(self) -> NoisyStatistics:
        norm, share = checked_norm(self.row_norm), checks.number("share", self.share)
        constant = constant_column(norm, self.intercept_scale)
        if not 0 < share < 1:
            raise InvalidParameter(f"share is {share}; it must be above 0 and below 1.")
        bound = math.hypot(norm, constant) * (1 + 1e-12)
        return NoisyStatistics.calibrated(checked_guarantee(self.guarantee), bound, share)


def _solution(gram: Reals, product: Reals, gram_noise: float, product_noise: float, shrink: float) -> Reals:
    """(G + ridge)^-1 p. Noise moves eigenvalues by up to 2 sqrt(d) sigma; below that nothing is known of them."""
    size = len(product)
    values, vectors = np.linalg.eigh(gram)
    edge = 2 * math.sqrt(size) * gram_noise
    ridge = max(0.0, edge - float(values[0])) + shrink * product_noise * math.sqrt(size)
    return np.asarray(vectors @ ((vectors.T @ product) / (values + ridge)))
