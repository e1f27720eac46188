"""(C, m, d)-good releases: the certificate of one, and the composition of many, against laws written out in full.

Every check looks at all orders, below 1 too, in both directions, and is shown to reject what is wrong in the ways one
gets it wrong. Nothing is random that is not seeded: no false alarms.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

import dalenius as dp
from dalenius import losses
from dalenius.calculus.guarantees import filter_of
from dalenius.calculus.guarantees.amounts import declared
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.guarantees.shifted import Polygon
from dalenius.errors import InvalidParameter
from dalenius.session.ledger import Ledger
from dalenius.session.report import overview
from dalenius.session.terms import account_terms
from dalenius.session.verify import verify
from tests.session.test_filters import interactive, profile, transcript

ORDERS = np.linspace(-9.0, 9.0, 1801)
"""Logarithms of x; the divergences are convex in x, and between two of these they bend by less than ROUNDING."""

ROUNDING = 1e-12
"""What sums of 24 000 numbers lose, and e^9 times as much of the other law."""

Pairs = np.ndarray[Any, Any]
"""Probabilities of the outcomes under the two neighbours, one row each."""


def gaussian(m: float, t: Any) -> Any:
    """G_m(e^t)."""
    if m == 0:
        return np.maximum(0.0, -np.expm1(t))
    mu = math.sqrt(m)
    return ndtr(mu / 2 - t / mu) - np.exp(t) * ndtr(-mu / 2 - t / mu)


def excess(law: Pairs, shift: float, m: float, d: float = 0.0) -> float:
    """By how much a pair of laws exceeds what (shift, m, d)-goodness allows, at worst."""
    allowed = d + (1 - d) * gaussian(m, ORDERS)
    return max(float(np.max(divergences(p, q, ORDERS + shift) - allowed)) for p, q in (law, law[::-1]))


def divergences(p: Any, q: Any, orders: Any) -> Any:
    """The best event is the outcomes of the largest likelihood ratios."""
    by_ratio = np.argsort(q / p)
    told, others = (np.concatenate(([0.0], np.cumsum(x[by_ratio]))) for x in (p, q))
    best = np.searchsorted((q / p)[by_ratio], np.exp(-orders))
    return told[best] - np.exp(orders) * others[best]


def random_law(seed: int) -> Pairs:
    """Two laws on a few outcomes, near each other or far apart."""
    rng = np.random.default_rng(seed)
    raw = rng.dirichlet(np.full(rng.integers(2, 7), 2.0))
    tilted = raw * np.exp(rng.normal(0, rng.uniform(0.05, 0.8), (2, len(raw))))
    return np.asarray(tilted / tilted.sum(axis=1, keepdims=True))


def huber(sigma: float, ridge: float, gradient: float, smooth: float) -> Callable[[float], float]:
    """log density of objective perturbation with one record of a Huber loss, by the change of variables; up to a
    constant in theta, and without the record for gradient 0.
    """

    def log_density(theta: float) -> float:
        slope = min(max(smooth * theta, -gradient), gradient)
        bend = smooth if abs(smooth * theta) < gradient else 0.0
        return -((ridge * theta + slope) ** 2) / (2 * sigma**2) + math.log(ridge + bend)

    return log_density


@cache
def perturbed(sigma: float, ridge: float, gradient: float, smooth: float, outcomes: int) -> Any:
    """The laws of theta with and without the record, in so many cells that are as likely without it."""
    reach = 9 * sigma / ridge
    theta = np.linspace(-reach, reach, 24_001)
    with_record, without = (
        np.exp([log(x) for x in theta])
        for log in (huber(sigma, ridge, gradient, smooth), huber(sigma, ridge, 0.0, 0.0))
    )
    with_record, without = with_record / with_record.sum(), without / without.sum()
    if outcomes == len(theta):
        return np.array([with_record, without])
    edges = np.searchsorted(np.cumsum(without), np.arange(outcomes) / outcomes)
    return np.array([np.add.reduceat(law, edges) for law in (with_record, without)])


class TestTheClass:
    @pytest.mark.parametrize("shift", [0.0, 0.1, 0.7])
    @pytest.mark.parametrize("m", [0.01, 0.3, 4.0])
    def test_orders_from_1_up_are_enough(self, m: float, shift: float) -> None:
        """g(s - C) >= e^-C g(s + C) for s >= 0, where g = 1 - G: the step of the proof, in 40 digits."""
        with mpmath.workdps(40):
            mu = mpmath.sqrt(mpmath.mpf(m))

            def g(t: Any) -> Any:
                return mpmath.ncdf(t / mu - mu / 2) + mpmath.exp(t) * mpmath.ncdf(-mu / 2 - t / mu)

            for s in np.linspace(0.0, 8.0, 81):
                assert g(s - shift) >= mpmath.exp(-shift) * g(s + shift) * (1 - mpmath.mpf(10) ** -35)

    @pytest.mark.parametrize("seed", range(24))
    def test_composition_adds_part_by_part(self, seed: int) -> None:
        """Any first release, and any second that depends on its outcome: what is good is good together."""
        rng = random.Random(seed)
        first = random_law(1000 + seed)
        seconds = [random_law(2000 + 10 * seed + y) for y in range(first.shape[1])]
        shifts = [rng.choice([0.0, 0.05, 0.2]) for _ in range(2)]
        m = needed(first, shifts[0])
        rest = max(needed(second, shifts[1]) for second in seconds)
        joint = np.concatenate([first[:, [y]] * second for y, second in enumerate(seconds)], axis=1)
        assert excess(joint, sum(shifts), m + rest) <= ROUNDING

    def test_the_check_can_fail(self) -> None:
        """The second release forgotten, in either part."""
        for seed in range(20):
            law = random_law(1000 + seed)
            twice = np.concatenate([law[:, [y]] * law for y in range(law.shape[1])], axis=1)
            assert excess(twice, 0.0, needed(law, 0.0)) > 1e-4
            most = float(np.max(np.abs(np.log(law[0] / law[1]))))
            assert excess(twice, most, 0.0) > 1e-4
            assert excess(twice, 2 * most, 0.0) <= ROUNDING


def needed(law: Pairs, shift: float) -> float:
    """The least m for which a law is (shift, m, 0)-good, by bisection on all orders: no polygon."""
    low, high = 0.0, 1e-4
    while excess(law, shift, high) > 1e-14:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(law, shift, middle) <= 1e-14 else (middle, high)
    return high


class TestCertificate:
    @pytest.mark.parametrize("shift", ["0", "0.03", "0.25"])
    @pytest.mark.parametrize("seed", range(6))
    def test_is_sound_and_not_wasteful(self, seed: int, shift: str) -> None:
        law = random_law(seed)
        polygon = Polygon.above(losses.from_pair(*law), 1e-9)
        assert polygon is not None
        m = polygon.square(Fraction(shift))
        assert m is not None
        assert excess(law, float(shift), float(m), 1e-9) <= ROUNDING
        assert float(m) <= needed(law, float(shift)) * 1.02 + 1e-7

    @pytest.mark.parametrize("shift", ["0", "0.1", "0.2", "0.3"])
    @pytest.mark.parametrize("values", [(2.5, 1.4, 0.52, 0.27), (3.0, 10.0, 1.0, 4.0), (20.0, 2.0, 1.0, 0.1)])
    def test_objective_perturbation(self, values: tuple[float, float, float, float], shift: str) -> None:
        """The laws of an actual minimiser, with and without one record."""
        sigma, ridge, gradient, smooth = values
        polygon = Polygon.above(
            losses.objective_perturbation(sigma, ridge, gradient, smooth, bound="sharp"), 1e-12
        )
        assert polygon is not None
        m = polygon.square(Fraction(shift))
        assert m is not None
        law = perturbed(sigma, ridge, gradient, smooth, 24_001)
        assert excess(law, float(shift), float(m), 1e-12) <= ROUNDING
        # The check sees what is wrong: half the mu^2 that the linear part alone has.
        assert excess(law, 0.0, 0.25 * (gradient / sigma) ** 2) > 1e-4

    def test_the_sharp_loss_is_not_pure_and_gaussian(self) -> None:
        """log(1 + B/r) into the shift and (G/s)^2 into mu^2 would be less than the bound needs."""
        loss = losses.objective_perturbation(2.64, 1.4, 0.522, 0.2725, bound="sharp")
        offset, mu = math.log1p(0.2725 / 1.4), 0.522 / 2.64
        places = np.linspace(0.0, 2.0, 400)
        worst = max(loss.delta_bounds(e).lower - gaussian(mu**2, e - offset) for e in places)
        assert worst > 0.01
        polygon = Polygon.above(loss, 1e-12)
        assert polygon is not None
        assert polygon.square(Fraction(offset)) > Fraction(mu) ** 2  # type: ignore[operator]

    def test_gaussian_noise_needs_its_own_mu(self) -> None:
        polygon = Polygon.above(losses.gaussian(sigma=2.0), 1e-12)
        assert polygon is not None
        m = polygon.square(Fraction(0))
        assert m is not None
        assert 0.2499 < m < 0.2515  # chords of 64 cells

    def test_what_never_ends_has_no_polygon(self) -> None:
        assert Polygon.above(losses.approx(0.1, 1e-6), 1e-7) is None

    def test_nothing_needs_nothing(self) -> None:
        polygon = Polygon.above(losses.approx(0.0, 1e-9), 1e-8)
        assert polygon is not None
        assert polygon.square(Fraction(0)) == 0


class TestFilter:
    """Analysts who choose by the outcomes among random, pure and fitted releases, each paid from either side."""

    limit = Cost("approx", Fraction("0.15"), Fraction("1e-6"), shift=Fraction("0.12"))

    @cache  # noqa: B019
    def release(self, number: int, shift: str) -> tuple[list[tuple[float, float]], Cost]:
        if number % 3 == 0:
            sigma = 3.0 + 0.2 * number
            law = perturbed(sigma, 2.0, 1.0, 0.3, 4)
            loss = losses.objective_perturbation(sigma, 2.0, 1.0, 0.3, bound="sharp")
        else:
            law = random_law(300 + number)
            loss = losses.from_pair(*law)
        polygon = Polygon.above(loss, 1e-7)
        assert polygon is not None
        m = polygon.square(Fraction(shift))
        assert m is not None
        return list(zip(*law, strict=True)), Cost("approx", m, Fraction("1e-7"), shift=Fraction(shift))

    def worst(self, allows: Any) -> float:
        """The most by which a transcript exceeds the box, at all orders."""
        found = -1.0
        for seed in range(20):

            def choose(history: tuple[int, ...], seed: int = seed) -> Any:
                fate = random.Random(f"{seed} {history}")
                return self.release(fate.randint(1, 12), fate.choice(["0", "0.04", "0.1"]))

            law = np.array(transcript(choose, allows, rounds=6)).T
            found = max(found, excess(law, 0.12, 0.15, 1e-6))
        return found

    def allowed(self, costs: list[Cost], cost: Cost) -> bool:
        return sum(costs, cost).fits(self.limit)

    def test_the_transcript_is_in_the_box(self) -> None:
        assert self.worst(self.allowed) <= ROUNDING

    def test_the_check_can_fail(self) -> None:
        assert self.worst(lambda costs, cost: cost.fits(self.limit)) > 1e-4

    @pytest.mark.parametrize("reserve", [0.1, 0.5, 2.9])
    def test_the_limit_with_something_set_aside(self, reserve: float) -> None:
        """Against 60 digits: all three sides spent, in the worst case there is, are within the promise."""
        limit = filter_of(dp.ApproxDP(3.0, 1e-5), reserve=reserve).limit
        assert limit.shift == declared(reserve)
        with mpmath.workdps(60):
            mu = mpmath.sqrt(mpmath.mpf(limit.amount.numerator) / limit.amount.denominator)
            e = mpmath.mpf(3) - mpmath.mpf(repr(reserve))
            g = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            d = mpmath.mpf(limit.delta.numerator) / limit.delta.denominator
            total = d + (1 - d) * g
            assert mpmath.mpf("0.999e-5") < total <= mpmath.mpf("1e-5")

    def test_composing_what_was_released_is_not_a_filter(self) -> None:
        """A Gaussian answer; if it was telling, randomized response, else more Gaussian noise. Each continuation alone
        composes to exactly (epsilon, delta); the choice between them does not.
        """
        epsilon, delta, first = 1.0, 1e-2, 0.45

        def response(e: float, t: float) -> float:
            inside = (math.exp(e) - math.exp(t)) / (1 + math.exp(e))
            return max(0.0, -math.expm1(t)) if abs(t) > e else inside

        def largest(profile_at: Callable[[float, float], float]) -> float:
            low, high = 0.0, 2.0
            for _ in range(40):
                middle = (low + high) / 2
                composed = interactive(first, lambda loss, y: profile_at(middle, epsilon - loss))  # noqa: B023
                low, high = (middle, high) if composed <= delta else (low, middle)
            return low

        e, mu = largest(response), largest(profile)
        mixture = interactive(
            first, lambda loss, y: max(response(e, epsilon - loss), profile(mu, epsilon - loss))
        )
        assert mixture > delta * 1.05


class TestPrices:
    def test_fits_of_objective_perturbation(self) -> None:
        """It was mu^2 = 1.70, of 0.48 there are."""
        budget = filter_of(dp.ApproxDP(3.0, 1e-5))
        loss = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)).price()
        cost = budget.cost(loss, 5e-9)
        assert (cost + cost + cost).fits(budget.limit)
        assert cost.shift == 0
        aside = filter_of(dp.ApproxDP(3.0, 1e-5), reserve=1.0)
        total, fits = aside.nothing, 0
        while (total + (cost := aside.cost(loss, 5e-9, total.below(aside.limit)))).fits(aside.limit):
            total, fits = total + cost, fits + 1
        assert fits == 5

    def test_setting_nothing_aside_changes_nothing(self) -> None:
        assert filter_of(dp.ApproxDP(3.0, 1e-5), reserve=0.0) == filter_of(dp.ApproxDP(3.0, 1e-5))
        cost = filter_of(dp.ApproxDP(3.0, 1e-5)).cost(losses.pure(0.2) + losses.gaussian(sigma=4.0))
        assert cost.written().keys() == {"amount", "delta"}

    def test_pure_releases_take_the_side_with_more_room(self) -> None:
        budget = filter_of(dp.ApproxDP(3.0, 1e-5), reserve=1.0)
        loss = losses.pure(0.25) * 2 + losses.gaussian(sigma=8.0)
        room = Cost("approx", Fraction("0.05"), shift=Fraction(1))
        assert budget.cost(loss, room=room) == Cost("approx", Fraction(1, 64), shift=Fraction("0.5"))
        room = Cost("approx", Fraction(1), shift=Fraction("0.1"))
        paid = budget.cost(loss, room=room)
        assert paid.shift == 0
        assert paid == filter_of(dp.ApproxDP(3.0, 1e-5)).cost(loss)

    @pytest.mark.parametrize(
        ("promise", "reserve", "message"),
        [
            (dp.ApproxDP(1.0, 1e-6), 1.0, "below epsilon"),
            (dp.ApproxDP(1.0, 1e-6), -0.1, "0 or more"),
            (dp.ApproxDP(1.0, 1e-6), Fraction(1, 3), "decimal places"),
            (dp.ApproxDP(1.0, 1e-6), math.nan, "such as 0.5"),
            (dp.ApproxDP(1.0, 1e-6), True, "0 or more"),
            (dp.ApproxDP(1.0, 1e-6), "half", "such as 0.5"),
            (dp.ZCDP(1.0), 0.1, "only an ApproxDP budget"),
            (dp.ApproxDP(1.0, 0.0), 0.1, "only an ApproxDP budget"),
        ],
    )
    def test_what_cannot_be_set_aside(self, promise: dp.Guarantee, reserve: Any, message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            filter_of(promise, reserve=reserve)


class TestLedger:
    def test_the_reserve_is_fixed_when_the_account_is_opened(self, place: str) -> None:
        ledger = Ledger.open(place)
        promise = dp.ApproxDP(3.0, 1e-5)
        account = ledger.account("people", promise, reserve=0.5)
        account.ask("rare", Cost("approx", Fraction(0), shift=Fraction("0.2")), lambda: "[1]")
        assert account.balance().total.shift == Fraction("0.2")
        assert account.left().shift == Fraction("0.3")
        again = ledger.account("people", promise)
        assert again.filter == account.filter
        assert again.left() == account.left()
        with pytest.raises(InvalidParameter, match=r"a reserve of 0\.5, and now a reserve of 0\.4"):
            ledger.account("people", promise, reserve=0.4)
        (told,) = overview(ledger)["accounts"]
        assert told["exact"]["left"]["shift"] == "0.3"
        assert told["spent"] == {"epsilon": 0.2, "delta": 0.0}
        with pytest.raises(dp.errors.BudgetExceeded, match="of what was set aside"):
            account.charge("more", Cost("approx", Fraction(0), shift=Fraction("0.31")))
        assert verify(place).ok

    def test_an_account_without_one_is_written_as_ever(self, tmp_path: Any) -> None:
        ledger = Ledger.open(tmp_path / "ledger")
        account = ledger.account("people", dp.ApproxDP(3.0, 1e-5))
        account.ask("q", losses.gaussian(sigma=8.0), lambda: "[1]")
        with ledger.reading() as rows:
            opened, charged = rows.get(2), rows.get(3)
        assert opened is not None
        assert charged is not None
        assert opened.content()["promise"] == {"kind": "approx", "epsilon": "3.0", "delta": "1e-05"}
        assert opened.content()["reserve"] is None
        assert set(opened.content()["limit"]) == {"amount", "delta"}
        assert set(charged.content()["cost"]) == {"amount", "delta"}

    def test_what_was_set_aside_cannot_be_written_larger(self, place: str) -> None:
        """A record that allows more than it promises is named."""
        ledger = Ledger.open(place)
        filter = filter_of(dp.ApproxDP(3.0, 1e-5), reserve=0.5)
        limit = {**filter.limit.written(), "shift": "0.6"}
        body = {
            **account_terms("people", filter, "row"),
            "limit": limit,
            "shares": {},
            "time": "",
        }
        from dalenius.session.entries import digest

        with ledger.writing() as rows:
            ledger.append(rows, "account", 0, digest("people"), body)
        assert any("allows more than it promises" in problem for problem in verify(place).problems)
