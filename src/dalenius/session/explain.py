"""What a release would do, before it is paid for: sensitivities, noise, expected errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.tables.aggregates import FindBounds, Quantiles
from dalenius.tables.estimates import Wanted, columns
from dalenius.tables.plan import Plan
from dalenius.tables.released import Noisy, Released

SIZES = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Explanation:
    """A plan in numbers a person can weigh. `print` it, or ask for one error."""

    plan: Plan
    threshold: float | None = None
    """Where keys are discovered: how many units must share one, give or take the noise."""

    def error(self, confidence: float = 0.95, column: str | None = None, rows: float | None = None) -> float:
        """The error an estimate stays within, in the worst column or the one named.

        Counts and sums err by as much whatever the group; means and other ratios by less in larger groups, so
        that `rows` is needed for them. What is in the middle of the bounds errs least: this is about a group
        whose values sit there, evenly spread.
        """
        found = self._errors(confidence, rows)
        if column is not None and column not in found:
            raise InvalidParameter(
                f"there is no column {column!r} in the answer; there are {', '.join(found)}."
            )
        wanted = found if column is None else {column: found[column]}
        kinds = dict(self.plan.query.aggregates)
        for name, error in wanted.items():
            if error is None and isinstance(kinds[name], Quantiles | FindBounds):
                raise InvalidParameter(
                    f"the error of {name!r} depends on the data: how many values lie near it. It has no price by "
                    "accuracy; choose a budget, and see how wide the interval comes out."
                )
            if error is None:
                raise InvalidParameter(
                    f"the error of {name!r} depends on how many rows a group has; say so: "
                    "within(..., rows=1000), or --rows 1000."
                )
        return max(error for error in wanted.values() if error is not None)

    def _errors(self, confidence: float, rows: float | None) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        query = self.plan.query
        for (name, aggregate), roles in zip(query.aggregates, query.roles, strict=True):
            direct = len(roles) == 1 and not isinstance(aggregate, Quantiles | FindBounds)
            if isinstance(aggregate, Quantiles | FindBounds) or (rows is None and not direct):
                found[name] = None
                continue
            single = Plan(
                type(query)(query.table, (), None, ((name, aggregate),), (roles,)),
                self.plan.unit,
                self.plan.adjacency,
                self.plan.noises,
            )
            made = columns(single.query, self._typical(rows or 1.0), Wanted(confidence))
            found[name] = max(float((column.high - column.low).max()) / 2 for column in made)
            if direct:  # not clipped at zero
                noise = self.plan.of[roles[0][1]]
                found[name] = float(noise.mechanism.accuracy(confidence)) * float(roles[0][1].granularity)
        return found

    def _typical(self, rows: float) -> Released:
        """A group of so many rows, evenly spread over the bounds, without noise in its middle."""
        measures = {}
        for noise in self.plan.noises:
            measure = noise.measure
            value = {"count": rows, "units": rows, "sum": 0.0, "bins": rows}.get(measure.kind, 0.0)
            if measure.kind == "product" and measure.values[0] == measure.values[1]:
                value = rows * max(abs(measure.values[0].low), abs(measure.values[0].high)) ** 2 / 3
            if measure.kind == "sum" and measure.origin == 0:
                value = rows * (measure.low + measure.high) / 2
            shape = (1, measure.size) if measure.bins is not None else (1,)
            measures[measure] = Noisy(np.full(shape, value), noise.sigma, noise.is_gaussian)
        return Released((), [()], measures, {})

    def __str__(self) -> str:
        lines = ["measure                         one unit moves it by   noise (standard deviation)"]
        for noise in self.plan.noises:
            measure = noise.measure
            worth = float(measure.granularity)
            moved = noise.sensitivity.l2 if noise.is_gaussian else noise.sensitivity.l1
            what = (
                f"{measure.kind} of {', '.join(v.text for v in measure.values)}"
                if measure.values
                else measure.kind
            )
            lines.append(f"{what[:30]:<30}  {moved * worth:<21.6g}  {noise.sigma * worth:.6g}")
        lines.append("")
        lines.append("95 % error by rows in a group: " + ", ".join(f"{n:,}" for n in SIZES))
        for name, _ in self.plan.query.aggregates:
            errors = [self._errors(0.95, n).get(name) for n in SIZES]
            shown = ", ".join(
                "depends on the data" if e is None else f"{e:.4g}" for e in dict.fromkeys(errors)
            )
            lines.append(f"  {name}: {shown}")
        if self.threshold is not None:
            lines.append(f"Keys that fewer than about {self.threshold:.0f} units share stay hidden.")
        return "\n".join(lines)
