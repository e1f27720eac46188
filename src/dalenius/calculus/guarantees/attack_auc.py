"""AttackRisk(auc=c): the area under the curve of true against false alarms at most c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scipy.special import erfinv

from dalenius.calculus.guarantees.attack_risk import AttackRisk
from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.loss import checked as checked_loss
from dalenius.calculus.losses import approx
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


def _area(name: str, value: object) -> float:
    return checks.within(name, value, "a number in [0.5, 1)", lambda x: 0.5 <= x < 1, "Guessing has 0.5.")


@dataclass(frozen=True, repr=False)
class AttackAUC(AttackRisk):
    """The area under the best attack's curve of true against false positive rates is at most `auc`.

    The area under 1 - f, f the trade-off function of the release. An area says little about the curve: a release that
    keeps the promise may give a person away with a chance of 2 auc - 1. `loss()` counts with that, and no loss that
    keeps the promise is worse; it does not keep the promise itself.

    Parameters
    ----------
    auc
        In [0.5, 1).

    Raises
    ------
    InvalidParameter
        If the area is not in [0.5, 1).

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.AttackRisk(auc=0.64).holds(dp.losses.gaussian(sigma=2.0))
    True
    """

    auc: float

    tag: ClassVar = "auc"
    parameters: ClassVar = {"auc": _area}
    view: ClassVar = "trade-off"

    def measure(self, loss: Loss) -> Measure:
        return Measure("area under the curve of the best attack", loss.auc(), self.auc)

    def excess_bounds(self, loss: Loss) -> Bounds:
        low, high = checked_loss(loss, "holds").auc_bounds()
        return Bounds(low - self.auc, high - self.auc)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return approx(0.0, 2.0 * self.auc - 1.0, adjacency)

    def as_budget(self) -> GDP:
        # Phi(mu / sqrt(2)) = (1 + erf(mu / 2)) / 2; 2 auc - 1 is exact, and the inverse good to a few ulps.
        return GDP(2.0 * float(erfinv(2.0 * self.auc - 1.0)) * (1 - 1e-14))
