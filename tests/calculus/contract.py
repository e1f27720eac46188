"""What every privacy loss must obey, whatever it is made of: inherit `LossContract` and fill in three hooks.

    class TestLaplace(LossContract):
        cases = (Case("scale 2", lambda change: losses.laplace(2.0 * change), scale=2.0), ...)

        def draw(self, case, rng, size, present): ...       # outcomes of the mechanism itself
        def log_ratio(self, case, outcomes): ...            # log density with the record minus without

`Case.build(change)` makes the loss with its noise scale multiplied by `change`; 1 is the true one.

False alarms. A Monte Carlo comparison uses the empirical Bernstein bound of Maurer and Pontil (2009) at
level FALSE_ALARM = 1e-10 (two-sided, over the choice of the seed). One run makes fewer than 2000 of them, so
a correct library fails this suite with probability below 2e-7 over the choice of seeds; the seeds are
fixed, so it fails always or never. Each comparison is paired with a planted error that it must reject.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dalenius as dp
from dalenius import losses
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Bounds
from dalenius.errors import UnsupportedComposition

Side = Literal["remove", "add"]
SIDES: tuple[Side, ...] = ("remove", "add")
FALSE_ALARM = 1e-10
DRAWS = 100_000


class Case:
    """One setting of a family's parameters; its losses are built once and kept."""

    def __init__(self, label: str, build: Callable[[float], Loss], **facts: Any) -> None:
        self.label, self.build, self.facts = label, build, facts
        self._kept: dict[tuple[float, int], Loss] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(name) from None

    @cache  # noqa: B019
    def tail(self, delta: float) -> float:
        return self.loss().tail(delta)

    def loss(self, times: int = 1, change: float = 1.0) -> Loss:
        key = (change, times)
        if key not in self._kept:
            self._kept[key] = self.build(change) if times == 1 else self.loss(1, change) * times
        return self._kept[key]


@dataclass
class Estimate:
    """A mean of values in [0, 1] and how far it can be from its expectation."""

    values: np.ndarray = field(repr=False)

    @cached_property
    def mean(self) -> float:
        return float(self.values.mean())

    @cached_property
    def slack(self) -> float:
        n, log = len(self.values), math.log(4 / FALSE_ALARM)
        return math.sqrt(2 * float(self.values.var(ddof=1)) * log / n) + 7 * log / (3 * (n - 1))

    def agrees(self, bounds: Bounds, attained: bool) -> bool:
        """Consistent with the bracket, or with its upper end if the draws need not attain the worst case."""
        return self.mean <= bounds.upper + self.slack and (
            not attained or self.mean >= bounds.lower - self.slack
        )


def hockey_stick(loss: np.ndarray, epsilon: float) -> Estimate:
    with np.errstate(over="ignore"):
        return Estimate(np.maximum(0.0, -np.expm1(np.minimum(epsilon - loss, 0.0))))


def overlap(a: Bounds, b: Bounds) -> bool:
    return a.lower <= b.upper and b.lower <= a.upper


def quickly(examples: int) -> Any:
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )


class LossContract:
    """Inherited by one class per family; nothing here knows how a loss is computed."""

    cases: ClassVar[tuple[Case, ...]] = ()

    examples: ClassVar[int] = 5
    """How many examples hypothesis tries per property."""
    epsilons: ClassVar[tuple[float, ...]] = (0.0, 0.3, 1.0)
    """Where engines and Monte Carlo are compared."""
    composed: ClassVar[tuple[int, ...]] = (1, 3)
    """Numbers of repetitions in the Monte Carlo test."""
    planted: ClassVar[tuple[float, ...]] = (0.85, 1.15)
    """Wrong noise scales that Monte Carlo must reject; one-sided families can only see the larger one."""
    attained_at: ClassVar[tuple[int, ...]] = (1, 3)
    """Repetitions at which the mechanism drawn is a worst case, so that lower bounds are tested as well."""
    exact_width: ClassVar[float] = 1e-2
    """Relative width of the bracket on delta that the family promises at a few repetitions."""
    proved: ClassVar[bool] = True
    """Whether ball arithmetic is written for compositions of this family."""
    levels: ClassVar[int] = 48
    """Points at which the trade-off curve is tabulated to go back to the profile."""
    mirrored: ClassVar[bool] = True
    """Whether the worst pair is its own mirror image, so that its trade-off curve gives back its profile."""
    repeats: ClassVar[tuple[int, ...]] = (2, 5, 30)
    """Repetitions at which the engines are compared, besides a single release."""
    slow_sums: ClassVar[bool] = False
    """Whether repetitions need the lattice engine, half a second a point: then one point is asked for."""
    cheap: ClassVar[bool] = True
    """Whether a profile is fast enough to be turned into a trade-off curve point by point."""

    # -- hooks -------------------------------------------------------------------------------------

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        """Outcomes of the mechanism on the data with (or without) the record."""
        raise NotImplementedError

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        """log of the density with the record over the density without it."""
        raise NotImplementedError

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        """Privacy losses of `size` runs; `epsilon` is for families whose worst case depends on it."""
        outcomes = self.draw(case, rng, size, direction == "remove")
        ratio = self.log_ratio(case, outcomes)
        return ratio if direction == "remove" else -ratio

    def cells(self, case: Case) -> tuple[np.ndarray, np.ndarray] | None:
        """Probabilities of a fine partition of the outcomes with and without the record, if convenient."""
        return None

    # -- parametrisation ---------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "case" in metafunc.fixturenames:
            # Proofs and the full range of repetitions: one setting per family.
            name = metafunc.function.__name__
            few = {"test_proof_agrees": 1, "test_engines_agree_at_any_number": 1, "test_engines_agree": 2}
            cases = self.cases[: few.get(name)]
            metafunc.parametrize("case", cases, ids=[case.label for case in cases])
        if "direction" in metafunc.fixturenames:
            metafunc.parametrize("direction", SIDES)

    # -- the profile -------------------------------------------------------------------------------

    def test_profile_falls_and_is_convex(self, case: Case) -> None:
        @quickly(self.examples)
        @given(
            st.lists(st.integers(-150, 100), min_size=3, max_size=3, unique=True),
            st.sampled_from((1,) if self.slow_sums else (1, 3)),
        )
        def check(places: list[int], times: int) -> None:
            low, middle, high = (math.copysign(abs(x / 100) ** 1.5 * 4, x) for x in sorted(places))
            loss = case.loss(times)
            left, centre, right = (loss.delta_bounds(e) for e in (low, middle, high))
            assert 0 <= left.lower <= left.upper <= 1
            assert centre.lower <= left.upper
            assert right.lower <= centre.upper
            share = (math.exp(middle) - math.exp(low)) / (math.exp(high) - math.exp(low))
            assert centre.lower <= ((1 - share) * left.upper + share * right.upper) * (1 + 1e-14) + 1e-16
            for epsilon, bounds in ((low, left), (middle, centre), (high, right)):
                assert bounds.upper >= -math.expm1(epsilon) * (1 - 1e-15)

        check()

    def test_bracket_is_ordered_and_narrow(self, case: Case) -> None:
        for times in (1, 5):
            for epsilon in self.epsilons[: 1 if self.slow_sums and times > 1 else None]:
                bounds = case.loss(times).delta_bounds(epsilon)
                assert bounds.lower <= bounds.upper
                assert case.loss(times).delta(epsilon) == bounds.upper
                assert bounds.upper - bounds.lower <= self.exact_width * bounds.upper + 1e-12
        assert case.loss().delta(50.0) >= case.loss().delta_at_infinity()
        assert case.loss().total_variation() == case.loss().delta(0.0)

    def test_epsilon_inverts_delta(self, case: Case) -> None:
        @quickly(self.examples if self.cheap else 1)
        @given(st.floats(-12.0, -0.5))
        def check(log_delta: float) -> None:
            loss, delta = case.loss(), math.exp(log_delta)
            bounds = loss.epsilon_bounds(delta)
            assert 0 <= bounds.lower <= bounds.upper
            if math.isfinite(bounds.upper):
                assert loss.delta(bounds.upper) <= delta * (1 + 1e-14)
            if 0 < bounds.lower < math.inf:
                assert loss.delta(bounds.lower) >= delta * (1 - 1e-14)
            if math.isinf(bounds.lower):
                assert loss.delta_at_infinity() >= delta * (1 - 1e-9)

        check()

    def test_delta_inverts_epsilon(self, case: Case) -> None:
        loss = case.loss()
        for epsilon in self.epsilons if self.cheap else self.epsilons[:1]:
            bounds = loss.delta_bounds(epsilon)
            if bounds.upper < 1:
                assert loss.epsilon_bounds(bounds.upper).lower <= epsilon + 1e-12
            if bounds.lower > loss.delta_at_infinity() * (1 + 1e-6) + 1e-300:
                assert loss.epsilon_bounds(bounds.lower).upper >= epsilon - 1e-12

    def test_pure_epsilon_is_the_largest_loss(self, case: Case) -> None:
        loss = case.loss()
        bounds = loss.epsilon_bounds(0.0)
        if math.isfinite(bounds.upper):
            assert loss.delta_bounds(bounds.upper).lower == 0.0
            assert loss.delta(bounds.upper * (1 + 1e-9)) <= 1e-300
        assert loss.renyi(math.inf) == bounds.upper

    # -- composition -------------------------------------------------------------------------------

    def test_times_is_repeated_plus(self, case: Case) -> None:
        loss = case.loss()
        added = loss + loss + loss
        for epsilon in self.epsilons[:1] if self.slow_sums else self.epsilons[1:]:
            assert overlap(added.delta_bounds(epsilon), case.loss(3).delta_bounds(epsilon))
        assert loss * 1 == loss
        assert loss * 0 == Loss.zero(loss.adjacency)
        assert sum([loss, loss]) == 2 * loss

    def test_more_releases_cost_more(self, case: Case) -> None:
        for epsilon in self.epsilons[:1] if self.slow_sums else self.epsilons:
            one, three = case.loss().delta_bounds(epsilon), case.loss(3).delta_bounds(epsilon)
            assert three.upper >= one.lower

    def test_nothing_added_changes_nothing(self, case: Case) -> None:
        loss = case.loss()
        assert loss + Loss.zero(loss.adjacency) == loss
        assert losses.group(loss, 1) == loss
        if loss.adjacency is dp.ADD_REMOVE:
            assert losses.poisson_sampled(loss, 1.0) == loss
            nobody = losses.poisson_sampled(loss, 0.0)
            assert losses.parallel(loss) == loss
        else:
            assert losses.cp(loss, 1.0) == loss
            assert losses.sampled_without_replacement(loss, 7, 7) == loss
            nobody = losses.cp(loss, 0.0)
        assert nobody.delta(0.0) == 0.0
        assert nobody.epsilon(0.0) == 0.0
        assert nobody.tradeoff(0.3) == pytest.approx(0.7)
        assert nobody.zcdp() == 0.0

    def _agree(self, case: Case, times: int) -> None:
        loss, epsilon = case.loss(times), self.epsilons[1] * math.sqrt(times)
        grid = loss.delta_bounds(epsilon, "grid")
        contour = loss.delta_bounds(epsilon, "contour")
        auto = loss.delta_bounds(epsilon)
        assert overlap(auto, grid)
        assert overlap(contour, grid)
        assert overlap(auto, contour)

    def test_engines_agree(self, case: Case) -> None:
        self._agree(case, 1)

    def test_engines_agree_at_any_number(self, case: Case) -> None:
        for times in self.repeats:
            self._agree(case, times)

    def test_proof_agrees(self, case: Case) -> None:
        """Also where no proof is promised: it is given, or refused by name."""
        loss = case.loss(2)
        try:
            proof = loss.delta_bounds(0.4, "proof")
        except UnsupportedComposition:
            assert not self.proved
            return
        assert overlap(proof, loss.delta_bounds(0.4))
        assert overlap(proof, loss.delta_bounds(0.4, "grid"))

    # -- Monte Carlo -------------------------------------------------------------------------------

    def _estimates(
        self, case: Case, direction: Side, times: int, epsilon: float
    ) -> tuple[Estimate, np.ndarray]:
        """The same draws for every epsilon, unless what is drawn depends on it."""
        depends = type(self).sample is not LossContract.sample
        total = _drawn(type(self), case, direction, times, epsilon if depends else None)
        return hockey_stick(total, epsilon), total

    def test_monte_carlo_accepts_the_truth(self, case: Case, direction: Side) -> None:
        for times in self.composed:
            side = getattr(case.loss(times), direction)
            for epsilon in self.epsilons[: 1 if self.slow_sums and times > 1 else None]:
                found, _ = self._estimates(case, direction, times, epsilon)
                assert found.agrees(side.delta(epsilon), times in self.attained_at), (
                    times,
                    epsilon,
                    found.mean,
                    found.slack,
                )

    def test_monte_carlo_rejects_a_wrong_scale(self, case: Case, direction: Side) -> None:
        for change in self.planted:
            wrong = case.loss(1, change)
            rejected = [
                not self._estimates(case, direction, 1, epsilon)[0].agrees(
                    getattr(wrong, direction).delta(epsilon), 1 in self.attained_at
                )
                for epsilon in self.epsilons
            ]
            assert any(rejected), change

    def test_tail_bound_holds(self, case: Case, direction: Side) -> None:
        for delta in (0.2, 0.02) if self.cheap else (0.1,):
            reach = case.tail(delta)
            _, total = self._estimates(case, direction, 1, 0.0)
            over = Estimate((total > reach * (1 + 1e-12) + 1e-12).astype(float))
            assert over.mean <= delta + over.slack

    # -- directions --------------------------------------------------------------------------------

    def test_directions_against_a_fine_partition(self, case: Case, direction: Side) -> None:
        """Binning outcomes is post-processing: it can only lose, and with fine bins loses little."""
        partition = self.cells(case)
        if partition is None:
            assert case.loss().is_symmetric
            return
        binned = losses.from_pair(*partition, adjacency=case.loss().adjacency)
        for epsilon in (-0.2, 0.0, 0.1, 0.3, 0.8):
            coarse = getattr(binned, direction).delta(epsilon)
            exact = getattr(case.loss(), direction).delta(epsilon)
            assert coarse.lower <= exact.upper
            assert exact.lower <= coarse.upper + 1e-4
        # Renyi divergences do not grow under binning either.
        if case.loss().delta_at_infinity() == 0 and binned.delta_at_infinity() == 0:
            for order in (1.0, 2.0, 6.0):
                assert binned.renyi(order) <= case.loss().renyi(order) * (1 + 1e-6) + 1e-9

    def test_both_directions_count(self, case: Case) -> None:
        loss = case.loss()
        for epsilon in self.epsilons:
            remove, add = loss.remove.delta(epsilon), loss.add.delta(epsilon)
            both = loss.delta_bounds(epsilon)
            assert both.upper == max(remove.upper, add.upper)
            assert both.lower == max(remove.lower, add.lower)

    # -- other views -------------------------------------------------------------------------------

    def test_renyi_grows_with_the_order(self, case: Case) -> None:
        loss = case.loss()
        orders = (1.0, 1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
        curve = [loss.renyi(order) for order in orders]
        assert curve[0] == loss.kl()
        assert all(value >= 0 for value in curve)
        for a, b in itertools.pairwise(curve):
            assert a <= b * (1 + 1e-6) + 1e-7
        assert loss.renyi(64.0) <= loss.renyi(math.inf) * (1 + 1e-9)
        rho = loss.zcdp()
        for order, value in zip(orders, curve, strict=True):
            assert value <= rho * order * (1 + 1e-6) + 1e-7

    def test_renyi_implies_no_less_than_the_profile(self, case: Case) -> None:
        loss = case.loss()
        for epsilon in self.epsilons:
            implied = dp.theorems.delta_from_renyi(
                loss.renyi, epsilon, "improved", orders=(1.1, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 40.0)
            )
            assert implied >= loss.delta_bounds(epsilon).lower * (1 - 1e-12)

    def test_gdp_dominates(self, case: Case) -> None:
        for times in (1,) if self.slow_sums else (1, 3):
            loss = case.loss(times)
            mu = loss.gdp()
            assert mu > 0
            if math.isfinite(mu):
                for epsilon in (-1.0, *self.epsilons, 2.5):
                    assert losses.gdp(mu).delta(epsilon) >= loss.delta_bounds(epsilon).lower * (1 - 1e-12)

    def test_tradeoff_is_one(self, case: Case) -> None:
        loss = case.loss()
        levels = np.array([0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 1.0] if self.cheap else [0.0, 1.0])
        errors = np.array([loss.tradeoff(float(a)) for a in levels])
        assert (errors >= 0).all()
        assert (errors <= 1 - levels).all()
        assert (np.diff(errors) <= 1e-9).all()
        assert (np.diff(np.diff(errors) / np.diff(levels)) >= -1e-6).all()
        for level, error in zip(levels[1:-1], errors[1:-1], strict=True):
            for (
                epsilon
            ) in self.epsilons:  # (epsilon, delta)-DP as a statement on tests (Wasserman and Zhou 2010)
                bounds = loss.delta_bounds(epsilon)
                assert error >= 1 - bounds.upper - math.exp(epsilon) * level - 1e-6
                assert error >= math.exp(-epsilon) * (1 - bounds.upper - level) - 1e-6

    def test_primal_and_dual(self, case: Case) -> None:
        """Profile to trade-off and back, by the theorems rather than by the views."""
        if not self.cheap:
            return
        loss = case.loss()
        for level in (0.02, 0.3) if self.levels > 20 else (0.1,):
            theirs = dp.theorems.tradeoff_from_profile(loss.delta, level)
            assert loss.tradeoff(level) == pytest.approx(theirs, abs=1e-6)
        half = self.levels // 2
        levels = np.unique(np.append(np.geomspace(1e-3, 1.0, half), np.linspace(0.0, 1.0, half)))
        errors = np.array([loss.tradeoff(float(a)) for a in levels])
        # Chords lie above a convex curve, so the profile of the interpolation lies below the true one.
        chords = _convex(levels, errors)
        for epsilon in (0.0, 0.5):
            bounds = loss.delta_bounds(epsilon)
            back = dp.theorems.profile_from_tradeoff(
                lambda a: float(np.interp(a, *chords)), epsilon, tolerance=1e-6
            )
            assert back <= bounds.upper + 1e-5
            if self.mirrored:
                assert back >= bounds.lower - 2.0 / self.levels

    def test_meaning_for_a_person(self, case: Case) -> None:
        loss = case.loss()
        advantage = loss.membership_advantage()
        assert advantage == loss.total_variation() == loss.delta(0.0)
        if self.cheap:
            powers = [loss.power(level) for level in (0.01, 0.1, 0.4)]
            for level, power in zip((0.01, 0.1, 0.4), powers, strict=True):
                assert level <= power <= min(1.0, level + advantage) + 1e-9
            assert powers == sorted(powers)
            rare, often = loss.posterior(0.01, 0.01), loss.posterior(0.5, 0.01)
            assert 0.01 <= rare <= often <= 1
            assert loss.posterior(0.5, 0.1) <= often <= loss.posterior(0.5, 0.0)
        # With an even prior one is right (1 + advantage) / 2 of the time: no more than one can be sure.
        assert (1 + loss.delta_bounds(0.0).lower) / 2 <= loss.posterior(0.5, 0.0) * (1 + 1e-12)
        most = loss.epsilon(0.0)
        if math.isfinite(most):
            assert loss.posterior(0.5, 0.0) == pytest.approx(1 / (1 + math.exp(-most)), rel=1e-12)
        else:
            assert loss.posterior(0.5, 0.0) == 1.0
        assert loss.posterior(0.0) == 0.0
        assert loss.posterior(1.0) == 1.0


@lru_cache(maxsize=16)
def _drawn(
    contract: type[LossContract], case: Case, direction: Side, times: int, epsilon: float | None
) -> np.ndarray:
    """Privacy losses of DRAWS runs of `times` releases."""
    seed = [len(case.label), sum(map(ord, case.label)), SIDES.index(direction), times]
    rng, total = np.random.default_rng(seed), np.zeros(DRAWS)
    for _ in range(times):
        total += contract().sample(case, rng, DRAWS, direction, 0.0 if epsilon is None else epsilon)
    total.setflags(write=False)
    return total


def _convex(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep: list[int] = []
    for i in range(len(x)):
        while len(keep) > 1:
            a, b = keep[-2], keep[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) >= (y[i] - y[a]) * (x[b] - x[a]):
                keep.pop()
            else:
                break
        keep.append(i)
    return x[keep], y[keep]
