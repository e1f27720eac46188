"""The variance and the standard deviation, as objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from dalenius.calculus.loss import Loss
from dalenius.infer.columns import Column, Numbers
from dalenius.infer.estimates.settings.estimate import (
    ANYWHERE,
    Bounds,
    Estimate,
    TableRows,
    bounds_of,
    needed,
)
from dalenius.infer.estimates.spread import Spread
from dalenius.infer.result import Result


@dataclass(frozen=True)
class Variance(Estimate):
    """The variance as an object, with its cost: what a session takes. `dp.infer.variance` says how it is estimated.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        (low, high), from public knowledge. In a session they may be left out where the column has some.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": [20, 40] * 1000}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> bool(abs(s.infer(dp.infer.Variance(dp.GDP(0.5)), {"age": (0, 60)}).params[0] - 100) < 40)
    True
    """

    bounds: Bounds = None

    what = "variance"
    root: ClassVar[bool] = False

    def _check(self) -> None:
        object.__setattr__(self, "bounds", bounds_of("bounds", self.bounds))

    @cached_property
    def _made(self) -> Spread:
        return Spread(self.guarantee, needed("bounds", self.bounds, self.what), self.adjacency, self.root)

    @cached_property
    def loss(self) -> Loss:
        return Spread(self.guarantee, ANYWHERE, self.adjacency).loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Numbers(bounds_of("bounds", self.bounds)),)

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        return replace(self, bounds=bounds[0]) if self.bounds is None else self

    def release(self, *data: Any) -> Result:
        return self._made.release(data[0])

    def release_from(self, rows: TableRows) -> Result:
        return self._made.result(rows.column(), rows.names[0])


@dataclass(frozen=True)
class Std(Variance):
    """The standard deviation as an object, with its cost: what a session takes.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        (low, high), from public knowledge. In a session they may be left out where the column has some.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": [20, 40] * 1000}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> bool(abs(s.infer(dp.infer.Std(dp.GDP(0.5)), {"age": (0, 60)}).params[0] - 10) < 2)
    True
    """

    what = "standard deviation"
    root = True
