"""What rounds of selection and measurement cost, and the noise that a part of the budget buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

from scipy.special import ndtri

from dalenius.calculus.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.guarantees.filter import Filter
from dalenius.calculus.guarantees.gdp import largest_mu
from dalenius.calculus.losses import gdp
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Exponential, Geometric

Noise = DiscreteGaussian | Geometric


@dataclass(frozen=True)
class Prices:
    """The currency in which rounds are paid, and mechanisms by what they may cost.

    PureDP is paid in epsilon with geometric noise; ZCDP in rho, and GDP in mu^2, with discrete Gaussian noise. An
    ApproxDP promise is kept as the largest mu-GDP that implies it. The filter of each kind lets every round and its
    price be chosen from all that was released before.
    """

    guarantee: Guarantee
    adjacency: Adjacency
    rows_per_unit: int

    @cached_property
    def promise(self) -> PureDP | ZCDP | GDP:
        """The promise that the rounds keep together, whatever path they take."""
        found: object = self.guarantee
        pure = found.as_pure() if isinstance(found, Guarantee) else None
        if pure is not None:
            found = pure
        if isinstance(found, ApproxDP):
            found = found.tightened()
            found = GDP(largest_mu(found.epsilon, found.delta))
        if not isinstance(found, PureDP | ZCDP | GDP):
            raise InvalidParameter.of(
                "guarantee",
                f"guarantee is {checks.shown(self.guarantee)}; it must be PureDP, ApproxDP, ZCDP or GDP.",
            )
        if not found.size:
            raise InvalidParameter.of(
                "guarantee", f"guarantee is {checks.shown(self.guarantee)}; it must be above 0."
            )
        return found

    @cached_property
    def filter(self) -> Filter:
        """What adds up the costs."""
        return self.promise.filter(self.adjacency)

    @property
    def limit(self) -> Fraction:
        """The whole budget."""
        return self.filter.limit.amount

    def signal(self, rows: float) -> float:
        """The size of a table in units of the noise on one count that had the whole budget."""
        size = float(self.promise.size or 0.0)
        if isinstance(self.promise, ZCDP):
            size = math.sqrt(2 * size)
        # Pure budgets are divided and not their squares: shares of them buy less.
        return rows * (size / 4 if isinstance(self.promise, PureDP) else size) / self.rows_per_unit

    def sigma(self, part: float) -> float:
        """About the standard deviation of the noise on a count that has this part of the budget."""
        size, replaced = float(self.promise.size or 0.0), self.adjacency is not ADD_REMOVE
        if isinstance(self.promise, PureDP):
            return math.sqrt(2) * self.rows_per_unit * (2 if replaced else 1) / (size * part)
        if isinstance(self.promise, GDP):
            size = size**2 / 2
        return self.rows_per_unit * (math.sqrt(2) if replaced else 1) / math.sqrt(2 * size * part)

    def noise(self, amount: Fraction) -> Noise:
        """Noise for the counts of a marginal, for at most this cost.

        A unit of k rows changes the counts by k in l1 and l2 norm when it is added or removed (all its rows may share
        a cell), and by 2 k and sqrt(2) k when it is replaced.
        """
        if not float(amount):
            raise CannotMeet(f"{self.promise} is too little to be divided; promise less.")
        return _noise(self.filter, amount, self.rows_per_unit)

    def selection(self, amount: Fraction, sensitivity: int) -> Exponential:
        """The exponential mechanism for scores of this sensitivity, for at most this cost."""
        return _selection(self.filter, amount, sensitivity)


class Purse:
    """What is left of the budget of one release."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        self.spent: Cost = prices.filter.nothing

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.prices.limit - self.spent.amount

    def share(self, part: float) -> Fraction:
        """This part of what is left, rounded down."""
        return self.left * Fraction(math.floor(part * 2**40), 2**40)

    def pay(self, mechanism: Noise | Exponential) -> None:
        """Charge a mechanism, before it is used."""
        spent = self.spent + cost(self.prices.filter, mechanism)
        if not spent.fits(self.prices.filter.limit):
            raise AssertionError("a round would exceed the budget")
        self.spent = spent


@lru_cache(maxsize=512)
def _noise(filter_: Filter, amount: Fraction, rows: int) -> Noise:
    replaced, size = filter_.adjacency is not ADD_REMOVE, float(amount)
    if isinstance(filter_.promise, PureDP):
        units = 2 * rows if replaced else rows
        return _fitting(
            filter_,
            amount,
            lambda more: Geometric(sensitivity=units, scale=units / size * more, adjacency=filter_.adjacency),
        )
    norm = rows * (math.sqrt(2) if replaced else 1.0)
    ideal = norm / math.sqrt(size * (2 if isinstance(filter_.promise, ZCDP) else 1))
    places = 2 * rows if replaced else rows
    return _fitting(
        filter_,
        amount,
        lambda more: DiscreteGaussian(
            sensitivity=norm, sigma=ideal * more, coordinates=places, adjacency=filter_.adjacency
        ),
    )


@lru_cache(maxsize=512)
def _selection(filter_: Filter, amount: Fraction, sensitivity: int) -> Exponential:
    size = float(amount)
    if isinstance(filter_.promise, PureDP):
        ideal = size
    elif isinstance(filter_.promise, ZCDP):
        ideal = math.sqrt(8 * size)
    else:
        ideal = math.sqrt(8 * size / math.pi)
    return _fitting(
        filter_,
        amount,
        lambda more: Exponential(sensitivity=sensitivity, epsilon=ideal / more, adjacency=filter_.adjacency),
    )


def cost(filter_: Filter, mechanism: Noise | Exponential) -> Cost:
    """What a mechanism costs, rounded up.

    The exponential mechanism is eta-bounded range, eta = epsilon, and in mu^2 half as dear as any epsilon-DP release
    would be in mu. Its worst pairs are two-point laws (p, 1-p), (q, 1-q) with logit p - logit q = eta (Dong, Durfee and
    Rogers 2020). mu-GDP holds for one of them if Phi^-1(p) - Phi^-1(q) <= mu, and as d Phi^-1(p) / d logit p = p(1-p) /
    phi(Phi^-1(p)) falls to both sides of p = 1/2, the difference is largest where p = 1 - q: it is at most
    2 Phi^-1(1 / (1 + exp(-eta/2))).
    """
    if isinstance(mechanism, Exponential) and isinstance(filter_.promise, GDP):
        mu = 2 * float(ndtri(1 / (1 + math.exp(-mechanism.epsilon / 2)))) * (1 + 1e-13) + 1e-15
        return filter_.cost(gdp(mu, filter_.adjacency))
    return filter_.cost(mechanism.loss)


M = TypeVar("M", DiscreteGaussian, Geometric, Exponential)


def _fitting(filter_: Filter, amount: Fraction, family: Callable[[float], M]) -> M:
    """The mechanism nearest to the ideal noise that costs no more than the amount; certified by the filter's price."""
    below, above = 0.0, 1e-12
    while cost(filter_, family(1 + above)).amount > amount:
        below, above = above, 4 * above
        if above > 1e6:
            raise CannotMeet(f"no noise costs as little as {float(amount):g}.")
    for _ in range(12):
        middle = (below + above) / 2
        if cost(filter_, family(1 + middle)).amount > amount:
            below = middle
        else:
            above = middle
    return family(1 + above)
