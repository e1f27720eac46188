"""PureDP(epsilon): no outcome is more than e^epsilon times as likely with a person as without."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.calculus.guarantees.cost import Cost, Currency
from dalenius.calculus.guarantees.filter import AdditiveFilter, Reserve, without_reserve, worse
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import pure
from dalenius.calculus.pairs.pair import Pair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency


@dataclass(frozen=True)
class PureDP(Guarantee):
    """No outcome is more than e^epsilon times as likely with a person as without.

    Dwork, McSherry, Nissim and Smith 2006, "Calibrating Noise to Sensitivity in Private Data Analysis", Definition 1.

    Parameters
    ----------
    epsilon
        The largest log likelihood ratio, 0 or more.

    Raises
    ------
    InvalidParameter
        If epsilon is not a finite number, 0 or more.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.PureDP(1.0).holds(dp.losses.laplace(scale=1.0)), dp.PureDP(1.0).holds(dp.losses.gaussian(sigma=9.0))
    (True, False)
    """

    epsilon: float

    tag: ClassVar = "pure"
    parameters: ClassVar = {"epsilon": checks.nonnegative}
    leading: ClassVar = "epsilon"
    view: ClassVar = "profile"
    currency: ClassVar = Currency("epsilon")

    def measure(self, loss: Loss) -> Measure:
        return Measure("epsilon at delta 0", loss.epsilon(0.0), self.epsilon)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return pure(self.epsilon, adjacency)

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> PureFilter:
        without_reserve(reserve)
        checks.moderate("epsilon", self.epsilon)
        return PureFilter(self, adjacency)

    def as_pure(self) -> PureDP:
        return self


@dataclass(frozen=True)
class PureFilter(AdditiveFilter):
    """PureDP(epsilon): the epsilons add.

    Theorem (basic composition is a filter: Rogers, Roth, Ullman and Vadhan 2016, "Privacy Odometers and
    Filters", arXiv 1605.08294). If each release is epsilon_i-DP given all earlier outcomes, epsilon_i may
    depend on them, and always sum epsilon_i <= epsilon, then the transcript is epsilon-DP.

    Why it applies: the lemma of `filter.py` with D(e) = {e-DP}. Rule 2: given y, the densities of the second part
    differ by at most e^b, those of y by at most e^a, so the joint ones by at most e^(a + b).
    """

    promise: PureDP
    prices: ClassVar = (PureDP,)

    def _cost_of(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if math.isinf(loss.epsilon(0.0)):
            advice = "Use Laplace or geometric noise, or open the account with ZCDP, GDP or ApproxDP."
            raise self._no_price("epsilon at delta 0", advice)
        # The largest loss of a composition is the sum of the largest losses; exact, where floats would round.
        return self._cost(worse(loss, largest))


def has_largest(pair: Pair) -> bool:
    """Whether the losses of a pair are bounded."""
    return pair.infinite == 0 == pair.upper.infinite and math.isfinite(pair.upper.largest)


def largest(pair: Pair) -> Fraction:
    """The largest loss of a pair that has one."""
    return Fraction(max(0.0, pair.upper.largest))
