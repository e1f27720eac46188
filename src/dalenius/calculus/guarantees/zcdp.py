"""ZCDP(rho): Renyi divergence at most rho * order at every order above 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.calculus.guarantees.cost import Cost, Currency
from dalenius.calculus.guarantees.filter import AdditiveFilter, Reserve, without_reserve, worse
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import zcdp
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """Renyi divergence at most rho * order at every order above 1.

    Bun and Steinke 2016, "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
    Definition 1.1.

    Parameters
    ----------
    rho
        The slope, 0 or more. Gaussian noise of standard deviation sigma times the sensitivity has 1/(2 sigma^2).

    Raises
    ------
    InvalidParameter
        If rho is not a finite number, 0 or more.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.ZCDP(0.5).holds(dp.losses.gaussian(sigma=1.0)), dp.ZCDP(0.5).holds(dp.losses.gaussian(sigma=0.9))
    (True, False)
    """

    rho: float

    tag: ClassVar = "zcdp"
    parameters: ClassVar = {"rho": checks.nonnegative}
    leading: ClassVar = "rho"
    view: ClassVar = "divergence"
    noise_power: ClassVar = 2
    currency: ClassVar = Currency("rho")

    def measure(self, loss: Loss) -> Measure:
        return Measure("rho", loss.zcdp(), self.rho)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return zcdp(self.rho, adjacency)

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> ZCDPFilter:
        without_reserve(reserve)
        checks.moderate("rho", self.rho)
        return ZCDPFilter(self, adjacency)


@dataclass(frozen=True)
class ZCDPFilter(AdditiveFilter):
    """ZCDP(rho): the rhos add.

    Theorem (Feldman and Zrnic 2021, "Individual Privacy Accounting via a Renyi Filter", arXiv 2008.11193, for
    each fixed order; Whitehouse, Ramdas, Rogers and Wu 2023, "Fully-Adaptive Composition in Differential
    Privacy", arXiv 2203.05481, for zCDP). If each release is rho_i-zCDP given all earlier outcomes, rho_i may
    depend on them, and always sum rho_i <= rho, then the transcript is rho-zCDP.

    Why it applies: the lemma of `filter.py` with D(r) = {divergence of every order a > 1 at most r a}. Rule 2, order
    by order (Bun and Steinke 2016, Lemma 1.7): the moment of the joint likelihood ratio is the expectation of the
    first ratio's power times the conditional moment of the second, at most exp((a - 1) a b) for every y.
    """

    promise: ZCDP
    prices: ClassVar = (ZCDP,)

    def _cost_of(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        joint = loss.zcdp()
        if math.isinf(joint):
            advice = (
                "A release with a delta (the discovery of keys, or a model that promises ApproxDP) needs an "
                "ApproxDP account; bounded or Gaussian noise has a finite rho."
            )
            raise self._no_price("rho", advice)
        terms = (*loss.terms_remove, *loss.terms_add)
        if all(math.isfinite(pair.zcdp) for pair, _ in terms):
            return self._cost(worse(loss, lambda pair: Fraction(pair.zcdp)))
        return self._cost(Fraction(joint))

    def group(self, loss: Loss, steps: int, adjacency: Adjacency) -> Loss | None:
        """j steps of rho-zCDP are j^2 rho-zCDP (Bun and Steinke 2016, Proposition 1.9)."""
        gaussian = all(isinstance(pair, GaussianPair) for pair, _ in loss.terms_remove + loss.terms_add)
        if gaussian or math.isinf(loss.zcdp()):
            return None
        return zcdp(checks.float_up(steps**2 * Fraction(loss.zcdp())), adjacency)
