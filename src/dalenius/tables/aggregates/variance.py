"""The variance of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.core.habits import hinted
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.of_one import OfOneNumber
from dalenius.tables.aggregates.spread import ONE, spread_column
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.measure import Measure, centred_sum, needed, product
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Variance(OfOneNumber):
    """Roles: count, sum, square (both from the middle of the bounds)."""

    tag = "variance"
    sql_names: ClassVar[tuple[str, ...]] = ("variance", "var_samp")
    explanation = "from a noisy count, sum and sum of squares"

    def roles(self, table: Scope) -> dict[str, Measure]:
        value = self.value(table)
        return {"count": rows(*needed(value)), "sum": centred_sum(value), "square": product(value, value)}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [spread_column(name, inputs, ONE)]


@hinted(GIVEN_LATER)
def variance(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Variance:
    """The variance of a column (with n - 1 in the denominator), its values clamped to the bounds.

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
    Variance
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the bounds are not increasing numbers, `nulls` is not a policy or `granularity` is not
        a power of two.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.variance("age", bounds=(0, 120)).bounds
    (0.0, 120.0)
    """
    return Variance.of(column, bounds, nulls, granularity=granularity)
