"""What is measured, planned without data; and how near the predicted errors are to real ones."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.queries import AdaptiveMarginals, Domain, Workload
from tests.noise.seeded import seeded

WIDE = Domain(dict.fromkeys("abcdefghijkl", 16))


def mechanism(guarantee: Any, **options: Any) -> AdaptiveMarginals:
    return AdaptiveMarginals(Workload.marginals(WIDE, 2), guarantee, **options)


def test_no_pair_is_measured_where_noise_would_bury_it_and_all_are_where_it_would_not() -> None:
    small, some, large = (mechanism(dp.GDP(mu)).plan(5000) for mu in (0.01, 0.2, 4.0))
    assert (small.rounds, small.single) == (0, 1.0)
    assert 0 < some.rounds < len(some.scopes)
    assert large.everything
    assert mechanism(dp.GDP(0.01)).plan(500_000).rounds > 0


@pytest.mark.parametrize("kind", [dp.PureDP, dp.ZCDP, dp.GDP])
def test_more_budget_never_predicts_a_much_larger_error(kind: Any) -> None:
    """Plans are chosen from few, so that a little more may be predicted where they change."""
    found = [mechanism(kind(size)).predicted_error(5000) for size in np.geomspace(1e-4, 100, 9)]
    assert all(0 < b < 1.2 * a for a, b in pairwise(found))
    assert found[-1] < 0.02 * found[0]


def test_the_error_grows_with_the_rows_of_a_person_and_where_rows_are_replaced() -> None:
    usual = mechanism(dp.ZCDP(0.1)).predicted_error(5000)
    assert usual < mechanism(dp.ZCDP(0.1), adjacency=dp.REPLACE_ONE).predicted_error(5000)
    assert usual < mechanism(dp.ZCDP(0.1), rows_per_unit=3).predicted_error(5000)


@pytest.mark.parametrize("guarantee", [dp.PureDP(2.0), dp.ZCDP(0.3), dp.GDP(0.7)])
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_sigma_is_about_that_of_the_noise(guarantee: Any, adjacency: Any) -> None:
    prices = mechanism(guarantee, adjacency=adjacency).prices
    noise: Any = prices.noise(prices.limit / 100)
    drawn = noise.sigma if hasattr(noise, "sigma") else math.sqrt(2) * noise.scale
    assert prices.sigma(0.01) == pytest.approx(drawn, rel=0.01)


@pytest.mark.parametrize("mu", [0.02, 0.2, 2.0])
def test_predicted_errors_are_near_real_ones(mu: float) -> None:
    """Of a table whose columns are a chain. Within a factor of 3, far from what noise can do."""
    draw = np.random.default_rng(0)
    domain = Domain(dict.fromkeys("abcdefg", 8))
    rows = np.minimum(draw.geometric(0.4, (3000, 7)) - 1, 7)
    for column in range(1, 7):
        rows[:, column] = np.where(draw.random(3000) < 0.2, rows[:, column - 1], rows[:, column])
    workload = Workload.marginals(domain, 2)
    made = AdaptiveMarginals(workload, dp.GDP(mu))
    with seeded(1):
        off = made.release(rows).answers() - workload.answers(rows)
    real = math.sqrt(float(np.mean(off**2)))
    assert real / 3 <= made.predicted_error(3000) <= 3 * real


def test_a_plan_is_shown_with_its_shares() -> None:
    plan = mechanism(dp.GDP(4.0)).plan(5000)
    assert repr(plan) == (
        f"<Plan of marginals: {len(plan.shape)} single columns and all {plan.rounds} marginals of several columns>"
    )
    some = replace(plan, rounds=1)
    assert f"1 of {len(plan.scopes)} marginals" in repr(some)
    parts = [float(part) for part in re.findall(r">([\d.]+)% of the budget<", plan._repr_html_())]
    assert len(parts) == 3
    assert sum(parts) == pytest.approx(100, abs=0.2)
    assert parts[1] == pytest.approx(100 * (1 - 1 / 256) * plan.single, abs=0.06)
