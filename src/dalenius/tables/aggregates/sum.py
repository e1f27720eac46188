"""The sum of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dalenius.core.habits import hinted
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.direct import Direct, direct
from dalenius.tables.aggregates.of_one import OfOneNumber
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import Measure, total
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.plan.noise import Noise


@dataclass(frozen=True)
class Sum(Direct, OfOneNumber):
    """The sum of a number. Role: sum (from zero).

    called: what messages call it, where nobody asked for a sum: of a fit it is "feature 'age'".
    """

    called: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    tag = "sum"
    sql_names = ("sum",)
    explanation = "a noisy sum"

    @property
    def what(self) -> str:
        return self.called or super().what

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"sum": total(self.value(table, halves=False))}

    def error(self, noises: Mapping[str, Noise], typical: Inputs | None, confidence: float) -> float | None:
        noise = super().error(noises, typical, confidence)
        (value,) = noises["sum"].measure.values
        return None if noise is None else noise + _rounding(value)

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        (value,) = inputs.roles["sum"].values
        return [direct(name, inputs["sum"], float(value.granularity), inputs.failure, _rounding(value))]


def _rounding(value: Value) -> float:
    """What a sum is off by because its values are put on a grid."""
    largest = max(abs(value.lower), abs(value.upper))
    # Half a step for each of 2^36 rows; a coarser grid was asked for, and then the sum is of the rounded values.
    return 0.0 if value.exact else min(2.0**35 * float(value.granularity), largest * 2.0**-11)


@hinted(GIVEN_LATER)
def sum(
    column: str,
    bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
    granularity: float | Fraction | None = None,
) -> Sum:
    """The sum of a column, its values clamped to the bounds.

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
    Sum
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, the bounds are not increasing numbers, `nulls` is not a policy or `granularity` is not
        a power of two.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.sum("income", bounds=(0, 250_000)).bounds
    (0.0, 250000.0)
    """
    return Sum.of(column, bounds, nulls, granularity=granularity)
