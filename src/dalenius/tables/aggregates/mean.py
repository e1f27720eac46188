"""The mean of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.habits import hinted
from dalenius.intervals import means
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.of_one import OfOneNumber
from dalenius.tables.aggregates.spread import half_width
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.measure import Measure, centred_sum, needed, product
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.measures.tree import Reals
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Mean(OfOneNumber):
    """Roles: count, sum, square (both from the middle of the bounds); no square where values are 0 or 1."""

    tag = "mean"
    sql_names = ("avg", "mean")
    explanation = "a noisy sum over a noisy count"
    minor = ("square",)

    def roles(self, table: Scope) -> dict[str, Measure]:
        value = self.value(table)
        measures = {"count": rows(*needed(value)), "sum": centred_sum(value)}
        return measures if value.binary else measures | {"square": product(value, value)}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [mean_column(name, inputs)]


def mean_column(name: str, inputs: Inputs) -> Column:
    """S/N from the middle of the bounds; half a step is allowed for rounding.

    sampling: the mean of a population; its variance is estimated from the sum of squares. Values that are 0 or 1
    have the interval of a share instead.
    """
    (value,) = inputs.roles["sum"].values
    half = half_width(value)
    square = inputs["square"].scaled(half**-2) if "square" in inputs.roles else None
    ratio, error, low, high = means.mean(
        inputs["sum"].scaled(1 / half),
        inputs["count"],
        square,
        inputs.failure,
        inputs.sampling,
        (value.low / half, value.high / half),
        inputs["sum"].edge / half,
    )
    rounding = 0.0 if value.exact else 0.5
    worth = float(value.granularity)

    def real(x: Reals, off: float = 0.0) -> Reals:
        return np.asarray((np.clip(x * half + off, value.low, value.high) + value.centre) * worth)

    return Column(name, real(ratio), error * half * worth, real(low, -rounding), real(high, rounding))


@hinted(GIVEN_LATER)
def mean(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Mean:
    """The mean of a column, its values clamped to the bounds.

    Released are a noisy count and a noisy sum from the middle of the bounds, and, for intervals of a population
    (`Answer.at(sampling=True)`), a noisy sum of squares with a smaller part of the budget.

    Parameters
    ----------
    column : str
        A column or an expression.
    bounds : pair of float, optional
        (lower, upper); where they are left out, those of the schema.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.
    granularity : float or Fraction, optional
        The step, a power of two, that values are rounded to; chosen from the bounds if left out.

    Returns
    -------
    Mean
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the bounds are not increasing numbers, `nulls` is not a policy or `granularity` is not
        a power of two.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.mean("income", bounds=(0, 250_000), nulls="drop").nulls
    'drop'
    """
    return Mean.of(column, bounds, nulls, granularity=granularity)
