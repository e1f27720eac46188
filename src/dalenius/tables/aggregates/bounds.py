"""Bounds for a column that are not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.core.checks import number
from dalenius.core.habits import hinted
from dalenius.errors import InvalidParameter
from dalenius.sums.power_bins import EDGES, held
from dalenius.tables.aggregates.aggregate import GIVEN_LATER, Bounds, Inputs
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.of_one import OfOneColumn
from dalenius.tables.facts.forms import NULLS, NUMBER, PLAIN
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.bins import listed_bins
from dalenius.tables.measures.measure import Measure, binned
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class FindBounds(OfOneColumn):
    """Bounds that hold nearly all values, from their magnitudes. Role: bins, at powers of two on both sides of
    zero."""

    bounds: Bounds = EDGES[0], EDGES[-1]
    share: float = 0.99

    tag = "bounds"
    sql_names = ("bounds",)
    endings = ("_lower", "_upper")
    priced = False
    words: ClassVar = {"column": PLAIN, "share": NUMBER, "nulls": NULLS}
    explanation = "from noisy counts of magnitudes"

    def roles(self, table: Scope) -> dict[str, Measure]:
        argument = self.argument(table)
        return {"bins": binned(listed_bins(argument.term, argument.text, EDGES, argument.nulls))}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The range of magnitudes that holds the share asked for, from bins that stand out of the noise."""
        noisy, bins = inputs["bins"], inputs.roles["bins"].bins
        assert bins is not None
        edges = np.array(bins.edges)
        # With this threshold an empty bin is taken for a full one once in about a thousand releases.
        first, last = held(noisy.values, noisy.law.reach(1e-3 / bins.size)[1], self.share)
        none, zero = first < 0, bins.size // 2
        # The bin of zero reaches as little below it as above: that end is shown as zero, but where it holds all.
        low = np.where(none, np.nan, np.where(first == zero, 0.0, edges[first]))
        high = np.where(none, np.nan, np.where((last == zero) & (first < zero), 0.0, edges[last + 1]))
        nan = np.full(len(low), np.nan)
        return [Column(f"{name}_lower", low, nan, nan, nan), Column(f"{name}_upper", high, nan, nan, nan)]

    @classmethod
    def made(cls, **parts: Any) -> FindBounds:
        return bounds(**parts)

    @classmethod
    def from_sql(cls, call: Call) -> FindBounds:
        return bounds(call.at_most(1).text(0))


@hinted(GIVEN_LATER)
def bounds(column: str, *, share: float = 0.99, nulls: Nulls | None = None) -> FindBounds:
    """Bounds for a column that are not known: a private question, with a price, whose answer is powers of two.

    The columns of the answer are `name_lower` and `name_upper`; NaN where noise hides all values.

    Parameters
    ----------
    column : str
        A column or an expression.
    share : float, optional
        How much of the values the bounds are to hold; at least 0.5 and below 1.
    nulls : {"drop", "never"} or impute(constant), optional
        What becomes of missing values; where it is left out, what the schema says.

    Returns
    -------
    FindBounds
        The aggregate, for `agg`.

    Raises
    ------
    InvalidParameter
        If `column` is not text, `share` is out of range or `nulls` is not a policy.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.bounds("income", share=0.95).share
    0.95
    """
    level = number("share", share)
    if not 0.5 <= level < 1:
        raise InvalidParameter(f"share is {level:g}; it must be at least 0.5 and below 1.")
    return FindBounds.of(column, (EDGES[0], EDGES[-1]), nulls, share=level)
