"""The losses of releases after tests and statements: what they add up to, and that they hold at their worst."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import dalenius as dp
from dalenius import losses
from dalenius.adaptive.ptr import after_statement, after_test, after_test_renyi
from dalenius.errors import AdjacencyMismatch, InvalidParameter

FACTORS = np.exp(np.linspace(0.0, 3.0, 61))


def hockey(p: np.ndarray, q: np.ndarray, factor: float) -> float:
    return float(np.maximum(p - factor * q, 0).sum())


def test_deltas_are_not_added_where_one_is_enough() -> None:
    test, budget = losses.approx(0.5, 1e-7), losses.approx(0.3, 1e-6)
    assert after_test(test, 5e-7, budget).delta(0.8) == pytest.approx(1.1e-6, rel=1e-5)
    assert after_test(test, 3e-6, budget).delta(0.8) == pytest.approx(3e-6, rel=1e-5)
    # Redberg 2023, Theorem 3.5.3, has the sum of all three; Theorem B.2.4 needs it.
    assert after_statement(test, 3e-6, budget).delta(0.8) == pytest.approx(4.1e-6, rel=1e-5)


def test_an_infallible_part_costs_nothing_more() -> None:
    test, budget = losses.geometric(1.0), losses.laplace(2.0)
    assert after_statement(test, 0.0, budget) == test + budget
    assert after_test(test, 0.0, budget) == test + budget


@pytest.mark.parametrize("wrong_pass", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_after_test_at_its_worst(wrong_pass: float, epsilon: float) -> None:
    """Every test that is pure epsilon, on a grid; a mechanism that tells all where the budget is not kept."""
    budget = 0.4
    loss = after_test(losses.pure(epsilon), wrong_pass, losses.pure(budget))
    claimed = np.array([loss.delta(math.log(f)) for f in FACTORS])
    high, low = 1 / (1 + math.exp(-budget)), 1 / (1 + math.exp(budget))
    worst = np.zeros(len(FACTORS))
    for p in np.concatenate((np.linspace(0.001, 0.999, 60), [wrong_pass])):
        lowest = max(p * math.exp(-epsilon), 1 - (1 - p) * math.exp(epsilon))
        highest = min(p * math.exp(epsilon), 1 - (1 - p) * math.exp(-epsilon))
        for q in np.linspace(lowest, highest, 21):
            if max(p, q) <= wrong_pass:
                one, two = np.array([1 - p, p, 0.0]), np.array([1 - q, 0.0, q])
            else:
                one, two = np.array([1 - p, p * high, p * low]), np.array([1 - q, q * low, q * high])
            worst = np.maximum(worst, [hockey(one, two, f) for f in FACTORS])
    assert (worst <= claimed * (1 + 1e-9)).all()
    assert worst[-1] >= 0.9 * min(wrong_pass, claimed[-1])


def test_a_budget_known_in_one_direction_only() -> None:
    """Of data that do not keep it a neighbour may, and passes twice as often: the test tells the truth now and then."""
    loss = after_test(losses.approx(0.0, 0.01), 0.01, dp.Loss.zero())
    one, two = np.array([0.99, 0.01, 0.0]), np.array([0.98, 0.0, 0.02])  # refused, or revealed
    for f in FACTORS:
        assert hockey(one, two, f) <= loss.delta(math.log(f)) * (1 + 1e-9)
    assert loss.delta(0.0) == pytest.approx(0.02, rel=1e-6)


def test_a_false_statement_costs_more_than_a_failure_on_its_own() -> None:
    """approx(0, w) beside statement and mechanism is too small: a control that must fail."""
    p, q, failure = np.array([0.6, 0.35, 0.05]), np.array([0.3, 0.2, 0.5]), 0.05
    # The third statement is false of the first data set, and the mechanism it chooses tells the two apart.
    one, two = np.append(p, 0.0), np.append(q[:2], [0.0, q[2]])
    statement = losses.from_pair(p.tolist(), q.tolist())
    loss = after_statement(statement, failure, dp.Loss.zero())
    printed = statement + losses.approx(0.0, failure)
    assert hockey(one, two, 1.0) == pytest.approx(0.5)
    for f in FACTORS:
        assert hockey(one, two, f) <= loss.delta(math.log(f)) * (1 + 1e-9)
    assert printed.delta(0.0) < 0.478 < hockey(one, two, 1.0)


def printed_renyi(test: float, wrong_pass: float, budget: float, worst: float, order: float) -> float:
    """Redberg 2023, Theorem B.2.5."""
    a = order - 1
    return test + math.log(wrong_pass * math.exp(a * worst) + (1 - wrong_pass) * math.exp(a * budget)) / a


def test_printed_renyi_theorem_is_false() -> None:
    """Pass probabilities 1e-3 and 1e-5, order 2, a mechanism with divergence 5 where the budget is not kept."""
    p, q, order, worst = 1e-3, 1e-5, 2.0, 5.0
    true = math.log((1 - p) ** 2 / (1 - q) + p**2 / q * math.exp(worst))
    divergence = math.log((1 - p) ** 2 / (1 - q) + p**2 / q)
    assert true == pytest.approx(2.762, abs=1e-3)
    assert printed_renyi(divergence, 1e-3, 0.0, worst, order) == pytest.approx(0.231, abs=1e-3)
    test = losses.from_pair([1 - p, p], [1 - q, q])
    ours = after_test_renyi(test, 1e-3, dp.Loss.zero(), losses.rdp(lambda order: 5.0)).renyi(order)
    assert true <= ours < 1.5 * true


@pytest.mark.parametrize("order", [1.5, 2.0, 5.0])
def test_renyi_theorem_for_a_pure_test(order: float) -> None:
    """Then the printed bound holds; ours is no larger, and holds for the exact mixture of two points."""
    epsilon, wrong_pass, budget, worst = 0.5, 1e-3, 0.1, 3.0
    loss = after_test_renyi(
        losses.pure(epsilon), wrong_pass, losses.rdp(lambda a: budget), losses.rdp(lambda a: worst)
    )
    ours, a = loss.renyi(order), order - 1
    assert ours <= printed_renyi(epsilon, wrong_pass, budget, worst, order) * (1 + 1e-12)
    for p in np.geomspace(1e-6, wrong_pass, 30):
        for q in p * np.exp(np.linspace(-epsilon, epsilon, 21)):
            mixture = (1 - p) ** order * (1 - q) ** -a + p**order * q**-a * math.exp(a * worst)
            assert math.log(mixture) / a <= ours * (1 + 1e-12)


def test_renyi_theorem_for_a_gaussian_test() -> None:
    """Pass probabilities that a test with Gaussian noise has, over the feasible pairs: the exact two-point mixture."""
    mu, wrong_pass, worst = 0.5, 1e-4, 2.0
    loss = after_test_renyi(losses.gdp(mu), wrong_pass, dp.Loss.zero(), losses.rdp(lambda a: worst))
    for order in (1.5, 2.0, 4.0):
        a, bound, most = order - 1, loss.renyi(order), 0.0
        for p in np.geomspace(1e-12, wrong_pass, 60):
            for q in ndtr(ndtri(p) + np.array([-mu, mu])):
                mixture = (1 - p) ** order * (1 - q) ** -a + p**order * q**-a * math.exp(a * worst)
                most = max(most, math.log(mixture) / a)
        assert most <= bound * (1 + 1e-12)


def test_refuses_what_promises_nothing() -> None:
    with pytest.raises(InvalidParameter, match="promises nothing"):
        after_test(losses.approx(0.0, 0.999999) * 40, 0.5, dp.Loss.zero())
    for wrong in (-0.1, 1.0, math.nan, "1"):
        with pytest.raises(InvalidParameter):
            after_test(losses.pure(1.0), wrong, dp.Loss.zero())  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            after_statement(losses.pure(1.0), wrong, dp.Loss.zero())  # type: ignore[arg-type]
    with pytest.raises(AdjacencyMismatch):
        after_test(losses.pure(1.0), 0.1, dp.Loss.zero(dp.REPLACE_ONE))


def test_losses_can_be_saved() -> None:
    for loss in (
        after_test(losses.geometric(2.0), 1e-6, losses.laplace(2.0)),
        after_statement(losses.gaussian(4.0), 1e-6, losses.pure(0.5)),
    ):
        assert dp.losses.Loss.from_json(loss.to_json()) == loss
