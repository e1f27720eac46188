"""The covariance of two columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import (
    Aggregate,
    Bounds,
    Columns,
    Inputs,
    checked_text,
    on_grid,
)
from dalenius.tables.aggregates.record import NULLS, NUMBERS, PLAIN
from dalenius.tables.aggregates.spread import TWO, spread_column
from dalenius.tables.facts.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.measures.gridding import Value
from dalenius.tables.measures.measure import Measure, centred_sum, needed, product
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.sql.calls import Call


@dataclass(frozen=True)
class Covariance(Aggregate):
    """Roles: count, sum_x, sum_y, product, square_x, square_y. Rows lacking either value do not count."""

    x: str
    y: str
    x_bounds: Bounds | None = None
    y_bounds: Bounds | None = None
    nulls: Nulls | None = None

    tag = "covariance"
    sql_names = ("covariance", "covar_samp")
    words: ClassVar = {"x": PLAIN, "y": PLAIN, "x_bounds": NUMBERS, "y_bounds": NUMBERS, "nulls": NULLS}
    explanation = "from a noisy count, sums and sum of products"

    @classmethod
    def of(
        cls,
        x: str,
        y: str,
        x_bounds: Iterable[float] | None = None,
        y_bounds: Iterable[float] | None = None,
        nulls: Nulls | None = None,
    ) -> Self:
        """With every part checked."""
        x, y = checked_text(x, cls.tag), checked_text(y, cls.tag)
        what = f"{cls.tag}({x!r}, {y!r})"
        first = None if x_bounds is None else bounds_of(x_bounds, what)
        second = None if y_bounds is None else bounds_of(y_bounds, what)
        return cls(x, y, first, second, nulls_of(nulls, what))

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.x, self.y

    @property
    def minor(self) -> tuple[str, ...]:
        return ("square_x", "square_y")

    def roles(self, table: Columns) -> dict[str, Measure]:
        x, y = self._values(table)
        return {
            "count": rows(*needed(x, y)),
            "sum_x": centred_sum(x, y),
            "sum_y": centred_sum(y, x),
            "product": product(x, y),
            "square_x": product(x, x, y),
            "square_y": product(y, y, x),
        }

    def _values(self, table: Columns) -> tuple[Value, Value]:
        if self.x == self.y:
            raise QueryRefused(f"{self.what} is of one column; use variance({self.x!r}).")
        x = on_grid(table.argument(self.x, self.x_bounds, self.nulls, self.what))
        y = on_grid(table.argument(self.y, self.y_bounds, self.nulls, self.what))
        return x, y

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [spread_column(name, inputs, TWO)]

    @classmethod
    def from_sql(cls, call: Call) -> Self:
        return cls.of(call.text(0), call.text(1), call.bounds(2, 4), call.bounds(4))


def covariance(
    x: str,
    y: str,
    x_bounds: Iterable[float] | None = None,
    y_bounds: Iterable[float] | None = None,
    *,
    nulls: Nulls | None = None,
) -> Covariance:
    """The covariance of two columns (with n - 1 in the denominator).

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
    Covariance
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `x` or `y` is not text, bounds are not increasing numbers or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.covariance("age", "income", (0, 120), (0, 250_000)).y_bounds
    (0.0, 250000.0)
    """
    return Covariance.of(x, y, x_bounds, y_bounds, nulls)
