"""What regressions that release theta itself share: targets in public bounds, the constant column, prediction."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.parameters import constant_column
from dalenius.learn.data.rows import Rows
from dalenius.learn.data.targets import Bounds, Targets
from dalenius.learn.models.linear_model import linear_scores
from dalenius.learn.models.reported import Reported


class BoundedRegression(RegressorMixin, Reported, BaseEstimator):  # type: ignore[misc]
    """Targets are clipped to `target_bounds` and moved to [-1, 1]; a constant column is the last one, if any."""

    def __init__(
        self,
        guarantee: Guarantee,
        *,
        target_bounds: Bounds = (-1.0, 1.0),
        row_norm: float = 1.0,
        rows: Rows = "clip",
        intercept_scale: float = 0.3,
    ) -> None:
        self.guarantee = guarantee
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.rows = rows
        self.intercept_scale = intercept_scale

    def _set(self, theta: Reals, columns: int, loss: Loss) -> Any:
        """Take over what was released, in the units of the target."""
        targets = Targets(self.target_bounds)
        constant = constant_column(self.row_norm, self.intercept_scale)
        intercept = float(theta[-1]) * constant if constant else 0.0
        self.coef_ = targets.spread * (theta[:-1] if constant else theta)
        self.intercept_ = targets.middle + targets.spread * intercept
        self.loss_, self.n_features_in_ = loss, columns
        return self

    def predict(self, X: Any) -> Reals:
        """x.coef + intercept."""
        check_is_fitted(self)
        return linear_scores(self, X, self.row_norm, self.rows)
