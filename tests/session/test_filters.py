"""The filters keep their promise against analysts who choose questions and prices by the answers.

Small interactions are written out in full (every outcome, both neighbours), so that what the transcript
reveals is known exactly and can be compared with the promise. Each check is shown to reject a filter that is
wrong in a way people get it wrong.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import dalenius as dp
from dalenius import losses
from dalenius.calculus.guarantees import Filter, filter_of
from dalenius.calculus.guarantees.amounts import GRAINS, declared
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.loss import Loss
from dalenius.calculus.theorems.gaussian import gaussian_delta
from dalenius.errors import AdjacencyMismatch, InvalidParameter

Law = list[tuple[float, float]]
"""Probabilities of the outcomes under the two neighbours."""


def response(epsilon: float) -> Law:
    """Randomized response."""
    lie = 1 / (1 + math.exp(epsilon))
    return [(1 - lie, lie), (lie, 1 - lie)]


def leaky(epsilon: float, delta: float) -> Law:
    """Randomized response that tells the truth outright with probability delta."""
    return [(delta, 0.0), (0.0, delta)] + [((1 - delta) * p, (1 - delta) * q) for p, q in response(epsilon)]


Release = tuple[Law, Cost]
Allows = Callable[[list[Cost], Cost], bool]


def transcript(choose: Callable[[tuple[int, ...]], Release], allows: Allows, rounds: int) -> Law:
    """The law of everything an analyst sees who chooses each release by the outcomes so far."""
    found: Law = []

    def play(history: tuple[int, ...], costs: list[Cost], p: float, q: float) -> None:
        if len(history) < rounds:
            law, cost = choose(history)
            if allows(costs, cost):
                for outcome, (a, b) in enumerate(law):
                    play((*history, outcome), [*costs, cost], p * a, q * b)
                return
        found.append((p, q))

    play((), [], 1.0, 1.0)
    return found


def sound(budget: Filter) -> Allows:
    def allows(costs: list[Cost], cost: Cost) -> bool:
        total = budget.nothing
        for one in (*costs, cost):
            total = total + one
        return total.fits(budget.limit)

    return allows


def forgetful(budget: Filter) -> Allows:
    """A wrong filter: each release alone must fit."""
    return lambda costs, cost: cost.fits(budget.limit)


def hockey_stick(law: Law, epsilon: float) -> float:
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in law)


def divergence(law: Law, order: float) -> float:
    return math.log(sum(p**order * q ** (1 - order) for p, q in law if p > 0)) / (order - 1)


def analysts(
    budget: Filter, make: Callable[[float], tuple[Law, Loss]], scale: float
) -> list[Callable[[tuple[int, ...]], Release]]:
    """Many analysts, each with prices that depend on the outcomes in a different, arbitrary way."""

    @cache
    def release(step: int) -> Release:
        law, loss = make(scale * step / 8)
        return law, budget.cost(loss)

    def analyst(seed: int) -> Callable[[tuple[int, ...]], Release]:
        return lambda history: release(random.Random(f"{seed} {history}").randint(1, 8))

    return [analyst(seed) for seed in range(20)]


def pure_release(epsilon: float) -> tuple[Law, Loss]:
    return response(epsilon), losses.pure(epsilon)


class TestPure:
    budget = filter_of(dp.PureDP(1.0))

    def worst(self, allows: Allows) -> float:
        return max(
            math.log(max(max(p / q, q / p) for p, q in transcript(analyst, allows, rounds=7)))
            for analyst in analysts(self.budget, pure_release, 0.6)
        )

    def test_promise_is_kept(self) -> None:
        assert 0.9 < self.worst(sound(self.budget)) <= 1.0 + 1e-12

    def test_the_check_can_fail(self) -> None:
        assert self.worst(forgetful(self.budget)) > 1.1


class TestZCDP:
    budget = filter_of(dp.ZCDP(0.1))

    def worst(self, allows: Allows) -> float:
        orders = (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)
        return max(
            divergence(transcript(analyst, allows, rounds=6), order) / order
            for analyst in analysts(self.budget, pure_release, 0.5)
            for order in orders
        )

    def test_promise_is_kept(self) -> None:
        assert 0.05 < self.worst(sound(self.budget)) <= 0.1 + 1e-12

    def test_the_check_can_fail(self) -> None:
        assert self.worst(forgetful(self.budget)) > 0.11


class TestGDP:
    budget = filter_of(dp.GDP(0.7))

    def excess(self, allows: Allows) -> float:
        return max(
            hockey_stick(law, epsilon) / gaussian_delta(0.7, epsilon)
            for analyst in analysts(self.budget, pure_release, 0.5)
            for law in [transcript(analyst, allows, rounds=6)]
            for epsilon in (0.0, 0.2, 0.5, 1.0, 1.5)
        )

    def test_promise_is_kept(self) -> None:
        assert 0.5 < self.excess(sound(self.budget)) <= 1 + 1e-12

    def test_the_check_can_fail(self) -> None:
        assert self.excess(forgetful(self.budget)) > 1.1

    @pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
    @pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.7, 1.5])
    def test_gaussian_noise_with_a_price_that_depends_on_the_answer(
        self, epsilon: float, threshold: float
    ) -> None:
        """After a first answer above the threshold spend all that is left at once, below it only half."""
        first, total = 0.6, 1.0

        def rest(loss: float, y: float) -> float:
            left = total**2 - first**2
            return profile(math.sqrt(left if y > threshold else left / 2), epsilon - loss)

        revealed = interactive(first, rest)
        assert revealed <= gaussian_delta(total, epsilon) * (1 + 1e-9)

    def test_forgetting_the_first_answer_is_noticed(self) -> None:
        revealed = interactive(0.6, lambda loss, y: profile(1.0, 0.5 - loss))
        assert revealed > gaussian_delta(1.0, 0.5) * 1.1


def profile(mu: float, epsilon: float) -> float:
    """delta(epsilon) of N(mu, 1) against N(0, 1), at any real epsilon."""
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def interactive(first: float, rest: Callable[[float, float], float]) -> float:
    """The hockey-stick divergence of a Gaussian release followed by one chosen after its answer."""

    def density(y: float) -> float:
        loss = first * y - first**2 / 2
        return math.exp(-((y - first) ** 2) / 2) / math.sqrt(2 * math.pi) * rest(loss, y)

    edges = np.linspace(-12, 12, 97)
    return float(sum(quad(density, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(edges)))


class TestApprox:
    budget = filter_of(dp.ApproxDP(1.0, 1e-2))

    def excess(self, allows: Allows) -> float:
        def release(epsilon: float) -> tuple[Law, Loss]:
            delta = 1e-3 if epsilon > 0.1 else 0.0
            return leaky(epsilon, delta), losses.approx(epsilon, delta)

        found = 0.0
        for analyst in analysts(self.budget, release, 0.35):
            law = transcript(analyst, allows, rounds=5)
            found = max(found, hockey_stick(law, 1.0), hockey_stick([(q, p) for p, q in law], 1.0))
        return found / 1e-2

    def test_promise_is_kept(self) -> None:
        assert 0.1 < self.excess(sound(self.budget)) <= 1.0

    def test_the_check_can_fail(self) -> None:
        assert self.excess(forgetful(self.budget)) > 1.0

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (5.0, 1e-12), (0.0, 1e-2)])
    def test_the_limit_is_the_largest_mu(self, epsilon: float, delta: float) -> None:
        """Against 60 digits of arithmetic: half the delta, not a hair more, and not much less."""
        limit = filter_of(dp.ApproxDP(epsilon, delta)).limit
        with mpmath.workdps(60):
            e, m = mpmath.mpf(repr(epsilon)), mpmath.mpf(limit.amount.numerator) / limit.amount.denominator

            def found(m: mpmath.mpf) -> mpmath.mpf:
                mu = mpmath.sqrt(m)
                return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

            half = mpmath.mpf(repr(delta)) / 2
            assert found(m) <= half < found(m * (1 + mpmath.mpf(10) ** -8))
        assert limit.delta == declared(delta) / 2

    def test_spending_both_sides_of_the_box_is_within_the_promise(self) -> None:
        """All of mu^2 and all of the deltas, in the worst case there is: the two add to at most delta."""
        limit = self.budget.limit
        mu, d = math.sqrt(limit.amount), float(limit.delta)
        total = d + (1 - d) * profile(mu, 1.0)
        assert 0.99e-2 < total <= 1e-2

    def test_a_region_in_place_of_a_box_is_not_a_filter(self) -> None:
        """Why delta is split beforehand.

        Allow any mix with delta_m(epsilon) + d <= delta. An analyst spends part of mu^2; if the answer was
        telling, the rest of it, else the deltas. Each way alone keeps the promise, and the mixture does not.
        """
        epsilon, delta = 1.0, 1e-2
        whole = _mu_for(epsilon, delta)
        first = 0.8 * whole
        second, d = math.sqrt(whole**2 - first**2), delta - profile(first, epsilon)

        def more_noise(loss: float, y: float) -> float:
            return profile(second, epsilon - loss)

        def deltas(loss: float, y: float) -> float:
            return d + (1 - d) * profile(0.0, epsilon - loss)

        assert interactive(first, more_noise) <= delta * (1 + 1e-9)
        assert interactive(first, deltas) <= delta * (1 + 1e-9)
        mixture = interactive(first, lambda loss, y: max(more_noise(loss, y), deltas(loss, y)))
        assert mixture > delta * 1.2

        # The box, by the same analyst, keeps it.
        half = _mu_for(epsilon, delta / 2)
        first, second, d = 0.8 * half, math.sqrt(half**2 - (0.8 * half) ** 2), delta / 2
        best = interactive(first, lambda loss, y: d + (1 - d) * profile(second, epsilon - loss))
        assert best <= delta

    def test_delta_zero_is_the_pure_filter(self) -> None:
        assert filter_of(dp.ApproxDP(1.0, 0.0)) == filter_of(dp.PureDP(1.0))


class TestSpent:
    """What `spent` says of a session of Gaussian releases, read at a moment of the analyst's choosing."""

    budget = filter_of(dp.ApproxDP(3.0, 1e-5))
    amounts = tuple(Fraction(9, 20) * Fraction(5, 7) ** n for n in range(14, -1, -1))

    def best(self, moments: range) -> float:
        """The most that sum over t of P(S, stop at t) - e^epsilon(t) Q(S, stop at t) can be, where epsilon(t) is what
        `spent` said at t: by optimal stopping of the privacy loss, a Gaussian walk. In units of its delta.
        """
        loss = np.linspace(-6.0, 9.0, 7501)
        value = np.zeros_like(loss)
        for t in reversed(range(len(self.amounts))):
            if t in moments:
                told = self.budget.spent(Cost("approx", self.amounts[t]))
                assert isinstance(told, dp.ApproxDP)
                value = np.maximum(value, -np.expm1(np.minimum(0.0, told.epsilon - loss)))
            step = float(self.amounts[t] - (self.amounts[t - 1] if t else 0))
            reach = math.ceil(8 * math.sqrt(step) / (loss[1] - loss[0]))
            moves = (loss[1] - loss[0]) * np.arange(reach, -reach - 1, -1)
            weights = np.exp(-((moves - step / 2) ** 2) / (2 * step))
            value = np.convolve(value, weights / weights.sum(), mode="same")
        return float(np.interp(0.0, loss, value)) / 5e-6

    @pytest.mark.parametrize("moment", [0, 7, 14])
    def test_is_the_promise_of_a_session_that_was_to_end_there(self, moment: int) -> None:
        assert self.best(range(moment, moment + 1)) == pytest.approx(1.0, rel=0.01)

    def test_is_no_promise_at_a_moment_chosen_by_the_answers(self) -> None:
        """Whoever reads it when the answers were telling beats it several times over; the budget itself holds."""
        assert self.best(range(len(self.amounts))) > 3.0
        text = Filter.spent.__doc__ or ""
        assert "settled beforehand" in text

    def test_of_pure_budgets_holds_at_any_moment(self) -> None:
        """The likelihood ratio of each transcript is at most its own sum."""
        budget = filter_of(dp.PureDP(2.0))
        for analyst in analysts(budget, pure_release, 0.6):

            def play(history: tuple[int, ...], total: Cost, p: float, q: float) -> None:
                told = budget.spent(total)
                assert isinstance(told, dp.PureDP)
                assert abs(math.log(p / q)) <= told.epsilon * (1 + 1e-12)
                if len(history) < 6:
                    law, cost = analyst(history)  # noqa: B023
                    for outcome, (a, b) in enumerate(law):
                        play((*history, outcome), total + cost, p * a, q * b)

            play((), budget.nothing, 1.0, 1.0)


def _mu_for(epsilon: float, delta: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle, epsilon) <= delta else (low, middle)
    return low


class TestPrices:
    def test_gaussian_costs_are_exact(self) -> None:
        loss = losses.gaussian(sigma=4.0) * 3
        assert filter_of(dp.ZCDP(1)).cost(loss).amount == Fraction(3, 32)
        assert filter_of(dp.GDP(1)).cost(loss).amount == Fraction(3, 16)
        assert filter_of(dp.ApproxDP(1, 1e-6)).cost(loss).amount == Fraction(3, 16)

    @pytest.mark.parametrize(
        "loss",
        [
            losses.laplace(scale=3.0),
            losses.laplace(scale=3.0) * 7 + losses.geometric(scale=10.0) * 3,
            losses.bounded_range(0.3) * 2,
            losses.poisson_sampled(losses.laplace(scale=1.0), rate=0.1) * 5,
            sum(losses.laplace(scale=1 + 1 / k) for k in range(1, 40)),
        ],
        ids=str,
    )
    def test_prices_are_not_below_the_loss(self, loss: Loss) -> None:
        assert filter_of(dp.PureDP(1)).cost(loss).amount >= Fraction(loss.epsilon(0.0)) * (
            1 - Fraction(1, 10**14)
        )
        assert filter_of(dp.ZCDP(1)).cost(loss).amount >= Fraction(loss.zcdp()) * (1 - Fraction(1, 10**14))
        assert filter_of(dp.GDP(1)).cost(loss).amount >= Fraction(loss.gdp()) ** 2 * (1 - Fraction(1, 10**14))

    @pytest.mark.parametrize("epsilon", [1e-12, 1e-8, 1e-6, 1e-4, 0.01, 0.1, 1.0, 5.0, 40.0])
    def test_the_mu_of_bounded_losses_is_rounded_up(self, epsilon: float) -> None:
        """Against 50 digits of arithmetic, also where the normal quantile loses most of its own."""
        found = filter_of(dp.GDP(1)).cost(losses.pure(epsilon)).amount
        with mpmath.workdps(50):
            exact = (2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))) ** 2
            ratio = mpmath.mpf(found.numerator) / found.denominator / exact
            assert 1 <= ratio < 1 + mpmath.mpf(10) ** -12 + 4e-15 / epsilon + 1e-30 / epsilon**2

    def test_a_plan_priced_whole_costs_no_more_than_its_parts(self) -> None:
        budget = filter_of(dp.ZCDP(1))
        one = losses.laplace(scale=2.0)
        assert budget.cost(one * 10).amount <= 10 * budget.cost(one).amount

    def test_what_needs_a_delta_uses_the_second_side(self) -> None:
        budget = filter_of(dp.ApproxDP(1.0, 1e-6))
        cost = budget.cost(losses.gaussian(sigma=4.0) + losses.approx(0.1, 1e-8) * 2)
        assert Fraction(2e-8) <= cost.delta <= Fraction(2e-8) * (1 + Fraction(1, 10**9))
        alone = budget.cost(losses.pure(0.1))
        assert cost.amount >= Fraction(1, 16) + 2 * alone.amount - Fraction(1, GRAINS)
        assert float(cost.amount) == pytest.approx(1 / 16 + 2 * float(alone.amount), rel=1e-9)

    def test_an_event_in_which_anything_may_happen(self) -> None:
        cost = filter_of(dp.ApproxDP(1.0, 1e-6)).cost(losses.approx(0.0, 1e-9))
        assert cost.amount == 0
        assert Fraction(1e-9) <= cost.delta <= Fraction(1.001e-9)

    def test_a_loss_known_by_its_divergences_names_its_delta(self) -> None:
        budget = filter_of(dp.ApproxDP(1.0, 1e-6))
        loss = losses.rdp(lambda order: 0.001 * order)
        with pytest.raises(InvalidParameter, match=r"cost\(loss, delta=\.\.\.\)"):
            budget.cost(loss)
        cost = budget.cost(loss, delta=1e-8)
        assert cost.delta >= Fraction(1e-8)
        # Gaussian noise with mu^2 = 0.002 has these divergences; randomized response would cost 0.08.
        assert 0.0019 < cost.amount < 0.0045

    def test_one_direction_may_need_a_delta_and_the_other_not(self) -> None:
        """Sampled key discovery: removing and adding a record have different laws."""
        loss = losses.poisson_sampled(losses.approx(0.5, 1e-6), rate=0.1) + losses.gaussian(sigma=8.0)
        cost = filter_of(dp.ApproxDP(1.0, 1e-5)).cost(loss)
        assert cost.delta >= Fraction(loss.delta_at_infinity())
        assert cost.amount > Fraction(1, 64)

    @pytest.mark.parametrize(
        ("promise", "loss", "message"),
        [
            (dp.PureDP(1), losses.gaussian(1.0), "no finite epsilon at delta 0.*Laplace"),
            (dp.PureDP(1), losses.approx(0.1, 1e-9), "no finite epsilon"),
            (dp.ZCDP(1), losses.approx(0.1, 1e-9), "no finite rho.*ApproxDP"),
            (dp.GDP(1), losses.approx(0.1, 1e-9), "no finite mu.*ApproxDP"),
        ],
    )
    def test_a_loss_the_budget_cannot_pay_for(self, promise: dp.Guarantee, loss: Loss, message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            filter_of(promise).cost(loss)

    def test_too_small_a_delta(self) -> None:
        with pytest.raises(InvalidParameter, match="at least 1e-08"):
            filter_of(dp.ApproxDP(1, 1e-6)).cost(losses.approx(0.1, 1e-8), delta=1e-9)

    def test_neighbours_must_agree(self) -> None:
        with pytest.raises(AdjacencyMismatch, match="replace one"):
            filter_of(dp.ZCDP(1)).cost(losses.gaussian(1.0, adjacency=dp.REPLACE_ONE))

    def test_delta_belongs_to_approx(self) -> None:
        with pytest.raises(InvalidParameter, match="has none"):
            filter_of(dp.ZCDP(1)).cost(losses.gaussian(1.0), delta=1e-9)

    def test_looking_at_nothing_is_free(self) -> None:
        for promise in (dp.PureDP(1), dp.ZCDP(1), dp.GDP(1), dp.ApproxDP(1, 1e-6)):
            budget = filter_of(promise)
            assert budget.cost(Loss.zero()) == budget.nothing

    @pytest.mark.parametrize("promise", [dp.RDP(2.0, 1.0), dp.TradeOff(lambda a: 1 - a), 1.0, None])
    def test_what_is_not_a_budget(self, promise: object) -> None:
        with pytest.raises(InvalidParameter, match="it must be PureDP"):
            filter_of(promise)  # type: ignore[arg-type]

    def test_a_delta_below_everything(self) -> None:
        with pytest.raises(InvalidParameter, match="PureDP"):
            filter_of(dp.ApproxDP(1, 1e-40))


@pytest.mark.parametrize(
    "promise", [dp.PureDP(0.3), dp.ZCDP(0.3), dp.GDP(0.3), dp.ApproxDP(0.3, 1e-6)], ids=repr
)
class TestBalance:
    def test_nothing_spent_leaves_everything(self, promise: dp.Guarantee) -> None:
        budget = filter_of(promise)
        approx = isinstance(promise, dp.ApproxDP)
        assert budget.left(budget.limit) == (dp.ApproxDP(0.3, 5e-7) if approx else promise)
        assert next(iter(vars(budget.left(budget.nothing)).values())) == 0.0

    def test_everything_spent_is_the_promise(self, promise: dp.Guarantee) -> None:
        budget = filter_of(promise)
        assert budget.spent(budget.limit) == promise

    def test_a_release_calibrated_to_what_is_left_fits(self, promise: dp.Guarantee) -> None:
        budget = filter_of(promise)

        def family(scale: float) -> Loss:
            return losses.laplace(scale) if isinstance(promise, dp.PureDP) else losses.gaussian(scale)

        total = budget.nothing
        for _ in range(4):
            left = budget.left(total.below(budget.limit))
            part = type(left)(*(v / 2 if i == 0 else v for i, v in enumerate(vars(left).values())))
            cost = budget.cost(family(dp.calibrate(family, part.strict())))
            total = total + cost
            assert total.fits(budget.limit)
        scale = dp.calibrate(family, budget.left(total.below(budget.limit)).strict())
        total = total + budget.cost(family(scale))
        assert total.fits(budget.limit)
        assert float(total.amount) > 0.999 * float(budget.limit.amount)

    def test_ten_tenths_fit(self, promise: dp.Guarantee) -> None:
        """What a user writes, a budget of 0.3 in ten releases of 0.03, is not refused over a rounding."""
        if not isinstance(promise, dp.PureDP | dp.ZCDP):
            return
        budget = filter_of(promise)
        part = type(promise)(0.03).strict()
        family = losses.laplace if isinstance(promise, dp.PureDP) else losses.gaussian
        cost = budget.cost(family(dp.calibrate(family, part)))
        total = budget.nothing
        for _ in range(10):
            total = total + cost
        assert total.fits(budget.limit)
