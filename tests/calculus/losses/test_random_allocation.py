"""Random allocation: under the contract, against quadrature for two and three steps, and against known relations."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp, ndtr

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs import lognormal_sums
from dalenius.errors import InvalidParameter
from tests.calculus.contract import Case, LossContract

REPLACE = dp.REPLACE_ONE


class TestRandomAllocation(LossContract):
    """Six steps: outcomes have six coordinates."""

    cases = (Case("one of six", lambda x: losses.random_allocation(1.5 * x, 6), mechanism=(1.5, 6)),)
    slow_sums = True
    repeats = (20,)
    composed = (1, 20)
    attained_at = (1, 20)
    proved = False
    examples = 2
    levels = 8

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        sigma, steps = case.mechanism
        outcomes = sigma * rng.standard_normal((size, steps))
        if present:
            outcomes[np.arange(size), rng.integers(steps, size=size)] += 1.0
        return outcomes

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        sigma, steps = case.mechanism
        return logsumexp((outcomes - 0.5) / sigma**2, axis=1) - math.log(steps)

    def test_directions_against_a_fine_partition(self, case: Case) -> None:  # type: ignore[override]
        """Six dimensions have no fine partition: two have, see below."""
        assert not case.loss().is_symmetric


def call(mu: float, strike: float) -> float:
    """E (W - strike)_+ for the log-normal W."""
    if strike <= 0.0:
        return 1.0 - strike
    z = math.log(strike) / mu + mu / 2
    return float(ndtr(mu - z) - strike * ndtr(-z))


def truth(mu: float, steps: int, epsilon: float) -> tuple[float, float]:
    """Both directions: steps - 1 integrals of E (W - strike)_+ over the others."""
    alpha = math.exp(epsilon)

    def mean(strike: float, left: int) -> float:
        """E (sum of `left` of them - strike)_+."""
        if left == 1:
            return call(mu, strike)

        def integrand(x: float) -> float:
            w = math.exp(mu * x - mu * mu / 2)
            return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * mean(strike - w, left - 1)

        kink = (math.log(max(strike, 1e-300)) + mu * mu / 2) / mu
        points = [min(max(kink, -11.0), 11.0)]
        return float(
            quad(integrand, -12.0, 12.0 + mu, points=points, limit=200, epsabs=1e-13, epsrel=1e-11)[0]
        )

    removed = mean(steps * alpha, steps) / steps
    # (1 - a s)_+ = (a s - 1)_+ + 1 - a s.
    added = alpha * mean(steps / alpha, steps) / steps + 1 - alpha
    return removed, added


@pytest.mark.parametrize(("mu", "steps"), [(0.002, 2), (0.25, 2), (1.0, 2), (1.0, 3), (4.0, 2)])
def test_a_few_steps_by_quadrature(mu: float, steps: int) -> None:
    (below, above), (below_add, above_add) = lognormal_sums.allocated(mu, steps)
    slack = 1e-10
    for epsilon in (0.0, 0.3 * mu, 1.5 * mu, 3.0 * mu):
        removed, added = truth(mu, steps, epsilon)
        assert below.delta(epsilon).lower - slack <= removed <= above.delta(epsilon).upper + slack
        assert below_add.delta(epsilon).lower - slack <= added <= above_add.delta(epsilon).upper + slack
        assert above.delta(epsilon).upper - below.delta(epsilon).lower <= 0.002 * removed + 1e-9
        assert above_add.delta(epsilon).upper - below_add.delta(epsilon).lower <= 0.002 * added + 1e-9


@pytest.mark.parametrize(("mu", "epsilon"), [(2.5, 2.0), (4.0, 9.0), (10.0, 60.0)])
def test_little_noise_by_monte_carlo(mu: float, epsilon: float) -> None:
    """Given the number drawn: six standard errors each way, a false alarm of 1e-8 in all."""
    steps, draws, rng = 40, 5_000, np.random.default_rng(52)
    others = np.exp(mu * rng.standard_normal((draws, steps - 1)) - mu * mu / 2).sum(axis=1)
    # W of the step taken is integrated out: S = others + exp(mu z + mu^2/2), above a strike of t e^epsilon.
    z, h = np.linspace(-9.0, 9.0, 2001, retstep=True)
    whole = np.add.outer(others, np.exp(mu * z + mu * mu / 2))
    density = np.exp(-z * z / 2) * h / math.sqrt(2 * math.pi)
    values = np.maximum(1 - steps * math.exp(epsilon) / whole, 0.0) @ density
    # The kink costs the rule h^2/8 of the slope, mu or less, times the density there.
    error = 6 * values.std() / math.sqrt(draws) + h * h / 8 * mu
    below, above = lognormal_sums.allocated(mu, steps)[0]
    assert below.delta(epsilon).lower <= values.mean() + error
    assert above.delta(epsilon).upper >= values.mean() - error
    assert above.delta(epsilon).upper <= below.delta(epsilon).lower * 1.01


def test_amplified_wherever_there_is_something_to_gain() -> None:
    """Less than coins and than a known step for few steps and little noise, too; brackets are narrow."""
    for sigma, steps in ((0.1, 20), (0.3, 10), (0.8, 2), (900.0, 3)):
        lower, upper = losses.random_allocation(sigma, steps).epsilon_bounds(1e-6)
        assert lower <= upper <= lower * 1.002
        assert upper < losses.gaussian(sigma).epsilon(1e-6) * (1 - 1e-3)
        assert upper < (losses.poisson_sampled(losses.gaussian(sigma), 1 / steps) * steps).epsilon(1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        losses.random_allocation(1.0, 3),
        losses.zcdp(4e-4) + losses.laplace(4.0),
        losses.parallel(losses.gaussian(1.0), losses.laplace(1.0)),
        losses.group(losses.poisson_sampled(losses.gaussian(2.0), 0.1), 2),
        losses.poisson_sampled(losses.gaussian(1.0) + losses.laplace(1.0), 0.1),
    ],
)
def test_beyond_the_end_of_a_table_divergences_are_asked(loss: losses.Loss) -> None:
    """The tail of a table counts as an infinite loss, which is no answer where a Renyi divergence is finite."""
    assert loss.delta_at_infinity() == 0.0
    assert loss.tail(0.0) == loss.epsilon(0.0) == math.inf
    previous = 0.0
    for delta in (1e-30, 1e-100, 1e-200, 1e-300):
        low, high = loss.epsilon_bounds(delta)
        assert previous * (1 - 1e-9) <= low <= high < 200
        assert loss.delta(high) <= delta
        previous = low


def test_tails_have_digits() -> None:
    """Delta far below a rounding: no masses cancel."""
    lower, upper = losses.random_allocation(1.0, 30).epsilon_bounds(1e-22)
    assert 0 < lower <= upper < lower * 1.002


def test_between_known_losses() -> None:
    """One epoch: less than coins at the same rate, less than a step that is known; more than the sum of all tells."""
    for sigma, steps in ((2.0, 50), (1.25, 150)):
        epoch = losses.random_allocation(sigma, steps)
        lower, upper = epoch.epsilon_bounds(1e-6)
        assert upper - lower <= 2e-3 * upper
        assert upper < (losses.poisson_sampled(losses.gaussian(sigma), 1 / steps) * steps).epsilon(1e-6)
        assert lower > losses.gaussian(sigma * math.sqrt(steps)).epsilon(1e-6)


def test_several_steps_of_many() -> None:
    often, parts = losses.random_allocation(2.0, 405, 20), losses.random_allocation(2.0, 20) * 20
    lower, upper = often.epsilon_bounds(1e-6)
    assert upper == pytest.approx(parts.epsilon(1e-6), rel=1e-12)
    assert losses.gaussian(2.0, 20 / math.sqrt(405)).epsilon(1e-6) < lower < upper < 1.02 * lower
    assert losses.random_allocation(2.0, 5, 5) == losses.gaussian(2.0) * 5
    assert losses.random_allocation(2.0, 1) == losses.gaussian(2.0)


def test_sums_keep_what_was_chosen_apart() -> None:
    """Two of ten and four of twenty lie between the same pairs, and what they tell together from below differs."""
    two, four = losses.random_allocation(2.0, 10, 2), losses.random_allocation(2.0, 20, 4)
    assert two.terms_remove[0][0] != four.terms_remove[0][0]
    assert len((two + four).terms_remove) == 2
    lower, upper = (two + four).epsilon_bounds(1e-6)
    assert upper == pytest.approx((two * 3).epsilon(1e-6), rel=1e-12)
    assert lower < upper < 1.05 * lower
    assert not losses.random_allocation(0.03, 10).is_symmetric


def test_out_of_the_range_of_the_table() -> None:
    lower, upper = losses.random_allocation(2e3, 100).epsilon_bounds(1e-6)
    assert lower <= upper == pytest.approx(losses.gaussian(2e3).epsilon(1e-6), rel=1e-8)


@pytest.mark.parametrize("steps", [2, 100, 10**7])
@pytest.mark.parametrize("sigma", [0.0399, 0.03, 0.001])
def test_hardly_any_noise_hides_the_choice_alone(sigma: float, steps: int) -> None:
    """Nothing was credited: an epsilon of 713 for one of ten steps at sigma .03, and of 105 from below."""
    for epochs in (1, 1000):
        known = losses.gaussian(sigma) * epochs
        for delta in (0.1, 1e-6, 1e-12):
            lower, upper = (losses.random_allocation(sigma, steps) * epochs).epsilon_bounds(delta)
            assert 0.0 <= upper - lower < 1e-8 * upper
            expected = known.epsilon(delta) - epochs * math.log(steps)
            # Of more than a few epochs epsilon has no simple form, but it moves with the mean of the loss.
            assert abs(upper - expected) < 1e-8 * expected


def test_hardly_any_noise_at_outcomes_drawn_at_random() -> None:
    """Both directions: the ratios themselves, whose logarithms are computed where the table ends."""
    mu, steps, size = 26.0, 40, 100_000
    loss = losses.random_allocation(1 / mu, steps)
    assert mu > lognormal_range()
    rng = np.random.default_rng(1)
    for side, present in ((loss.remove, True), (loss.add, False)):
        x = rng.standard_normal((size, steps))
        x[:, 0] += mu if present else 0.0
        found = logsumexp(mu * x - mu * mu / 2, axis=1) - math.log(steps)
        found = found if present else -found
        for epsilon in (250.0, 300.0, 340.0):
            gain = np.maximum(-np.expm1(np.minimum(epsilon - found, 0.0)), 0.0)
            mean, error = float(gain.mean()), float(gain.std()) / math.sqrt(size)
            lower, upper = side.delta(epsilon)
            assert lower <= mean + 6 * error + 1e-12
            assert upper >= mean - 6 * error
            if present:
                assert abs(lower - mean) <= 6 * error


def lognormal_range() -> float:
    from dalenius.calculus.pairs.allocation import LARGEST

    return LARGEST


def test_replaced() -> None:
    epoch = losses.random_allocation(2.0, 50, adjacency=REPLACE)
    assert epoch.adjacency is REPLACE
    chain = losses.to_replace_one(losses.random_allocation(2.0, 50))
    assert epoch.delta(0.1) == chain.delta(0.1)
    assert epoch.renyi(2.0) == chain.renyi(2.0)
    assert (
        losses.random_allocation(2.0, 50).epsilon(1e-6)
        < epoch.epsilon(1e-6)
        < losses.gaussian(2.0, 2.0).epsilon(1e-6)
    )


def test_kept_as_text() -> None:
    epochs = losses.random_allocation(2.0, 50) * 40
    again = dp.Loss.from_json(epochs.to_json())
    assert again == epochs
    assert again.epsilon_bounds(1e-6) == epochs.epsilon_bounds(1e-6)
    assert losses.random_allocation(2.0, 51) * 40 != epochs
    assert losses.random_allocation(2.0, 51) + losses.random_allocation(2.0, 50) == losses.random_allocation(
        2.0, 50
    ) + losses.random_allocation(2.0, 51)


def test_refuses() -> None:
    for steps, chosen in ((0, 1), (5, 6), (5, 0), (10**8, 1), (2.5, 1)):
        with pytest.raises(InvalidParameter):
            losses.random_allocation(1.0, steps, chosen)  # type: ignore[arg-type]


def test_replaced_records_thrown_into_two_batches() -> None:
    """Records at mu and -mu in one of two steps, on a grid of the plane: good to 1e-4."""
    axis = np.linspace(-8.0, 8.0, 801)
    x, y = np.meshgrid(axis, axis)
    normal = np.exp(-(x**2 + y**2) / 2) / (2 * math.pi) * (axis[1] - axis[0]) ** 2
    one, other = (normal * (np.exp(s * x - 0.5) + np.exp(s * y - 0.5)) / 2 for s in (1.0, -1.0))
    loss = losses.random_allocation(1.0, 2, adjacency=REPLACE)
    for epsilon in (0.0, 1.0, 2.0):
        truth = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
        low, high = loss.delta_bounds(epsilon)
        assert 1e-4 < low <= truth + 1e-4 <= high + 2e-4


def test_replaced_records_in_every_step_are_exact() -> None:
    loss = losses.random_allocation(1.0, 4, 4, adjacency=REPLACE)
    assert loss.gdp() == pytest.approx(4.0, rel=1e-12)
    low, high = loss.epsilon_bounds(1e-6)
    assert low * (1 - 1e-9) <= losses.gdp(4.0, REPLACE).epsilon(1e-6) <= high * (1 + 1e-9) < low + 1e-6


def test_several_steps_of_replaced_records_are_answered_soon() -> None:
    """The chain of each part, as often as there are parts; a chain of the whole run took minutes."""
    start = time.process_time()
    loss = losses.random_allocation(2.0, 100, 4, adjacency=dp.REPLACE_ONE)
    low, high = loss.epsilon_bounds(1e-6)
    assert time.process_time() - start < 10
    # At least what four known steps of 100 in the sum tell, at most four known steps of twice the size.
    assert low >= losses.gdp(2 / 2.0 * 4 / 10 * (1 - 1e-9)).epsilon_bounds(1e-6).lower
    assert low < high < losses.gdp(2 / 2.0 * 2).epsilon(1e-6)
    assert high > losses.random_allocation(2.0, 100, 4).epsilon(1e-6)
    one = losses.random_allocation(2.0, 25, adjacency=dp.REPLACE_ONE) * 4
    assert high == pytest.approx(one.epsilon(1e-6), rel=1e-9)


def test_calibration_takes_a_few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarser ones than usual: their number is what counts."""
    monkeypatch.setattr(lognormal_sums, "FINENESS", 0.05)
    lognormal_sums.allocated.cache_clear()
    made: list[float] = []

    def family(sigma: float) -> losses.Loss:
        made.append(sigma)
        return losses.random_allocation(sigma, 200)

    promise = dp.ApproxDP(0.5, 1e-6)
    sigma = dp.calibrate(family, promise)
    assert promise.holds(losses.random_allocation(sigma, 200))
    assert not promise.holds(losses.random_allocation(sigma * 0.99, 200))
    assert len(made) <= 20
    lognormal_sums.allocated.cache_clear()
