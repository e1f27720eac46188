"""Privacy filters: how much may still be asked when every next question is chosen after the last answer.

One lemma carries all four kinds. Let D(c) be the class of releases that cost at most c (a number, or a pair
of numbers compared part by part), such that

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
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

from dalenius.calculus.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses import pure
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.calculus.theorems.gaussian import gaussian_delta
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import AdjacencyMismatch, InvalidParameter
from dalenius.session.cost import (
    PLACES,
    Cost,
    Kind,
    decimal,
    declared,
    declared_at_least,
    declared_at_most,
    exactly_at_most,
    rounded_down,
    rounded_up,
)
from dalenius.session.shifted import Polygon

SHIFTS = 32
"""So many ways of dividing a price between the reserve and mu^2 are looked at, evenly spaced."""


@dataclass(frozen=True)
class Filter(ABC):
    """A budget that stays valid when questions and their prices are chosen after seeing answers."""

    promise: Guarantee
    """What the people in the data are promised about everything released under this budget."""
    adjacency: Adjacency = ADD_REMOVE
    """Whose neighbours the promise is about."""

    kind: ClassVar[Kind]

    @property
    @abstractmethod
    def limit(self) -> Cost:
        """The whole budget, rounded down."""

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
        if delta is not None and self.kind != "approx":
            raise InvalidParameter(f"delta is {delta!r}, and a {self.kind} budget has none; leave it out.")
        return self._price(loss, delta, self.limit if room is None else room)

    @abstractmethod
    def spent(self, cost: Cost) -> Guarantee:
        """This total cost as a promise, rounded up: the one of a budget that ends there.

        It is what the releases promise if it was settled beforehand to stop at this total. At a moment chosen by
        looking at the answers it says what was charged, and no more: what holds then is `promise`. (For PureDP both
        are the same, since the likelihood ratio of each transcript is at most its own sum.)
        """

    @abstractmethod
    def left(self, cost: Cost) -> Guarantee:
        """The promise that a release may still use, when this cost is left; rounded down."""

    @property
    def nothing(self) -> Cost:
        """The cost of not looking at the data."""
        return Cost(self.kind, Fraction(0), adjacency=self.adjacency)

    def written(self) -> dict[str, object]:
        """The promise in the words of the ledger: its numbers as they were declared."""
        return {"kind": self.kind, "values": [repr(float(value)) for value in self._values()]}

    @abstractmethod
    def _values(self) -> tuple[float, ...]: ...

    @abstractmethod
    def _price(self, loss: Loss, delta: float | None, room: Cost) -> Cost: ...

    def _cost(self, amount: Fraction, delta: Fraction = Fraction(0), shift: Fraction = Fraction(0)) -> Cost:
        return Cost(self.kind, amount, delta, self.adjacency, shift)

    def _no_price(self, what: str, advice: str) -> InvalidParameter:
        return InvalidParameter(
            f"the release has no finite {what}, so a budget of kind {self.kind} cannot pay for it. {advice}"
        )


@dataclass(frozen=True)
class PureFilter(Filter):
    """PureDP(epsilon): the epsilons add.

    Theorem (basic composition is a filter: Rogers, Roth, Ullman and Vadhan 2016, "Privacy Odometers and
    Filters", arXiv 1605.08294). If each release is epsilon_i-DP given all earlier outcomes, epsilon_i may
    depend on them, and always sum epsilon_i <= epsilon, then the transcript is epsilon-DP.

    Why it applies: the lemma above with D(e) = {e-DP}. Rule 2: given y, the densities of the second part
    differ by at most e^b, those of y by at most e^a, so the joint ones by at most e^(a + b).
    """

    promise: PureDP
    adjacency: Adjacency = ADD_REMOVE
    kind: ClassVar[Kind] = "pure"

    @property
    def limit(self) -> Cost:
        return _limit("pure", declared(self.promise.epsilon), self.adjacency)

    def _values(self) -> tuple[float, ...]:
        return (self.promise.epsilon,)

    def _price(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if math.isinf(loss.epsilon(0.0)):
            advice = "Use Laplace or geometric noise, or open the account with ZCDP, GDP or ApproxDP."
            raise self._no_price("epsilon at delta 0", advice)
        # The largest loss of a composition is the sum of the largest losses; exact, where floats would round.
        return self._cost(_worse(loss, _largest))

    def spent(self, cost: Cost) -> PureDP:
        return PureDP(declared_at_least(cost.amount))

    def left(self, cost: Cost) -> PureDP:
        return PureDP(declared_at_most(cost.amount))


@dataclass(frozen=True)
class ZCDPFilter(Filter):
    """ZCDP(rho): the rhos add.

    Theorem (Feldman and Zrnic 2021, "Individual Privacy Accounting via a Renyi Filter", arXiv 2008.11193, for
    each fixed order; Whitehouse, Ramdas, Rogers and Wu 2023, "Fully-Adaptive Composition in Differential
    Privacy", arXiv 2203.05481, for zCDP). If each release is rho_i-zCDP given all earlier outcomes, rho_i may
    depend on them, and always sum rho_i <= rho, then the transcript is rho-zCDP.

    Why it applies: the lemma above with D(r) = {divergence of every order a > 1 at most r a}. Rule 2, order
    by order (seed 000 Theorem 12.3): the moment of the joint likelihood ratio is the expectation of the first
    ratio's power times the conditional moment of the second, at most exp((a - 1) a b) for every y.
    """

    promise: ZCDP
    adjacency: Adjacency = ADD_REMOVE
    kind: ClassVar[Kind] = "zcdp"

    @property
    def limit(self) -> Cost:
        return _limit("zcdp", declared(self.promise.rho), self.adjacency)

    def _values(self) -> tuple[float, ...]:
        return (self.promise.rho,)

    def _price(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        joint = loss.zcdp()
        if math.isinf(joint):
            advice = (
                "A release with a delta (the discovery of keys, or a model that promises ApproxDP) needs an "
                "ApproxDP account; bounded or Gaussian noise has a finite rho."
            )
            raise self._no_price("rho", advice)
        terms = (*loss.terms_remove, *loss.terms_add)
        if all(math.isfinite(pair.zcdp) for pair, _ in terms):
            return self._cost(_worse(loss, lambda pair: Fraction(pair.zcdp)))
        return self._cost(Fraction(joint))

    def spent(self, cost: Cost) -> ZCDP:
        return ZCDP(declared_at_least(cost.amount))

    def left(self, cost: Cost) -> ZCDP:
        return ZCDP(declared_at_most(cost.amount))


@dataclass(frozen=True)
class GDPFilter(Filter):
    """GDP(mu): the squares of the mus add.

    Theorem (Smith and Thakurta 2022, "Fully Adaptive Composition for Gaussian Differential Privacy", arXiv
    2210.17520; Koskela, Tobaben and Honkela 2023, arXiv 2209.15596). If each release is mu_i-GDP given all
    earlier outcomes, mu_i may depend on them, and always sum mu_i^2 <= mu^2, the transcript is mu-GDP.

    Why it applies: the lemma above with D(m) = {sqrt(m)-GDP}. Rule 2 is the composition theorem of Dong, Roth
    and Su 2022 (seed 000 Theorem 13.4): f-DP followed, for every y, by g-DP is (f x g)-DP, and the
    trade-offs of N(0,1) against N(sqrt(a),1) and N(sqrt(b),1) multiply to that of N(sqrt(a + b),1).

    A loss that is not Gaussian is charged with a mu that dominates it (`Loss.gdp`): epsilon-DP, for example,
    with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), about 1.25 epsilon.
    """

    promise: GDP
    adjacency: Adjacency = ADD_REMOVE
    kind: ClassVar[Kind] = "gdp"

    @property
    def limit(self) -> Cost:
        return _limit("gdp", declared(self.promise.mu) ** 2, self.adjacency)

    def _values(self) -> tuple[float, ...]:
        return (self.promise.mu,)

    def _price(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if math.isinf(loss.gdp()):
            advice = "Use Gaussian or bounded noise, or open the account with ApproxDP or ZCDP."
            raise self._no_price("mu", advice)
        return self._cost(_worse(loss, _square))

    def spent(self, cost: Cost) -> GDP:
        return GDP(_root_at_least(cost.amount))

    def left(self, cost: Cost) -> GDP:
        return GDP(_root_at_most(cost.amount))


@dataclass(frozen=True)
class ApproxFilter(Filter):
    """ApproxDP(epsilon, delta): half of delta for a GDP filter, half for deltas that add.

    The budget is a box with three sides. `reserve` is a part of epsilon set aside when the account is opened (0
    unless asked for), for what is better paid like pure DP. The next, in mu^2, is the largest m such that sqrt(m)-GDP
    implies (epsilon - reserve, delta/2)-DP (Balle and Wang 2018, Theorem 8, evaluated with its rounding error on
    the safe side). The last, delta/2, pays for events that no epsilon covers, such as a rare key becoming visible.

    Theorem. Say a release is (C, m, d)-good if for any two neighbours, with laws P and Q, and every x > 0
    H_x(P || e^C Q) is at most that of the pair: with probability d the neighbour is revealed, else N(sqrt(m), 1)
    against N(0, 1). If each release is (C_i, m_i, d_i)-good given all earlier outcomes, the numbers may depend
    on these, and always sum C_i <= reserve, sum m_i <= m and sum d_i <= delta/2, then the transcript is
    (epsilon, delta)-DP.

    Proof: the lemma above with D(C, m, d) = {(C, m, d)-good}. Rule 2, and what else is used here, is proved in
    docs/proofs/shifted-gaussian-budget.md. So the transcript is (reserve, m, delta/2)-good, and its hockey-stick
    divergence of order e^epsilon is at most delta/2 + (1 - delta/2) delta_m(epsilon - reserve), at most delta/2 +
    delta/2. QED. (With no reserve and d_i = 0 it is Smith and Thakurta 2022; for zCDP in place of GDP, the filter
    for approximate zCDP of Whitehouse, Ramdas, Rogers and Wu 2023.)

    What a loss costs, the least share of what is left among these:

    - (0, mu^2, 0) when it has a finite mu. Otherwise its terms without one are (e, d)-DP for the d given, or for the
      least possible d; whatever is (e, d)-DP is dominated by "with probability d revealed, else randomized
      response" (Kairouz, Oh and Viswanath 2015), so it is (0, mu(e)^2, d)-good with the mu of e-DP;
    - with a d that is given, (C, m, d) for the least m that `Polygon` certifies, for a choice of C; most losses, and
      objective perturbation above all, have far less than mu(e)^2 even with C = 0;
    - with a reserve, (e, mu^2, 0): the terms with a largest loss pay it, Gaussian noise pays its mu^2.

    delta = 0 is the pure filter.
    """

    promise: ApproxDP
    adjacency: Adjacency = ADD_REMOVE
    reserve: Fraction = Fraction(0)
    kind: ClassVar[Kind] = "approx"

    @property
    def half(self) -> Fraction:
        """The additive side of the box, and the delta at which mu^2 is converted."""
        return rounded_down(declared(self.promise.delta) / 2)

    @property
    def limit(self) -> Cost:
        mu = largest_mu(self._rest, exactly_at_most(self.half))
        return self._cost(rounded_down(declared(mu) ** 2), self.half, self.reserve)

    @property
    def _rest(self) -> float:
        """What is not set aside of epsilon."""
        return exactly_at_most(declared(self.promise.epsilon) - self.reserve)

    def written(self) -> dict[str, object]:
        told = super().written()
        return {**told, "reserve": decimal(self.reserve)} if self.reserve else told

    def _values(self) -> tuple[float, ...]:
        return (self.promise.epsilon, self.promise.delta)

    def _price(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if delta is not None:
            delta = checks.failure_probability("delta", delta)
        ways = [self._by_mu(loss, delta)]
        if delta and any(map(_wild, (loss.terms_remove, loss.terms_add))):
            ways += self._by_profile(loss, delta, room)
        if self.reserve:
            ways += self._by_largest(loss, delta)
        return min(ways, key=lambda way: (way.use_of(room), way.amount))

    def _by_mu(self, loss: Loss, delta: float | None) -> Cost:
        """(0, mu^2, d), term by term where that can be."""
        tame = _worse(loss, lambda pair: _square(pair) if math.isfinite(pair.gdp) else Fraction(0))
        wild_remove, wild_add = _wild(loss.terms_remove), _wild(loss.terms_add)
        if not wild_remove and not wild_add:
            return self._cost(
                tame, Fraction(delta or 0)
            )  # a delta that is not needed, but was named, is charged
        if delta is None and loss.is_symmetric:
            # Term by term: n releases that are (e, d)-DP each cost n times one of them.
            amount, extra = tame, Fraction(0)
            for pair, n in wild_remove:
                single = Loss(((pair, 1),), ((pair, 1),), loss.adjacency, "one of them")
                one, d = self._wild_price(single, None)
                amount, extra = amount + n * one, extra + n * d
            return self._cost(amount, extra)
        together = Loss(wild_remove, wild_add, loss.adjacency, "those without a mu")
        amount, extra = self._wild_price(together, delta)
        return self._cost(tame + amount, extra)

    def _wild_price(self, loss: Loss, delta: float | None) -> tuple[Fraction, Fraction]:
        """(mu(e)^2, d) of a loss that is (e, d)-DP and has no mu."""
        least = loss.delta_at_infinity()
        # The least delta is a sum of rounded products; a hair more is a bound on it in any case.
        at = least * (1 + 1e-12) if delta is None else delta
        epsilon = loss.epsilon(at) if at > 0 else math.inf
        if math.isinf(epsilon):
            advice = (
                f"It needs a delta of at least {least:.6g}; pass one to cost(loss, delta=...)."
                if least > 0
                else "State how much delta it may use: cost(loss, delta=...)."
            )
            raise self._no_price("mu" if delta is None else f"epsilon at delta {delta:g}", advice)
        pairs = pure(epsilon, loss.adjacency).terms_remove
        return sum((n * _square(pair) for pair, n in pairs), Fraction(0)), Fraction(at)

    def _by_profile(self, loss: Loss, delta: float, room: Cost) -> list[Cost]:
        """(C, m, d) for several C: from nothing to all there is, or all there is any use for."""
        polygon = Polygon.above(loss, delta)
        if polygon is None:
            return []
        most = min(room.shift, rounded_up(Fraction(polygon.last)))
        shifts = {rounded_up(most * step / SHIFTS) for step in range(SHIFTS + 1)}
        found = ((shift, polygon.square(shift)) for shift in sorted(shifts))
        return [self._cost(m, Fraction(delta), shift) for shift, m in found if m is not None]

    def _by_largest(self, loss: Loss, delta: float | None) -> list[Cost]:
        """(largest loss of all other terms, mu^2 of Gaussian ones, 0), where there is a largest."""
        terms = (*loss.terms_remove, *loss.terms_add)
        if not all(_is_gaussian(pair) or _has_largest(pair) for pair, _ in terms):
            return []
        mu = _worse(loss, lambda pair: _square(pair) if _is_gaussian(pair) else Fraction(0))
        shift = _worse(loss, lambda pair: Fraction(0) if _is_gaussian(pair) else _largest(pair))
        return [self._cost(mu, Fraction(delta or 0), shift)]

    def spent(self, cost: Cost) -> ApproxDP:
        delta = declared_at_least(cost.delta + (self.half if cost.amount else 0))
        epsilon = self._epsilon(_root_at_least(cost.amount), upper=True)
        if cost.shift:
            epsilon = min(self.promise.epsilon, declared_at_least(declared(epsilon) + cost.shift))
        return ApproxDP(epsilon, delta)

    def left(self, cost: Cost) -> ApproxDP:
        """(epsilon, delta/2): a release with Gaussian noise calibrated to it still fits.

        The other sides have their own balance, in `Account.left`.
        """
        half = declared_at_most(self.half)
        if cost.amount == self.limit.amount:
            whole = declared_at_most(declared(self.promise.epsilon) - self.reserve)
            return ApproxDP(whole, half)
        # A little below what is left: room for the rounding of whoever calibrates to it.
        return ApproxDP(self._epsilon(_root_at_most(cost.amount), upper=False) * (1 - 1e-9), half)

    def _epsilon(self, mu: float, upper: bool) -> float:
        """The epsilon of mu-GDP at delta/2, from above or below."""
        if mu == 0:
            return 0.0
        loss = GDP(mu).loss(self.adjacency)
        bounds = loss.epsilon_bounds(exactly_at_most(self.half))
        # Never more than was promised: the limit itself was found from the other side.
        most = declared_at_most(declared(self.promise.epsilon) - self.reserve)
        return min(most, bounds.upper if upper else bounds.lower)


def filter_of(
    promise: Guarantee, adjacency: Adjacency = ADD_REMOVE, reserve: float | str | Fraction = 0
) -> Filter:
    """The filter that keeps this promise. `reserve` is for ApproxDP: see `ApproxFilter`.

    >>> import dalenius as dp
    >>> budget = filter_of(dp.ZCDP(0.5))
    >>> budget.cost(dp.losses.gaussian(sigma=4.0) * 2)
    Cost(zcdp: rho 0.0625)
    """
    adjacency = checked_adjacency(adjacency)
    aside = _reserve(promise, reserve)
    if isinstance(promise, PureDP):
        checks.moderate("epsilon", promise.epsilon)
        return PureFilter(promise, adjacency)
    if isinstance(promise, ApproxDP):
        checks.moderate("epsilon", promise.epsilon)
        if promise.delta == 0:
            return PureFilter(PureDP(promise.epsilon), adjacency)
        found = ApproxFilter(promise, adjacency, aside)
        if not found.half:
            raise InvalidParameter(
                f"delta is {promise.delta:g}; a budget's delta is 0 or at least 2e-30. Use PureDP(epsilon)."
            )
        return found
    if isinstance(promise, ZCDP):
        checks.moderate("rho", promise.rho)
        return ZCDPFilter(promise, adjacency)
    if isinstance(promise, GDP):
        checks.moderate("mu", promise.mu)
        return GDPFilter(promise, adjacency)
    raise InvalidParameter(
        f"the budget is {promise!r}; it must be PureDP(epsilon), ApproxDP(epsilon, delta), ZCDP(rho) or "
        "GDP(mu)."
    )


def _reserve(promise: Guarantee, reserve: float | str | Fraction) -> Fraction:
    """What is set aside of epsilon, as it was written."""
    try:
        aside = declared(reserve) if isinstance(reserve, float) else Fraction(reserve)
    except (TypeError, ValueError, ZeroDivisionError):
        raise InvalidParameter(
            f"reserve is {reserve!r}; it must be a part of epsilon, such as 0.5."
        ) from None
    if not aside and not isinstance(reserve, bool):
        return aside
    if not isinstance(promise, ApproxDP) or promise.delta == 0:
        raise InvalidParameter(
            f"reserve is {reserve!r}, and only an ApproxDP budget sets epsilon aside; leave it out."
        )
    if (
        isinstance(reserve, bool)
        or not 0 <= aside < declared(promise.epsilon)
        or aside != rounded_down(aside)
    ):
        raise InvalidParameter(
            f"reserve is {reserve!r}; it must be 0 or more, below epsilon = {promise.epsilon:g}, with at most "
            f"{PLACES} decimal places."
        )
    return aside


def strict(promise: Guarantee) -> Guarantee:
    """The promise with every number rounded to a float not above what was declared.

    `ZCDP(0.1)` is a double slightly above one tenth. A release whose loss keeps `strict(ZCDP(0.1))` costs at
    most one tenth exactly, so that ten of them fit `ZCDP(1.0)`.

    >>> import dalenius as dp
    >>> strict(dp.ZCDP(0.1)).rho < 0.1, strict(dp.ZCDP(0.5)).rho
    (True, 0.5)
    """
    if isinstance(promise, PureDP):
        return PureDP(exactly_at_most(declared(promise.epsilon)))
    if isinstance(promise, ApproxDP):
        epsilon, delta = declared(promise.epsilon), declared(promise.delta)
        return ApproxDP(exactly_at_most(epsilon), exactly_at_most(delta))
    if isinstance(promise, ZCDP):
        return ZCDP(exactly_at_most(declared(promise.rho)))
    if isinstance(promise, GDP):
        return GDP(exactly_at_most(declared(promise.mu)))
    return promise


def _limit(kind: Kind, amount: Fraction, adjacency: Adjacency) -> Cost:
    return Cost(kind, rounded_down(amount), adjacency=adjacency)


def _worse(loss: Loss, price: Callable[[Pair], Fraction]) -> Fraction:
    """The exact sum over the terms, in the direction where it is larger."""
    sides = (loss.terms_remove, loss.terms_add)
    return max(sum((n * price(pair) for pair, n in terms), Fraction(0)) for terms in sides)


def _is_gaussian(pair: Pair) -> bool:
    return isinstance(pair, GaussianPair)


def _has_largest(pair: Pair) -> bool:
    return pair.infinite == 0 == pair.upper.infinite and math.isfinite(pair.upper.largest)


def _largest(pair: Pair) -> Fraction:
    return Fraction(max(0.0, pair.upper.largest))


def _wild(terms: Terms) -> Terms:
    return tuple((pair, n) for pair, n in terms if math.isinf(pair.gdp))


def _square(pair: Pair) -> Fraction:
    """mu^2 of a pair, exact for Gaussian noise and rounded up for the rest.

    The mu of bounded losses comes from a normal quantile near the middle, where half an ulp of the
    probability (5.6e-17) moves mu by up to 2 sqrt(2 pi) times that, 2.8e-16, however small mu is; further
    out the quantile is good to a few ulps. Twice that and more is added here.
    """
    if isinstance(pair, GaussianPair):
        return pair.square
    return (Fraction(pair.gdp) * (1 + Fraction(1, 10**13)) + Fraction(1, 10**15)) ** 2


def _root_at_least(square: Fraction) -> float:
    found = math.sqrt(square)
    while declared(found) ** 2 < square:
        found = math.nextafter(found, math.inf)
    return found


def _root_at_most(square: Fraction) -> float:
    found = math.sqrt(square)
    while declared(found) ** 2 > square:
        found = math.nextafter(found, 0.0)
    return found


@cache
def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu (to a few ulps, from below) for which mu-GDP certainly implies (epsilon, delta)-DP.

    delta(mu) grows with mu. The float after the one returned was itself evaluated, rounding error included, and
    passed: so does the mu returned when it is read as it is written, which may be half a unit above its value.
    """
    good, bad = 0.0, 1.0
    while gaussian_delta(bad, epsilon) <= delta:
        good, bad = bad, 2 * bad
    while True:
        middle = (good + bad) / 2
        if middle in (good, bad):
            return math.nextafter(good, 0.0)
        if gaussian_delta(middle, epsilon) <= delta:
            good = middle
        else:
            bad = middle
