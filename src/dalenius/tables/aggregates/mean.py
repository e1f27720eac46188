"""The mean of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.intervals import populations
from dalenius.intervals.laws import Noisy, truncated_mean
from dalenius.intervals.ratios import interval
from dalenius.tables.aggregates.aggregate import Inputs
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
    top, bottom = inputs["sum"].scaled(1 / half), inputs["count"]
    within = value.low / half, value.high / half
    s, n = top.values, bottom.values
    usable = n > max(1.0, bottom.sigma)
    ratio = np.clip(np.where(usable, s / np.where(usable, n, 1.0), 0.0), *within)
    c = (np.full(len(s), top.variance), np.zeros(len(s)), np.full(len(s), bottom.variance))
    if inputs.sampling:
        square = inputs["square"].scaled(half**-2) if "square" in inputs.roles else None
        drawn = _drawn(top, bottom, square, ratio)
        c = (c[0] + drawn[0], c[1] + drawn[1], c[2] + drawn[2])
    error = np.sqrt(np.maximum(c[0] + c[1] * ratio + c[2] * ratio**2, 0.0))
    error = np.where(usable, np.minimum(error / np.where(usable, n, 1.0), 1.0), 1.0)
    edge = inputs["sum"].edge / half
    if inputs.sampling:
        low, high = populations.mean(top, bottom, square, drawn, inputs.failure, edge)
    else:
        low, high = interval(
            s, n, c, lambda m: top.fourth + m**4 * bottom.fourth, inputs.failure, within, edge
        )
    low, high = np.minimum(low, ratio), np.maximum(high, ratio)
    rounding = 0.0 if value.exact else 0.5
    worth = float(value.granularity)

    def real(x: Reals, off: float = 0.0) -> Reals:
        return np.asarray((np.clip(x * half + off, value.low, value.high) + value.centre) * worth)

    return Column(name, real(ratio), error * half * worth, real(low, -rounding), real(high, rounding))


def _drawn(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> tuple[Reals, Reals, Reals]:
    """The variance of S - m N that comes from drawing the rows, as a polynomial of m.

    It is the sum of squares around m, as Student's; but for values that are at either bound, of which there are as
    many at the upper one as m says, that is n (1 - m^2), as Wilson's. The more they are, the more of the second.
    """
    n = np.maximum(bottom.values, 0.0)
    squares = _squares(top, bottom, square, ratio)
    share = np.clip(squares / np.maximum(n * (1 - ratio**2), 1e-12), 0.0, 1.0)
    ends = share**4
    student = (squares + n * ratio**2, -2 * n * ratio, n)
    wilson = (n * share, 0.0 * n, -n * share)
    first, second, third = ((1 - ends) * a + ends * b for a, b in zip(student, wilson, strict=True))
    return first, second, third


def _squares(top: Noisy, bottom: Noisy, square: Noisy | None, ratio: Reals) -> Reals:
    """The sum of squares around the mean: as estimated, brought to where it can be.

    It is between 0 and n (1 - mean^2) (Bhatia and Davis 2000). Of what the noise leaves open the mean is taken, as if
    all in between were equally likely.
    """
    n = np.maximum(bottom.values, 0.0)
    most = n * (1 - ratio**2)
    if square is None:
        return np.asarray(most)
    squares = square.values - n * ratio**2
    noise = np.sqrt(square.variance + 4 * ratio**2 * top.variance + ratio**4 * bottom.variance)
    return truncated_mean(squares, noise, most)


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
