"""Robust linear regression under differential privacy, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer import magnitudes
from dalenius.infer.regression.methods import METHODS
from dalenius.infer.regression.plan import Facts, plan
from dalenius.infer.regression.reach import FLAT, PROBE, Probe, Weights
from dalenius.infer.regression.settings import Numbers, Regression
from dalenius.infer.result import Result
from dalenius.infer.scores.averaged_newton import averaged_steps
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_sums import NoisySums
from dalenius.infer.scores.residual_scale import FAR, ResidualScale
from dalenius.infer.scores.sandwich import Fit
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Source, Standard
from dalenius.infer.scores.standardise import looks, standardise
from dalenius.sums.curves import Huber, PseudoHuber

CURVES: dict[str, type[Huber] | type[PseudoHuber]] = {"huber": Huber, "pseudo_huber": PseudoHuber}
EARLY_STEPS = (0.2, 0.3, 0.5)
HEAVY = 0.01
"""The share of far residuals from which on tails are called heavy."""
TOO_FEW = (
    "too few rows for this promise and so many coefficients, as can be said beforehand; use more rows, "
    "fewer columns, a weaker promise or a shorter reach=, or name public scales (x_scale=, y_scale=, scale=)."
)
NOT_CLEAR = (
    "the released curvature does not stand out of its noise, because columns nearly depend on each other "
    "or their scales are far off; use fewer columns, a shorter reach= or better x_center= and x_scale=."
)
NOT_SETTLED = (
    "the last step was longer than its noise, so the estimate is still on its way, because the errors are "
    "tiny beside the responses; use more rows or a weaker promise, or name a public y_center= and y_scale= (or scale=)."
)


@dataclass(frozen=True, kw_only=True)
class LinearRegression(Regression):
    """The settings of `linear_regression`, its cost, and its release; see there.

    Parameters
    ----------
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    reach
        How far from the centre rows weigh in full, in multiples of the usual distance; the longest up to 3 that the
        number of rows and the promise can pay for, if left out; with the published methods 1.
    loss_name
        "huber" or "pseudo_huber".
    method
        "averaged_newton", "descent", "newton" or "damped_newton".
    knee
        Where the loss becomes a straight line, in standard deviations of the errors.
    scale
        The errors' standard deviation, if it is public.
    y_center, y_scale
        A typical value and deviation of the response, if public.
    y_bounds
        (lowest, highest) of the response, as a guide to find them.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> from dalenius.infer import LinearRegression
    >>> model = LinearRegression(guarantee=dp.GDP(1.0), x_center=0.0, x_scale=1.0)
    >>> round(model.loss.epsilon(delta=1e-6), 2)
    4.89
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model.release(X, X @ [1.0, -1.0]).names
    ('x1', 'x2', 'const')
    """

    loss_name: Literal["huber", "pseudo_huber"] = "huber"
    method: str = "averaged_newton"
    knee: float = 1.345
    scale: float | None = None
    y_center: float | None = None
    y_scale: float | None = None
    y_bounds: tuple[float, float] | None = None
    word = "robust linear regression"

    def __post_init__(self) -> None:
        checks.one_of("loss", self.loss_name, *CURVES)
        checks.one_of("method", self.method, *METHODS)
        object.__setattr__(self, "knee", magnitudes.scale("knee", self.knee))
        self._check_response()
        super().__post_init__()

    @property
    def response_bounds(self) -> tuple[float, float] | None:
        return self.y_bounds

    def informed(self, bounds: Sequence[tuple[float, float]], y_bounds: tuple[float, float]) -> Self:
        told = super().informed(bounds, y_bounds)
        return replace(told, y_bounds=y_bounds) if self.y_bounds is None else told

    def release_from(self, source: Source, names: Sequence[str], rows: int | None = None) -> Result:
        return Fitting(self, source, rows).result(names)


class Fitting:
    """One release, stage by stage; each stage sees what earlier ones released and nothing else."""

    def __init__(self, model: LinearRegression, source: Source, rows: int | None = None) -> None:
        self.model, self.source, self.adjacency = model, source, model.adjacency
        public = model.public_columns(source.columns)
        self.size = source.columns + bool(model.intercept)
        self.count, self.mu = model.counted(source, rows)
        private = ([] if public is not None else list(range(source.columns))) + (
            [] if model.y_scale is not None else [source.columns]
        )
        self._limits: list[tuple[float, float] | None] = (
            [None] * source.columns if model.bounds is None else list(model.bounds)
        )
        self._limits.append(model.y_bounds)
        facts = Facts(
            self.count,
            self.mu,
            self.size,
            self.adjacency,
            columns=len(private),
            looks=looks([self._limits[j] for j in private]),
            scale_known=model.scale is not None,
            knee=model.knee,
        )
        self.reach = model.reach or (facts.reach() if model.method == "averaged_newton" else 1.0)
        self.plan = plan(facts, Weights.of(self.reach, self.size))
        self.standard = self._standard(public, private)
        if self.reach > 1 and model.reach is None:
            probe = Probe.of(source, self.standard, self._share(PROBE), self.adjacency, self.count)
            facts = replace(facts, probe=probe)
            self.reach = facts.reach()
            self.plan = plan(facts, Weights.of(self.reach, self.size))
        self.standard = replace(self.standard, reach=self.reach * self.standard.reach)

    def _standard(self, public: tuple[Reals, Reals] | None, private: list[int]) -> Standard:
        model, columns = self.model, self.source.columns
        pairs = dict[int, tuple[float, float]]()
        if private:
            found = standardise(
                self.source,
                private,
                [self._limits[j] for j in private],
                self._share(self.plan.standardise),
                self.adjacency,
            )
            pairs = dict(zip(private, found, strict=True))
        if public is None:
            public = (
                np.array([pairs[j][0] for j in range(columns)]),
                np.array([pairs[j][1] for j in range(columns)]),
            )
        response = pairs.get(columns, (model.y_center or 0.0, model.y_scale or 1.0))
        return model.standard(*public, *response)

    def _share(self, share: float) -> float:
        return self.mu * math.sqrt(share)

    def _curve(self, scale: float) -> CurveScore:
        return CurveScore(CURVES[self.model.loss_name](self.model.knee * scale))

    def fit(self) -> tuple[Fit, ResidualScale]:
        """Far steps with the scale of the responses, the scale of residuals, then the steps that count."""
        plan, sums = self.plan, NoisySums(self.source.rows(self.standard), self.adjacency)
        near = np.zeros(self.size)
        bend = sums.release(near, FLAT, bend_mu=self._share(plan.first_bend))
        inverse = Curvature(bend.bend, bend.bend_sd).inverse
        each = self._share(plan.first_steps / plan.rounds)
        for _ in range(plan.rounds):
            residuals = sums.residual_scale(near, self._share(plan.first_scale))
            near = averaged_steps(sums, self._curve(residuals.scale), near, inverse, each, EARLY_STEPS)
        if self.model.scale is not None:
            residuals = ResidualScale(self.model.scale / self.standard.y_scale, 0.0)
        else:
            residuals = sums.residual_scale(near, self._share(plan.scale))
        method, _ = METHODS[self.model.method]
        return method(sums, self._curve(residuals.scale), near, self.mu, plan.main, self.count), residuals

    def result(self, names: Sequence[str]) -> Result:
        fit, residuals = self.fit()
        back, shift = self.standard.original()
        coefficients, covariance, degrees = fit.of(back)
        unclear = NOT_CLEAR if fit.settled else NOT_SETTLED
        reason = TOO_FEW if not self.plan.feasible else "" if fit.clear else unclear
        words = self.model.loss_name.replace("_", "-")
        return Result(
            [*names, "const"] if self.model.intercept else list(names),
            coefficients + shift,
            loss=self.model.loss,
            method=f"{self.model.word} ({words}), {METHODS[self.model.method][1]}",
            covariance=None if reason else covariance,
            df=None if reason else degrees,
            reason=reason,
            nobs=self.count,
            nobs_noisy=self.adjacency is ADD_REMOVE,
            notes=self._notes(residuals),
        )

    def _notes(self, residuals: ResidualScale) -> list[str]:
        """What is estimated, in words."""
        knee = self.model.knee * residuals.scale * self.standard.y_scale
        notes = [
            f"Residuals beyond {knee:.4g} and rows more than {self.reach:g} times as far from the centre as usual ones "
            "weigh less. Where the relation is not a straight line, or errors are skewed, the coefficients are not "
            "those of least squares; a larger knee= comes nearer to them."
        ]
        if residuals.far > HEAVY:
            notes.append(
                f"At least {100 * residuals.far:.0f} % of the residuals are longer than {FAR:g} times their scale, "
                "as 0.3 % of normal ones are: least squares would hang on these, and may well give another line."
            )
        return notes


def linear_regression(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    adjacency: Adjacency = ADD_REMOVE,
    intercept: bool = True,
    loss: Literal["huber", "pseudo_huber"] = "huber",
    method: Literal["averaged_newton", "descent", "newton", "damped_newton"] = "averaged_newton",
    knee: float = 1.345,
    scale: float | None = None,
    x_center: Numbers | None = None,
    x_scale: Numbers | None = None,
    y_center: float | None = None,
    y_scale: float | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    y_bounds: tuple[float, float] | None = None,
    reach: float | None = None,
) -> Result:
    """Robust linear regression with confidence intervals that hold sampling and noise.

    The estimate is the Mallows-weighted Huber M-estimate (Hampel, Ronchetti, Rousseeuw and Stahel 1986) by a few noisy
    Newton steps; its covariance is a sandwich of released matrices plus that of the steps' noise, which is known
    exactly (docs/regression-inference.md). Everything shown is a function of sums with Gaussian noise; their number is
    fixed beforehand.

    With nothing said about the data, part of the budget goes to rough centres and scales of the columns. What is
    public about them makes intervals shorter: `bounds` a little, `x_center` and `x_scale` most. None of it has to be
    right for the promise to hold, and values beyond bounds are not clipped.

    Parameters
    ----------
    X
        Features: a matrix or a data frame of numbers. Rows with a missing value add nothing.
    y
        The response, one number for each row.
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    loss
        "huber", or "pseudo_huber", which is smooth.
    method
        "averaged_newton", which has the shortest intervals, or one of the published methods of Avella-Medina, Bradshaw
        and Loh (2023) with their variances corrected: "descent", "newton" and "damped_newton".
    knee
        Where the loss becomes a straight line, in standard deviations of the errors; 1.345 has 95 % of least squares'
        efficiency with normal ones.
    scale
        The errors' standard deviation, if it is public; found privately if left out.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    y_center, y_scale
        The same of the response.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    y_bounds
        The same of the response.
    reach
        How far from the centre rows weigh in full, in multiples of the usual distance; the longest up to 3 that the
        number of rows and the promise can pay for, if left out; with the published methods 1.

    Returns
    -------
    Result
        Coefficients in the units of the data, the constant last, with intervals.

    Raises
    ------
    InvalidParameter
        If shapes, types or settings do not fit together; never for a value.
    CannotMeet
        If the promise is PureDP, which Gaussian noise cannot keep.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(50, 10, size=(5000, 2))
    >>> y = X @ [1.0, -0.5] + 20 + random.standard_t(3, 5000)
    >>> fit = dp.infer.linear_regression(X, y, dp.GDP(1.0), bounds=[(0, 100), (0, 100)])
    >>> fit.names, fit.conf_int().shape
    (('x1', 'x2', 'const'), (3, 2))
    """
    model = LinearRegression(
        guarantee=guarantee,
        adjacency=adjacency,
        intercept=intercept,
        loss_name=loss,
        method=method,
        knee=knee,
        scale=scale,
        x_center=x_center,
        x_scale=x_scale,
        y_center=y_center,
        y_scale=y_scale,
        bounds=bounds,
        reach=reach,
        y_bounds=y_bounds,
    )
    return model.release(X, y)
