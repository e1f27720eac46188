"""What the private linear models share: the constructor's manners, rows, intercept, prediction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee, checked_norm, constant_column
from dalenius.learn.data.rows import Rows, factors, matrix, records
from dalenius.learn.methods.plan import Method, Plan, checked_method, plan
from dalenius.learn.models.reported import Reported
from dalenius.learn.numerics.curves import Curve


class LinearModel(Reported, BaseEstimator):  # type: ignore[misc]
    """A GLM fitted privately; subclasses say which curve and what the labels mean."""

    guarantee: Guarantee
    row_norm: float
    rows: Rows
    intercept_scale: float
    noise_ratio: float
    method: Method
    loss_: Loss
    coef_: Reals
    intercept_: Any

    def _curve(self) -> Curve:
        raise NotImplementedError

    def _plan(self) -> Plan:
        norm = checked_norm(self.row_norm)
        scale = checks.nonnegative("intercept_scale", self.intercept_scale)
        square, curve = norm**2 * (1 + scale**2) * (1 + 1e-12), self._curve()
        return plan(
            checked_guarantee(self.guarantee),
            curve.steepest * math.sqrt(square),
            curve.sharpest * square,
            checks.positive("noise_ratio", self.noise_ratio),
            checked_method(self.method),
        )

    def price(self) -> Loss:
        """What a fit will cost, whatever the data: `loss_` before it has happened."""
        return self._plan().loss

    def _fitted(self, features: Any, labels: Reals, usable: Reals) -> Reals:
        """theta for prepared labels; rows with labels or features that cannot be used count as absent."""
        chosen = self._plan()
        constant = constant_column(self.row_norm, self.intercept_scale)
        theta = chosen.fit(
            records(features, labels, usable, self.row_norm, self.rows, constant), self._curve()
        )
        self.loss_, self.plan_ = chosen.loss, chosen
        self.n_features_in_ = features.shape[1]
        return theta

    def _split(self, theta: Reals) -> tuple[Reals, float]:
        constant = constant_column(self.row_norm, self.intercept_scale)
        return (theta[:-1], float(theta[-1]) * constant) if constant else (theta, 0.0)

    def _scores(self, values: Any) -> Reals:
        check_is_fitted(self)
        return linear_scores(self, values, self.row_norm, self.rows)


def linear_scores(model: Any, values: Any, norm: float, how: Rows) -> Reals:
    """x.coef + intercept of the rows, brought to their norm as in the fit."""
    _check_feature_names(model, values, reset=False)
    x = matrix(values, model.n_features_in_, type(model).__name__)
    if not np.isfinite(x).all():
        raise InvalidParameter("X holds NaN or infinity; a prediction needs finite numbers in every column.")
    scale = factors(x, norm, how)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = (x @ np.ravel(model.coef_)) * scale
    odd = ~np.isfinite(scores)
    scores[odd] = (x[odd] * scale[odd, None]) @ np.ravel(model.coef_)
    return np.asarray(scores + np.ravel(model.intercept_)[0])
