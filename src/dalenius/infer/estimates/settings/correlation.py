"""The correlation, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from dalenius.calculus.loss import Loss
from dalenius.infer.columns import Column, Numbers
from dalenius.infer.estimates import correlation as pearson
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
class Correlation(Estimate):
    """Pearson's correlation as an object, with its cost: what a session takes.

    `dp.infer.correlation` says how it is estimated. In a session x is the feature, and y the target.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    x_bounds, y_bounds
        (low, high) of each, from public knowledge. In a session they may be left out where the columns have some.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 500, "pay": [25.0, 30.0, 41.0] * 500})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.GDP(1.0), schema=dp.Schema(nulls="drop"))
    >>> fit = s.infer(dp.infer.Correlation(dp.GDP(0.5)), {"age": (18, 65)}, {"pay": (0, 100)})
    >>> fit.names, bool(fit.params[0] > 0.8)
    (('age, pay',), True)
    """

    x_bounds: Bounds = None
    y_bounds: Bounds = None

    what = "correlation"

    def _check(self) -> None:
        for name in ("x_bounds", "y_bounds"):
            object.__setattr__(self, name, bounds_of(name, getattr(self, name)))

    @cached_property
    def _made(self) -> pearson.Correlation:
        x, y = (needed(name, getattr(self, name), self.what) for name in ("x_bounds", "y_bounds"))
        return pearson.Correlation(self.guarantee, x, y, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return pearson.Correlation(self.guarantee, ANYWHERE, ANYWHERE, self.adjacency).loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return Numbers(bounds_of("x_bounds", self.x_bounds)), Numbers(bounds_of("y_bounds", self.y_bounds))

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        x, y = bounds
        mine = self.x_bounds, self.y_bounds
        return replace(
            self, x_bounds=x if mine[0] is None else mine[0], y_bounds=y if mine[1] is None else mine[1]
        )

    def release(self, *data: Any) -> Result:
        return self._made.release(*data)

    def release_from(self, rows: TableRows) -> Result:
        one, two = rows.names
        return self._made.result(rows.pairs(), one, two)
