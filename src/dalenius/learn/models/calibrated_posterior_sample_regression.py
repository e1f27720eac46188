"""Linear regression by one sample from its posterior, for a ridge that is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.adaptive.regression.ops_ptr import ops_ptr
from dalenius.adaptive.regression.ridge import Squares
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.learn.data.parameters import approximate
from dalenius.learn.models.bounded_regression import BoundedRegression


@dataclass(eq=False, repr=False, kw_only=True)
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
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
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

    ridge: float = 100.0

    def _mechanism(self) -> CalibratedRelease:
        square = (self._norm**2 + self._constant**2) * (1 + 1e-9)
        promise = approximate(self.guarantee, "a posterior sample")
        return ops_ptr(promise, square=square, ridge=checks.positive("ridge", self.ridge) * self._norm**2)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._mechanism().loss

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        data, mechanism = self._data(X, y), self._mechanism()
        answer = mechanism.release(Squares(data.gram(np.ones(len(data))), data.combined(data.labels)))
        theta = np.zeros(data.size) if isinstance(answer, Refusal) else answer
        return self._set(theta, data.features.shape[1], mechanism.loss)

    @property
    def refused_(self) -> bool:
        """Whether nothing could be released: a sample is never 0 in all its coefficients."""
        return not np.any(self.coef_)
