"""Mixtures of Gaussians: under the contract, against quadrature in 40 digits, and against vectors in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.gaussian_mixtures import GaussianMixturesPair, weight_of
from dalenius.errors import AdjacencyMismatch, InvalidParameter, TooLittleNoise
from tests.calculus.contract import Case
from tests.calculus.losses.test_losses import Simulated
from tests.calculus.mechanisms import Draws

REPLACE = dp.REPLACE_ONE


@dataclass(frozen=True)
class Mixture:
    """sum p_i N(s_i, sigma^2) with the record; sum q_i N(r_i, sigma^2) without it, or with the other one."""

    sigma: float
    present: tuple[tuple[float, float], ...]
    absent: tuple[tuple[float, float], ...] = ((0.0, 1.0),)

    def draw(self, rng: np.random.Generator, size: int, present: bool) -> Draws:
        shifts, weights = np.array(self.present if present else self.absent).T
        return rng.choice(shifts, size, p=weights) + self.sigma * rng.standard_normal(size)

    def log_ratio(self, outcomes: Draws) -> Draws:
        def log_density(law: tuple[tuple[float, float], ...]) -> np.ndarray:
            shifts, weights = np.array(law).T
            return np.log(stats.norm.pdf(outcomes[:, None], shifts, self.sigma) @ weights)

        return log_density(self.present) - log_density(self.absent)

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        edges = np.linspace(-12 * self.sigma, 12 * self.sigma, 4000)

        def masses(law: tuple[tuple[float, float], ...]) -> np.ndarray:
            shifts, weights = np.array(law).T
            below = stats.norm.cdf(edges[:, None], shifts, self.sigma) @ weights
            return np.maximum(np.diff(below, prepend=0.0, append=1.0), 0.0)

        return masses(self.present), masses(self.absent)


def binomial(size: int, rate: float) -> tuple[tuple[float, float], ...]:
    return tuple((float(j), float(stats.binom.pmf(j, size, rate))) for j in range(size + 1))


def mirrored(law: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    return tuple((-shift, weight) for shift, weight in law)


class TestMixtureOfGaussians(Simulated):
    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "three sensitivities",
            lambda x: losses.mixture_of_gaussians(1.5 * x, [0.0, 1.0, 3.0], [0.6, 0.3, 0.1]),
            mechanism=Mixture(1.5, ((0.0, 0.6), (1.0, 0.3), (3.0, 0.1))),
        ),
    )
    proved = False
    examples = 2
    levels = 8


class TestPoissonSampledReplaced(Simulated):
    slow_sums = True
    repeats = (5,)
    cases = (
        Case(
            "two at .3",
            lambda x: losses.poisson_sampled_group(2.0 * x, 0.3, 2, adjacency=REPLACE),
            mechanism=Mixture(2.0, binomial(2, 0.3), mirrored(binomial(2, 0.3))),
        ),
    )
    proved = False
    examples = 2
    levels = 8


def in_40_digits(
    sigma: float, present: dict[float, float], absent: dict[float, float], epsilon: float
) -> mpmath.mpf:
    """P(X > x) - e^epsilon Q(X > x) at its largest, 40 digits of it being right."""
    with mpmath.workdps(120):
        alpha, scale = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(sigma)

        def density(law: dict[float, float], x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(mpmath.mpf(p) * mpmath.npdf(x, mpmath.mpf(s), scale) for s, p in law.items())

        def above(law: dict[float, float], x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(
                mpmath.mpf(p) * mpmath.ncdf((mpmath.mpf(s) - x) / scale) for s, p in law.items()
            )

        low, high = mpmath.mpf(-60), mpmath.mpf(60)
        for _ in range(200):
            middle = (low + high) / 2
            more = density(present, middle) > alpha * density(absent, middle)
            low, high = (low, middle) if more else (middle, high)
        return above(present, high) - alpha * above(absent, high)


@pytest.mark.parametrize("epsilon", [0.001, 0.4, 3.0, 9.0])
@pytest.mark.parametrize("rate", [1e-5, 0.3])
def test_one_release_in_40_digits(epsilon: float, rate: float) -> None:
    kept = 1 - rate
    cases = [
        (
            losses.mixture_of_gaussians(1.3, [0, 1, 2], [kept, 0.75 * rate, 0.25 * rate]),
            {0.0: kept, 1.0: 0.75 * rate, 2.0: 0.25 * rate},
            {0.0: 1.0},
        ),
        (
            losses.poisson_sampled(losses.gaussian(1.3), rate, REPLACE),
            {0.0: kept, 1.0: rate},
            {0.0: kept, -1.0: rate},
        ),
    ]
    for loss, present, absent in cases:
        truth = in_40_digits(1.3, present, absent, epsilon)
        bounds = loss.remove.delta(epsilon)
        # Weights that sum to 1 only after rounding: a few units of 1e-17 beside rate.
        slack = 1e-15 / rate * 1e-2 + 1e-14
        assert bounds.lower <= truth * (1 + slack)
        assert truth * (1 - slack) <= bounds.upper
        assert bounds.upper - bounds.lower <= 1e-9 * bounds.upper


@pytest.mark.parametrize("epsilon", [1e-3, 5.0, 21.0, 60.0, 101.0, 180.0, 333.0])
@pytest.mark.parametrize(
    ("shifts", "adjacency"),
    [
        ({1.0: 2.0**-40}, REPLACE),
        ({4.0: 0.5, 8.0: 0.5}, dp.ADD_REMOVE),
        ({1.0: 0.25, 8.0: 0.75 - 2.0**-40}, REPLACE),
    ],
    ids=["rare", "all shifted", "many shifted"],
)
def test_far_tails_to_the_last_digit(
    shifts: dict[float, float], adjacency: dp.Adjacency, epsilon: float
) -> None:
    """Numbers that floats hold exactly leave no slack, however small delta is, and wherever the normal masses end."""
    law = {shift: weight for shift, weight in {0.0: 1 - sum(shifts.values()), **shifts}.items() if weight}
    loss = losses.mixture_of_gaussians(1.0, list(law), list(law.values()), adjacency)
    other = {-shift: weight for shift, weight in law.items()}
    pairs = [(loss.remove, law, other if adjacency is REPLACE else {0.0: 1.0})]
    if adjacency is not REPLACE:
        pairs.append((loss.add, {0.0: 1.0}, other))
    for side, present, absent in pairs:
        bounds, truth = side.delta(epsilon), max(in_40_digits(1.0, present, absent, epsilon), 0)
        assert bounds.lower <= truth <= bounds.upper
        assert truth < 1e-300 or bounds.upper - bounds.lower <= 1e-9 * bounds.upper


@pytest.mark.parametrize(
    ("sigma", "rate", "size", "epsilon"), [(0.2, 0.99, 8, 36.8), (0.2, 0.99, 8, 30.0), (0.4, 0.6, 30, 27.4)]
)
def test_nobody_of_a_group_in_the_sample(sigma: float, rate: float, size: int, epsilon: float) -> None:
    """What is left for shift 0 decides the largest loss, and is far below a rounding of the other weights."""
    step, g = losses.poisson_sampled_group(sigma, rate, size), mpmath.mpf(rate)
    law = {float(-j): mpmath.binomial(size, j) * g**j * (1 - g) ** (size - j) for j in range(size + 1)}
    truth, bounds = in_40_digits(sigma, {0.0: 1.0}, law, epsilon), step.add.delta(epsilon)
    assert bounds.lower <= truth <= bounds.upper <= bounds.lower * (1 + 1e-10)
    assert dp.Loss.from_json(step.to_json()) == step


def test_the_add_direction_in_40_digits() -> None:
    loss = losses.mixture_of_gaussians(1.3, [0, 1, 2], [0.7, 0.2, 0.1])
    flipped = {0.0: 0.7, -1.0: 0.2, -2.0: 0.1}
    for epsilon in (0.01, 0.2, 0.34):
        bounds = loss.add.delta(epsilon)
        truth = in_40_digits(1.3, {0.0: 1.0}, flipped, epsilon)
        assert bounds.lower * (1 - 1e-12) <= truth <= bounds.upper * (1 + 1e-12)
    assert loss.add.delta(0.36) == (0.0, 0.0)  # -log .7 is the largest loss


def test_no_vectors_in_the_plane_are_worse() -> None:
    """The theorem, on a grid fine enough for six digits: directions differ, lengths are below the sensitivities."""
    axis = np.linspace(-9.0, 9.0, 361)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2
    rng = np.random.default_rng(3)
    for _ in range(6):
        p, q = rng.dirichlet(np.ones(3), 2)
        s, r = np.sort(rng.uniform(0.0, 2.0, (2, 3)), axis=1)

        def density(weights: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            turns = rng.uniform(0.0, 2 * math.pi, 3)
            short = lengths * rng.uniform(0.5, 1.0, 3)
            parts = [
                w * np.exp(-((x - a * math.cos(t)) ** 2 + (y - a * math.sin(t)) ** 2) / 2) / (2 * math.pi)
                for w, a, t in zip(weights, short, turns, strict=True)
            ]
            return np.sum(parts, axis=0)

        one, other = density(p, s), density(q, r)
        worst = GaussianMixturesPair(
            tuple(zip(s, p * (1 - 1e-12), strict=True)), tuple(zip(r, q * (1 - 1e-12), strict=True))
        )
        for epsilon in (-0.5, 0.0, 0.7, 2.0):
            bounds = worst.delta(epsilon)
            assert bounds is not None
            assert np.maximum(one - math.exp(epsilon) * other, 0.0).sum() * cell <= bounds.upper + 1e-6


def test_known_cases() -> None:
    base = losses.gaussian(1.7, 0.8)
    assert losses.mixture_of_gaussians(1.7, [0.8], [1.0]) == base
    assert losses.mixture_of_gaussians(1.7, [0.8, 0.0], [0.25, 0.75]) == losses.poisson_sampled(base, 0.25)
    assert losses.mixture_of_gaussians(1.7, [0.8, 0.8], [0.5, 0.5], REPLACE).gdp() == pytest.approx(1.6 / 1.7)
    assert losses.poisson_sampled_group(1.7, 0.25, 1, 0.8) == losses.poisson_sampled(base, 0.25)
    assert losses.mixture_of_gaussians(1.0, [0.0], [1.0]) == dp.Loss.zero()
    assert losses.poisson_sampled_group(1.0, 0.0, 5) == dp.Loss.zero()
    assert losses.poisson_sampled_group(2.0, 1.0, 3) == losses.gaussian(2.0, 3.0)
    assert losses.poisson_sampled(base, 1.0, REPLACE) == losses.to_replace_one(base)


def test_what_replacing_costs() -> None:
    """Between one removal and the chain of a removal and an addition: an epsilon is above x if delta at x is."""
    step = losses.poisson_sampled(losses.gaussian(1.0), 0.01)
    replaced = (losses.poisson_sampled(losses.gaussian(1.0), 0.01, REPLACE) * 300).epsilon(1e-6)
    assert (step * 300).epsilon(1e-6) < replaced
    assert losses.to_replace_one(step * 300).delta(replaced / 0.9) > 1e-6
    group = losses.poisson_sampled_group(1.0, 0.01, 3).epsilon(1e-6)
    assert losses.group(step, 3).delta(group) > 2e-6
    other = losses.poisson_sampled(losses.laplace(1.0), 0.1, REPLACE)
    assert other.adjacency is REPLACE
    assert other.epsilon(1e-6) <= losses.to_replace_one(losses.laplace(1.0)).epsilon(1e-6)


def test_long_runs_are_narrow() -> None:
    for loss in (
        losses.poisson_sampled_group(1.0, 0.01, 4),
        losses.poisson_sampled(losses.gaussian(1.0), 0.01, REPLACE),
    ):
        lower, upper = (loss * 2000).epsilon_bounds(1e-6)
        assert upper - lower < 1e-7 * upper


def test_a_weight_keeps_the_digits_of_small_losses() -> None:
    x = np.linspace(-6.0, 6.0, 25)
    side = ((1.0, 3e-7), (2.0, 1e-9))
    found = weight_of(side, x)
    with mpmath.workdps(40):
        for at, value, noise in zip(x, found.log, found.noise, strict=True):
            grown = mpmath.fsum(
                mpmath.mpf(p) * mpmath.expm1(mpmath.mpf(s) * at - mpmath.mpf(s) ** 2 / 2) for s, p in side
            )
            assert abs(value - mpmath.log1p(grown)) <= noise * 2.0**-53


def test_kept_as_text() -> None:
    for loss in (
        losses.poisson_sampled_group(1.0, 0.01, 4),
        losses.poisson_sampled(losses.gaussian(1.0), 0.01, REPLACE),
    ):
        assert dp.Loss.from_json(loss.to_json()) == loss
    text = losses.mixture_of_gaussians(1.0, [0, 1, 2], [0.5, 0.25, 0.25]).to_json()
    for was, now in (('["1.0","0.25"]', '["1.0","0.85"]'), ('["1.0","0.25"]', '["0.0","0.25"]')):
        assert was in text
        with pytest.raises(InvalidParameter, match="not written as we write them"):
            dp.Loss.from_json(text.replace(was, now))


@pytest.mark.parametrize(
    ("sensitivities", "probabilities", "message"),
    [
        ([], [], "not empty"),
        ([1.0], [0.5, 0.5], "each case needs both"),
        ([0.0, 1.0], [0.5, 0.4], "sum to 1"),
        ([0.0, -1.0], [0.5, 0.5], r"sensitivities\[1\]"),
        ([0.0, 1.0], [1.5, -0.5], r"probabilities\[1\]"),
        ("12", [1.0], "a list of numbers"),
        ([1.0], 3, "a list of numbers"),
        ([0.0, math.nan], [0.5, 0.5], r"sensitivities\[1\]"),
    ],
)
def test_refuses(sensitivities: object, probabilities: object, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        losses.mixture_of_gaussians(1.0, sensitivities, probabilities)  # type: ignore[arg-type]


def test_refuses_what_hides_nothing() -> None:
    with pytest.raises(TooLittleNoise):
        losses.mixture_of_gaussians(0.001, [0.0, 1.0], [0.5, 0.5])
    with pytest.raises(TooLittleNoise):
        losses.poisson_sampled_group(0.1, 0.1, 20)
    with pytest.raises(InvalidParameter, match="size"):
        losses.poisson_sampled_group(1000.0, 0.1, 1001)
    with pytest.raises(AdjacencyMismatch):
        losses.poisson_sampled(losses.gaussian(1.0, adjacency=REPLACE), 0.1, REPLACE)


def test_probabilities_that_sum_to_more_than_one_are_not_worth_less() -> None:
    """What is above 1 is taken from the smaller shift: the rest is at least as far apart as the two halves."""
    halves = losses.mixture_of_gaussians(1.0, [1e-8, 2e-8], [0.5, 0.5])
    more = losses.mixture_of_gaussians(1.0, [1e-8, 2e-8], [0.5, 0.5 + 9e-10])
    for one, other in zip(more.directions, halves.directions, strict=True):
        assert one.delta(0.0).upper >= other.delta(0.0).lower
