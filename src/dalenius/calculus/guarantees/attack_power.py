"""AttackRisk(tpr=t, fpr=a): no attack that raises at most a false alarms finds more than t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from scipy.special import ndtri

from dalenius.calculus.guarantees.attack_risk import AttackRisk
from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


@dataclass(frozen=True, repr=False)
class AttackPower(AttackRisk):
    """Every attack with a false positive rate of at most `fpr` has a true positive rate of at most `tpr`.

    With f the trade-off function of the release: f(fpr) >= 1 - tpr. (Carlini, Chien, Nasr, Song, Terzis and Tramer
    2022, "Membership Inference Attacks From First Principles", argue for judging attacks so.)

    One point of a curve says little about the rest of it: an attack that keeps the promise may be certain with a
    chance of (tpr - fpr) / (1 - fpr), or (tpr - fpr) / tpr if that is less. `loss()` counts with that, and no loss that
    keeps the promise is worse; it does not keep the promise itself.

    Parameters
    ----------
    tpr
        The true positive rate, in [fpr, 1).
    fpr
        The false positive rate, between 0 and 1.

    Raises
    ------
    InvalidParameter
        If a rate is not between 0 and 1, or tpr is below fpr, which blind guessing has.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.AttackRisk(tpr=0.03, fpr=0.01).holds(dp.losses.pure(1.0))
    True
    """

    tpr: float
    fpr: float

    tag: ClassVar = "tpr"
    parameters: ClassVar = {"tpr": checks.open_probability, "fpr": checks.open_probability}
    view: ClassVar = "trade-off"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tpr < self.fpr:
            raise InvalidParameter.of(
                "tpr", f"tpr is {self.tpr}; it must be fpr = {self.fpr} or more, which blind guessing has."
            )

    def measure(self, loss: Loss) -> Measure:
        quantity = f"true positive rate at a false positive rate of {self.fpr:.12g}"
        return Measure(quantity, loss.power(self.fpr), self.tpr)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        hits, alarms = Fraction(self.tpr), Fraction(self.fpr)
        if hits + alarms > 1:  # the same promise about the other direction
            hits, alarms = 1 - alarms, 1 - hits
        delta = (hits - alarms) / (1 - alarms)
        more = max(Fraction(0), (1 - delta) * (1 + hits / alarms) - 2)  # e^epsilon - 1
        epsilon = math.log1p(checks.float_up(more)) * (1 + 2.0**-50)
        return approx(epsilon, checks.float_up(delta), adjacency)

    def as_budget(self) -> GDP:
        high, low = float(ndtri(self.tpr)), float(ndtri(self.fpr))
        # The quantiles are good to a few ulps.
        return GDP(max(0.0, high - low - 1e-14 * (abs(high) + abs(low))))

    def strict(self) -> Self:
        return self if self.tpr == self.fpr else super().strict()
