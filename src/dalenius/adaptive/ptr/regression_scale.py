"""The scale of the errors of a regression, with noise for a proposed local sensitivity."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.local_noise import LocalNoise
from dalenius.adaptive.ptr.median import LocalMedian
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import array_of
from dalenius.mechanisms._support.float_arrays import Reals, reals
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class LocalRegressionScale(LocalNoise):
    """The median of |y - x . coefficients| plus Laplace noise, where no record moves it by more than `sensitivity`.

    What a robust regression needs to know first (Dwork and Lei 2009). The coefficients are public: a first guess, zeros
    or an earlier release. Then an error belongs to one record, and the distance is that of a median, `LocalMedian`.
    Data are pairs (X, y), a table of numbers and a number for each of its rows.

    Parameters
    ----------
    sensitivity
        The local sensitivity proposed: chosen without looking at the data.
    scale
        The scale of the noise.
    adjacency
        The neighbouring relation.
    coefficients
        One for each column of X.
    largest
        Errors are clipped to this.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.adaptive.ptr import LocalRegressionScale, ProposeTestRelease
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(5000, 2)); y = X @ [1.0, 2.0] + 3 * rng.normal(size=5000)
    >>> errors = LocalRegressionScale(sensitivity=0.05, scale=0.1, coefficients=(1.0, 2.0), largest=1000.0)
    >>> m = ProposeTestRelease.by_distance(errors, epsilon=0.5, wrong_pass=1e-6)
    >>> bool(abs(m.release((X, y)) - 3 * 0.6745) < 2)
    True
    """

    bounds: tuple[float, float] = field(init=False, default=(0.0, 1.0))
    coefficients: tuple[float, ...]
    largest: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", (0.0, checks.positive("largest", self.largest)))
        coefficients = reals("coefficients", self.coefficients, least=1)
        object.__setattr__(self, "coefficients", tuple(coefficients.tolist()))
        super().__post_init__()

    @cached_property
    def _median(self) -> LocalMedian:
        return LocalMedian(
            sensitivity=self.sensitivity, scale=self.scale, bounds=self.bounds, adjacency=self.adjacency
        )

    def statistic(self, data: Any) -> Fraction:
        return self._median.statistic(self._errors(data))

    def distance(self, data: Any) -> int:
        return self._median.distance(self._errors(data))

    def _errors(self, data: Any) -> Reals:
        """One for each record, from that record alone: column by column, in the same order whatever the others are."""
        try:
            table, target = data
        except (TypeError, ValueError):
            raise InvalidParameter("value must be a pair (X, y).") from None
        rows, left = array_of(table, "X"), reals("y", target, least=0)
        if rows.shape == (0,) and not len(left):  # an empty list has no columns to count
            rows = rows.reshape(0, len(self.coefficients))
        if rows.ndim != 2 or rows.shape != (len(left), len(self.coefficients)):
            raise InvalidParameter(
                f"X must have {len(self.coefficients)} columns, one for each coefficient, and a row for each y."
            )
        with np.errstate(all="ignore"):
            for j, coefficient in enumerate(self.coefficients):
                left = left - reals("X", rows[:, j], least=0) * coefficient
            # An overflow is an error larger than all others; inf - inf is none.
            return np.nan_to_num(np.abs(left), nan=self.largest, posinf=self.largest)

    @property
    def worst_pair(self) -> Neighbours:
        def with_column(errors: list[float]) -> tuple[Any, Any]:
            return np.zeros((len(errors), len(self.coefficients))), np.array(errors)

        return Neighbours(*map(with_column, self._median.worst_pair))
