"""AttackRisk(advantage=a): true minus false alarms of every attack at most a."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy.special import erfinv

from dalenius.calculus.guarantees.approx import ApproxDP
from dalenius.calculus.guarantees.attack_risk import AttackRisk
from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


@dataclass(frozen=True, repr=False)
class AttackAdvantage(AttackRisk):
    """The rate of true alarms minus that of false ones is at most `advantage`, for every attack.

    The supremum over attacks is the total variation, which is delta at epsilon 0: the same promise as
    ApproxDP(0, advantage). (Yeom, Giacomelli, Fredrikson and Jha 2018, "Privacy Risk in Machine Learning", Definition
    4, for the best attack in place of a given one.)

    Parameters
    ----------
    advantage
        In [0, 1).

    Raises
    ------
    InvalidParameter
        If the advantage is not in [0, 1).

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.AttackRisk(advantage=0.2).holds(dp.losses.gaussian(sigma=2.0))
    True
    """

    advantage: float

    tag: ClassVar = "advantage"
    parameters: ClassVar = {"advantage": checks.failure_probability}
    view: ClassVar = "profile"

    def measure(self, loss: Loss) -> Measure:
        return Measure("membership advantage", loss.delta(0.0), self.advantage)

    def excess_bounds(self, loss: Loss) -> Bounds:
        return ApproxDP(0.0, self.advantage).excess_bounds(loss)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return approx(0.0, self.advantage, adjacency)

    def as_budget(self) -> GDP:
        # 2 Phi(mu/2) - 1 = erf(mu / sqrt(8)); the inverse is good to a few ulps, 1e-14 relative is more.
        return GDP(math.sqrt(8.0) * float(erfinv(self.advantage)) * (1 - 1e-14))
