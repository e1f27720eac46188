"""What all regressions share: settings, their checks, and the first facts that are released about a table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals
from dalenius.core.habits import Hinted
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs, magnitudes
from dalenius.infer.promise import checked_guarantee, gaussian_mu
from dalenius.infer.regression.reach import checked_reach
from dalenius.infer.result import Result
from dalenius.infer.scores.array_source import ArraySource
from dalenius.infer.scores.noisy_sums import noisy_counts
from dalenius.infer.scores.source import Source, Standard

Numbers = float | Sequence[float] | Reals
COUNT_SHARE = 0.01
"""Of mu^2, for the number of rows where that is not public."""


@dataclass(frozen=True, kw_only=True)
class Regression(Hinted, ABC):
    """Settings of a regression, its cost and its release."""

    _promise_said = "the first argument: LinearRegression(dp.ZCDP(0.1))"

    guarantee: Guarantee = field(kw_only=False)
    adjacency: Adjacency = ADD_REMOVE
    intercept: bool = True
    x_center: Numbers | None = None
    x_scale: Numbers | None = None
    bounds: Sequence[tuple[float, float]] | None = None
    reach: float | None = None

    word: ClassVar[str]
    """What the model is called in results."""

    def __post_init__(self) -> None:
        checked_guarantee(self.guarantee)
        checked_adjacency(self.adjacency)
        checks.flag("intercept", self.intercept)
        self._check_pair("x")
        object.__setattr__(self, "reach", checked_reach(self.reach))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _intervals(self.bounds))
        _ = self.mu

    def _check_response(self) -> None:
        """Of models with the settings scale, y_center, y_scale and y_bounds."""
        for name, check in (
            ("scale", magnitudes.scale),
            ("y_center", magnitudes.center),
            ("y_scale", magnitudes.scale),
            ("y_bounds", magnitudes.interval),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(name, getattr(self, name)))
        self._check_pair("y")

    def _check_pair(self, axis: str) -> None:
        center, scale = f"{axis}_center", f"{axis}_scale"
        if (getattr(self, center) is None) != (getattr(self, scale) is None):
            raise InvalidParameter.of(scale, f"{center} and {scale} must be given both, or neither.")

    @cached_property
    def mu(self) -> float:
        """What may be spent, as for GDP."""
        return gaussian_mu(self.guarantee, f"the {self.word}")

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
            The response, one for each row.

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
        response = self.responses(y)
        inputs.same_length(features, response, "X and y")
        return self.release_from(ArraySource(features, response), names, len(response))

    @abstractmethod
    def release_from(self, source: Source, names: Sequence[str], rows: int | None = None) -> Result:
        """Fit once, to any source of rows, whose responses are coded as `responses` does.

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

    @property
    def response_levels(self) -> Sequence[Any] | None:
        """All the values that responses can have, in the order of their codes; None for numbers."""
        return None

    @property
    def response_bounds(self) -> tuple[float, float] | None:
        """Public limits of the responses; None where there are none."""
        return None

    def informed(self, bounds: Sequence[tuple[float, float]], y_bounds: tuple[float, float]) -> Self:
        """The same, told the public bounds of columns and of responses where it was not told any."""
        return replace(self, bounds=bounds) if self.bounds is None else self

    def responses(self, y: Any) -> Reals:
        """Responses as numbers; NaN for what is no response."""
        return inputs.column(y, "y")[0]

    def public_columns(self, columns: int) -> tuple[Reals, Reals] | None:
        """Centres and scales of so many columns; None to find them privately."""
        if self.bounds is not None and len(self.bounds) != columns:
            raise InvalidParameter.of("bounds", f"bounds has {len(self.bounds)} pairs for {columns} columns.")
        if self.x_scale is None or self.x_center is None:
            return None
        return (
            _one_each("x_center", self.x_center, columns, magnitudes.center),
            _one_each("x_scale", self.x_scale, columns, magnitudes.scale),
        )

    def counted(self, source: Source, rows: int | None) -> tuple[float, float]:
        """The number of rows, public or with noise, at least 1; and the mu that is left."""
        if self.adjacency is ADD_REMOVE:
            spent, left = (self.mu * math.sqrt(share) for share in (COUNT_SHARE, 1 - COUNT_SHARE))
            return max(float(noisy_counts(np.array([source.count()]), spent, self.adjacency)[0]), 1.0), left
        if rows is None:
            raise InvalidParameter.of("rows", "rows must be given with REPLACE_ONE, where they are public.")
        return float(max(rows, 1)), self.mu

    def standard(self, x_center: Reals, x_scale: Reals, y_center: float, y_scale: float) -> Standard:
        """How rows and responses are standardised, with a reach of 1."""
        reach = math.sqrt(len(x_center) + bool(self.intercept))
        if self.intercept:
            return Standard(x_center, x_scale, 1.0, reach, y_center, y_scale)
        # Without a constant nothing may be shifted: the size of values takes the place of their deviation.
        return Standard(
            np.zeros(len(x_center)),
            np.hypot(x_center, x_scale),
            0.0,
            reach,
            0.0,
            math.hypot(y_center, y_scale),
        )


def _one_each(name: str, values: Any, columns: int, check: checks.Check) -> Reals:
    """One number for each column, from one for all or from a list."""
    if isinstance(values, str) or (np.ndim(values) and len(values) != columns):
        raise InvalidParameter.of(
            name, f"{name} must be one number, or one for each of the {columns} columns."
        )
    each = list(values) if np.ndim(values) else [values] * columns
    return np.array([check(name, value) for value in each], dtype=float)


def _intervals(values: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise InvalidParameter.of(
            "bounds", "bounds must be a list of (lowest, highest), one for each column."
        )
    return tuple(magnitudes.interval(f"bounds[{j}]", pair) for j, pair in enumerate(values))
