"""Intervals for the coefficients of a model that `dp.learn` fitted by objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.promise import gaussian_mu
from dalenius.infer.result import Result
from dalenius.infer.scores import ArraySource, CurveScore, NoisySums, Released, Standard

if TYPE_CHECKING:
    from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective

CURVATURE = 0.7
"""The share of mu^2 for the curvature; the rest is for the squares of the gradients."""
CLEAR = 2.0
"""The least eigenvalue of the curvature must be this many times what noise makes of nothing."""


@dataclass(frozen=True)
class ModelCoefficients:
    """What `coefficients` releases: curvature and squared gradients of a fitted model's loss, with noise.

    Parameters
    ----------
    model
        A fitted model of `dp.learn`, by objective perturbation with Gaussian noise.
    guarantee
        The promise for the two matrices.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from dalenius.infer.glm.model_coefficients import ModelCoefficients
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (rng.random(5000) < 1/(1 + np.exp(-X[:, 0]))).astype(int)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), row_norm=4.0, knee=1.0).fit(X, y)
    >>> m = ModelCoefficients(model, dp.GDP(0.5))
    >>> bool(dp.GDP(0.5).holds(m.loss))
    True
    """

    model: Any
    guarantee: Guarantee
    _fit: PerturbedObjective = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_fit", _perturbed(self.model))
        _ = self._mu

    @cached_property
    def _mu(self) -> float:
        return gaussian_mu(self.guarantee, "an interval for a fitted model")

    @property
    def loss(self) -> Loss:
        """What the matrices cost; the fit itself has cost `model.loss_`."""
        return losses.gaussian(1 / self._mu)

    def release(self, X: Any, y: Any) -> Result:
        """The coefficients, freed from the ridge, with their intervals.

        Parameters
        ----------
        X, y
            The records that the model was fitted to.

        Returns
        -------
        Result
            One estimate for each feature, and the constant last.

        Raises
        ------
        InvalidParameter
            If X or y are not of the shape that the model was fitted to.
        """
        from dalenius.learn.models.sharper_report import prepared

        fit, model = self._fit, self.model
        rows, labels = prepared(fit, X, y)
        reach = math.hypot(fit.fields.row_norm, fit.fields.constant) * (1 + 1e-9)
        size = len(fit.theta)
        standard = Standard(np.zeros(size), np.ones(size), 0.0, reach)
        sums = NoisySums(ArraySource(rows, labels).rows(standard))
        matrices = sums.release(
            np.array(fit.theta),
            CurveScore(model._curve()),
            bend_mu=self._mu * math.sqrt(CURVATURE),
            square_mu=self._mu * math.sqrt(1 - CURVATURE) * (1 - 1e-12),
        )
        names = [*fit.fields.features, *(["const"] if fit.fields.constant else [])]
        back, shift = self._units()
        method = "objective perturbation, freed from its ridge"
        notes = [
            f"The intervals cost {self.guarantee}; the model itself has cost {model.guarantee}.",
            *_estimand(model),
        ]
        solved = debiased(matrices, fit.ridge, fit.scale)
        if isinstance(solved, str):
            params = back @ np.array(fit.theta) + shift
            return Result(names, params, loss=self.loss, method=method, reason=solved, notes=notes)
        theta, covariance = solved
        return Result(
            names,
            back @ theta + shift,
            loss=self.loss,
            method=method,
            covariance=back @ covariance @ back.T,
            notes=notes,
        )

    def _units(self) -> tuple[Reals, Reals]:
        """(A, b): A theta + b are the coefficients of the model."""
        fit, middle, spread = self._fit, 0.0, 1.0
        if fit.fields.labels.kind == "targets":
            from dalenius.learn.data.targets import Targets

            targets = Targets(self.model.target_bounds)
            middle, spread = targets.middle, targets.spread
        back, shift = np.full(len(fit.theta), spread), np.zeros(len(fit.theta))
        if fit.fields.constant:
            back[-1] *= fit.fields.constant
            shift[-1] = middle
        return np.diag(back), shift


def debiased(matrices: Released, ridge: float, sigma: float) -> tuple[Reals, Reals] | str:
    """theta without the pull of the ridge, and its covariance; or why there is none.

    The fit solves G(theta) + ridge theta + b = 0, G being the sum of gradients and b ~ N(0, sigma^2 I). Near the truth
    t, G(theta) = G(t) + H (theta - t), so that theta + H^-1 ridge theta = t - H^-1 (G(t) + b): its covariance is
    H^-1 (Q + sigma^2 I) H^-1, with Q that of G(t). The noise E of the released H moves it by H^-1 E v,
    v = H^-1 ridge theta, and E v has covariance bend_sd^2 (|v|^2 I + v v^T).
    """
    size = len(matrices.theta)
    values, vectors = np.linalg.eigh(matrices.bend)
    noise = 2 * math.sqrt(size) * matrices.bend_sd
    if values[0] < CLEAR * noise or values[0] < ridge:
        return (
            "the curvature of the loss cannot be told from noise, or from the ridge, in some direction; it can with a "
            "larger guarantee here, more rows, or columns of like sizes and a row_norm= that most rows come near to."
        )
    inverse = (vectors / values) @ vectors.T
    v = inverse @ (ridge * matrices.theta)
    floor = matrices.square_sd
    least, axes = np.linalg.eigh(matrices.square)
    squares = (axes * np.maximum(least, floor)) @ axes.T
    wobble = matrices.bend_sd**2 * (float(v @ v) * np.eye(size) + np.outer(v, v))
    covariance = inverse @ (squares + sigma**2 * np.eye(size) + wobble) @ inverse
    return matrices.theta + v, (covariance + covariance.T) / 2


def coefficients(model: Any, X: Any, y: Any, guarantee: Guarantee) -> Result:
    """Intervals for the coefficients of a model that `dp.learn` fitted by objective perturbation.

    The fit minimises the loss of the records plus a ridge plus b.theta with b ~ N(0, sigma^2 I): given the records, the
    law of its coefficients is known but for two matrices, the curvature and the squared gradients of the loss. Both
    are released here, at the cost of `guarantee`. The pull of the ridge is taken back by one step of Newton's method.

    Parameters
    ----------
    model
        A fitted `LogisticRegression`, `HuberRegression`, `PoissonRegression` or `LinearSVC`, by objective perturbation
        with Gaussian noise (any promise with a delta).
    X, y
        The records that it was fitted to.
    guarantee
        The promise for this release; `model.guarantee` was for the fit.

    Returns
    -------
    Result
        One estimate for each feature, and the constant last. Its notes say what is estimated: a clipped slope
        (`knee` below 1) estimates something else than the logistic model's coefficients.

    Raises
    ------
    InvalidParameter
        If the model is not fitted, or not by objective perturbation with Gaussian noise.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = (rng.random(20_000) < 1/(1 + np.exp(-X[:, 0]))).astype(int)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), row_norm=4.0, knee=1.0).fit(X, y)
    >>> fit = dp.infer.coefficients(model, X, y, dp.GDP(0.5))
    >>> fit.names, bool(abs(fit.params[0] - 1) < 0.3), fit.interval_available
    (('x1', 'x2', 'const'), True, True)
    """
    return ModelCoefficients(model, guarantee).release(X, y)


def _perturbed(model: Any) -> PerturbedObjective:
    if not hasattr(model, "privacy_report_") or not hasattr(model, "_curve"):
        raise InvalidParameter.of(
            "model", "model must be a fitted linear model of dp.learn, such as dp.learn.LogisticRegression."
        )
    from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective

    (fit,) = model.privacy_report_.releases
    if not isinstance(fit, PerturbedObjective) or fit.noise != "gaussian":
        raise InvalidParameter.of(
            "model",
            "intervals are for fits by objective perturbation with Gaussian noise, outside of a session; fit with "
            "method='objective' and a promise that has a delta, or use dp.infer.logistic_regression.",
        )
    return fit


def _estimand(model: Any) -> list[str]:
    """What the model estimates, where it is not what its name says."""
    notes = []
    curve = model._curve()
    kind = type(curve).__name__
    if kind == "Weighted":
        notes.append(
            "Classes have weights: estimated is the minimiser of the weighted loss, which is that of a population in "
            "which each class is as many times as frequent."
        )
        curve = curve.curve
        kind = type(curve).__name__
    if kind == "Logistic" and curve.knee < 1:
        notes.append(
            f"Slopes are clipped to {curve.knee:g}: estimated is the minimiser of the clipped loss, not the "
            "coefficients of the logistic model (for those, fit with knee=1)."
        )
    if kind == "ClippedPoisson":
        notes.append(
            "Slopes are clipped: estimated is the minimiser of the clipped loss, not the coefficients of the Poisson "
            "model (for those, use dp.infer.poisson_regression)."
        )
    if kind == "HuberHinge":
        notes.append(
            "Estimated is the minimiser of the expected hinge loss; no model of probabilities belongs to it."
        )
    notes.append(
        f"Rows longer than row_norm = {model.row_norm:g} were shortened"
        if model.rows == "clip"
        else f"All rows were brought to the norm {model.row_norm:g}"
    )
    notes[-1] += ": the coefficients are those for the rows as the fit saw them."
    return notes
