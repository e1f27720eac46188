"""Linear regression by one sample from its posterior, as sharp as the data allow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.guarantee import after_statement
from dalenius.adaptive.regression.posterior_sample import (
    hidden,
    largest_precision,
    least_noise,
    posterior,
)
from dalenius.adaptive.regression.ridge import RidgeBounds, Squares
from dalenius.calculus import losses
from dalenius.calculus.guarantees import ApproxDP
from dalenius.calculus.loss import Loss
from dalenius.learn.data.parameters import approximate
from dalenius.learn.models.bounded_regression import BoundedRegression


class AdaptivePosteriorSampleRegression(BoundedRegression):
    """Linear regression by one sample of its posterior, as sharp as the data allow (AdaOPS, Wang 2018).

    Released: one sample of N(theta*, (precision (X^T X + ridge))^-1), theta* being the ridge solution (Redberg 2023,
    Algorithm 14). Add/remove neighbours, ApproxDP only. A quarter of epsilon releases the smallest eigenvalue of X^T
    X, from which the ridge follows; a quarter log(1 + R |theta*|), which bounds residuals; half buys the sample, its
    precision the largest allowed by the exact profile of the two posteriors (docs/proofs/posterior-sample.md) instead
    of the printed bound, whose constant is too small to be private. Both releases are moved to the safe side by a
    normal quantile; delta pays for the chance that this was not enough.

    Targets and rows are treated as in `LinearRegression`, which is usually more accurate; kept for comparison.

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
    >>> model = dp.learn.AdaptivePosteriorSampleRegression(dp.ApproxDP(4.0, 1e-5), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def _shares(self) -> tuple[ApproxDP, float, float]:
        """The promise of each of the two releases, and epsilon and delta of the sample."""
        promise = approximate(self.guarantee, "a posterior sample")
        delta = promise.delta / 6 * (1 - 1e-6)
        return ApproxDP(promise.epsilon / 4, delta), 0.49 * promise.epsilon, delta

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        part, epsilon, delta = self._shares()
        release = least_noise(part).loss
        rounding = least_noise(ApproxDP(0.01 * epsilon / 0.49, delta)).loss
        return after_statement(release * 2, 2 * delta, losses.approx(epsilon, delta) + rounding)

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        part, epsilon, delta = self._shares()
        data = self._data(X, y)
        square = (self._norm**2 + self._constant**2) * (1 + 1e-9)
        squares = Squares(data.gram(np.ones(len(data))), data.combined(data.labels))

        bounds = RidgeBounds(square, part, delta)
        least = bounds.eigenvalue(squares)
        ridge = max(0.0, 2 * square * (1 + math.log(2 / delta)) / epsilon - least) + square
        leverage = square / (least + ridge)
        residual = bounds.residual(squares, ridge, leverage)

        precision = largest_precision(epsilon, delta, residual, leverage)
        deviation = 1 / math.sqrt(precision * (least + ridge))
        hide = least_noise(ApproxDP(0.01 * epsilon / 0.49, delta)).sigma
        sample = hidden(posterior(*squares.solved(ridge), precision), deviation, hide)

        return self._set(sample, data.features.shape[1], self.price())
