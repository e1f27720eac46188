"""k of t steps from below: against the outcomes themselves, drawn at random, and against what is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from dalenius import losses
from dalenius.calculus.pairs import several_of_many
from dalenius.calculus.pairs.several_of_many import told_by_sum


def log_ratios(mu: float, steps: int, chosen: int, size: int, present: bool, seed: int) -> np.ndarray:
    """Logarithms of the elementary symmetric polynomial of the ratios over its mean, at outcomes drawn at random."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((size, steps))
    if present:  # steps are alike: the first `chosen` do as well as any
        x[:, :chosen] += mu
    log_w = mu * x - mu * mu / 2
    sums = np.full((size, chosen + 1), -np.inf)
    sums[:, 0] = 0.0
    for step in range(steps):
        sums[:, 1:] = np.logaddexp(sums[:, 1:], sums[:, :-1] + log_w[:, step : step + 1])
    ways = gammaln(steps + 1) - gammaln(chosen + 1) - gammaln(steps - chosen + 1)
    return np.asarray(sums[:, chosen] - ways)


@pytest.mark.parametrize(
    ("mu", "steps", "chosen", "share"),
    [
        (1.0, 12, 3, 0.95),
        (0.4, 40, 5, 0.98),
        (2.0, 20, 2, 0.35),
        (0.15, 6, 4, 0.99),
        (5.0, 12, 3, 0.5),
        (3.0, 30, 5, 0.2),
    ],
)
def test_outcomes_drawn_at_random_lie_between(mu: float, steps: int, chosen: int, share: float) -> None:
    """Both ends hold, to six standard errors, and the lower one is most of what there is."""
    size = 200_000
    loss = losses.random_allocation(1 / mu, steps, chosen)
    for side, present in ((loss.remove, True), (loss.add, False)):
        found = log_ratios(mu, steps, chosen, size, present, seed=steps)
        found = found if present else -found
        for epsilon in (0.0, 0.3 * mu * chosen, mu * chosen):
            gain = np.maximum(-np.expm1(epsilon - found), 0.0)
            mean, error = float(gain.mean()), float(gain.std()) / math.sqrt(size)
            if mean <= 20 * error:
                continue
            lower, upper = side.delta(epsilon)
            assert share * (mean - 6 * error) < lower < mean + 6 * error
            assert upper > mean - 6 * error


def test_one_step_is_nearly_all_told() -> None:
    """Of one step the profile is known from both sides: the sum of scores is never above it, and next to it."""
    for mu, steps in ((1.0, 100), (0.3, 1000), (2.0, 50)):
        exact = losses.random_allocation(1 / mu, steps)
        for told, side in zip(told_by_sum(mu, steps, 1), (exact.remove, exact.add), strict=True):
            for epsilon in (0.0, 0.01, 0.1, 0.5):
                upper = side.delta(epsilon).upper
                low = told.delta(epsilon).lower
                assert low <= upper
                assert low > 0.8 * upper - 1e-9


def test_masses_are_those_of_a_sum() -> None:
    """Two steps by a plain convolution of the same cells, and masses that add up to no more than 1."""
    edges = np.array([-1.5, -0.25, 0.5, 2.0])
    place = np.arange(5)
    without, both = several_of_many._transforms(edges, 1.0, place, 16)
    cells = [several_of_many._cells(edges, shift) for shift in (0.0, 1.0)]
    mass, error = several_of_many._law(((both, 1), (without, 2)), 16)
    plain = np.convolve(np.convolve(cells[0], cells[0]), cells[1])
    assert error < 1e-14
    np.testing.assert_allclose(mass[: len(plain)], plain, rtol=0, atol=1e-15)
    assert float(np.abs(mass[len(plain) :]).max()) <= error


def test_a_thousand_steps_lie_within_a_hundredth() -> None:
    """From below the sum of all releases was all that was known: epsilon .243 to .363, 9.2 to 12.9 of thirty epochs."""
    two = losses.random_allocation(1.0, 1000, 2)
    for loss, delta, width in (
        (two, 1e-6, 0.01),
        (two * 30, 1e-6, 2e-3),
        (losses.random_allocation(1.0, 1000, 10) * 30, 1e-6, 0.01),
    ):
        lower, upper = loss.epsilon_bounds(delta)
        assert 0 < upper - lower < width * upper


def test_the_errors_are_counted() -> None:
    """In double precision, too, the masses are within their errors of those in extended precision."""
    for steps in (100, 1000, 100_000):
        mass = np.exp(-0.5 * np.linspace(-6, 6, 1024) ** 2)
        mass /= mass.sum()
        transforms = [
            np.fft.rfft(mass.astype(kind)).astype(np.clongdouble) for kind in (float, np.longdouble)
        ]
        laws = [several_of_many._law(((x, steps),), 1024) for x in transforms]
        # The transform of doubles is off by roundings that are those of doubles.
        scale = np.finfo(float).eps / np.finfo(np.longdouble).eps
        assert float(np.abs(laws[0][0] - laws[1][0]).max()) <= 2 * scale * laws[1][1]


def test_scores_of_all_sizes() -> None:
    """Masses are no more than 1 in all, and losses finite, wherever a table is made."""
    for mu in (1e-3, 0.05, 1.0, 6.0, 25.0):
        for steps, chosen in ((3, 2), (1000, 7), (10**6, 500)):
            for told in told_by_sum(mu, steps, chosen):
                assert 0.0 <= float(told.mass.sum()) <= 1.0
                total = logsumexp(np.log(told.mass) - told.loss) if len(told.loss) else -np.inf
                assert total <= 1e-4
