"""A share, as an object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.infer.columns import OUTCOMES, Column
from dalenius.infer.estimates import proportion as shares
from dalenius.infer.estimates.settings.estimate import Estimate, TableRows
from dalenius.infer.result import Result


@dataclass(frozen=True)
class Proportion(Estimate):
    """A share as an object, with its cost: what a session takes. `dp.infer.proportion` says how it is estimated.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> s = dp.Session(pd.DataFrame({"age": [20, 30, 40] * 500}), unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> bool(abs(s.infer(dp.infer.Proportion(dp.GDP(0.5)), "age >= 40").params[0] - 1 / 3) < 0.05)
    True
    """

    what = "proportion"

    @cached_property
    def _made(self) -> shares.Proportion:
        return shares.Proportion(self.guarantee, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self._made.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return (OUTCOMES,)

    def release(self, *data: Any) -> Result:
        return self._made.release(data[0])

    def release_from(self, rows: TableRows) -> Result:
        return self._made.result(rows.column(), rows.names[0])
