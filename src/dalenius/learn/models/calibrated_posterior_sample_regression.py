"""Linear regression by one sample from its posterior, for a ridge that is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.adaptive.regression.ops_ptr import ops_ptr
from dalenius.adaptive.regression.ridge import Squares
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.learn.data.parameters import approximate, checked_norm, constant_column
from dalenius.learn.data.rows import Rows, records, training
from dalenius.learn.data.targets import Bounds, Targets
from dalenius.learn.models.bounded_regression import BoundedRegression


class CalibratedPosteriorSampleRegression(BoundedRegression):
    """Linear regression by one sample of its posterior, as sharp as the data allow for this ridge (OPS-PTR).

    Released: one sample of N(theta*, (precision (X^T X + ridge))^-1), theta* being the ridge solution, by
    `dp.adaptive.ops_ptr` (Redberg 2023, Algorithms 14 and 15, corrected). Add/remove neighbours, ApproxDP only. If the
    ridge is too small for the promise, or the posterior too flat to be of use, the release is refused: coefficients are
    0, `refused_` is True and the price is paid. The ridge is public; `PrivateSearch` finds a good one among many, and
    pays for it.

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
    ridge
        The ridge, in units of the square of `row_norm`; public.

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    refused_
        Whether nothing could be released.
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
    >>> model = dp.learn.CalibratedPosteriorSampleRegression(dp.ApproxDP(4.0, 1e-5), target_bounds=(0, 20), ridge=50.0)
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        guarantee: Guarantee,
        *,
        target_bounds: Bounds = (-1.0, 1.0),
        row_norm: float = 1.0,
        rows: Rows = "clip",
        intercept_scale: float = 0.3,
        ridge: float = 100.0,
    ) -> None:
        super().__init__(
            guarantee,
            target_bounds=target_bounds,
            row_norm=row_norm,
            rows=rows,
            intercept_scale=intercept_scale,
        )
        self.ridge = ridge

    def _mechanism(self) -> CalibratedRelease:
        norm = checked_norm(self.row_norm)
        square = (norm**2 + constant_column(norm, self.intercept_scale) ** 2) * (1 + 1e-9)
        promise = approximate(self.guarantee, "a posterior sample")
        return ops_ptr(promise, square=square, ridge=self.ridge * norm**2)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._mechanism().loss

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        features, targets, mechanism = training(self, X), Targets(self.target_bounds), self._mechanism()
        constant = constant_column(self.row_norm, self.intercept_scale)
        labels, usable = targets.to_unit(y, len(features))
        data = records(features, labels, usable, self.row_norm, self.rows, constant)
        answer = mechanism.release(Squares(data.gram(np.ones(len(data))), data.combined(data.labels)))
        self.refused_ = isinstance(answer, Refusal)
        theta = np.zeros(data.size) if self.refused_ else answer
        return self._set(theta, features.shape[1], mechanism.loss)
