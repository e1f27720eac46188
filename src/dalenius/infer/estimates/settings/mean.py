"""The mean, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.infer import magnitudes
from dalenius.infer.columns import Column, Numbers
from dalenius.infer.estimates.bounded_mean import BoundedMean
from dalenius.infer.estimates.clipped_mean import ClippedMean, Moment
from dalenius.infer.estimates.mean import UnboundedMean, chosen
from dalenius.infer.estimates.settings.estimate import Bounds, Estimate, TableRows, Unknown, bounds_of
from dalenius.infer.result import Result


@dataclass(frozen=True)
class Mean(Estimate):
    """The mean as an object, with its cost: what a session takes. `dp.infer.mean` says how it is estimated.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    bounds
        (low, high), from public knowledge. In a session they may be left out where the column has some. "unknown":
        bounds are found privately, and the estimand is the mean of values clamped to them; so it is outside of sessions
        where nothing at all is given.
    location
        (low, high): where the mean can be at all, for values without bounds.
    moment
        (k, M): E|X - mean|^k is at most M; k at least 2.
    sd_at_most
        A bound on the standard deviation: moment=(2, sd_at_most**2).
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": [20, 30, 40] * 500}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> fit = s.infer(dp.infer.Mean(dp.GDP(0.5)), {"age": (0, 100)})
    >>> fit.names, bool(abs(fit.params[0] - 30) < 2)
    (('age',), True)
    """

    bounds: Bounds | Unknown = None
    location: Sequence[float] | None = None
    moment: Sequence[float] | None = None
    sd_at_most: float | None = None

    what = "mean"

    def _check(self) -> None:
        if isinstance(self.bounds, str):
            checks.one_of("bounds", self.bounds, "unknown")
        else:
            object.__setattr__(self, "bounds", bounds_of("bounds", self.bounds))
        if self.location is not None:
            object.__setattr__(self, "location", checks.interval("location", self.location))
        if self.moment is not None:
            known = Moment.of(self.moment, None)
            object.__setattr__(self, "moment", (known.power, known.size))
        if self.sd_at_most is not None:
            object.__setattr__(self, "sd_at_most", magnitudes.scale("sd_at_most", self.sd_at_most))

    @cached_property
    def _made(self) -> BoundedMean | ClippedMean | UnboundedMean:
        facts = self.location, self.moment, self.sd_at_most
        if self.bounds == "unknown" and facts == (None, None, None):
            return UnboundedMean(self.guarantee, self.adjacency)
        return chosen(self.guarantee, self.bounds, *facts, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self._made.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        made = self._made
        if isinstance(made, BoundedMean):
            return (Numbers((made.bounds.low, made.bounds.high)),)
        return (Numbers(made.farthest if isinstance(made, ClippedMean) else None),)

    def told(self, bounds: Sequence[tuple[float, float] | None]) -> Self:
        has_none = self.bounds is None and self.location is None
        return replace(self, bounds=bounds[0]) if has_none else self

    def release(self, *data: Any) -> Result:
        return self._made.release(data[0])

    def release_from(self, rows: TableRows) -> Result:
        return self._made.result(rows.column(), rows.names[0])
