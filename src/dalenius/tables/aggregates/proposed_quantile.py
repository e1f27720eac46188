"""A quantile with noise for a proposed local sensitivity: propose, test, release or refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.aggregates.call import Call
from dalenius.tables.aggregates.one_quantile import OneQuantile
from dalenius.tables.facts.forms import NUMBER
from dalenius.tables.measures.measure import Measure, NoisyQuantile, proposed_quantile
from dalenius.tables.rows.scope import Scope
from dalenius.tables.statistics.column import Column

if TYPE_CHECKING:
    from dalenius.tables.plan.noise import Noise

RELEASED, REFUSED = "released", "refused"


@dataclass(frozen=True)
class ProposedQuantile(OneQuantile):
    """One quantile plus noise for a sensitivity that was proposed, of groups that pass the test of it. Role: quantile.

    A group that does not is refused: that is an outcome like any other, charged and recorded. The test has randomness
    of its own, so that the noise of what is released is what it would be without a test, and its interval holds.
    """

    sensitivity: float = 1.0

    tag = "proposed_quantile"
    way = "propose"
    sql_names = ("proposed_median", "proposed_quantile")
    endings = ("_error", "_low", "_high", "_outcome")
    words: ClassVar = {**OneQuantile.words, "sensitivity": NUMBER}
    explanation = "with noise for the sensitivity proposed, where the data bear it; a refusal otherwise"

    def roles(self, table: Scope) -> dict[str, Measure]:
        return {"quantile": proposed_quantile(self.counted(table), self.level, self.sensitivity)}

    def estimate(self, name: str, inputs: Inputs) -> list[Column]:
        """The quantile with its interval, NaN where it was refused; and which of the two it was, in a word."""
        noisy, measure = inputs["quantile"], inputs.roles["quantile"]
        assert isinstance(measure, NoisyQuantile)
        values = measure.in_units(noisy.values)
        nan = np.full(len(values), np.nan)
        error = np.where(np.isnan(values), nan, noisy.sigma * float(measure.granularity))
        # Of a population the rows were drawn from, nothing is known but this one number.
        reach = np.inf if inputs.sampling else self._reach(measure, noisy.law.reach(inputs.failure)[1])
        low, high = (values - reach, values + reach) if np.isfinite(reach) else (nan, nan)
        outcome = np.empty(len(values), dtype=object)
        outcome[:] = [REFUSED if np.isnan(value) else RELEASED for value in values]
        column = Column(name, values, error, low, high, optional=bool(np.isfinite(reach)))
        if self.bounds is not None:  # which the outer bins may pass
            column = column.within(*self.bounds)
        return [column, Column(f"{name}_outcome", outcome, nan, nan, nan)]

    def error(self, noises: Mapping[str, Noise], typical: Inputs | None, confidence: float) -> float | None:
        """Of what is released; a refusal has none."""
        (noise,) = noises.values()
        return self._reach(noise.measure, noise.accuracy(confidence))

    @staticmethod
    def _reach(measure: Measure, halves: float) -> float:
        """So many half bins, and what a value is off from the middle of its bin."""
        assert measure.bins is not None
        inside = measure.bins.width - 1.0 if measure.bins.whole else measure.bins.width
        return halves * float(measure.granularity) + inside / 2

    @classmethod
    def from_sql(cls, call: Call) -> OneQuantile:
        """PROPOSED_MEDIAN(x, sensitivity), or PROPOSED_QUANTILE(x, level, sensitivity), with bounds or without."""
        from dalenius.tables.aggregates.quantiles import adaptive_quantile

        if call.name == "proposed_median":
            return adaptive_quantile(
                call.text(0), 0.5, call.bounds(2), way=cls.way, sensitivity=call.number(1)
            )
        return adaptive_quantile(
            call.text(0), call.number(1), call.bounds(3), way=cls.way, sensitivity=call.number(2)
        )
