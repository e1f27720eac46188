"""Privacy filters: how much may still be asked when every next question is chosen after the last answer.

One lemma carries every kind; the file of each names its class D and its theorem. Let D(c) be the class of releases that
cost at most c (a number, or several compared part by part), such that

1. a release that ignores the data is in D(0), and D(a) is contained in D(b) for a <= b;
2. adaptive composition holds for *fixed* costs: M1 in D(a), and M2(., y) in D(b) for every outcome y of M1,
   make the pair (M1, M2) a release in D(a + b).

Lemma. Let an analyst choose each release, *and its cost*, from all earlier outcomes, and be stopped before
the costs chosen so far would exceed B in any part. Whatever the analyst does, the transcript is in D(B).

Proof, by induction on the number of rounds n; n = 0 is rule 1. The first release and its cost a <= B are
chosen before any outcome is seen. For every outcome y of it, what follows is an interaction of n - 1 rounds
whose costs are stopped before they exceed B - a: the same allowance for every y, because the filter looks
at costs and not at outcomes. By induction it is in D(B - a) for every y, and rule 2 puts the whole in
D(a + (B - a)) = D(B). (Coins of the analyst: condition on them, they are independent of the data.) The bound
does not depend on n, so it holds for sessions of any length. QED

The proof needs one allowance B for all outcomes. That is why a budget here is a box (each part has its own
limit) and not a region such as "all losses so far compose to at most (epsilon, delta)": a rule that stops by
composing the profiles of the releases made so far is *not* a valid filter ("natural" filters fail: arXiv
2602.06756, 2602.15815; tests/session/test_filters.py has a counterexample in numbers).

Two things the lemma asks of us. Costs depend on the question and on public facts, never on the data: a
`Cost` is computed from a `Loss`, before the data is touched. And the order of releases is the order of the
charges in the ledger: a question is chosen at its charge, knowing at most the answers of earlier charges, so
releases that overlap in time, of several analysts in several processes, are one such interaction.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from dalenius.calculus.guarantees.amounts import declared, declared_at_least, declared_at_most, rounded_down
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.guarantees.guarantee import Guarantee
from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.pairs.pair import Pair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import AdjacencyMismatch, InvalidParameter

Reserve = float | str | Fraction

CRUMBS = Fraction(1, 10**12)
"""What is not worth keeping, relative to a price: the rounding of what is left to a float is smaller."""


@dataclass(frozen=True)
class Filter(ABC):
    """A budget that stays valid when questions and their prices are chosen after seeing answers."""

    promise: Guarantee
    """What the people in the data are promised about everything released under this budget."""
    adjacency: Adjacency = ADD_REMOVE
    """Whose neighbours the promise is about."""

    prices: ClassVar[tuple[type[Guarantee], ...]]
    """The kinds of guarantee that a release may be paid with."""
    pays_for_rare_events: ClassVar[bool] = False
    """Whether a release may reveal something outright, with a small probability."""

    @property
    def kind(self) -> str:
        """The tag of the promise."""
        return self.promise.tag

    # -- what there is ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def limit(self) -> Cost:
        """The whole budget, rounded down."""

    @property
    def nothing(self) -> Cost:
        """The cost of not looking at the data."""
        return self._cost(Fraction(0))

    @abstractmethod
    def spent(self, cost: Cost) -> Guarantee:
        """This total cost as a promise, rounded up: the one of a budget that ends there.

        It is what the releases promise if it was settled beforehand to stop at this total. At a moment chosen by
        looking at the answers it says what was charged, and no more: what holds then is `promise`. (For PureDP both
        are the same, since the likelihood ratio of each transcript is at most its own sum.)
        """

    @abstractmethod
    def left(self, cost: Cost) -> Guarantee:
        """The promise that a release may still use, when this cost is left; rounded down.

        A release whose own loss keeps it fits.
        """

    def budget_left(self, cost: Cost) -> Guarantee:
        """The largest price a release may be given, when this cost is left: it then spends all of it."""
        return self.promise if cost.amount == self.limit.amount else self.left(cost)

    def written(self) -> dict[str, object]:
        """The promise in the words of the ledger: its numbers as they were declared."""
        return {"kind": self.kind, "values": [repr(value) for value in self.promise.numbers.values()]}

    def like(self, written: Mapping[str, Any]) -> Filter:
        """This filter with what an account that is open settled when it was opened."""
        return self

    def times(self, count: int) -> Filter:
        """The filter of so many budgets like this one, spent one after the other or together.

        By rule 2, (count) releases in D(c) are one in D(count c): its limit is at least so many times this one.

        Parameters
        ----------
        count
            How many, 1 or more.

        Returns
        -------
        Filter
            Its `promise` is the sum, composed in this currency and rounded up.

        Examples
        --------
        >>> import dalenius as dp
        >>> from dalenius.calculus.guarantees import filter_of
        >>> [filter_of(promise).times(4).promise for promise in (dp.ZCDP(0.1), dp.GDP(0.5))]
        [ZCDP(rho=0.4), GDP(mu=1.0)]
        """
        checks.count("count", count, 1)
        if count == 1:
            return self
        return self.spent(self.limit * count).filter(self.adjacency)

    # -- what a release costs -----------------------------------------------------------------------

    def cost(self, loss: Loss, delta: float | None = None, room: Cost | None = None) -> Cost:
        """What a release with this loss costs, rounded up; a batch is one release with one joint loss.

        `delta` is for approx budgets only: the additive part to spend on those terms of the loss that have no
        finite mu (left out: the least that makes them finite). An event outside the loss, in which anything
        may be revealed, is a term of its own: `loss + losses.approx(0, probability)`. Where the same loss may be paid
        in several ways, the one that takes the least share of `room` (left out: of the limit) is taken.
        """
        checked(loss, "cost")
        if loss.adjacency is not self.adjacency and (loss.terms_add or loss.terms_remove):
            raise AdjacencyMismatch(
                f"the budget is stated for {self.adjacency.value} record, the loss for "
                f"{loss.adjacency.value} record; restate the loss, for instance with losses.to_adjacency()."
            )
        if delta is not None and not self.pays_for_rare_events:
            raise InvalidParameter(f"delta is {delta!r}, and a {self.kind} budget has none; leave it out.")
        return self._cost_of(loss, delta, self.limit if room is None else room)

    @abstractmethod
    def _cost_of(self, loss: Loss, delta: float | None, room: Cost) -> Cost: ...

    def price(self, budget: object) -> Guarantee:
        """The budget of a release in a kind whose noise is known; an error for one that cannot be paid here."""
        pure = budget.as_pure() if isinstance(budget, Guarantee) else None
        found = budget if pure is None else pure
        if not isinstance(found, self.prices):
            names = checks.either([kind.__name__ for kind in self.prices])
            implied = budget.as_budget() if hasattr(budget, "as_budget") else None
            if isinstance(implied, self.prices):
                hint = f" {implied!r} implies it."
            elif isinstance(budget, Guarantee):
                hint = f" Write one of its kind: {self.like_promise(None)}."
            else:
                hint = f" Write it as a promise: {self.like_promise(budget)}."
            raise InvalidParameter(
                f"this session's budget is {self.promise!r}, so a release is paid in {names}, not {budget!r}.{hint}"
            )
        if not any(found.numbers.values()):
            raise InvalidParameter(f"the budget of the release is {budget!r}; it must be above 0.")
        return found

    def like_promise(self, number: object = None, *, shell: bool = False) -> str:
        """A budget of this kind for somebody who gave a number: `dp.ZCDP(0.01)`, and for a shell `zcdp:0.01`."""
        numbers = {name: f"{value:g}" for name, value in self.promise.numbers.items()}
        plain = isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < math.inf
        numbers[str(self.promise.leading)] = f"{number:g}" if plain else "0.01"
        if shell:
            return f"{self.promise.tag}:{','.join(numbers.values())}"
        return f"dp.{self.promise.name}({', '.join(numbers.values())})"

    def charge(self, loss: Loss, budget: Guarantee, room: Cost) -> Cost:
        """What is charged: the price as it was declared, rounded as a total would be, or what the loss comes to.

        The second is what must be paid, and it is the smaller one: the noise is made to fit the price. A price that
        leaves no more than crumbs of the room, as all that is left does when it is rounded down, takes them too.
        """
        computed, price = self.cost(loss), budget.filter(self.adjacency).limit.amount
        if price <= room.amount <= price * (1 + CRUMBS):
            price = room.amount
        return replace(computed, amount=max(computed.amount, price))

    def charge_for_fit(self, loss: Loss, room: Cost, allowance: Cost) -> Cost:
        """What is charged for a model whose loss may have no price of its own: part of `allowance` then helps out."""
        return self.cost(loss, room=room)

    @abstractmethod
    def budget(self, amount: float) -> Guarantee:
        """The price of a release that costs this amount: what a search for the least price walks along."""

    def in_own_kind(self, price: Guarantee) -> Guarantee:
        """A price, as `budget` gives it, in the words of the promise and rounded up to the digits people read."""
        return price.shortened(up=True)

    def group(self, loss: Loss, steps: int, adjacency: Adjacency) -> Loss | None:
        """The loss towards somebody so many steps away where this currency has a rule of its own for it."""
        return None

    # -- inside -------------------------------------------------------------------------------------

    def _cost(self, amount: Fraction, delta: Fraction = Fraction(0), shift: Fraction = Fraction(0)) -> Cost:
        return Cost(self.kind, amount, delta, self.adjacency, shift)

    def _limit(self, amount: Fraction) -> Cost:
        return self._cost(rounded_down(amount))

    def _no_price(self, what: str, advice: str) -> InvalidParameter:
        return InvalidParameter(
            f"the release has no finite {what}, so a budget of kind {self.kind} cannot pay for it. {advice}"
        )


@dataclass(frozen=True)
class AdditiveFilter(Filter):
    """The number that leads the promise is itself what adds."""

    @property
    def limit(self) -> Cost:
        return self._limit(declared(self.promise.size or 0.0))

    def spent(self, cost: Cost) -> Guarantee:
        return self.promise.of_size(declared_at_least(cost.amount))

    def left(self, cost: Cost) -> Guarantee:
        return self.promise.of_size(declared_at_most(cost.amount))

    def budget(self, amount: float) -> Guarantee:
        return self.promise.of_size(amount)


def worse(loss: Loss, price: Callable[[Pair], Fraction]) -> Fraction:
    """The exact sum over the terms, in the direction where it is larger."""
    sides = (loss.terms_remove, loss.terms_add)
    return max(sum((n * price(pair) for pair, n in terms), Fraction(0)) for terms in sides)


def without_reserve(reserve: Reserve) -> None:
    """Refuse to set aside a part of epsilon where there is none."""
    if reserve_as_written(reserve) or isinstance(reserve, bool):
        raise InvalidParameter(
            f"reserve is {checks.shown(reserve)}, and only an ApproxDP budget sets epsilon aside; leave it out."
        )


def reserve_as_written(reserve: Reserve) -> Fraction:
    """What is set aside of epsilon."""
    try:
        return declared(reserve) if isinstance(reserve, float) else Fraction(reserve)
    except (TypeError, ValueError, ZeroDivisionError):
        raise InvalidParameter(
            f"reserve is {checks.shown(reserve)}; it must be a part of epsilon, such as 0.5."
        ) from None
