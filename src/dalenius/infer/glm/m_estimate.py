"""M-estimates for any convex loss with a bounded slope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.glm.model import GeneralizedLinearModel
from dalenius.infer.glm.tabulated_score import (
    NAMED,
    PREDICTORS,
    RESIDUALS,
    Majorised,
    OutcomeScore,
    ResidualScore,
    Table,
    bounded,
)
from dalenius.infer.regression.settings import Numbers
from dalenius.infer.result import Result
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Standard


@dataclass(frozen=True, kw_only=True, eq=False)
class MEstimate(GeneralizedLinearModel):
    """The settings of `m_estimate`, its cost, and its release; see there.

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
        number of rows and the promise can pay for, if left out.
    slope
        The derivative of the loss: a function, or "log_cosh" or "pseudo_huber".
    outcomes
        The values that y can have, for slope(u, y); None for a loss of residuals.
    scale
        The unit of residuals, if public.
    y_center, y_scale
        A typical value and deviation of the response, if public.
    y_bounds
        (lowest, highest) of the response, as a guide to find them.

    Examples
    --------
    >>> import dalenius as dp
    >>> model = dp.infer.MEstimate(slope="log_cosh", guarantee=dp.GDP(1.0), scale=2.0)
    >>> round(model.loss.epsilon(delta=1e-6), 2)
    4.89
    """

    slope: str | Callable[..., Any]
    outcomes: Sequence[Any] | None = None
    scale: float | None = None
    y_center: float | None = None
    y_scale: float | None = None
    y_bounds: tuple[float, float] | None = None
    word = "M-estimate"
    shifted = True

    def __post_init__(self) -> None:
        if not callable(self.slope) and not checks.is_one_of(self.slope, *NAMED):
            raise InvalidParameter.of(
                "slope",
                f"slope must be a function, or one of {', '.join(NAMED)}; it is {checks.shown(self.slope)}.",
            )
        self._check_response()
        if self.outcomes is not None:
            if isinstance(self.slope, str):
                raise InvalidParameter.of(
                    "outcomes", f"{self.slope} is a loss of residuals: leave outcomes out."
                )
            object.__setattr__(self, "outcomes", inputs.levels("outcomes", self.outcomes, 2, 100))
        super().__post_init__()

    @cached_property
    def score(self) -> Score:
        """In units of one for the responses; `scored` has it in theirs."""
        tables: tuple[Table, ...]
        if self.outcomes is None:
            tables = (Table.of(NAMED[self.slope] if isinstance(self.slope, str) else self.slope, RESIDUALS),)
        else:
            tables = tuple(Table.of(lambda u, y=y: self.slope(u, y), PREDICTORS) for y in self.outcomes)  # type: ignore[operator, misc]
        if not all(bounded(table.slopes) for table in tables):
            raise InvalidParameter.of(
                "slope", "slope grows without bound: clip it, and note that this changes what is estimated."
            )
        return ResidualScore(tables[0]) if self.outcomes is None else OutcomeScore(tables)

    def scored(self, standard: Standard) -> Score:
        if not isinstance(self.score, ResidualScore):
            return self.score
        return ResidualScore(self.score.table, standard.y_scale / (self.scale or standard.y_scale))

    def far_score(self, standard: Standard) -> Score:
        """In units of the responses: in smaller ones nearly all rows would be on its straight parts."""
        return Majorised(self.score.table) if isinstance(self.score, ResidualScore) else self.score

    @property
    def response_unit(self) -> tuple[float, float] | None:
        if self.outcomes is not None:
            return 0.0, 1.0
        return None if self.y_center is None or self.y_scale is None else (self.y_center, self.y_scale)

    @property
    def response_bounds(self) -> tuple[float, float] | None:
        return self.y_bounds

    def informed(self, bounds: Sequence[tuple[float, float]], y_bounds: tuple[float, float]) -> Self:
        told = super().informed(bounds, y_bounds)
        return replace(told, y_bounds=y_bounds) if self.y_bounds is None else told

    @property
    def response_levels(self) -> Sequence[Any] | None:
        return self.outcomes

    def typical_curvature(self, score: Score, center: float) -> float:
        return 0.4 * score.sharpest

    def responses(self, y: Any) -> Reals:
        if self.outcomes is not None:
            return inputs.labels(y, self.outcomes)
        return super().responses(y)

    def notes(self, reach: float) -> list[str]:
        return [
            *super().notes(reach),
            "Estimated is where the expected slope of the loss is 0. For a loss of residuals that is the regression "
            "line if errors are symmetric about it; if not, its constant belongs to this loss."
            if self.outcomes is None
            else "Estimated is where the expected slope of the loss is 0: coefficients of a model only if it makes the "
            "slope 0 on average for every x.",
        ]


def m_estimate(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    slope: str | Callable[..., Any],
    outcomes: Sequence[Any] | None = None,
    scale: float | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    intercept: bool = True,
    x_center: Numbers | None = None,
    x_scale: Numbers | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    y_center: float | None = None,
    y_scale: float | None = None,
    y_bounds: tuple[float, float] | None = None,
    reach: float | None = None,
) -> Result:
    """Linear coefficients that minimise any convex loss with a bounded slope, with confidence intervals.

    The loss is given by its derivative: slope(r) of residuals r = (x.theta - y)/scale, or slope(u, y) of the linear
    predictor u = x.theta for each of a few `outcomes` y. It is called on arrays of public numbers, never on the data,
    and looked up in the table that results: whatever it does, it cannot tell about a row.

    Parameters
    ----------
    X
        Features: a matrix or a data frame of numbers. Rows with a missing value add nothing.
    y
        The response, one for each row.
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    slope
        A function from an array to an array, rising and bounded; or "log_cosh" or "pseudo_huber", for residuals.
    outcomes
        The values that y can have, for slope(u, y); public. Left out for a loss of residuals.
    scale
        The unit of residuals, if public; the spread of the responses if left out.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    y_center, y_scale
        A typical value and deviation of the response, if public.
    y_bounds
        (lowest, highest) of the response, as a guide to find them.
    reach
        How far from the centre rows weigh in full, in multiples of the usual distance; the longest up to 3 that the
        number of rows and the promise can pay for, if left out.

    Returns
    -------
    Result
        Coefficients in the units of the data, the constant last, with intervals. Its notes say what they estimate.

    Raises
    ------
    InvalidParameter
        If the slope fails, falls or is not bounded, or shapes and settings do not fit together; never for a value.
    CannotMeet
        If the promise is PureDP, which Gaussian noise cannot keep.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(5000, 2))
    >>> y = X @ [1.0, -0.5] + random.standard_t(3, 5000)
    >>> fit = dp.infer.m_estimate(
    ...     X, y, dp.GDP(1.0), slope=np.arctan, x_center=0.0, x_scale=1.0, y_center=0.0, y_scale=2.0)
    >>> bool(abs(fit.params[0] - 1) < 0.3)
    True
    """
    return MEstimate(
        slope=slope,
        guarantee=guarantee,
        outcomes=outcomes,
        scale=scale,
        adjacency=adjacency,
        intercept=intercept,
        x_center=x_center,
        x_scale=x_scale,
        bounds=bounds,
        reach=reach,
        y_center=y_center,
        y_scale=y_scale,
        y_bounds=y_bounds,
    ).release(X, y)
