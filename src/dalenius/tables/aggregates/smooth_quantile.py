"""A quantile with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.one_quantile import OneQuantile
from dalenius.tables.measures.measure import Measure, NoisyQuantile, smooth_quantile
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column


@dataclass(frozen=True)
class SmoothQuantile(OneQuantile):
    """One quantile plus noise that is as wide as the smooth sensitivity of the quantile at the data. Role: quantile.

    How wide the noise was depends on the data and is not released, so that there is no error and no interval: the only
    one that holds whatever the data are is the bounds.
    """

    tag = "smooth_quantile"
    way = "smooth"
    sql_names = ("smooth_median", "smooth_quantile")
    endings = ()
    priced = False
    explanation = "with noise in proportion to its smooth sensitivity"

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"quantile": smooth_quantile(self.counted(table), self.level)}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        measure = inputs.roles["quantile"]
        assert isinstance(measure, NoisyQuantile)
        values = measure.in_units(inputs["quantile"].values)
        if self.bounds is not None:  # which the outer bins may pass
            values = np.clip(values, *self.bounds)
        nan = np.full(len(values), np.nan)
        return [Column(name, values, nan, nan, nan)]

    @property
    def unpriced(self) -> str:
        return (
            "depends on the data: how close together the values near it lie, which nobody may know, before the release "
            "or after it. Choose a budget; for an error that is known use adaptive='rank', or no adaptive at all."
        )

    @classmethod
    def from_sql(cls, call: Call) -> OneQuantile:
        """SMOOTH_MEDIAN(x), or SMOOTH_QUANTILE(x, level), with bounds or without."""
        from dalenius.tables.aggregates.quantiles import adaptive_quantile

        if call.name == "smooth_median":
            return adaptive_quantile(call.text(0), 0.5, call.bounds(1), way=cls.way)
        return adaptive_quantile(call.text(0), call.number(1), call.bounds(2), way=cls.way)
