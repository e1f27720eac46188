"""GDP(mu): no test between neighbours beats the best one between N(0, 1) and N(mu, 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dalenius.calculus.guarantees.amounts import declared, declared_root_at_least, declared_root_at_most
from dalenius.calculus.guarantees.cost import Cost, Currency
from dalenius.calculus.guarantees.filter import Filter, Reserve, without_reserve, worse
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import gdp
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.theorems.gaussian import gaussian_delta
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.bisection import last_true


@dataclass(frozen=True)
class GDP(Guarantee):
    """No test between neighbours beats the best one between N(0, 1) and N(mu, 1).

    Dong, Roth and Su 2022, "Gaussian Differential Privacy", Definition 2.6.

    Parameters
    ----------
    mu
        The distance between the two normal laws, 0 or more. Gaussian noise of standard deviation sigma times the
        sensitivity has 1/sigma.

    Raises
    ------
    InvalidParameter
        If mu is not a finite number, 0 or more.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.GDP(1.0).holds(dp.losses.gaussian(sigma=2.0) * 4), dp.GDP(1.0).holds(dp.losses.gaussian(sigma=2.0) * 5)
    (True, False)
    """

    mu: float

    tag: ClassVar = "gdp"
    parameters: ClassVar = {"mu": checks.nonnegative}
    leading: ClassVar = "mu"
    view: ClassVar = "trade-off"
    currency: ClassVar = Currency("mu^2")

    def measure(self, loss: Loss) -> Measure:
        return Measure("mu", loss.gdp(), self.mu)

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return gdp(self.mu, adjacency)

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> GDPFilter:
        without_reserve(reserve)
        checks.moderate("mu", self.mu)
        return GDPFilter(self, adjacency)

    def divided(self, parts: float) -> GDP:
        return GDP(self.mu / checks.positive("parts", parts) ** 0.5)


@dataclass(frozen=True)
class GDPFilter(Filter):
    """GDP(mu): the squares of the mus add.

    Theorem (Smith and Thakurta 2022, "Fully Adaptive Composition for Gaussian Differential Privacy", arXiv
    2210.17520; Koskela, Tobaben and Honkela 2023, arXiv 2209.15596). If each release is mu_i-GDP given all
    earlier outcomes, mu_i may depend on them, and always sum mu_i^2 <= mu^2, the transcript is mu-GDP.

    Why it applies: the lemma of `filter.py` with D(m) = {sqrt(m)-GDP}. Rule 2 is the composition theorem of Dong, Roth
    and Su 2022 (Theorem 3.2): f-DP followed, for every y, by g-DP is (f x g)-DP, and the trade-offs of N(0,1)
    against N(sqrt(a),1) and N(sqrt(b),1) multiply to that of N(sqrt(a + b),1).

    A loss that is not Gaussian is charged with a mu that dominates it (`Loss.gdp`): epsilon-DP, for example,
    with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), about 1.25 epsilon.
    """

    promise: GDP
    prices: ClassVar = (GDP,)

    @property
    def limit(self) -> Cost:
        return self._limit(declared(self.promise.mu) ** 2)

    def _cost_of(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if math.isinf(loss.gdp()):
            advice = "Use Gaussian or bounded noise, or open the account with ApproxDP or ZCDP."
            raise self._no_price("mu", advice)
        return self._cost(worse(loss, square))

    def spent(self, cost: Cost) -> GDP:
        return GDP(declared_root_at_least(cost.amount))

    def left(self, cost: Cost) -> GDP:
        return GDP(declared_root_at_most(cost.amount))

    def budget(self, amount: float) -> GDP:
        return GDP(amount**0.5)


def square(pair: Pair) -> Fraction:
    """mu^2 of a pair, exact for Gaussian noise and rounded up for the rest.

    The mu of bounded losses comes from a normal quantile near the middle, where half an ulp of the
    probability (5.6e-17) moves mu by up to 2 sqrt(2 pi) times that, 2.8e-16, however small mu is; further
    out the quantile is good to a few ulps. Twice that and more is added here.
    """
    if isinstance(pair, GaussianPair):
        return pair.square
    return (Fraction(pair.gdp) * (1 + Fraction(1, 10**13)) + Fraction(1, 10**15)) ** 2


@lru_cache(maxsize=1000)
def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu (to a few ulps, from below) for which mu-GDP certainly implies (epsilon, delta)-DP.

    delta(mu) grows with mu. The float after the one returned was itself evaluated, rounding error included, and
    passed: so does the mu returned when it is read as it is written, which may be half a unit above its value.
    """
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    good, _ = last_true(lambda mu: gaussian_delta(mu, epsilon) <= delta, low, high)
    return math.nextafter(good, 0.0)
