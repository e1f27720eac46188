"""Gaussian noise after sampling without replacement: points at which one engine or another once failed."""

from __future__ import annotations

import pytest

import dalenius as dp

RECORDS = 10**9
POINTS = [
    (139, 3.6541, 6, 1.26e-15),  # a line so steep that its cells miss the peak
    (2_162, 12.6847, 2, 6.28e-27),
    (15_274, 1.42823, 207_247, 2.56e-22),  # a line that stays left of its saddle
    (33_316, 35.44, 22, 8.4e-16),  # all of the law below one cut
    (502, 1.911, 2, 1.39e-12),
    (14_009, 4.2778, 7, 1.9e-29),  # a line drawn for another delta still holds
    (996_988_845, 2.27629, 1, 5.3e-22),  # next to rate 1 the law is not cut
    (995_000_000, 2.2, 3, 1e-10),
]


@pytest.mark.parametrize(("chosen", "sigma", "times", "delta"), POINTS)
def test_brackets_are_narrow_and_hold_each_other(chosen: int, sigma: float, times: int, delta: float) -> None:
    base = dp.losses.gaussian(sigma=sigma, adjacency=dp.REPLACE_ONE)
    loss = dp.losses.sampled_without_replacement(base, chosen, RECORDS) * times
    found = loss.epsilon_bounds(delta)
    assert 0 < found.upper - found.lower <= 1e-6 * max(found.upper, 1e-3)
    # It dominates the remove direction of the Poisson sample.
    poisson = dp.losses.poisson_sampled(dp.losses.gaussian(sigma=sigma), chosen / RECORDS) * times
    grid = loss.remove.delta(found.upper, "grid")
    assert loss.remove.delta(found.upper).lower <= grid.upper
    assert poisson.remove.delta(found.upper).lower <= loss.remove.delta(found.upper).upper
