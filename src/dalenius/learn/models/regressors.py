"""Private regression by objective perturbation (or noisy gradient descent)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.parameters import moderate
from dalenius.learn.data.rows import RecordBlocks, Records, training
from dalenius.learn.data.targets import numbers
from dalenius.learn.models.bounded_regression import BoundedRegression
from dalenius.learn.models.linear_model import LinearModel
from dalenius.sums.curves import ClippedPoisson, Curve, Huber


@dataclass(eq=False, repr=False, kw_only=True)
class HuberRegression(BoundedRegression, LinearModel):
    """Linear regression with the Huber loss: squares up to `knee`, straight lines beyond. Add/remove neighbours.

    Targets are clipped to the public `target_bounds` and moved to [-1, 1]; `knee` is in those units, and is the
    largest slope of one record (the gradient clipping of Song et al. 2020 is exactly this loss). The rest is as
    in `LogisticRegression`: rows of norm `row_norm` at most, a constant column, noise and ridge from the guarantee.
    `coef_` and `intercept_` are in the units of the target.

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
    noise_ratio
        The noise in the objective, in units of what the Gaussian mechanism needs: more noise needs less ridge.
    method
        'auto', 'objective', 'kifer', 'descent' or 'output', or a `Descent`.
    target_bounds
        The least and the largest target; public.
    knee
        The largest slope of one record's loss.

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
    >>> model = dp.learn.HuberRegression(dp.ApproxDP(1.0, 1e-5), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    knee: float = 0.5

    def _curve(self) -> Curve:
        return Huber(moderate("knee", self.knee))

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        data = self._data(X, y)
        return self._fit_records(data, data.features.shape[1])

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        theta = self._fitted(data, columns)
        return self._set(theta, columns, self.loss_)


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonRegression(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Poisson regression of counts, E[y] = exp(x.coef + intercept), by objective perturbation. Add/remove neighbours.

    Counts are clipped to [0, most]; the slope e^u - y of one record is clipped to [-knee, knee] (default: `most`),
    which leaves a convex loss with f'' <= most + knee. Counts that are negative or not numbers make a row absent.

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
    noise_ratio
        The noise in the objective, in units of what the Gaussian mechanism needs: more noise needs less ridge.
    method
        'auto', 'objective', 'kifer', 'descent' or 'output', or a `Descent`.
    most
        The largest count; public.
    knee
        The largest slope of one record's loss; `most` for None.

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
    >>> X = rng.uniform(-1, 1, size=(20_000, 1)); y = rng.poisson(np.exp(0.5 + X[:, 0]))
    >>> model = dp.learn.PoissonRegression(dp.ApproxDP(2.0, 1e-5), most=10).fit(X, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.3)
    True
    """

    intercept_scale: float = 1.0
    most: float = 10.0
    knee: float | None = None

    def _curve(self) -> Curve:
        most = moderate("most", self.most)
        # Below that the slope e^u - y, which cancels, would be known to few digits only.
        return ClippedPoisson(most, most if self.knee is None else moderate("knee", self.knee, 1e-3 * most))

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and counts y; the cost is `loss_`, whatever the data."""
        features = training(self, X)
        return self._fit_records(self._prepared(features, y), features.shape[1])

    def _prepared(self, features: Reals, y: Any) -> Records:
        most, counts = checks.positive("most", self.most), numbers(y, len(features))
        usable = np.isfinite(counts) & (counts >= 0)
        counts = np.clip(np.where(usable, counts, 0.0), 0.0, most)
        return self._records(features, counts, usable)

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        self.coef_, self.intercept_ = self._split(self._fitted(data, columns))
        return self

    def predict(self, X: Any) -> Reals:
        """exp(x.coef + intercept)."""
        return np.asarray(np.exp(np.minimum(self._scores(X), 700.0)))
