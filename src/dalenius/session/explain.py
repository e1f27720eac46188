"""What a release would do, before it is paid for: sensitivities, noise, expected errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.notebook import printed, shortened
from dalenius.errors import InvalidParameter
from dalenius.session.accuracy import Within
from dalenius.tables.aggregates.aggregate import Inputs
from dalenius.tables.facts.keys import Discover
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.plan.in_numbers import DEPENDS, HEAD, in_numbers
from dalenius.tables.plan.plan import Plan, groups
from dalenius.tables.release.left_out import left_out
from dalenius.tables.release.released import Released

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
        errors = self._errors(confidence, rows)
        if column is not None and column not in errors:
            raise InvalidParameter(f"there is no column {column!r} in the answer; {nearest(column, errors)}.")
        wanted = errors if column is None else {column: errors[column]}
        kinds = dict(self.plan.query.aggregates)
        for name, error in wanted.items():
            if error is None:
                raise InvalidParameter(f"the error of {name!r} {kinds[name].unpriced}")
        return max(error for error in wanted.values() if error is not None)

    def meets(self, accuracy: Within) -> bool:
        """Whether every error that was named is kept to."""
        level = self.level(accuracy)
        return all(self.error(level, column, accuracy.rows) <= error for column, error in accuracy.each)

    def level(self, accuracy: Within) -> float:
        """The confidence of one number: more than that of the whole answer, where all are to hold together."""
        return 1 - (1 - accuracy.confidence) / (self.cells if accuracy.simultaneous else 1)

    @property
    def cells(self) -> int:
        """How many numbers with an interval the answer has, in all groups together."""
        query = self.plan.query
        if isinstance(query.keys, Discover) or self.threshold is not None:
            raise InvalidParameter(
                "how many groups will be discovered is not known, so that not all of them can be held to an error "
                "together; list the keys, or leave simultaneous out."
            )
        width = sum(aggregate.width(roles) for _, aggregate, roles in query.parts)
        return max(1, width * groups(query))

    def assumed(self, accuracy: Within) -> str:
        """What an accuracy rests on beyond public facts, in words; nothing for counts and sums."""
        if accuracy.rows is None:
            return ""
        free = self._errors(accuracy.confidence, None)
        named = [name for column, _ in accuracy.each for name in ([column] if column else free)]
        if all(free[name] is not None for name in named):
            return ""
        rows = f"{accuracy.rows:,.6g}".replace(",", " ")
        return f"{rows} rows in each group, with values evenly spread over the bounds"

    @cached_property
    def _known(self) -> dict[tuple[float, float | None], dict[str, float | None]]:
        """The errors that were asked about: each is asked about for every column, of which there may be a thousand."""
        return {}

    def _errors(self, confidence: float, rows: float | None) -> dict[str, float | None]:
        if (confidence, rows) not in self._known:
            self._known[confidence, rows] = self._computed(confidence, rows)
        return self._known[confidence, rows]

    def _computed(self, confidence: float, rows: float | None) -> dict[str, float | None]:
        typical = None if rows is None else self._typical(rows)
        errors = {}
        for name, aggregate, roles in self.plan.query.parts:
            noises = {role: self.plan.of[measure] for role, measure in roles.items()}
            inputs = None if typical is None else Inputs(roles, typical, 1 - confidence)
            errors[name] = aggregate.error(noises, inputs, confidence)
        return errors

    def _typical(self, rows: float) -> Released:
        """A group of so many rows, evenly spread over the bounds, without noise in its middle."""
        measures = {}
        for noise in self.plan.noises:
            shape = (1, noise.measure.size) if noise.measure.bins is not None else (1,)
            measures[noise.measure] = noise.noisy(np.full(shape, noise.measure.typical(rows)))
        return Released((), [()], measures, {})

    def __str__(self) -> str:
        head, rows = HEAD, in_numbers(self.plan.noises)
        wide = max(30, min(60, max(len(what) for what, _, _ in rows)))
        lines = [
            f"{shortened(what, wide):<{wide}}  {moved:<21}  {spread}" for what, moved, spread in (head, *rows)
        ]
        lines.append("")
        lines.append("95 % error by rows in a group: " + ", ".join(f"{n:,}" for n in SIZES))
        for name, aggregate in self.plan.query.aggregates:
            errors = [self._errors(0.95, n).get(name) for n in SIZES]
            shown = ", ".join(DEPENDS if e is None else f"{e:.4g}" for e in dict.fromkeys(errors))
            lines.append(f"  {name}: {shown} ({aggregate.explanation})")
        if self.threshold is not None:
            lines.append(f"Keys that fewer than about {self.threshold:.0f} units share stay hidden.")
        if gone := left_out(self.plan):
            lines.append(gone)
        if caveat := self.plan.unit.caveat:
            lines.append(caveat)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What a notebook shows: the same lines as `print`."""
        return printed(self)
