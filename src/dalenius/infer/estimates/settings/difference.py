"""The difference of two means, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from dalenius.calculus.loss import Loss
from dalenius.infer.columns import OUTCOMES, Column, Numbers
from dalenius.infer.estimates.difference import MeanDifference
from dalenius.infer.estimates.settings.estimate import (
    ANYWHERE,
    Bounds,
    Estimate,
    TableRows,
    bounds_of,
    needed,
)
from dalenius.infer.result import Result


@dataclass(frozen=True)
class DifferenceOfMeans(Estimate):
    """The difference of two means as an object, with its cost: what a session takes.

    `dp.infer.difference_of_means` says how it is estimated. In a session a condition tells the samples apart: the first
    is of rows for which it holds, the second of those for which it does not.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        (low, high) of both, from public knowledge. In a session they may be left out where the column has some.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: both numbers of rows are public and a record stays in its sample, which no session
        can promise.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 1000, "pay": [50.0, 40.0] * 1000})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.GDP(1.0), schema=dp.Schema(nulls="drop"))
    >>> fit = s.infer(dp.infer.DifferenceOfMeans(dp.GDP(0.5)), "sex = 'f'", {"pay": (0, 100)})
    >>> fit.names[1], bool(abs(fit.params[0] - 10) < 2)
    ("pay where sex = 'f'", True)
    """

    bounds: Bounds = None

    what = "difference of means"

    def _check(self) -> None:
        object.__setattr__(self, "bounds", bounds_of("bounds", self.bounds))

    @cached_property
    def _made(self) -> MeanDifference:
        return MeanDifference(self.guarantee, needed("bounds", self.bounds, self.what), self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return MeanDifference(self.guarantee, ANYWHERE, self.adjacency).loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return OUTCOMES, Numbers(bounds_of("bounds", self.bounds))

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        return replace(self, bounds=bounds[1]) if self.bounds is None else self

    def release(self, *data: Any) -> Result:
        return self._made.release(*data)

    def release_from(self, rows: TableRows) -> Result:
        which, values = rows.names
        samples = rows.sample(1.0), rows.sample(0.0)
        return self._made.result(*samples, f"{values} where {which}", f"{values} where not ({which})")
