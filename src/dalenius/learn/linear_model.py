"""What the private linear models share: the constructor's manners, rows, intercept, prediction."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal, Protocol, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from dalenius.calculus.guarantees import GDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn.curves import Curve, Reals
from dalenius.learn.descent import Descent, NoisyDescent
from dalenius.learn.noisy_newton import NoisyNewton
from dalenius.learn.objective_perturbation import ObjectivePerturbation
from dalenius.learn.output_perturbation import OutputPerturbation
from dalenius.learn.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.learn.rows import Records, Rows, checked_norm, factors, matrix, records

Named = Literal["auto", "objective", "kifer", "descent", "output"]
Method = Named | Descent


class Plan(Protocol):
    """How a model is fitted and what that costs, settled before the data is looked at."""

    @property
    def loss(self) -> Loss: ...

    def fit(self, records: Records, curve: Curve) -> Reals: ...


class LinearModel(BaseEstimator):  # type: ignore[misc]
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
            self.method,
        )

    def price(self) -> Loss:
        """What a fit will cost, whatever the data: `loss_` before it has happened."""
        return self._plan().loss

    def _fitted(self, features: Any, labels: Reals, usable: Reals) -> Reals:
        """theta for prepared labels; rows with labels or features that cannot be used count as absent."""
        chosen = self._plan()
        constant = self.intercept_scale * self.row_norm
        theta = chosen.fit(
            records(features, labels, usable, self.row_norm, self.rows, constant), self._curve()
        )
        self.loss_, self.plan_ = chosen.loss, chosen
        self.n_features_in_ = features.shape[1]
        return theta

    def _split(self, theta: Reals) -> tuple[Reals, float]:
        if self.intercept_scale > 0:
            return theta[:-1], float(theta[-1]) * self.intercept_scale * self.row_norm
        return theta, 0.0

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
        found = (x @ np.ravel(model.coef_)) * scale
    odd = ~np.isfinite(found)
    found[odd] = (x[odd] * scale[odd, None]) @ np.ravel(model.coef_)
    return np.asarray(found + np.ravel(model.intercept_)[0])


def checked_guarantee(guarantee: object) -> Guarantee:
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            f"guarantee is {guarantee!r}; it must be a promise such as dalenius.ApproxDP(1.0, 1e-5)."
        )
    return guarantee


@lru_cache(maxsize=64)
def plan(
    guarantee: Guarantee, gradient_bound: float, smoothness: float, noise_ratio: float, method: Method
) -> Plan:
    """The method for a promise, calibrated: objective perturbation wherever it can keep it.

    PureDP: with K-norm noise. GDP, and whatever else a perturbed objective cannot keep: noisy descent.
    """
    if isinstance(method, Descent):
        return NoisyDescent.calibrated(guarantee, gradient_bound, **asdict(method))
    if method not in get_args(Named):
        raise InvalidParameter(
            f"method is {method!r}; it must be 'auto', 'objective', 'kifer', 'descent' or 'output', or "
            "dp.learn.Descent(...)."
        )
    if method == "kifer":
        return ObjectivePerturbation.kifer(guarantee, gradient_bound, smoothness)
    if method == "output":
        return OutputPerturbation.calibrated(guarantee, gradient_bound, smoothness)
    if method != "descent":
        if guarantee.as_pure() is not None:
            return PureObjectivePerturbation.calibrated(guarantee, gradient_bound, smoothness, noise_ratio)
        if method == "objective" or not isinstance(guarantee, GDP):
            try:
                return ObjectivePerturbation.calibrated(guarantee, gradient_bound, smoothness, noise_ratio)
            except CannotMeet:
                if method == "objective":
                    raise
    return NoisyNewton.calibrated(guarantee, gradient_bound)
