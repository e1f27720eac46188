"""`privacy_report_` of a fitted model: what the fit cost one person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dalenius.adaptive import DataDependentReport, PrivacyReport
from dalenius.adaptive.personal.noisy_statistics import NoisyStatistics as StatisticsRelease
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.record import Fields, Labels
from dalenius.adaptive.personal.release import Release
from dalenius.adaptive.personal.slopes import Slope
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.calculus.guarantees import Guarantee
from dalenius.learn.data.parameters import constant_column
from dalenius.learn.data.targets import Targets
from dalenius.learn.methods.noisy_statistics import GRID_BITS, NoisyStatistics
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.sums.curves import ClippedPoisson, Curve, Huber, HuberHinge, Logistic, Weighted


class Reported:
    """An estimator whose fit can be asked what it cost one person."""

    @property
    def privacy_report_(self) -> PrivacyReport:
        """What the fit cost one person, for anybody to evaluate: `privacy_report_.epsilon(x, y)`.

        Of a session's fit, where a person has several rows or is replaced by another, it is the worst case; the
        session's own `privacy_report` knows better.
        """
        check_is_fitted(self, "loss_")
        model: Any = self
        if model.loss_ != model.price():  # paid for more than one record, added or removed
            return PrivacyReport([WorstCase(model.loss_, type(self).__name__)])
        return PrivacyReport([release_of(self)])

    def sharper_report(self, X: Any, y: Any, promise: Guarantee) -> DataDependentReport:
        """A report that knows the Hessian of the records it was fitted to, released under a promise of its own.

        That is a further release, at the cost of `promise`, for fits by objective perturbation with Gaussian noise.
        """
        from dalenius.learn.models.sharper_report import sharper_report

        return sharper_report(self, X, y, promise)


def release_of(
    model: Any,
    features: Sequence[str] | None = None,
    target: str = "y",
    bounds: Sequence[tuple[float, float]] | None = None,
    rows: int = 1,
    row_rounding: float = 0.0,
    label_rounding: float = 0.0,
    columns: tuple[tuple[str, tuple[Any, ...] | None], ...] | None = None,
) -> Release:
    """The fit as a release: by objective perturbation, or from noisy statistics; of another kind, the worst case.

    features, target: what a person is asked for. bounds: those of the features, where they were mapped to [-1,
    1]/sqrt(d) before the fit. rows: how many rows of the data one person may have. row_rounding, label_rounding: how
    far rows and labels may have been moved before the fit. columns: where some features are categories (`Fields`).
    """
    plan = model._plan() if hasattr(model, "_plan") else None
    if not isinstance(plan, ObjectivePerturbation | PureObjectivePerturbation | NoisyStatistics):
        return WorstCase(model.loss_, type(model).__name__)
    constant = constant_column(model.row_norm, model.intercept_scale)
    named = features or getattr(model, "feature_names_in_", None)
    if named is None:
        named = [f"x{n + 1}" for n in range(model.n_features_in_)]
    fields = Fields(
        tuple(str(name) for name in named),
        target,
        _labels(model),
        float(model.row_norm),
        model.rows == "normalize",
        constant,
        None if bounds is None else tuple((float(low), float(high)) for low, high in bounds),
        columns,
    )
    if isinstance(plan, NoisyStatistics):
        gram, product = plan.noise(fields.size)
        row, label = (
            plan.step * math.sqrt(fields.size) / 2 + row_rounding,
            2.0 ** -(GRID_BITS + 1) + label_rounding,
        )
        return StatisticsRelease(fields, gram, product, plan.row_bound, row, label, rows)
    middle, spread = 0.0, 1.0
    if fields.labels.kind == "targets":
        targets = Targets(model.target_bounds)
        middle, spread = targets.middle, targets.spread
    theta = (np.ravel(model.coef_) / spread).tolist()
    if constant:
        theta.append((float(np.ravel(model.intercept_)[0]) - middle) / spread / constant)
    if isinstance(plan, ObjectivePerturbation):
        noise, scale, output = "gaussian", plan.sigma, plan.output_sigma
    else:
        noise, scale, output = "k_norm", plan.scale, plan.output_scale
    return PerturbedObjective(
        fields,
        _slope(model._curve()),
        tuple(theta),
        noise,  # type: ignore[arg-type]
        scale,
        plan.ridge,
        plan.gradient_bound,
        plan.smoothness,
        plan.tolerance,
        output,
        1e-15 * abs(middle) / spread / constant if constant else 0.0,
        row_rounding,
        label_rounding,
        rows,
    )


def _labels(model: Any) -> Labels:
    if hasattr(model, "classes"):
        negative, positive = model.classes
        return Labels("classes", (negative, positive))
    if hasattr(model, "most"):
        return Labels("counts", (0.0, float(model.most)))
    low, high = model.target_bounds
    return Labels("targets", (float(low), float(high)))


def _slope(curve: Curve) -> Slope:
    match curve:
        case Logistic():
            return Slope("logistic", curve.knee)
        case Huber():
            return Slope("huber", curve.knee)
        case ClippedPoisson():
            return Slope("clipped_poisson", curve.knee)
        case HuberHinge():
            return Slope("huber_hinge", curve.width)
        case Weighted(positive=1, weights=(negative, positive)):
            return replace(_slope(curve.curve), weights=(negative, positive))
    raise AssertionError(curve)
