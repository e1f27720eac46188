"""Linear regression by one sample from its posterior, ridge and precision set before the data is looked at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.adaptive.ptr.guarantee import after_statement
from dalenius.adaptive.regression.posterior_sample import (
    SLACK,
    hidden,
    largest_precision,
    least_noise,
    posterior,
)
from dalenius.adaptive.regression.ridge import Squares
from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.learn.data.parameters import approximate
from dalenius.learn.models.bounded_regression import BoundedRegression
from dalenius.mechanisms import Gaussian


class PosteriorSampleRegression(BoundedRegression):
    """One sample of N(theta*, (precision (X^T X + ridge))^-1), theta* the ridge solution (OPS, Wang 2018).

    Add/remove neighbours, ApproxDP only. Nothing is adapted to the data but for their number n, of which a twentieth
    of epsilon releases an upper bound N. With rows of norm R at most and |y| <= 1, the leverage of a record is at
    most R^2/ridge and, as (X^T X + ridge)^-1 X^T has norm 1/(2 sqrt(ridge)) at most, its residual at the solution
    without it is at most 1 + (R/2) sqrt(N/ridge). The precision is the largest that these two allow, by the exact
    profile of the two posteriors (docs/proofs/posterior-sample.md) instead of the printed bound (Redberg 2023,
    Theorem 3.6.1), whose constant is too small to be private. The ridge balances what the sample and the ridge itself
    are expected to lose: (d log(1/delta) R^4 N / (2 epsilon^2))^(1/3), if not more is needed.

    delta pays for the chance that N was below n. Targets and rows are treated as in `LinearRegression`, which is more
    accurate; kept for comparison.

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
    >>> X = np.linspace(-1, 1, 20_000)[:, None]; y = 10 + 5 * X[:, 0]
    >>> model = dp.learn.PosteriorSampleRegression(dp.ApproxDP(4.0, 1e-5), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def _shares(self) -> tuple[Gaussian, float, float, Gaussian]:
        """The release of the count, epsilon and delta of the sample, and what hides its rounding."""
        promise = approximate(self.guarantee, "a posterior sample")
        delta = promise.delta / 4 * (1 - 1e-6)
        count = least_noise(ApproxDP(0.05 * promise.epsilon, delta))
        rounding = least_noise(ApproxDP(0.01 * promise.epsilon, delta))
        return count, 0.94 * promise.epsilon, delta, rounding

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        count, epsilon, delta, rounding = self._shares()
        return after_statement(count.loss, delta, losses.approx(epsilon, delta) + rounding.loss)

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        count, epsilon, delta, rounding = self._shares()
        data = self._data(X, y)
        square = (self._norm**2 + self._constant**2) * (1 + 1e-9)
        safe = -float(ndtri(delta)) * count.sigma * SLACK
        most = max(1.0, float(count.release(len(data))) + safe)
        ridge, precision = plan(epsilon, delta, square, most, data.size)

        squares = Squares(data.gram(np.ones(len(data))), data.combined(data.labels))
        sample = posterior(*squares.solved(ridge), precision)
        sample = hidden(sample, 1 / math.sqrt(precision * ridge), rounding.sigma)

        return self._set(sample, data.features.shape[1], self.price())


def plan(epsilon: float, delta: float, square: float, most: float, size: int) -> tuple[float, float]:
    """Ridge and precision for at most `most` records with |x|^2 <= square and |y| <= 1."""
    needed = 2 * square * (1 + math.log(2 / delta)) / epsilon
    balanced = (size * math.log(1 / delta) * square**2 * most / (2 * epsilon**2)) ** (1 / 3)
    ridge = max(needed, balanced)
    precision = largest_precision(epsilon, delta, residual(square, most, ridge), square / ridge * SLACK)
    return ridge, precision


def residual(square: float, most: float, ridge: float) -> float:
    """How far a target can be from x.theta*, theta* the ridge solution of `most` other records."""
    return (1 + 0.5 * math.sqrt(square * most / ridge)) * SLACK
