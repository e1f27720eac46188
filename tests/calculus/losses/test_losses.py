"""Every family of losses under the contract. False-alarm budget: see `contract`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.pair import Bounds
from tests.calculus import mechanisms as m
from tests.calculus.contract import Case, LossContract, Side

REPLACE = dp.REPLACE_ONE


class Simulated(LossContract):
    """A family whose cases carry a simulated mechanism."""

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        return case.mechanism.draw(rng, size, present)

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        return case.mechanism.log_ratio(outcomes)

    def cells(self, case: Case) -> tuple[np.ndarray, np.ndarray] | None:
        return None if case.loss().is_symmetric else case.mechanism.cells()


class TestPure(Simulated):
    cases = tuple(
        Case(f"epsilon {e}", lambda x, e=e: losses.pure(e / x), mechanism=m.randomized_response(e))
        for e in (1.0, 0.2, 3.0)
    )


class TestApprox(Simulated):
    cases = tuple(
        Case(f"{e}, {d}", lambda x, e=e, d=d: losses.approx(e / x, d), mechanism=m.leaky_response(e, d))
        for e, d in ((0.5, 1e-3), (1.0, 0.1))
    )


class TestApproxWithoutEpsilon(Simulated):
    """Pure leakage: the scale is delta."""

    repeats = (5,)
    cases = (Case("delta 0.2", lambda x: losses.approx(0.0, 0.2 / x), mechanism=m.leaky_response(0.0, 0.2)),)


class TestRandomizedResponse(Simulated):
    cases = tuple(
        Case(
            f"epsilon {e} k {k}",
            lambda x, e=e, k=k: losses.randomized_response(e / x, k),
            mechanism=m.randomized_response(e, k),
        )
        for e, k in ((1.0, 2), (1.0, 5), (2.0, 5))
    )


class TestLaplace(Simulated):
    cases = tuple(
        Case(f"scale {b} shift {s}", lambda x, b=b, s=s: losses.laplace(b * x, s), mechanism=m.Laplace(b, s))
        for b, s in ((2.0, 1.0), (1.0, 1.0), (3.0, 2.5))
    )


class TestGeometric(Simulated):
    cases = tuple(
        Case(f"scale {b} by {s}", lambda x, b=b, s=s: losses.geometric(b * x, s), mechanism=m.Geometric(b, s))
        for b, s in ((2.0, 1), (2.0, 3), (5.0, 3))
    )


class TestGaussian(Simulated):
    cases = tuple(
        Case(f"sigma {b} by {s}", lambda x, b=b, s=s: losses.gaussian(b * x, s), mechanism=m.Gaussian(b, s))
        for b, s in ((1.5, 1.0), (0.7, 1.0), (4.0, 2.0))
    )


class TestGDP(Simulated):
    repeats = (5,)
    cases = (Case("mu 0.7", lambda x: losses.gdp(0.7 / x), mechanism=m.Gaussian(1 / 0.7)),)


class TestDiscreteGaussian(Simulated):
    cases = tuple(
        Case(
            f"sigma {b} by {s}",
            lambda x, b=b, s=s: losses.discrete_gaussian(b * x, s),
            mechanism=m.DiscreteGaussian(b, s),
        )
        for b, s in ((3.0, 2), (1.0, 1), (0.6, 1), (8.0, 3))
    )


class TestBoundedRange(Simulated):
    """The worst exponential mechanism depends on epsilon; a composition need not attain the bound."""

    cases = tuple(Case(f"eta {e}", lambda x, e=e: losses.bounded_range(e / x), eta=e) for e in (1.0, 2.5))
    attained_at = (1,)
    exact_width = 0.25
    levels = 8

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        eta = case.eta
        worst = minimize_scalar(
            lambda a: math.exp(epsilon) * expit(a - eta) - expit(a),
            bounds=(-10, 10 + eta),
            method="bounded",
        )
        mechanism = m.ExponentialMechanism(float(worst.x), eta)
        return mechanism.log_ratio(mechanism.draw(rng, size, True))


class TestZCDP(Simulated):
    """Gaussian noise attains the Renyi curve, not the profile it implies; lower bounds are the Gaussian's."""

    cases = (
        Case("rho 0.1", lambda x: losses.zcdp(0.1 / x**2), mechanism=m.Gaussian(1 / math.sqrt(0.2))),
        Case("rho 0.6", lambda x: losses.zcdp(0.6 / x**2), mechanism=m.Gaussian(1 / math.sqrt(1.2))),
    )
    exact_width = 2.0
    planted = (0.85,)
    mirrored = False
    levels = 8


class TestRDP(Simulated):
    """Only upper bounds: the planted error is a curve stated a quarter of what the mechanism has."""

    proved = False

    cases = (
        Case(
            "gaussian curve",
            lambda x: losses.rdp(lambda order: 0.18 * order / x**2),
            mechanism=m.Gaussian(1 / 0.6),
        ),
        Case(
            "one order",
            lambda x: dp.RDP(4.0, 0.72 / x**2).loss(),
            mechanism=m.Gaussian(1 / 0.6),
        ),
    )
    attained_at = ()
    exact_width = 1.0
    planted = (2.5,)
    mirrored = False
    levels = 8

    def test_times_is_repeated_plus(self, case: Case) -> None:
        loss = case.loss()  # a curve is a function: equal only to itself, which is enough here
        super().test_times_is_repeated_plus(case)
        assert loss + loss == loss * 2


class TestFromTradeoff(Simulated):
    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "gaussian curve",
            lambda x: losses.from_tradeoff(dp.theorems.gaussian_tradeoff(1.0 / x)),
            mechanism=m.Gaussian(1.0),
        ),
        Case(
            "epsilon and delta",
            lambda x: losses.from_tradeoff(dp.theorems.f_epsilon_delta(0.8 / x, 0.02)),
            mechanism=m.leaky_response(0.8, 0.02),
        ),
    )
    proved = False


def blurred(table: m.Table, change: float) -> dp.Loss:
    """The pair with its log distance to the middle divided by `change`; what is impossible stays so."""
    p, q = table.cells()
    if change != 1.0:
        middle = (p + q) / 2
        p, q = (middle * (x / middle) ** (1 / change) for x in (p, q))
    return losses.from_pair(p / p.sum(), q / q.sum())


class TestFromPair(Simulated):
    slow_sums = True
    cases = tuple(
        Case(label, lambda x, t=t: blurred(t, x), mechanism=t)
        for label, t in (
            ("skewed", m.Table((0.9, 0.1), (0.5, 0.5))),
            ("three outcomes", m.Table((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))),
            ("only with", m.Table((0.1, 0.5, 0.4), (0.0, 0.4, 0.6))),
            ("only without", m.Table((0.0, 0.5, 0.5), (0.15, 0.35, 0.5))),
            ("both infinite", m.Table((0.05, 0.5, 0.45, 0.0), (0.0, 0.3, 0.6, 0.1))),
        )
    )
    mirrored = False
    proved = False


class TestObjectivePerturbation(Simulated):
    mirrored = False
    cases = tuple(
        Case(
            f"sigma {s} ridge {r}",
            lambda x, s=s, r=r, g=g, b=b: losses.objective_perturbation(s * x, r, g, b),
            mechanism=m.NoisyMinimiser(s, r, g, b),
        )
        for s, r, g, b in ((3.0, 20.0, 1.0, 1.0), (1.0, 30.0, 1.0, 0.5))
    )

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        # The same pair bounds both directions.
        return case.mechanism.log_ratio(case.mechanism.draw(rng, size, True))


class TestSharpObjectivePerturbation(Simulated):
    mirrored = False

    def test_directions_against_a_fine_partition(self, case: Case, direction: Side) -> None:
        """Two pairs, not one mechanism's: exact profiles are in test_sharp_objective_perturbation."""
        assert not case.loss().is_symmetric

    cases = tuple(
        Case(
            f"sigma {s} ridge {r}",
            lambda x, s=s, r=r: losses.objective_perturbation(s * x, r, 1.0, 1.0, bound="sharp"),
            sigma=s,
            ridge=r,
        )
        for s, r in ((3.0, 20.0), (1.5, 0.5))
    )

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        # Each direction has its own dominating pair; exact profiles are in test_sharp_objective_perturbation.
        mu, normal = 1 / case.sigma, rng.standard_normal(size)
        if direction == "add":
            return mu**2 / 2 + mu * np.abs(normal)
        return math.log1p(1 / case.ridge) + np.maximum(mu**2 / 2 + mu * normal, 0.0)


class TestObjectivePerturbationInDimensions(TestObjectivePerturbation):
    slow_sums = True
    repeats = (2,)
    cases = tuple(
        Case(
            f"dimension {d}",
            lambda x, d=d: losses.objective_perturbation(4.0 * x, 50.0, 1.0, 1.0, dimension=d),
            mechanism=m.NoisyMinimiser(4.0, 50.0, 1.0, 1.0, d),
        )
        for d in (3,)
    )
    proved = False
    cheap = False
    examples = 1
    epsilons = (0.3, 0.6)


class TestApproximateMinima(TestObjectivePerturbation):
    repeats = (5,)
    cases = (
        Case(
            "tolerance 1",
            lambda x: losses.approximate_minima(3.0 * x, 20.0, 1.0, 1.0, tolerance=1.0, output_sigma=0.4 * x),
            mechanism=m.NoisyMinimiser(3.0, 20.0, 1.0, 1.0),
            output=m.Gaussian(0.4, 2 * 1.0 / 20.0),
        ),
    )

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        output = case.output.log_ratio(case.output.draw(rng, size, True))
        return super().sample(case, rng, size, direction, epsilon) + output


class TestPoissonSampledGaussian(Simulated):
    slow_sums = True
    cases = tuple(
        Case(
            f"sigma {s} rate {q}",
            lambda x, s=s, q=q: losses.poisson_sampled(losses.gaussian(s * x), q),
            mechanism=m.PoissonSampled(m.Gaussian(s), q),
        )
        for s, q in ((1.0, 0.4), (0.5, 0.1), (2.0, 0.9))
    )
    proved = False
    epsilons = (0.0, 0.1, 0.5)


class TestPoissonSampledLaplace(Simulated):
    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "scale 1 rate 0.4",
            lambda x: losses.poisson_sampled(losses.laplace(x), 0.4),
            mechanism=m.PoissonSampled(m.Laplace(1.0), 0.4),
        ),
    )
    proved = False
    epsilons = (0.0, 0.1, 0.3)


class TestPoissonSampledPure(Simulated):
    cases = (
        Case(
            "epsilon 1 rate 0.4",
            lambda x: losses.poisson_sampled(losses.pure(1.0 / x), 0.4),
            mechanism=m.PoissonSampled(m.randomized_response(1.0), 0.4),
        ),
    )
    epsilons = (0.0, 0.1, 0.3)


class TestPoissonSampledApprox(Simulated):
    slow_sums = True
    cases = (
        Case(
            "1, 0.05 rate 0.4",
            lambda x: losses.poisson_sampled(losses.approx(1.0 / x, 0.05), 0.4),
            mechanism=m.PoissonSampled(m.leaky_response(1.0, 0.05), 0.4),
        ),
    )
    proved = False
    epsilons = (0.0, 0.1, 0.3)


class TestPoissonSampledPair(Simulated):
    """An asymmetric base: the two directions come from different pairs."""

    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "skewed rate 0.5",
            lambda x: losses.poisson_sampled(blurred(m.Table((0.9, 0.1), (0.5, 0.5)), x), 0.5),
            mechanism=m.PoissonSampled(m.Table((0.9, 0.1), (0.5, 0.5)), 0.5),
        ),
    )
    epsilons = (0.0, 0.1, 0.3)


class SubsetSampled(Simulated):
    """For one release, epsilon >= 0, both orders reach what the mechanism shows when the record is removed.

    The symmetric operator dominates compositions; the mechanism itself does not attain it there.
    """

    attained_at = (1,)
    epsilons = (0.0, 0.1, 0.3)

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        return case.mechanism.log_ratio(case.mechanism.draw(rng, size, True))


class TestSubsetSampledGaussian(SubsetSampled):
    slow_sums = True
    cases = (
        Case(
            "cp 0.4",
            lambda x: losses.cp(losses.gaussian(x, adjacency=REPLACE), 0.4),
            mechanism=m.PoissonSampled(m.Gaussian(1.0), 0.4),
        ),
        Case(
            "30 of 100",
            lambda x: losses.sampled_without_replacement(losses.gaussian(x, adjacency=REPLACE), 30, 100),
            mechanism=m.PoissonSampled(m.Gaussian(1.0), 0.3),
        ),
    )
    proved = False


class TestSubsetSampledPure(SubsetSampled):
    cases = (
        Case(
            "cp 0.4",
            lambda x: losses.cp(losses.pure(1.0 / x, adjacency=REPLACE), 0.4),
            mechanism=m.PoissonSampled(m.randomized_response(1.0), 0.4),
        ),
        Case(
            "2 of 5",
            lambda x: losses.sampled_without_replacement(losses.pure(1.0 / x, adjacency=REPLACE), 2, 5),
            mechanism=m.PoissonSampled(m.randomized_response(1.0), 0.4),
        ),
    )


class TestSubsetSampledApprox(SubsetSampled):
    repeats = (5,)
    cases = (
        Case(
            "cp 0.4",
            lambda x: losses.cp(losses.approx(1.0 / x, 0.05, adjacency=REPLACE), 0.4),
            mechanism=m.PoissonSampled(m.leaky_response(1.0, 0.05), 0.4),
        ),
    )


class TestGroup(Simulated):
    repeats = (5,)
    cases = (
        Case(
            "pure by 3",
            lambda x: losses.group(losses.pure(0.4 / x), 3),
            mechanism=m.truncated_geometric(0.4, 3),
        ),
        Case(
            "gaussian by 3",
            lambda x: losses.group(losses.gaussian(3.0 * x), 3),
            mechanism=m.Gaussian(3.0, 3.0),
        ),
        Case(
            "laplace by 2",
            lambda x: losses.group(losses.laplace(3.0 * x), 2),
            mechanism=m.Laplace(3.0, 2.0),
        ),
    )


class TestGroupOfLattice(Simulated):
    """Between its kinks the iterated curve lies below that of the longer shift: upper bounds only."""

    repeats = (5,)
    cases = (
        Case(
            "geometric by 2",
            lambda x: losses.group(losses.geometric(2.0 * x), 2),
            mechanism=m.Geometric(2.0, 2),
        ),
    )
    attained_at = ()
    planted = (1.4,)


class TestToReplaceOne(Simulated):
    repeats = (5,)
    cases = (
        Case(
            "pure",
            lambda x: losses.to_replace_one(losses.pure(0.7 / x)),
            mechanism=m.truncated_geometric(0.7, 2),
        ),
        Case(
            "gaussian",
            lambda x: losses.to_replace_one(losses.gaussian(2.0 * x)),
            mechanism=m.Gaussian(2.0, 2.0),
        ),
    )


class TestParallel(Simulated):
    """One part gets Laplace noise, the other Gaussian: which is worse depends on epsilon."""

    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "laplace and gaussian",
            lambda x: losses.parallel(losses.laplace(1.2 * x), losses.gaussian(1.5 * x)),
            parts=(m.Laplace(1.2), m.Gaussian(1.5)),
        ),
    )
    attained_at = (1,)
    proved = False

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        worse = max(case.parts, key=lambda part: _profile(part, epsilon))
        return worse.log_ratio(worse.draw(rng, size, True))


def _profile(part: object, epsilon: float) -> float:
    p, q = part.cells()  # type: ignore[attr-defined]
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


class TestMixedSum(Simulated):
    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "noise of all kinds",
            lambda x: (
                losses.gaussian(2.0 * x)
                + losses.laplace(2.0 * x)
                + losses.randomized_response(0.5 / x, 3)
                + losses.poisson_sampled(losses.gaussian(1.0 * x), 0.5)
            ),
            parts=(
                m.Gaussian(2.0),
                m.Laplace(2.0),
                m.randomized_response(0.5, 3),
                m.PoissonSampled(m.Gaussian(1.0), 0.5),
            ),
        ),
        Case(
            "with leaks and lattices",
            lambda x: (
                losses.approx(0.3 / x, 0.01)
                + losses.geometric(2.0 * x, 2)
                + losses.discrete_gaussian(2.0 * x)
                + losses.pure(0.4 / x) * 2
            ),
            parts=(
                m.leaky_response(0.3, 0.01),
                m.Geometric(2.0, 2),
                m.DiscreteGaussian(2.0),
                m.randomized_response(0.4),
                m.randomized_response(0.4),
            ),
        ),
    )
    proved = False
    examples = 4

    def sample(
        self, case: Case, rng: np.random.Generator, size: int, direction: Side, epsilon: float
    ) -> np.ndarray:
        total = np.zeros(size)
        for part in case.parts:
            ratio = part.log_ratio(part.draw(rng, size, direction == "remove"))
            total = total + (ratio if direction == "remove" else -ratio)
        return total

    def cells(self, case: Case) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    def test_directions_against_a_fine_partition(self, case: Case, direction: Side) -> None:
        """Each direction is the sum of the parts' own: adding in another order changes nothing."""
        loss = case.loss()
        assert {pair for pair, _ in loss.terms_remove}
        assert getattr(loss, direction).terms == (
            loss.terms_remove if direction == "remove" else loss.terms_add
        )


@pytest.mark.parametrize("rate", [0.3, 0.9])
@pytest.mark.parametrize(
    "base",
    [
        losses.from_pair([0.9, 0.1], [0.5, 0.5]) * 3,
        losses.from_pair([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]) * 2,
        losses.poisson_sampled(losses.gaussian(0.5), 0.1) * 3,
        losses.poisson_sampled(losses.laplace(0.7), 0.2) * 2 + losses.from_pair([0.9, 0.1], [0.5, 0.5]),
    ],
    ids=repr,
)
def test_sampling_a_sum_keeps_its_directions_apart(base: dp.Loss, rate: float) -> None:
    """The worse of both directions was sampled for either, from below, too: twice the truth, and certified."""
    run = losses.poisson_sampled(base, rate)
    for epsilon in (0.05, 0.2, 0.4, 0.8, 1.2):
        grown = math.exp(epsilon)
        rest = 1 - grown * (1 - rate)
        removed = base.remove.delta(math.log1p(math.expm1(epsilon) / rate))
        added = base.add.delta(math.log(grown * rate / rest)) if rest > 0 else Bounds(0.0, 0.0)
        for found, known, scale in ((run.remove, removed, rate), (run.add, added, rest)):
            low, high = found.delta(epsilon)
            assert low <= scale * known.upper * (1 + 1e-9) + 1e-12
            assert high >= scale * known.lower * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize("q", [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
def test_profiles_that_are_level(q: list[float]) -> None:
    """A table of a profile with nothing but an infinite loss, or none, had no second point."""
    base = losses.from_pair([1.0, 0.0], q) * 2
    tv = base.total_variation()
    for run in (
        losses.poisson_sampled(base, 0.5),
        losses.to_replace_one(base),
        losses.parallel(base, base * 2),
    ):
        low, high = run.delta_bounds(0.0)
        assert 0.5 * tv * (1 - 1e-6) <= high <= 1.0
        assert low <= high
