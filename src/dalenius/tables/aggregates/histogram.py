"""Counts in bins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dalenius.core.checks import count, shown
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates.aggregate import Bounds, Columns, Inputs, Roles, checked_text, numbers
from dalenius.tables.aggregates.direct import Direct, direct
from dalenius.tables.aggregates.record import NULLS, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls, bounds_of, nulls_of
from dalenius.tables.measures.bins import equal_bins, listed_bins
from dalenius.tables.measures.measure import Measure, binned
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.sql.calls import Call

BINS = 10
"""As many as there are, unless asked otherwise."""


@dataclass(frozen=True)
class Histogram(Direct):
    """Rows per bin. Role: bins."""

    column: str
    bins: int | None = BINS
    bounds: Bounds | None = None
    edges: tuple[float, ...] | None = None
    nulls: Nulls | None = None

    tag = "histogram"
    sql_names = ("histogram",)
    words: ClassVar = {"column": PLAIN, "bins": PLAIN, "bounds": NUMBERS, "edges": NUMBERS, "nulls": NULLS}
    explanation = "a noisy count in each bin"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    def roles(self, table: Columns) -> dict[str, Measure]:
        if self.edges is not None:
            around = (self.edges[0], self.edges[-1]) if len(self.edges) > 1 else None
            argument = table.argument(self.column, around, self.nulls, self.what)
            return {"bins": binned(listed_bins(argument.term, argument.text, self.edges, argument.nulls))}
        argument = table.argument(self.column, self.bounds, self.nulls, self.what)
        assert self.bins is not None
        made = equal_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)
        return {"bins": binned(made)}

    def width(self, roles: Roles) -> int:
        return roles["bins"].size

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        noisy, bins = inputs["bins"], inputs.roles["bins"].bins
        assert bins is not None
        edges, found = bins.edges, []
        for k in range(bins.size):
            close = "]" if k == bins.size - 1 else ")"
            part = replace(noisy, values=noisy.values[:, k])
            label = f"{name}[{edges[k]:g}, {edges[k + 1]:g}{close}"
            found.append(direct(label, part, 1.0, inputs.failure, whole=True))
        return found

    @classmethod
    def from_sql(cls, call: Call) -> Histogram:
        bins = call.number(1) if len(call.arguments) > 1 else None
        if bins is not None and not bins.is_integer():
            raise QueryRefused(f"histogram has {bins:g} bins; their number is a whole one.")
        return histogram(call.text(0), None if bins is None else int(bins), call.bounds(2))


def histogram(
    column: str,
    bins: int | None = None,
    bounds: Iterable[float] | None = None,
    *,
    edges: Iterable[float] | None = None,
    nulls: Nulls | None = None,
) -> Histogram:
    """Counts in bins: of equal width between the bounds, or with the edges listed.

    Values beyond the ends count in the end bins. The columns of the answer are called `name[lower, upper)`, one for
    each bin.

    Parameters
    ----------
    column : str
        A column or an expression.
    bins : int, optional
        How many bins of equal width there are between the bounds; 10 if left out.
    bounds : pair of float, optional
        (lower, upper); where they are left out, those of the schema.
    edges : iterable of float, optional
        The edges of the bins, in place of `bins` and `bounds`.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.

    Returns
    -------
    Histogram
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, there are both edges and bins or bounds, an edge is not a number, the bounds are not
        increasing numbers or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.histogram("age", edges=[0, 18, 65, 120]).edges
    (0.0, 18.0, 65.0, 120.0)
    """
    column = checked_text(column, "histogram")
    policy = nulls_of(nulls, "histogram")
    if edges is not None:
        if bins is not None or bounds is not None:
            raise InvalidParameter(
                f"histogram({column!r}) has both edges and bins or bounds; give one of the two."
            )
        return Histogram(column, None, None, numbers("an edge", edges, f"histogram({column!r})"), policy)
    around = None if bounds is None else bounds_of(bounds, f"histogram({column!r})")
    if isinstance(bins, Iterable):
        raise InvalidParameter.of(
            "bins",
            f"bins is {shown(bins)}; it must be a whole number. For edges of your own write edges=[...].",
        )
    size = BINS if bins is None else count("the number of bins", bins, 1)
    return Histogram(column, size, around, None, policy)
