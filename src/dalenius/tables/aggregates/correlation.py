"""The correlation of two columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dalenius.core.habits import hinted
from dalenius.intervals import correlations
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Inputs
from dalenius.tables.aggregates.covariance import Covariance
from dalenius.tables.aggregates.spread import TWO, deviations, spreads
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Correlation(Covariance):
    """The same roles as the covariance, each as important."""

    tag = "correlation"
    sql_names = ("corr", "correlation")
    explanation = "from a noisy count, sums and sums of products"

    @property
    def minor(self) -> tuple[str, ...]:
        return ()

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        (x,), (y,) = inputs.roles["sum_x"].values, inputs.roles["sum_y"].values
        xx, yy = spreads(inputs, x, y)
        xy = deviations(inputs, x, y, TWO)
        return [Column(name, *correlations.correlation(xx, yy, xy, inputs.failure, inputs.sampling))]


@hinted(GIVEN_LATER)
def correlation(
    x: str,
    y: str,
    x_bounds: Iterable[float] | None = None,
    y_bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
) -> Correlation:
    """Pearson's correlation of two columns.

    Parameters
    ----------
    x, y : str
        Two columns or expressions. Rows that lack either value do not count.
    x_bounds, y_bounds : pair of float, optional
        (lower, upper) of each; where they are left out, those of the schema. Values beyond are clamped.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values of both; where it is left out, what the schema says.

    Returns
    -------
    Correlation
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `x` or `y` is not text, bounds are not increasing numbers or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.correlation("age", "income", (0, 120), (0, 250_000)).y_bounds
    (0.0, 250000.0)
    """
    return Correlation.of(x, y, x_bounds, y_bounds, nulls)
