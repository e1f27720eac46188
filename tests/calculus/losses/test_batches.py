"""Capped batches, draws with replacement, shuffled batches: every tiny data set, written out, against the brackets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius import losses
from dalenius.calculus.losses.shuffled_batches import largest_sum
from dalenius.calculus.losses.truncated_poisson import _at_least
from dalenius.calculus.losses.with_replacement import blocks, copies
from dalenius.errors import AdjacencyMismatch, InvalidParameter, TooLittleNoise
from tests.calculus.contract import Case, LossContract

REPLACE = dp.REPLACE_ONE
AXIS = np.linspace(-14.0, 14.0, 4001)
EPSILONS = (-0.4, 0.0, 0.2, 0.8, 2.0)


def profile(p: dict[float, float], q: dict[float, float], sigma: float) -> np.ndarray:
    """Hockey-stick divergences of two mixtures of Gaussians on the line, by the trapezoid rule: good to 1e-5."""

    def density(law: dict[float, float]) -> np.ndarray:
        return sum((w * stats.norm.pdf(AXIS, mean, sigma) for mean, w in law.items()), np.zeros_like(AXIS))

    one, other = density(p), density(q)
    return np.array([np.trapezoid(np.maximum(one - math.exp(e) * other, 0.0), AXIS) for e in EPSILONS])


def added(law: dict[float, float], mean: float, weight: float) -> None:
    law[mean] = law.get(mean, 0.0) + weight


def capped(values: tuple[float, ...], rate: float, most: int) -> dict[float, float]:
    """The mean of the noisy sum over a Poisson sample cut down to `most` records, with its probability."""
    law: dict[float, float] = {}
    for inside in itertools.product((False, True), repeat=len(values)):
        sample = [value for value, taken in zip(values, inside, strict=True) if taken]
        chance = math.prod(rate if taken else 1 - rate for taken in inside)
        batches = list(itertools.combinations(sample, min(most, len(sample))))
        for batch in batches:
            added(law, sum(batch), chance / len(batches))
    return law


@pytest.mark.parametrize(("rate", "most"), [(0.3, 1), (0.3, 2), (0.7, 2), (0.2, 3)])
def test_no_capped_batch_is_worse(rate: float, most: int) -> None:
    """Three others of every value; a record that goes, is emptied, or becomes another."""
    sigma = 1.1
    loss = losses.truncated_poisson(sigma, rate, 4, most)
    replaced = losses.truncated_poisson(sigma, rate, 4, most, adjacency=REPLACE)
    highest = np.array([[side.delta(e).upper for e in EPSILONS] for side in (loss.remove, loss.add)])
    swapped = np.array([replaced.delta(e) for e in EPSILONS])
    worst = np.zeros(len(EPSILONS))
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), 3):
        present = capped((*others, 1.0), rate, most)
        for absent in (capped(others, rate, most), capped((*others, 0.0), rate, most)):
            removed, put_in = profile(present, absent, sigma), profile(absent, present, sigma)
            assert (removed <= highest[0] + 1e-5).all()
            assert (put_in <= highest[1] + 1e-5).all()
            worst = np.maximum(worst, removed)
        assert (profile(present, capped((*others, -1.0), rate, most), sigma) <= swapped + 1e-5).all()
    lowest = np.array([loss.remove.delta(e).lower for e in EPSILONS])
    assert (lowest <= worst + 1e-5).all()


def test_a_cap_that_is_never_met_costs_nothing() -> None:
    free = losses.poisson_sampled(losses.gaussian(1.3), 0.1)
    assert losses.truncated_poisson(1.3, 0.1, 20, 20) == free
    assert losses.truncated_poisson(1.3, 0.0, 20, 3) == dp.Loss.zero()
    wide, narrow = (losses.truncated_poisson(1.3, 0.1, 200, most) * 50 for most in (60, 40))
    assert (free * 50).epsilon_bounds(1e-6).lower <= wide.epsilon(1e-6) < narrow.epsilon(1e-6)
    lower, upper = wide.epsilon_bounds(1e-6)
    assert upper - lower < 1e-6 * upper


def test_below_the_bound_that_adds_the_tail() -> None:
    """Chua et al. 2024: delta of Poisson sampling plus steps (1 + e^epsilon) times the probability of the tail."""
    n, most, steps, epsilon = 10_000, 160, 500, 1.5
    step = losses.truncated_poisson(1.0, 0.01, n, most)
    free = losses.poisson_sampled(losses.gaussian(1.0), 0.01)
    tail = stats.binom.sf(most, n, 0.01)
    printed = (free * steps).delta(epsilon) + steps * (1 + math.exp(epsilon)) * tail
    assert (free * steps).delta_bounds(epsilon).lower <= (step * steps).delta(epsilon) < printed


@pytest.mark.parametrize(("k", "n", "p"), [(1, 3, 0.5), (130, 9_999, 0.01), (160, 9_999, 0.01), (4, 3, 0.5)])
def test_tails(k: int, n: int, p: float) -> None:
    exact = stats.binom.sf(k - 1, n, p)
    assert exact * (1 - 1e-10) <= _at_least(k, n, p) <= exact * (1 + 1e-7) + 1e-299


def drawn(values: tuple[float, ...], m: int) -> dict[float, float]:
    law: dict[float, float] = {}
    for batch in itertools.product(values, repeat=m):
        added(law, round(sum(batch), 9), len(values) ** -m)
    return law


@pytest.mark.parametrize(("m", "n"), [(1, 3), (3, 3), (4, 2), (2, 5)])
def test_no_draws_with_replacement_are_worse(m: int, n: int) -> None:
    sigma = 1.6
    loss = losses.sampled_with_replacement(losses.gaussian(sigma, 2.0, REPLACE), m, n)
    highest = np.array([loss.delta(e) for e in EPSILONS])
    lowest = np.array([[side.delta(e).lower for e in EPSILONS] for side in (loss.remove, loss.add)])
    worst = np.zeros(len(EPSILONS))
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), n - 1):
        found = profile(drawn((*others, 1.0), m), drawn((*others, -1.0), m), sigma)
        assert (found <= highest + 1e-5).all()
        worst = np.maximum(worst, found)
    assert (lowest <= worst + 1e-5).all()
    alike = (-1.0,) * (n - 1)
    reached = profile(drawn((*alike, 1.0), m), drawn((*alike, -1.0), m), sigma)
    np.testing.assert_allclose(lowest[0], reached, atol=2e-5)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (30, 1000), (500, 300), (10**6, 10**7)])
def test_copies_are_binomial(m: int, n: int) -> None:
    found = copies(m, n)
    exact = stats.binom.pmf(list(found)[:-1], m, 1 / n)
    np.testing.assert_allclose(list(found.values())[:-1], exact, rtol=1e-9)
    total = sum(found.values())
    assert (
        stats.binom.sf(0, m, 1 / n) * (1 - 1e-12) <= total <= stats.binom.sf(0, m, 1 / n) * (1 + 1e-9) + 3e-18
    )


@pytest.mark.parametrize(("m", "n"), [(50, 10), (2100, 100), (10**5, 10), (10**8, 3)])
def test_blocks_of_copies_are_above_and_below_the_binomial(m: int, n: int) -> None:
    above, below = blocks(m, n)
    law = stats.binom(m, 1 / n)
    assert math.fsum(above.values()) == pytest.approx(1.0, abs=1e-15)
    for k in np.unique((m / n + math.sqrt(m / n) * np.linspace(-10, 10, 301)).astype(int).clip(0)):
        true = float(law.sf(k))
        assert sum(p for j, p in above.items() if j > k) >= true * (1 - 1e-9) - 1e-300
        assert sum(p for j, p in below.items() if j > k) <= true * (1 + 1e-9)


def test_with_replacement_has_no_largest_number_of_draws() -> None:
    """Next to a group of as many as there are on average, closer the more there are."""
    for m, n, within in ((2100, 100, 0.4), (10**6, 10, 0.01), (10**15, 2, 1e-4), (10**290, 7, 1e-4)):
        sigma = 50 * m / n
        low, high = losses.sampled_with_replacement(
            losses.gaussian(sigma, 1.0, REPLACE), m, n
        ).epsilon_bounds(1e-6)
        middle = losses.gdp(1 / 50).epsilon(1e-6)
        assert middle * (1 - within) <= low <= high <= middle * (1 + within)


def test_with_replacement_of_other_losses() -> None:
    pure = losses.sampled_with_replacement(losses.pure(0.5, REPLACE), 5, 100)
    without = losses.sampled_without_replacement(losses.pure(0.5, REPLACE), 5, 100)
    assert without.delta(0.15) < pure.delta(0.15) < losses.pure(0.5).delta(0.15)
    laplace = losses.sampled_with_replacement(losses.laplace(2.0, adjacency=REPLACE), 1, 50)
    same = losses.sampled_without_replacement(losses.laplace(2.0, adjacency=REPLACE), 1, 50)
    assert laplace.epsilon(1e-6) == pytest.approx(same.epsilon(1e-6), rel=1e-9)
    base = losses.gaussian(2.0, adjacency=REPLACE)
    assert losses.sampled_with_replacement(base, 3, 1) == losses.group(base, 3)
    assert losses.sampled_with_replacement(base, 0, 5) == dp.Loss.zero(REPLACE)


def test_largest_of_the_sums() -> None:
    """Two batches: the divergence of the largest sum, and of both, by quadrature in the plane."""
    sigma, axis = 0.9, np.linspace(-7.0, 9.0, 481)
    cell = (axis[1] - axis[0]) ** 2

    def both(shift: float) -> np.ndarray:
        one, none = stats.norm.pdf(axis, shift / sigma), stats.norm.pdf(axis)
        return (np.multiply.outer(one, none) + np.multiply.outer(none, one)) / 2

    for adjacency, p, q in ((dp.ADD_REMOVE, both(2.0), both(1.0)), (REPLACE, both(2.0), both(0.0))):
        loss = losses.shuffled_batches(sigma, 2, adjacency=adjacency)
        # Replaced records may be told in either order, so that the worse one counts for both.
        other = (q, p) if adjacency is dp.ADD_REMOVE else (p, q)
        for direction, (first, second) in (("remove", (p, q)), ("add", other)):
            for epsilon in (0.0, 0.5, 1.5):
                truth = np.maximum(first - math.exp(epsilon) * second, 0.0).sum() * cell
                bounds = getattr(loss, direction).delta(epsilon)
                assert bounds.lower <= truth + 1e-4
                assert truth <= bounds.upper + 1e-4
                assert bounds.lower >= 0.5 * truth


def test_an_event_of_the_largest_sum_is_told() -> None:
    """Chua et al. 2024, section 4: no event {max > c} tells more than the lower end."""
    sigma, batches, epsilon = 0.5, 100, 8.0
    loss = losses.shuffled_batches(sigma, batches, adjacency=dp.ADD_REMOVE)
    c = np.linspace(0.0, 4.0, 400)
    free = stats.norm.cdf(c / sigma) ** (batches - 1)
    event = (1 - stats.norm.cdf((c - 2) / sigma) * free) - math.exp(epsilon) * (
        1 - stats.norm.cdf((c - 1) / sigma) * free
    )
    assert loss.remove.delta(epsilon).lower >= event.max() * (1 - 1e-3)
    remove, add = largest_sum(4.0, 2.0, 100)
    assert remove.mass.sum() == pytest.approx(1.0, abs=1e-9)
    assert add.mass.sum() == pytest.approx(1.0, abs=1e-9)


def test_shuffling_costs_more_than_it_was_said_to() -> None:
    """At sigma .5 even the lower end of an epoch of 100 batches is far above Poisson sampling at rate 1/100."""
    epoch = losses.shuffled_batches(0.5, 100, adjacency=dp.ADD_REMOVE)
    poisson = losses.poisson_sampled(losses.gaussian(0.5), 0.01) * 100
    assert epoch.epsilon_bounds(1e-5).lower > 1.4 * poisson.epsilon(1e-5)
    assert epoch.epsilon(1e-5) == pytest.approx(losses.gaussian(0.5).epsilon(1e-5), rel=1e-8)
    assert losses.shuffled_batches(1.0, 1) == losses.gaussian(1.0, 2.0, REPLACE)
    known = losses.gaussian(1.0, 2.0, REPLACE).epsilon(1e-6)
    assert losses.shuffled_batches(1.0, 50).epsilon(1e-6) == pytest.approx(known, rel=1e-8)


class TestTruncatedPoisson(LossContract):
    """All others add nothing: the record is in with a probability a little below the rate."""

    cases = (
        Case(
            "30 at .2", lambda x: losses.truncated_poisson(1.2 * x, 0.2, 30, 12), mechanism=(1.2, 0.2, 30, 12)
        ),
    )
    attained_at = ()
    planted = ()
    exact_width = 0.5
    slow_sums = True
    repeats = (5,)
    proved = False
    examples = 2
    levels = 8

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        sigma, rate, n, most = case.mechanism
        others = rng.binomial(n - 1, rate, size)
        used = (rng.random(size) < rate) & (rng.random(size) * (others + 1) < most)
        return used * present + sigma * rng.standard_normal(size)

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        sigma, rate, n, most = case.mechanism
        k = np.arange(n)
        used = rate * float(stats.binom.pmf(k, n - 1, rate) @ np.minimum(1.0, most / (k + 1)))
        return np.log1p(used * np.expm1((outcomes - 0.5) / sigma**2))

    def cells(self, case: Case) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    def test_directions_against_a_fine_partition(self, case: Case) -> None:  # type: ignore[override]
        """Every tiny data set is in test_no_capped_batch_is_worse."""
        assert not case.loss().is_symmetric


def test_kept_as_text() -> None:
    base = losses.gaussian(2.0, adjacency=REPLACE)
    for loss in (
        losses.truncated_poisson(1.0, 0.01, 10_000, 130),
        losses.sampled_with_replacement(base, 10, 1000),
        losses.shuffled_batches(0.5, 100),
    ):
        assert dp.Loss.from_json(loss.to_json()) == loss


def test_refuses() -> None:
    with pytest.raises(AdjacencyMismatch):
        losses.sampled_with_replacement(losses.gaussian(1.0), 3, 10)
    with pytest.raises(InvalidParameter, match="one release"):
        losses.sampled_with_replacement(
            losses.gaussian(1.0, 1.0, REPLACE) + losses.laplace(1.0, 1.0, REPLACE), 3, 10
        )
    with pytest.raises(TooLittleNoise):
        losses.truncated_poisson(0.01, 0.1, 10, 5)
    for arguments in ((1.0, 0.1, 0, 5), (1.0, 0.1, 10, 0), (1.0, 1.5, 10, 5), (-1.0, 0.1, 10, 5)):
        with pytest.raises(InvalidParameter):
            losses.truncated_poisson(*arguments)
    for batches in (0, 1.5, 10**10):
        with pytest.raises(InvalidParameter, match="batches"):
            losses.shuffled_batches(1.0, batches)  # type: ignore[arg-type]


def test_replaced_records_in_a_sample_with_laplace_noise() -> None:
    """Two records at 1 and -1, rate 1/2: no loss is above 1, where the chain remove, add says 1.24."""
    loss = losses.poisson_sampled(losses.laplace(scale=1.0), 0.5, adjacency=REPLACE)
    axis = np.linspace(-30.0, 30.0, 60_001)
    one, none, other = (stats.laplace.pdf(axis, mean) for mean in (1.0, 0.0, -1.0))
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        gap = (none + one) / 2 - math.exp(epsilon) * (none + other) / 2
        truth = float(np.trapezoid(np.maximum(gap, 0.0), axis))
        low, high = loss.delta_bounds(epsilon)
        assert low - 1e-6 <= truth <= high + 1e-6
    low, high = loss.epsilon_bounds(1e-9)
    assert 1 - 1e-6 < low <= high <= 1 + 1e-12
