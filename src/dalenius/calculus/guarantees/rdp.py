"""RDP(order, epsilon): Renyi divergence of one order at most epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dalenius.calculus.guarantees.amounts import declared, exactly_at_most
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import rdp
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


@dataclass(frozen=True)
class RDP(Guarantee):
    """Renyi divergence of one order at most epsilon.

    Mironov 2017, "Renyi Differential Privacy", Definition 4. It has no filter here: open accounts with `ZCDP`, which
    bounds every order at once.

    Parameters
    ----------
    order
        The order of the divergence, above 1.
    epsilon
        The largest divergence, 0 or more.

    Raises
    ------
    InvalidParameter
        If order is not above 1, or epsilon not a finite number, 0 or more.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.RDP(8.0, 4.1).holds(dp.losses.gaussian(sigma=1.0)), dp.RDP(8.0, 3.9).holds(dp.losses.gaussian(sigma=1.0))
    (True, False)
    """

    order: float
    epsilon: float

    tag: ClassVar = "rdp"
    parameters: ClassVar = {"order": checks.order, "epsilon": checks.nonnegative}
    leading: ClassVar = "epsilon"
    view: ClassVar = "divergence"
    noise_power: ClassVar = 2
    advice: ClassVar = (
        "One order has no filter here: ZCDP(rho) with rho = epsilon / order bounds this one, and all others."
    )

    def measure(self, loss: Loss) -> Measure:
        quantity = f"Renyi divergence of order {self.order:.12g}"
        return Measure(quantity, loss.renyi(self.order), self.epsilon)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        # Divergences grow with the order, so lower orders obey the same bound and higher ones are unknown.
        return rdp(_Below(self.order, self.epsilon), adjacency)

    def strict(self) -> RDP:
        return RDP(self.order, exactly_at_most(declared(self.epsilon)))  # a lower order would promise less


@dataclass(frozen=True)
class _Below:
    order: float
    epsilon: float

    def __call__(self, order: float) -> float:
        return self.epsilon if order <= self.order else math.inf
