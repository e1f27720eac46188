"""A table of counts, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.infer import inputs
from dalenius.infer.columns import Categories, Column
from dalenius.infer.estimates import contingency as cells
from dalenius.infer.estimates.settings.estimate import Estimate, TableRows
from dalenius.infer.result import Result


@dataclass(frozen=True)
class Contingency(Estimate):
    """A table of counts as an object, with its cost: what a session takes.

    `dp.infer.contingency` says how it is estimated. In a session x is the feature, and y the target.

    Parameters
    ----------
    guarantee
        What the release promises: PureDP (Laplace noise), or others (Gaussian noise).
    x_levels, y_levels
        The values there can be, from public knowledge. Of two by two tables the share of the second level of y is
        compared, where x has its second level against where it has its first.
    adjacency
        ADD_REMOVE, or REPLACE_ONE: then the number of rows is public.

    Examples
    --------
    >>> import dalenius as dp, pandas as pd
    >>> people = pd.DataFrame({"treated": [0, 1] * 3000, "healed": [False, False, True] * 2000})
    >>> s = dp.Session(people, unit=dp.Unit.rows(), budget=dp.GDP(1.0))
    >>> table = dp.infer.Contingency(dp.GDP(0.5), x_levels=(0, 1), y_levels=(False, True))
    >>> s.infer(table, "treated", "healed").names[-1]
    'log odds ratio'
    """

    x_levels: Sequence[Any] = ()
    y_levels: Sequence[Any] = ()

    what = "contingency table"

    def _check(self) -> None:
        for name in ("x_levels", "y_levels"):
            object.__setattr__(self, name, inputs.levels(name, getattr(self, name)))

    @cached_property
    def _made(self) -> cells.Contingency:
        shape = len(self.x_levels), len(self.y_levels)
        return cells.Contingency(self.guarantee, shape, self.adjacency)

    @cached_property
    def loss(self) -> Loss:
        return self._made.loss

    @property
    def columns(self) -> tuple[Column, ...]:
        return Categories(tuple(self.x_levels)), Categories(tuple(self.y_levels))

    def release(self, *data: Any) -> Result:
        x, y = data
        return self._made.release(x, y, self.x_levels, self.y_levels)

    def release_from(self, rows: TableRows) -> Result:
        one, two = rows.names
        return self._made.result(rows.codes(), one, two, self.x_levels, self.y_levels)
