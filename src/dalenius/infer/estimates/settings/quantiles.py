"""Quantiles and the median, as objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.infer.columns import Column, Numbers
from dalenius.infer.estimates import quantiles as many
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.settings.estimate import Bounds, Estimate, TableRows, Unknown, bounds_of
from dalenius.infer.result import Result


@dataclass(frozen=True)
class Median(Estimate):
    """The median as an object, with its cost: what a session takes. `dp.infer.median` says how it is estimated.

    Parameters
    ----------
    guarantee
        What the release promises: GDP, ZCDP, ApproxDP or RDP.
    bounds
        (low, high), from public knowledge. In a session they may be left out where the column has some. "unknown":
        limits are between powers of two, 1/16 of one apart; so it is outside of sessions where none are given.
    bins
        The bounds are divided into so many bins, and limits are their edges.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": list(range(18, 68)) * 40}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> bool(abs(s.infer(dp.infer.Median(dp.GDP(0.5)), {"age": (0, 100)}).params[0] - 43) < 4)
    True
    """

    bounds: Bounds | Unknown = None
    bins: int = many.BINS

    what = "median"

    def _check(self) -> None:
        if isinstance(self.bounds, str):
            checks.one_of("bounds", self.bounds, "unknown")
        else:
            object.__setattr__(self, "bounds", bounds_of("bounds", self.bounds))
        object.__setattr__(self, "bins", many.checked_bins(self.bins))

    @property
    def _levels(self) -> tuple[float, ...]:
        return (0.5,)

    @cached_property
    def _made(self) -> many.Quantiles:
        given = self.bounds
        between = None if given is None or isinstance(given, str) else Bounded.of(given)
        return many.Quantiles(self.guarantee, self._levels, between, self.adjacency, self.bins)

    @cached_property
    def loss(self) -> Loss:
        return self._made.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        between = self._made.bounds
        return (Numbers(None if between is None else (between.low, between.high)),)

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        return replace(self, bounds=bounds[0]) if self.bounds is None else self

    def release(self, *data: Any) -> Result:
        return self._made.release(data[0])

    def release_from(self, rows: TableRows) -> Result:
        return self._made.result(rows.column(), rows.names[0])


@dataclass(frozen=True)
class Quantiles(Median):
    """Quantiles as an object, with its cost: what a session takes. `dp.infer.quantiles` says how they are estimated.

    Parameters
    ----------
    guarantee
        What the release promises: GDP, ZCDP, ApproxDP or RDP.
    bounds
        (low, high), from public knowledge. In a session they may be left out where the column has some. "unknown":
        limits are between powers of two, 1/16 of one apart; so it is outside of sessions where none are given.
    bins
        The bounds are divided into so many bins, and limits are their edges.
    levels
        Increasing numbers above 0 and below 1.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": list(range(18, 68)) * 40}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> s.infer(dp.infer.Quantiles(dp.GDP(0.5), levels=(0.25, 0.75)), {"age": (0, 100)}).names
    ('age 0.25', 'age 0.75')
    """

    levels: Sequence[float] = ()

    what = "quantiles"

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "levels", many.checked_levels(self.levels))

    @property
    def _levels(self) -> tuple[float, ...]:
        return tuple(self.levels)
