"""The covariance of two columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from dalenius.core.habits import hinted
from dalenius.errors import QueryRefused
from dalenius.tables.aggregates.aggregate import (
    GIVEN_LATER,
    Aggregate,
    Bounds,
    Inputs,
    checked_text,
    on_grid,
)
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.spread import TWO, spread_column
from dalenius.tables.facts.forms import NULLS, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.measures.measure import Measure, centred_sum, needed, product
from dalenius.tables.measures.measure import count as rows
from dalenius.tables.rows.scope import Argument, Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class Covariance(Aggregate):
    """Roles: count, sum_x, sum_y, product, square_x, square_y. Rows lacking either value do not count."""

    x: str
    y: str
    x_bounds: Bounds | None = None
    y_bounds: Bounds | None = None
    x_nulls: Nulls | None = None
    y_nulls: Nulls | None = None

    tag = "covariance"
    sql_names = ("covariance", "covar_samp")
    words: ClassVar = {
        "x": PLAIN,
        "y": PLAIN,
        "x_bounds": NUMBERS,
        "y_bounds": NUMBERS,
        "x_nulls": NULLS,
        "y_nulls": NULLS,
    }
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
        policy = nulls_of(nulls, what)
        return cls(x, y, bounds_of(x_bounds, what), bounds_of(y_bounds, what), policy, policy)

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.x, self.y

    @property
    def minor(self) -> tuple[str, ...]:
        return ("square_x", "square_y")

    def roles(self, table: Scope) -> dict[str, Measure]:
        x, y = map(on_grid, self._both(table))
        return {
            "count": rows(*needed(x, y)),
            "sum_x": centred_sum(x, y),
            "sum_y": centred_sum(y, x),
            "product": product(x, y),
            "square_x": product(x, x, y),
            "square_y": product(y, y, x),
        }

    def normal(self, table: Scope) -> Self:
        x, y = self._both(table)
        return replace(
            self, x=x.text, y=y.text, x_bounds=x.bounds, y_bounds=y.bounds, x_nulls=x.nulls, y_nulls=y.nulls
        )

    def _both(self, table: Scope) -> tuple[Argument, Argument]:
        x = table.argument(self.x, self.x_bounds, self.x_nulls, self.what)
        y = table.argument(self.y, self.y_bounds, self.y_nulls, self.what)
        if x.text == y.text:
            raise QueryRefused(f"{self.what} is of one column; use variance({self.x!r}).")
        return x, y

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        return [spread_column(name, inputs, TWO)]

    @classmethod
    def made(cls, *, x_nulls: Nulls | None = None, y_nulls: Nulls | None = None, **parts: Any) -> Self:
        made = cls.of(**parts)
        return replace(made, x_nulls=nulls_of(x_nulls, made.what), y_nulls=nulls_of(y_nulls, made.what))

    @classmethod
    def from_sql(cls, call: Call) -> Self:
        return cls.of(call.text(0), call.text(1), call.bounds(2, 4), call.bounds(4))


@hinted(GIVEN_LATER)
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
