"""A release without an analysis for one person: everybody is told the worst case.

P(L > a) is at most `tail` of the loss, and L < -a has e^-a times the chance that the loss the other way exceeds a: so
|L| is beyond tail(failure/2) with probability `failure` at most. That is about one person, or some named beforehand.
A bound for everybody at once follows from a worst case only if the loss never exceeds it, as under pure differential
privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.personal.release import Release, Statement
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.calculus.saved import loss_record, read_loss
from dalenius.core import checks
from dalenius.core.record import JSON, exact
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class WorstCase(Release):
    """A release that is known by its loss alone, plus at most `shift` whatever comes out."""

    tag = "worst_case"

    loss: Loss
    name: str
    shift: float = 0.0
    fields = None

    def __post_init__(self) -> None:
        checks.nonnegative("shift", self.shift)

    def constants(self, statement: Statement) -> dict[str, Any]:
        if statement.is_for_everyone:
            return {"bound": self._always()}
        return {"bound": min(self.loss.tail(statement.each / 2), self.loss.epsilon(0.0)) + self.shift}

    def _always(self) -> float:
        """The loss that is never exceeded."""
        always = self.loss.epsilon(0.0)
        if math.isinf(always):
            raise InvalidParameter(
                f"{self.name} has no bound that holds for everybody at once; give people=N for N people."
            )
        return always + self.shift

    def bound(self, constants: Mapping[str, Any], rows: Reals, labels: Reals, member: bool | None) -> Reals:
        return np.full(max(len(rows), 1), self.worst(constants))

    def worst(self, constants: Mapping[str, Any]) -> float:
        return float(constants["bound"])

    def record(self) -> dict[str, JSON]:
        return {"loss": loss_record(self.loss), "name": self.name, "shift": exact(self.shift)}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> WorstCase:
        return cls(read_loss(record["loss"]), str(record["name"]), float(record["shift"]))
