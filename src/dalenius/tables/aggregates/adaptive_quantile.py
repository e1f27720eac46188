"""A quantile whose error is that of the ranks, however wide the bounds are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.direct import Direct
from dalenius.tables.aggregates.one_quantile import OneQuantile
from dalenius.tables.measures.measure import PARTS, Measure, bin_of_rank
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class AdaptiveQuantile(OneQuantile, Direct):
    """One quantile, of which nothing but its bin leaves. Role: rank.

    The bin is drawn by the exponential mechanism for ranks: with n rows of a group, of which l are in bins below and m
    in that bin or below, a bin has the score minus the distance of level n from [l, m]. So the error is a number of
    rows, whatever the bounds are; where rows are close together, so is the answer to the quantile. (`quantiles` counts
    the bins at several resolutions instead, which costs more, and has intervals.)
    """

    tag = "adaptive_quantile"
    sql_names = ("adaptive_median", "adaptive_quantile")
    endings = ("_off",)
    way = "rank"
    explanation = "the bin whose rank with noise is nearest; the error is in rows"

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"rank": bin_of_rank(self.counted(table), self.level)}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The middle of the bin, and how many rows its rank may be off, but for this chance.

        With n rows the rank is level n; so the distance from it is a multiple of what level and 1 have in common: half
        a row, for a median.
        """
        chosen, rank = inputs["rank"], inputs.roles["rank"]
        assert rank.bins is not None
        values = np.array([rank.bins.middles[int(k)] for k in chosen.values], dtype=float)
        if self.bounds is not None:  # which the outer bins may pass
            values = np.clip(values, *self.bounds)
        nan, step = np.full(len(values), np.nan), math.gcd(*rank.labels, PARTS) / PARTS
        off = np.full(len(values), math.floor(chosen.law.reach(inputs.failure)[1] / step) * step)
        return [Column(name, values, nan, nan, nan), Column(f"{name}_off", off, nan, nan, nan)]

    @classmethod
    def from_sql(cls, call: Call) -> OneQuantile:
        """ADAPTIVE_MEDIAN(x), or ADAPTIVE_QUANTILE(x, level), with bounds or without."""
        from dalenius.tables.aggregates.quantiles import adaptive_quantile

        if call.name == "adaptive_median":
            return adaptive_quantile(call.text(0), 0.5, call.bounds(1))
        return adaptive_quantile(call.text(0), call.number(1), call.bounds(2))
