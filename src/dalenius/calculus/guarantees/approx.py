"""ApproxDP(epsilon, delta): pure up to an event of probability delta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dalenius.calculus.guarantees import amounts
from dalenius.calculus.guarantees.cost import Cost, Currency
from dalenius.calculus.guarantees.filter import Filter, Reserve, reserve_as_written
from dalenius.calculus.guarantees.gdp import GDP, largest_mu
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.guarantees.pure import PureDP
from dalenius.calculus.guarantees.shifted import boxes
from dalenius.calculus.loss import Loss
from dalenius.calculus.loss import checked as checked_loss
from dalenius.calculus.losses import approx
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """PureDP(epsilon) up to an event of probability delta.

    Dwork, Kenthapadi, McSherry, Mironov and Naor 2006, "Our Data, Ourselves: Privacy Via Distributed Noise Generation",
    Definition 2.

    Parameters
    ----------
    epsilon
        The log likelihood ratio, 0 or more.
    delta
        What the likelihoods may differ by beyond it, in [0, 1). 0 is PureDP(epsilon).

    Raises
    ------
    InvalidParameter
        If epsilon is not a finite number, 0 or more, or delta not in [0, 1).

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.ApproxDP(1.0, 1e-5).holds(dp.losses.gaussian(sigma=3.8)), dp.ApproxDP(1.0, 1e-5).text
    (True, 'approx:1.0,1e-05')
    """

    epsilon: float
    delta: float

    _missing_said: ClassVar = {"delta": "ApproxDP(1.0, 1e-6); with none it is PureDP(1.0)"}
    tag: ClassVar = "approx"
    parameters: ClassVar = {"epsilon": checks.nonnegative, "delta": checks.failure_probability}
    leading: ClassVar = "epsilon"
    view: ClassVar = "profile"
    currency: ClassVar = Currency("mu^2", is_box=True)

    def measure(self, loss: Loss) -> Measure:
        if self.delta == 0.0:
            return PureDP(self.epsilon).measure(loss)
        return Measure(f"delta at epsilon {self.epsilon:.12g}", loss.delta(self.epsilon), self.delta)

    def excess_bounds(self, loss: Loss) -> Bounds:
        if self.delta == 0.0:
            return PureDP(self.epsilon).excess_bounds(loss)
        low, high = checked_loss(loss, "holds").delta_bounds(self.epsilon)
        return Bounds(_log_ratio(low, self.delta), _log_ratio(high, self.delta))

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return approx(self.epsilon, self.delta, adjacency)

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> Filter:
        if self.delta == 0:
            return PureDP(self.epsilon).filter(adjacency, reserve)
        aside = reserve_as_written(reserve)
        fits = not aside or 0 < aside < amounts.declared(self.epsilon)
        if isinstance(reserve, bool) or not fits or aside != amounts.rounded_down(aside):
            raise InvalidParameter(
                f"reserve is {checks.shown(reserve)}; it must be 0 or more, below epsilon = {self.epsilon:g}, with "
                f"at most {amounts.PLACES} decimal places."
            )
        checks.moderate("epsilon", self.epsilon)
        found = ApproxFilter(self, adjacency, aside)
        if not found.half:
            raise InvalidParameter(
                f"delta is {self.delta:g}; a budget's delta is 0 or at least 2e-30. Use PureDP(epsilon)."
            )
        return found

    def divided(self, parts: float) -> ApproxDP:
        parts = checks.positive("parts", parts)
        return ApproxDP(self.epsilon / parts, self.delta / parts)

    def as_pure(self) -> PureDP | None:
        return PureDP(self.epsilon) if self.delta == 0 else None

    def tightened(self) -> ApproxDP:
        """A hair less, so that `epsilon(delta)`, which is solved to 1e-12, does not come out above what was asked."""
        if self.delta == 0:
            return self
        room = min(4e-11 * max(1.0, self.epsilon), 1e-9 * self.epsilon)
        return ApproxDP(self.epsilon - room, self.delta)

    def of_size(self, size: float) -> Guarantee:
        return PureDP(size) if self.delta == 0 else ApproxDP(size, self.delta / 10)


def _log_ratio(found: float, promised: float) -> float:
    """log(found / promised), positive exactly when found exceeds promised."""
    if found <= 0:
        return -math.inf
    apart = math.log(found) - math.log(promised)
    return max(apart, 5e-324) if found > promised else min(apart, 0.0)


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

    Proof: the lemma of `filter.py` with D(C, m, d) = {(C, m, d)-good}. Rule 2, and what else is used here, is proved in
    docs/proofs/shifted-gaussian-budget.md. So the transcript is (reserve, m, delta/2)-good, and its hockey-stick
    divergence of order e^epsilon is at most delta/2 + (1 - delta/2) delta_m(epsilon - reserve), at most delta/2 +
    delta/2. QED. (With no reserve and d_i = 0 it is Smith and Thakurta 2022; for zCDP in place of GDP, the filter
    for approximate zCDP of Whitehouse, Ramdas, Rogers and Wu 2023.)

    A loss costs the box of `shifted.boxes` that takes the least share of what is left. delta = 0 is the pure filter.
    """

    promise: ApproxDP
    adjacency: Adjacency = ADD_REMOVE
    reserve: Fraction = Fraction(0)
    prices: ClassVar = (ApproxDP, GDP, PureDP)
    pays_for_rare_events: ClassVar = True

    @property
    def half(self) -> Fraction:
        """The additive side of the box, and the delta at which mu^2 is converted."""
        return amounts.rounded_down(amounts.declared(self.promise.delta) / 2)

    @property
    def limit(self) -> Cost:
        mu = largest_mu(amounts.exactly_at_most(self._rest), amounts.exactly_at_most(self.half))
        return self._cost(amounts.rounded_down(amounts.declared(mu) ** 2), self.half, self.reserve)

    @property
    def _rest(self) -> Fraction:
        """What is not set aside of epsilon."""
        return amounts.declared(self.promise.epsilon) - self.reserve

    def written(self) -> dict[str, object]:
        reserve = {"reserve": amounts.decimal(self.reserve)} if self.reserve else {}
        return {**super().written(), **reserve}

    def like(self, written: Mapping[str, Any]) -> Filter:
        """With the same reserve, where that account has one."""
        reserve = written.get("reserve", 0) if written["kind"] == self.kind else 0
        return self.promise.filter(self.adjacency, reserve)

    def times(self, count: int) -> Filter:
        """(epsilon', count delta), with count times the reserve.

        All of it together is (count reserve, count m, count delta/2)-good (the theorem above), so epsilon' is count
        reserve and the epsilon at which sqrt(count m)-GDP has a delta of count delta/2, rounded up until the limit
        that follows from it is enough.
        """
        checks.count("count", count, 1)
        if count == 1:
            return self
        delta = amounts.declared_at_least(amounts.declared(self.promise.delta) * count)
        if delta >= 1:
            raise InvalidParameter(
                f"{count} times delta = {self.promise.delta:g} is 1 or more: no promise at all."
            )
        wanted = self.limit * count
        mu = amounts.declared_root_at_least(wanted.amount)
        half = amounts.exactly_at_most(amounts.rounded_down(amounts.declared(delta) / 2))
        needed = GDP(mu).loss(self.adjacency).epsilon_bounds(half).upper
        slack = 0.0
        while True:
            sides = amounts.declared(needed * (1 + slack)) + self.reserve * count
            found = ApproxDP(amounts.declared_at_least(sides), delta).filter(
                self.adjacency, self.reserve * count
            )
            if wanted.fits(found.limit):
                return found
            slack = max(1e-15, 4 * slack)

    def _cost_of(self, loss: Loss, delta: float | None, room: Cost) -> Cost:
        if delta is not None:
            delta = checks.failure_probability("delta", delta)
        ways = [self._cost(*box) for box in boxes(loss, delta, self.reserve, room.shift)]
        return min(ways, key=lambda way: (way.use_of(room), way.amount))

    def price(self, budget: object) -> Guarantee:
        found = super().price(budget)
        if not isinstance(found, ApproxDP):
            return found
        # As much as a total of the same numbers would be: so one release may use all of it.
        return GDP(amounts.root_at_most(found.filter(self.adjacency).limit.amount))

    def charge(self, loss: Loss, budget: Guarantee, room: Cost) -> Cost:
        if budget.as_pure() is not None:
            return self.cost(loss, room=room)
        return super().charge(loss, budget, room)

    def charge_for_fit(self, loss: Loss, room: Cost, allowance: Cost) -> Cost:
        """Where a fit has no finite mu, a little of the delta pays for that."""
        if math.isfinite(loss.gdp()):
            return super().charge_for_fit(loss, room, allowance)
        # A thousandth: what is beyond it in the tail hardly matters, and a thousand fits have room.
        return self.cost(loss, loss.delta_at_infinity() + float(allowance.delta) / 1000, room)

    def budget(self, amount: float) -> GDP:
        return GDP(amount**0.5)

    def in_own_kind(self, price: Guarantee) -> Guarantee:
        """(epsilon, delta) with the delta of the promise, half of which is for the noise, as in `budget_left`."""
        if not isinstance(price, GDP):
            return super().in_own_kind(price)
        half = amounts.exactly_at_most(self.half)
        epsilon = price.loss(self.adjacency).epsilon_bounds(half).upper
        found = ApproxDP(epsilon, self.promise.delta).shortened(up=True)
        if epsilon == 0 or not math.isfinite(epsilon) or not self._is_worth(found, price):
            # So little noise or so much that no epsilon says it at this delta.
            return super().in_own_kind(price)
        return found

    def _is_worth(self, found: ApproxDP, price: GDP) -> bool:
        bought = self.price(found)
        return isinstance(bought, GDP) and bought.mu >= price.mu

    def spent(self, cost: Cost) -> ApproxDP:
        delta = amounts.declared_at_least(cost.delta + (self.half if cost.amount else 0))
        epsilon = self._epsilon(amounts.declared_root_at_least(cost.amount), upper=True)
        if cost.shift:
            epsilon = min(
                self.promise.epsilon, amounts.declared_at_least(amounts.declared(epsilon) + cost.shift)
            )
        return ApproxDP(epsilon, delta)

    def left(self, cost: Cost) -> ApproxDP:
        """(epsilon, delta/2): a release with Gaussian noise calibrated to it still fits.

        The other sides have their own balance, in `Account.left`.
        """
        half = amounts.declared_at_most(self.half)
        if cost.amount == self.limit.amount:
            return ApproxDP(amounts.declared_at_most(self._rest), half)
        # A little below what is left: room for the rounding of whoever calibrates to it.
        return ApproxDP(
            self._epsilon(amounts.declared_root_at_most(cost.amount), upper=False) * (1 - 1e-9), half
        )

    def budget_left(self, cost: Cost) -> ApproxDP:
        """(epsilon, delta), half of which is for the noise: a total of these numbers comes to what is left."""

        def fits(epsilon: float) -> bool:
            return ApproxDP(epsilon, self.promise.delta).filter(self.adjacency).limit.amount <= cost.amount

        epsilon = amounts.declared_at_most(self._rest)
        if not fits(epsilon):
            if not fits(0.0):  # crumbs
                return ApproxDP(0.0, 0.0)
            near = self._epsilon(amounts.declared_root_at_most(cost.amount), upper=False) * (1 - 1e-9)
            epsilon, _ = last_true(fits, near if fits(near) else 0.0, epsilon)
        return ApproxDP(epsilon, self.promise.delta)

    def _epsilon(self, mu: float, upper: bool) -> float:
        """The epsilon of mu-GDP at delta/2, from above or below."""
        if mu == 0:
            return 0.0
        loss = GDP(mu).loss(self.adjacency)
        bounds = loss.epsilon_bounds(amounts.exactly_at_most(self.half))
        # Never more than was promised: the limit itself was found from the other side.
        return min(amounts.declared_at_most(self._rest), bounds.upper if upper else bounds.lower)
