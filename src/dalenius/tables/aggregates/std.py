"""The standard deviation of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.habits import hinted
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.spread import ONE, spread_column
from dalenius.tables.aggregates.variance import Variance
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Std(Variance):
    """The square root of the variance; the same roles."""

    tag = "std"
    sql_names = ("std", "stddev", "stddev_samp")
    explanation = "the root of the variance"

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [spread_column(name, inputs, ONE, root=True)]


@hinted(GIVEN_LATER)
def std(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Std:
    """The standard deviation of a column, its values clamped to the bounds.

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
    Std
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the bounds are not increasing numbers, `nulls` is not a policy or `granularity` is not
        a power of two.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.std("age", bounds=(0, 120)).bounds
    (0.0, 120.0)
    """
    return Std.of(column, bounds, nulls, granularity=granularity)
