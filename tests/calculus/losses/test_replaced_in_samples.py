"""Poisson sampling for replace-one neighbours: the theorem for any loss, against pairs that are written out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.loss import Loss

REPLACE = dp.REPLACE_ONE


def written_out(law: np.ndarray, shift: int, rate: float) -> Loss:
    """Noise on whole numbers: none, moved up, moved down."""
    up, down = np.roll(law, shift), np.roll(law, -shift)
    return losses.from_pair((1 - rate) * law + rate * up, (1 - rate) * law + rate * down, adjacency=REPLACE)


def geometric(scale: float) -> np.ndarray:
    law = np.exp(-np.abs(np.arange(-400, 401)) / scale)
    return np.asarray(law / law.sum())


def gaussian(sigma: float) -> np.ndarray:
    law = np.exp(-(np.arange(-400, 401) ** 2) / (2 * sigma**2))
    return np.asarray(law / law.sum())


@pytest.mark.parametrize("rate", [0.01, 0.4, 0.97])
@pytest.mark.parametrize(
    ("base", "law", "shift"),
    [
        (losses.geometric(1.0), geometric(1.0), 1),
        (losses.geometric(3.0, 4), geometric(3.0), 4),
        (losses.discrete_gaussian(2.0, 3), gaussian(2.0), 3),
    ],
)
def test_the_upper_end_is_attained_by_noise_on_whole_numbers(
    base: Loss, law: np.ndarray, shift: int, rate: float
) -> None:
    step, truth = losses.poisson_sampled(base, rate, REPLACE), written_out(law, shift, rate)
    for times, epsilons in ((1, (-0.5, 0.0, 0.05, 0.5, 2.0)), (20, (0.0, 0.3, 3.0))):
        for epsilon in epsilons:
            low, high = (step * times).delta_bounds(epsilon)
            exact = (truth * times).delta_bounds(epsilon)
            assert low <= exact.upper * (1 + 1e-9) + 1e-11
            assert exact.lower * (1 - 1e-9) - 1e-11 <= high <= exact.upper * (1 + 1e-7) + 1e-9


def test_no_three_laws_of_three_outcomes_are_worse() -> None:
    """Laws W, R, R' drawn at random, their worst remove direction as the loss, against the sampled pair itself."""
    rng = np.random.default_rng(20)
    for rate in (0.1, 0.6, 0.999):
        for _ in range(7):
            none, one, other = rng.dirichlet(np.ones(3), 3)
            worst = losses.parallel(losses.from_pair(one, none), losses.from_pair(other, none))
            bound = losses.poisson_sampled(worst, rate, REPLACE)
            p, q = (1 - rate) * none + rate * one, (1 - rate) * none + rate * other
            for epsilon, (x, y) in itertools.product((0.0, 0.1, 0.7), ((p, q), (q, p))):
                truth = float(np.maximum(x - math.exp(epsilon) * y, 0.0).sum())
                assert truth <= bound.delta(epsilon) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    "base", [losses.pure(1.0), losses.approx(2.0, 1e-7), losses.laplace(0.5), losses.zcdp(0.1)]
)
def test_between_a_removal_and_the_chain(base: Loss) -> None:
    step = losses.poisson_sampled(base, 0.1)
    replaced, chain = losses.poisson_sampled(base, 0.1, REPLACE), losses.to_replace_one(step)
    for epsilon in (0.0, 0.1, 0.3):
        assert (
            step.delta_bounds(epsilon).lower
            <= replaced.delta(epsilon)
            <= chain.delta(epsilon) * (1 + 1e-5) + 1e-12
        )
    # With directions apart the chain is as good, and it is another computation.
    high = (replaced * 100).epsilon(1e-4)
    assert high * (1 - 1e-5) <= (chain * 100).epsilon(1e-4) <= 1.05 * high
    worse = losses.Loss(
        step.terms_remove, step.terms_remove, step.adjacency, "the remove direction, both ways"
    )
    assert high < 0.95 * (losses.to_replace_one(worse) * 100).epsilon(1e-4)
    assert replaced.renyi(3.0) <= chain.renyi(3.0) * (1 + 1e-6)
    assert losses.Loss.from_json(replaced.to_json()) == replaced


def test_next_to_rate_one_it_is_the_chain() -> None:
    for base in (losses.pure(1.0), losses.laplace(0.7), losses.approx(0.5, 1e-3)):
        all_of_it = losses.to_replace_one(base)
        nearly = losses.poisson_sampled(base, math.nextafter(1.0, 0.0), REPLACE)
        for epsilon in (0.0, 0.4, 0.9):
            assert nearly.delta(epsilon) == pytest.approx(all_of_it.delta(epsilon), rel=1e-5, abs=1e-12)


def power(p: list[float], q: list[float], level: np.ndarray) -> np.ndarray:
    """Of the best tests of these levels, q being true where they err."""
    order = sorted(range(len(p)), key=lambda k: -p[k] / q[k])
    return np.interp(level, *(np.cumsum([0.0, *(law[k] for k in order)]) for law in (q, p)))


@pytest.mark.parametrize(
    ("p", "q"),
    [([0.9, 0.1], [0.5, 0.5]), ([0.6, 0.4], [0.99, 0.01]), ([0.1, 0.3, 0.6], [0.3, 0.69, 0.01])],
)
def test_one_out_and_one_in(p: list[float], q: list[float]) -> None:
    """The chain that removes and adds, against power curves: the worse of both directions twice was up to twice it."""
    replaced = losses.to_replace_one(losses.from_pair(p, q))
    level = np.linspace(0.0, 1.0, 300_001)
    reached = power(p, q, power(q, p, level))
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = float((reached - math.exp(epsilon) * level).max())
        low, high = replaced.delta_bounds(epsilon)
        assert truth - 1e-12 <= high <= truth + 2e-5
        assert low <= truth + 2e-5


def test_many_outcomes_are_rounded_upwards() -> None:
    wide, law = losses.discrete_gaussian(60.0, 2), np.exp(-(np.arange(-900, 901) ** 2) / (2 * 60.0**2))
    step = losses.poisson_sampled(wide, 0.2, REPLACE)
    truth = written_out(law / law.sum(), 2, 0.2)
    for epsilon in (0.0, 0.005):
        assert truth.delta(epsilon) <= step.delta(epsilon) * (1 + 1e-9) <= truth.delta(epsilon) * 1.001


@pytest.mark.parametrize("rate", [1e-20, 0.1, 0.999])
@pytest.mark.parametrize(
    "base",
    [
        losses.pure(690.0),
        losses.pure(800.0),
        losses.pure(9000.0),
        losses.approx(1000.0, 1e-6),
        losses.randomized_response(740.0),
        losses.geometric(1.0, 1000),
        losses.discrete_gaussian(0.025),
        losses.discrete_gaussian(1.0, 33),
        losses.discrete_gaussian(1.0, 60),
        losses.laplace(1 / 590),
        losses.laplace(1 / 720),
        losses.laplace(1e-4),
    ],
    ids=str,
)
def test_losses_that_no_float_holds_the_inverse_of(base: Loss, rate: float) -> None:
    """What Q hardly has was dropped, and P's mass with it: a sample of pure(1000) told nothing at all."""
    step, replaced = losses.poisson_sampled(base, rate), losses.poisson_sampled(base, rate, REPLACE)
    for epsilon in (0.0, 1.0, 30.0, 500.0):
        low, high = replaced.delta_bounds(epsilon)
        least = max(rate * base.delta_bounds(epsilon + 50.0).lower * (1 - 1e-9) - 1e-300, low)
        assert step.delta_bounds(epsilon).lower * (1 - 1e-9) <= high
        assert least <= high * (1 + 1e-9)
    low, high = replaced.epsilon_bounds(1e-6)
    assert step.epsilon_bounds(1e-6).lower * (1 - 1e-9) <= high
    assert low <= high


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.999])
@pytest.mark.parametrize(("epsilon", "delta"), [(3.4e-4, 2.8e-58), (1.0, 1e-6), (0.1, 0.3)])
def test_what_tests_without_the_record_miss_is_known(epsilon: float, delta: float, rate: float) -> None:
    """It is what tests with it miss, and was 1 less a sum: its rounding had losses of up to log(1 / (1 - rate))."""
    step = losses.poisson_sampled(losses.approx(epsilon, delta), rate, REPLACE)
    corner = (1 - delta) / (1 + math.exp(epsilon))
    level = np.append(np.linspace(0.0, 1.0, 2001), [corner, 1 - corner, delta, 1 - delta])

    def power(a: np.ndarray) -> np.ndarray:
        return np.minimum(
            1.0, np.minimum(delta + math.exp(epsilon) * a, 1 - math.exp(-epsilon) * (1 - delta - a))
        )

    for e in (0.0, 0.3 * epsilon, 0.7 * epsilon, 2 * epsilon):
        given = math.exp(e) * (rate * power(1 - level) - rate) - (1 - rate) * math.expm1(e) * level
        truth = float((given + rate * power(level)).max())
        high = step.delta(e)
        assert truth * (1 - 1e-9) - 1e-15 <= high <= truth * (1 + 1e-3) + 1e-14
    assert (losses.poisson_sampled(losses.approx(3.4e-4, 2.8e-58), 0.5, REPLACE) * 2).epsilon(6.6e-25) < 1e-3
