"""A quantile whose error is that of the ranks, however wide the bounds are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dalenius.tables.aggregates.aggregate import Bounds, Columns, Inputs
from dalenius.tables.aggregates.direct import Direct
from dalenius.tables.aggregates.record import NULLS, NUMBER, NUMBERS, PLAIN
from dalenius.tables.facts.schema import Nulls
from dalenius.tables.measures.bins import fine_bins
from dalenius.tables.measures.measure import Measure, bin_of_rank
from dalenius.tables.statistics.column import Column
from dalenius.tables.statistics.laws import reach

if TYPE_CHECKING:
    from dalenius.tables.sql.calls import Call


@dataclass(frozen=True)
class AdaptiveQuantile(Direct):
    """One quantile, of which nothing but its bin leaves. Role: rank.

    The bin is drawn by the exponential mechanism for ranks: with n rows of a group, of which l are in bins below and m
    in that bin or below, a bin has the score minus the distance of level n from [l, m]. So the error is a number of
    rows, whatever the bounds are; where rows are close together, so is the answer to the quantile. (`quantiles` counts
    the bins at several resolutions instead, which costs more, and has intervals.)
    """

    column: str
    level: float
    bounds: Bounds | None
    nulls: Nulls | None
    bins: int

    tag = "adaptive_quantile"
    sql_names = ("adaptive_median", "adaptive_quantile")
    endings = ("_off",)
    words: ClassVar = {"column": PLAIN, "level": NUMBER, "bounds": NUMBERS, "nulls": NULLS, "bins": PLAIN}
    explanation = "the bin whose rank with noise is nearest; the error is in rows"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    def roles(self, table: Columns) -> dict[str, Measure]:
        argument = table.argument(self.column, self.bounds, self.nulls, self.what)
        bins = fine_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)
        return {"rank": bin_of_rank(bins, self.level)}

    def limits(self, table: Callable[[], Columns]) -> Bounds:
        """The bounds, which the outer bins may pass."""
        return table().argument(self.column, self.bounds, self.nulls, self.what).bounds

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The middle of the bin, and how many rows its rank may be off, but for this chance."""
        chosen, bins = inputs["rank"], inputs.roles["rank"].bins
        assert bins is not None
        values = np.array([bins.middles[int(k)] for k in chosen.values], dtype=float)
        nan = np.full(len(values), np.nan)
        off = np.full(len(values), float(math.floor(reach(chosen, inputs.failure)[1])))
        return [Column(name, values, nan, nan, nan), Column(f"{name}_off", off, nan, nan, nan)]

    @classmethod
    def from_sql(cls, call: Call) -> AdaptiveQuantile:
        """ADAPTIVE_MEDIAN(x), or ADAPTIVE_QUANTILE(x, level), with bounds or without."""
        from dalenius.tables.aggregates.quantiles import adaptive_quantile

        if call.name == "adaptive_median":
            return adaptive_quantile(call.text(0), 0.5, call.bounds(1))
        return adaptive_quantile(call.text(0), call.number(1), call.bounds(2))
