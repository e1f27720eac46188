"""What regressions with targets in public bounds share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import RegressorMixin

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records, training
from dalenius.learn.data.targets import Bounds, Targets
from dalenius.learn.models.row_model import RowModel


@dataclass(eq=False, repr=False, kw_only=True)
class BoundedRegression(RegressorMixin, RowModel):  # type: ignore[misc]
    """Targets are clipped to `target_bounds` and moved to [-1, 1]."""

    target_bounds: Bounds = (-1.0, 1.0)

    def _data(self, X: Any, y: Any) -> Records:
        """The records of a fit."""
        return self._prepared(training(self, X), y)

    def _prepared(self, features: Reals, y: Any) -> Records:
        return self._records(features, *Targets(self.target_bounds).to_unit(y, len(features)))

    def _set(self, theta: Reals, columns: int, loss: Loss) -> Any:
        """Take over what was released, in the units of the target."""
        targets = Targets(self.target_bounds)
        weights, intercept = self._split(theta)
        self.coef_, self.intercept_ = targets.spread * weights, targets.middle + targets.spread * intercept
        self.loss_, self.n_features_in_ = loss, columns
        return self

    def predict(self, X: Any) -> Reals:
        """x.coef + intercept."""
        return self._scores(X)
