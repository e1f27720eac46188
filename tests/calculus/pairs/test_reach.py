"""What follows from a largest loss alone: no view may say less of a pair whose loss is bounded."""

from __future__ import annotations

import math

import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.theorems import pure_to_renyi, pure_to_zcdp

BOUNDED = {
    "sampled laplace": losses.poisson_sampled(losses.laplace(1.84), 0.0051),
    "sampled bounded range": losses.poisson_sampled(losses.bounded_range(2.0), 0.1),
    "subset of laplace": losses.cp(losses.laplace(1.84, adjacency=dp.REPLACE_ONE), 0.0051),
    "twice sampled": losses.poisson_sampled(losses.poisson_sampled(losses.laplace(0.5), 0.2), 0.1),
    "laplace": losses.laplace(2.0),
    "geometric": losses.geometric(2.0, 3),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_no_view_is_worse_than_pure(name: str) -> None:
    loss = BOUNDED[name]
    epsilon = loss.epsilon(0.0)
    pure = losses.pure(epsilon)
    assert loss.gdp() <= pure.gdp() * (1 + 1e-9)
    assert loss.zcdp() <= pure_to_zcdp(epsilon) * (1 + 1e-9)
    assert (loss * 3).zcdp() <= 3 * pure_to_zcdp(epsilon) * (1 + 1e-9)
    for order in (1.5, 2.0, 40.0):
        assert loss.renyi(order) <= pure_to_renyi(epsilon, order) * (1 + 1e-6)


@pytest.mark.parametrize("name", BOUNDED)
def test_the_bounds_are_bounds(name: str) -> None:
    loss = BOUNDED[name]
    gaussian = losses.gdp(loss.gdp())
    concentrated = losses.zcdp(loss.zcdp())
    for share in (0.0, 0.1, 0.5, 0.9):
        epsilon = share * loss.epsilon(0.0)
        low = loss.delta_bounds(epsilon).lower
        assert low <= gaussian.delta(epsilon) * (1 + 1e-9)
        assert low <= concentrated.delta(epsilon) * (1 + 1e-9)


def test_the_bounds_are_no_better_than_the_curve_allows() -> None:
    # Total variation decides: delta(0) of N(mu, 1) against N(0, 1) is erf(mu / sqrt 8).
    loss = BOUNDED["sampled laplace"]
    assert loss.delta_bounds(0.0).lower <= math.erf(loss.gdp() / math.sqrt(8))
