"""How one measure is released: a mechanism, and the law of what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.intervals.laws import Law, Noisy
from dalenius.tables.measures.measure import Measure
from dalenius.tables.measures.tree import Reals
from dalenius.tables.plan.sensitivity import Sensitivity


@dataclass(frozen=True)
class Noise:
    """How one measure is released, in its own integer units: a mechanism, and the law of what it adds.

    sensitivity: of the measure at all its resolutions. levels: at how many resolutions the bins are counted; 1 for few
    bins, and for all that is not a quantile.
    """

    measure: Measure
    mechanism: Any
    sensitivity: Sensitivity
    law: Law
    levels: int = 1

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise of one cell."""
        return self.law.sigma

    @property
    def loss(self) -> Loss:
        """Of everything this releases, all groups together."""
        loss: Loss = self.mechanism.loss
        return loss

    @property
    def moved(self) -> float | None:
        """How far one unit moves the measure, in its units; None where that depends on the data."""
        return float(self.mechanism.sensitivity)

    def release(self, counts: Reals) -> Reals:
        """What leaves, of the exact integers of all groups."""
        return np.asarray(self.mechanism.release(counts), dtype=float)

    def noisy(self, values: Reals) -> Noisy:
        """What was released, with the law of its noise."""
        return Noisy(values, self.law)

    def accuracy(self, confidence: float) -> float:
        """How far one number is off, but for this chance."""
        return float(self.mechanism.accuracy(confidence))
