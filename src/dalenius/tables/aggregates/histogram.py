"""Counts in bins."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dalenius.core.checks import count, shown
from dalenius.core.habits import hinted
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.tables.aggregates.aggregate import (
    GIVEN_LATER,
    Inputs,
    Roles,
    numbers,
)
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import Direct, direct
from dalenius.tables.aggregates.of_one import OfOneColumn
from dalenius.tables.facts.forms import NULLS, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.bins import equal_bins, listed_bins
from dalenius.tables.measures.measure import Measure, binned
from dalenius.tables.rows.scope import Argument, Scope
from dalenius.tables.statistics.column import Column

BINS = 10
"""As many as there are, unless asked otherwise."""


@dataclass(frozen=True)
class Histogram(Direct, OfOneColumn):
    """Rows per bin. Role: bins."""

    bins: int | None = BINS
    edges: tuple[float, ...] | None = None

    tag = "histogram"
    sql_names = ("histogram",)
    words: ClassVar = {"column": PLAIN, "bins": PLAIN, "bounds": NUMBERS, "edges": NUMBERS, "nulls": NULLS}
    explanation = "a noisy count in each bin"

    def roles(self, table: Scope) -> dict[str, Measure]:
        argument = self.argument(table)
        if self.edges is not None:
            return {"bins": binned(listed_bins(argument.term, argument.text, self.edges, argument.nulls))}
        assert self.bins is not None
        made = equal_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)
        return {"bins": binned(made)}

    def argument(self, table: Scope) -> Argument:
        ends = (
            (self.edges[0], self.edges[-1]) if self.edges is not None and len(self.edges) > 1 else self.bounds
        )
        return table.argument(self.column, ends, self.nulls, self.what)

    def normal(self, table: Scope) -> Self:
        return super().normal(table) if self.edges is None else replace(super().normal(table), bounds=None)

    def width(self, roles: Roles) -> int:
        return roles["bins"].size

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        noisy, bins = inputs["bins"], inputs.roles["bins"].bins
        assert bins is not None
        columns = []
        for k, label in enumerate(histogram_labels(name, bins.edges)):
            part = replace(noisy, values=noisy.values[:, k])
            columns.append(direct(label, part, 1.0, inputs.failure, whole=True))
        return columns

    @classmethod
    def made(cls, **parts: Any) -> Histogram:
        return histogram(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> Histogram:
        """HISTOGRAM(x, 10, 0, 100), or HISTOGRAM(x, ARRAY[0, 18, 65, 100]) with the edges."""
        if (edges := call.listed(1)) is not None:
            return histogram(call.at_most(2).text(0), edges=edges)
        bins = call.number(1) if len(call.arguments) > 1 else None
        if len(call.arguments) > 4 or (bins is not None and not (bins.is_integer() and bins >= 1)):
            raise QueryRefused(
                f"{call}: the number of bins, a whole one, follows the argument, then bounds: HISTOGRAM(age, 10, 0, "
                "100). Edges are written as a list: HISTOGRAM(age, ARRAY[0, 18, 65, 100])."
            )
        return histogram(call.text(0), None if bins is None else int(bins), call.bounds(2))


def histogram_labels(name: str, edges: tuple[float, ...]) -> list[str]:
    """What the columns of the bins are called, each otherwise: edges have six digits, or as many as tell them apart.

    >>> histogram_labels("x", (1000000.0, 1000002.5, 1000005.0))
    ['x[1000000, 1000002.5)', 'x[1000002.5, 1000005]']
    """
    near = min(high - low for low, high in itertools.pairwise(edges)) * 1e-5
    *starts, last = [_edge(edge, near) for edge in edges]
    ends = [*(f"{end})" for end in starts[1:]), f"{last}]"]
    return [f"{name}[{start}, {end}" for start, end in zip(starts, ends, strict=True)]


def _edge(edge: float, near: float) -> str:
    """The shortest text of a number this near."""
    texts = (f"{edge:.{digits}g}" for digits in range(6, 18))
    text = next(text for text in texts if abs(float(text) - edge) <= near)
    usual = "e" in text and 1e-6 <= abs(edge) < 1e16
    return np.format_float_positional(float(text), trim="-") if usual else text


@hinted(GIVEN_LATER)
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
    if edges is not None:
        if bins is not None or bounds is not None:
            raise InvalidParameter(
                f"histogram({column!r}) has both edges and bins or bounds; give one of the two."
            )
        listed = numbers("an edge", edges, f"histogram({column!r})")
        return Histogram.of(column, None, nulls, bins=None, edges=listed)
    if isinstance(bins, Iterable):
        raise InvalidParameter.of(
            "bins",
            f"bins is {shown(bins)}; it must be a whole number. For edges of your own write edges=[...].",
        )
    size = BINS if bins is None else count("the number of bins", bins, 1)
    return Histogram.of(column, bounds, nulls, bins=size)
