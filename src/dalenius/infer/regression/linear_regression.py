"""Robust linear regression under differential privacy, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs, magnitudes
from dalenius.infer.promise import checked_guarantee, gaussian_mu
from dalenius.infer.regression.methods import METHODS
from dalenius.infer.regression.plan import plan
from dalenius.infer.result import Result
from dalenius.infer.scores.array_source import ArraySource
from dalenius.infer.scores.averaged_newton import averaged_steps
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.noisy_sums import NoisySums, noisy_counts
from dalenius.infer.scores.sandwich import Fit
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Source, Standard
from dalenius.infer.scores.standardise import looks, standardise
from dalenius.sums.curves import Huber, PseudoHuber

Numbers = float | Sequence[float] | Reals
CURVES: dict[str, type[Huber] | type[PseudoHuber]] = {"huber": Huber, "pseudo_huber": PseudoHuber}
COUNT_SHARE = 0.01
"""Of mu^2, for the number of rows where that is not public."""
EARLY_STEPS = (0.2, 0.3, 0.5)
FLAT = 1e9
"""A scale at which all residuals count in full: far from the root, rows with large ones are those that matter."""
TOO_FEW = (
    "too few rows for this promise and so many coefficients, as can be said beforehand; use more rows, "
    "fewer columns or a weaker promise, or name public scales (x_scale=, y_scale=, scale=)."
)
NOT_CLEAR = (
    "the released curvature does not stand out of its noise, because columns nearly depend on each other "
    "or their scales are far off; use fewer columns or name better x_center= and x_scale=."
)
NOT_SETTLED = (
    "the last step was longer than its noise, so the estimate is still on its way, because the errors are "
    "tiny beside the responses; use more rows or a weaker promise, or name a public y_center= and y_scale= (or scale=)."
)


@dataclass(frozen=True, kw_only=True)
class LinearRegression:
    """The settings of `linear_regression`, its cost, and its release; see there.

    Parameters
    ----------
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    loss_name
        "huber" or "pseudo_huber".
    method
        "averaged_newton", "descent", "newton" or "damped_newton".
    knee
        Where the loss becomes a straight line, in standard deviations of the errors.
    scale
        The errors' standard deviation, if it is public.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    y_center, y_scale
        The same of the response.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    y_bounds
        The same of the response.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> from dalenius.infer import LinearRegression
    >>> model = LinearRegression(guarantee=dp.GDP(1.0), x_center=0.0, x_scale=1.0)
    >>> round(model.loss.epsilon(delta=1e-6), 2)
    5.22
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model.release(X, X @ [1.0, -1.0]).names
    ('x1', 'x2', 'const')
    """

    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE
    intercept: bool = True
    loss_name: Literal["huber", "pseudo_huber"] = "huber"
    method: str = "averaged_newton"
    knee: float = 1.345
    scale: float | None = None
    x_center: Numbers | None = None
    x_scale: Numbers | None = None
    y_center: float | None = None
    y_scale: float | None = None
    bounds: Sequence[tuple[float, float]] | None = None
    y_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        checked_guarantee(self.guarantee)
        checked_adjacency(self.adjacency)
        checks.one_of("loss", self.loss_name, *CURVES)
        checks.one_of("method", self.method, *METHODS)
        checks.flag("intercept", self.intercept)
        object.__setattr__(self, "knee", magnitudes.scale("knee", self.knee))
        for name in ("scale", "y_scale"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, magnitudes.scale(name, getattr(self, name)))
        if self.y_center is not None:
            object.__setattr__(self, "y_center", magnitudes.center("y_center", self.y_center))
        for axis in "xy":
            given = (getattr(self, f"{axis}_center") is None, getattr(self, f"{axis}_scale") is None)
            if given[0] != given[1]:
                raise InvalidParameter.of(
                    f"{axis}_scale", f"{axis}_center and {axis}_scale must be given both, or neither."
                )
        if self.y_bounds is not None:
            object.__setattr__(self, "y_bounds", magnitudes.interval("y_bounds", self.y_bounds))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _intervals(self.bounds))

    @cached_property
    def mu(self) -> float:
        """What may be spent, as for GDP."""
        return gaussian_mu(self.guarantee, "a regression")

    @cached_property
    def loss(self) -> Loss:
        """What a release costs, whatever the data: at most this."""
        return losses.gaussian(1 / self.mu, adjacency=self.adjacency)

    def release(self, X: Any, y: Any) -> Result:
        """Fit once, to arrays or a data frame.

        Parameters
        ----------
        X
            Features: a matrix or a data frame of numbers.
        y
            The response, one number for each row.

        Returns
        -------
        Result
            Coefficients with intervals.

        Raises
        ------
        InvalidParameter
            If shapes, types or settings do not fit together; never for a value.
        """
        features, names = inputs.matrix(X)
        response, _ = inputs.column(y, "y")
        inputs.same_length(features, response, "X and y")
        return self.release_from(ArraySource(features, response), names, len(response))

    def release_from(self, source: Source, names: Sequence[str], rows: int | None = None) -> Result:
        """Fit once, to any source of rows.

        Parameters
        ----------
        source
            The table.
        names
            Of its features.
        rows
            The number of rows, with `REPLACE_ONE`, where it is public.

        Returns
        -------
        Result
            Coefficients with intervals.

        Raises
        ------
        InvalidParameter
            If settings do not fit the number of columns.
        """
        return fitting(self, source, rows).result(names)

    def _public_columns(self, columns: int) -> tuple[Reals | None, Reals | None]:
        if self.bounds is not None and len(self.bounds) != columns:
            raise InvalidParameter.of("bounds", f"bounds has {len(self.bounds)} pairs for {columns} columns.")
        if self.x_scale is None or self.x_center is None:
            return None, None
        return (
            _one_each("x_center", self.x_center, columns, magnitudes.center),
            _one_each("x_scale", self.x_scale, columns, magnitudes.scale),
        )


class Fitting:
    """One release, stage by stage; each stage sees what earlier ones released and nothing else."""

    def __init__(
        self,
        model: LinearRegression,
        source: Source,
        x_center: Reals | None,
        x_scale: Reals | None,
        rows: int | None,
    ) -> None:
        self.model, self.source = model, source
        self.adjacency, self.mu = model.adjacency, model.mu
        self.size = source.columns + bool(model.intercept)
        self.noisy = self.adjacency is ADD_REMOVE
        if self.noisy:
            counted = noisy_counts(
                np.array([source.count()]), self.mu * math.sqrt(COUNT_SHARE), self.adjacency
            )
            self.count = max(float(counted[0]), 1.0)
            self.mu *= math.sqrt(1 - COUNT_SHARE)
        else:
            if rows is None:
                raise InvalidParameter.of(
                    "rows", "rows must be given with REPLACE_ONE, where they are public."
                )
            self.count = float(max(rows, 1))
        private = ([] if x_scale is not None else list(range(source.columns))) + (
            [] if model.y_scale is not None else [source.columns]
        )
        self._limits: list[tuple[float, float] | None] = (
            [None] * source.columns if model.bounds is None else list(model.bounds)
        )
        self._limits.append(model.y_bounds)
        self.plan = plan(
            self.count,
            self.mu,
            self.size,
            self.adjacency,
            columns=len(private),
            looks=looks([self._limits[j] for j in private]),
            scale_known=model.scale is not None,
        )
        self.standard = self._standard(x_center, x_scale, private)

    def _standard(self, x_center: Reals | None, x_scale: Reals | None, private: list[int]) -> Standard:
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
        if x_center is None or x_scale is None:
            x_center = np.array([pairs[j][0] for j in range(columns)])
            x_scale = np.array([pairs[j][1] for j in range(columns)])
        y_center, y_scale = pairs.get(columns, (model.y_center or 0.0, model.y_scale or 1.0))
        reach = math.sqrt(self.size)
        if model.intercept:
            return Standard(x_center, x_scale, 1.0, reach, y_center, y_scale)
        # Without a constant nothing may be shifted: the size of values takes the place of their deviation.
        return Standard(
            np.zeros(columns), np.hypot(x_center, x_scale), 0.0, reach, 0.0, math.hypot(y_center, y_scale)
        )

    def _share(self, share: float) -> float:
        return self.mu * math.sqrt(share)

    def _curve(self, scale: float) -> CurveScore:
        return CurveScore(CURVES[self.model.loss_name](self.model.knee * scale))

    def fit(self) -> tuple[Fit, float]:
        """Far steps with the scale of the responses, the scale of residuals, then the steps that count."""
        plan, sums = self.plan, NoisySums(self.source.rows(self.standard), self.adjacency)
        near = np.zeros(self.size)
        bend = sums.release(near, self._curve(FLAT), bend_mu=self._share(plan.first_bend))
        inverse = Curvature(bend.bend, bend.bend_sd).inverse
        each = self._share(plan.first_steps / plan.rounds)
        for _ in range(plan.rounds):
            far = self._curve(sums.residual_scale(near, self._share(plan.first_scale)))
            near = averaged_steps(sums, far, near, inverse, each, EARLY_STEPS)
        if self.model.scale is not None:
            scale = self.model.scale / self.standard.y_scale
        else:
            scale = sums.residual_scale(near, self._share(plan.scale))
        method, _ = METHODS[self.model.method]
        return method(sums, self._curve(scale), near, self.mu, plan.main, self.count), scale

    def result(self, names: Sequence[str]) -> Result:
        fit, scale = self.fit()
        back, shift = self.standard.original()
        coefficients, covariance, degrees = fit.of(back)
        unclear = NOT_CLEAR if fit.settled else NOT_SETTLED
        reason = TOO_FEW if not self.plan.feasible else "" if fit.clear else unclear
        knee = self.model.knee * scale * self.standard.y_scale
        words = self.model.loss_name.replace("_", "-")
        return Result(
            [*names, "const"] if self.model.intercept else list(names),
            coefficients + shift,
            loss=self.model.loss,
            method=f"robust linear regression ({words}), {METHODS[self.model.method][1]}",
            covariance=None if reason else covariance,
            df=None if reason else degrees,
            reason=reason,
            nobs=self.count,
            nobs_noisy=self.noisy,
            notes=[
                f"Residuals beyond {knee:.4g} and rows far from the centre weigh less. Where the relation is not a "
                "straight line, or errors are skewed, the coefficients are not those of least squares."
            ],
        )


def fitting(model: LinearRegression, source: Source, rows: int | None = None) -> Fitting:
    """A release that has begun: number of rows, plan and standardisation."""
    x_center, x_scale = model._public_columns(source.columns)
    return Fitting(model, source, x_center, x_scale, rows)


def _one_each(name: str, values: object, columns: int, check: checks.Check) -> Reals:
    """One number for each column, from one for all or from a list."""
    each = (
        list(values)
        if isinstance(values, list | tuple | np.ndarray) and np.ndim(values)
        else [values] * columns
    )
    if len(each) != columns:
        raise InvalidParameter.of(
            name, f"{name} must be one number, or one for each of the {columns} columns."
        )
    return np.array([check(name, value) for value in each], dtype=float)


def _intervals(values: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise InvalidParameter.of(
            "bounds", "bounds must be a list of (lowest, highest), one for each column."
        )
    return tuple(magnitudes.interval(f"bounds[{j}]", pair) for j, pair in enumerate(values))


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
        y_bounds=y_bounds,
    )
    return model.release(X, y)
