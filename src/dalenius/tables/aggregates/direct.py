"""Estimates that are released as they are: counts and sums, whose noise is that of one number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalenius.intervals.laws import Noisy
from dalenius.tables.aggregates.aggregate import Aggregate, Inputs
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.plan.noise import Noise


class Direct(Aggregate):
    """An aggregate of one measure, which errs by the noise of that measure whatever the group."""

    def error(self, noises: Mapping[str, Noise], typical: Inputs | None, confidence: float) -> float | None:
        (noise,) = noises.values()
        reach = noise.accuracy(confidence)
        if noise.measure.whole:  # it is shown rounded: off by k or less as long as the noise is below k + 1/2
            return float(math.floor(reach + 0.5))
        return reach * float(noise.measure.granularity)


def direct(
    name: str, noisy: Noisy, worth: float, failure: float, rounding: float = 0.0, whole: bool = False
) -> Column:
    """The column of one noisy number a group, of which one unit is worth so much."""
    estimate, (below, above) = noisy.values * worth, noisy.law.reach(failure)
    low, high = estimate - below * worth - rounding, estimate + above * worth + rounding
    if whole:
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        estimate = np.maximum(np.rint(estimate), 0.0)
    return Column(name, estimate, np.full(len(estimate), noisy.sigma * worth), low, high, whole)
