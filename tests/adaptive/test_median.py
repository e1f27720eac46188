"""A median by the mechanism that is expected to err least."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import median, median_mechanism
from dalenius.errors import InvalidParameter
from tests.mechanisms.contract import bits

BUDGETS = (dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_keeps_the_budget_and_finds_the_median(budget: Any, adjacency: Any) -> None:
    values = np.random.default_rng(1).normal(3, 2, 3001)
    with bits("median", str(budget)):
        found = median(values, (-20, 20), budget, size=3000, spread=3.0, adjacency=adjacency)
    assert budget.holds(found.mechanism.loss)
    assert found.mechanism.loss.adjacency is adjacency
    assert abs(found.value - np.median(values)) < 0.2


def test_the_choice_is_made_once() -> None:
    asked = ((0, 100), dp.ApproxDP(1.0, 1e-6))
    first = median_mechanism(*asked, size=500)
    assert median_mechanism(*asked, size=500) is first
    assert median_mechanism([0, 100.0], asked[1], size=500) is first  # type: ignore[arg-type]


def test_the_choice_never_sees_the_data() -> None:
    """It is made by a function that is not given any."""
    assert "values" not in inspect.signature(median_mechanism).parameters
    chosen = median_mechanism((0, 100), dp.PureDP(0.5), size=500)
    for values in ([], [7.0], [0.0] * 400 + [100.0] * 400):
        with bits("choice"):
            assert median(values, (0, 100), dp.PureDP(0.5), size=500).mechanism == chosen


@pytest.mark.slow
def test_a_wrong_size_costs_accuracy_and_not_privacy() -> None:
    for size in (1, 10, 10**9):
        assert dp.PureDP(1.0).holds(median_mechanism((0, 1), dp.PureDP(1.0), size=size).loss)


def test_numbers_that_all_fall_on_one_point_can_be_planned_for() -> None:
    chosen = median_mechanism((0, 10), dp.ApproxDP(1.0, 1e-6), size=1000, spread=1e-3, granularity=1)
    assert dp.ApproxDP(1.0, 1e-6).holds(chosen.loss)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_choice_does_not_depend_on_units(epsilon: float) -> None:
    """Not even on those in which squares overflow, or are 0."""
    kinds = {type(median_mechanism((-u, u), dp.PureDP(epsilon), size=1000)) for u in (1.0, 1e300, 1e-300)}
    assert len(kinds) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"size": 0}, {"size": 1.5}, {"spread": 0}, {"spread": math.nan}, {"bounds": (1, 0)}, {"budget": 1.0}],
)
def test_refuses(wrong: dict[str, Any]) -> None:
    known: dict[str, Any] = {"bounds": (0, 1), "budget": dp.PureDP(1.0), "size": 100} | wrong
    with pytest.raises(InvalidParameter):
        median([0.5], **known)
