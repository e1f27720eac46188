"""Calibration: the promise is kept, and a tenth of a per cent less noise breaks it."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalenius as dp
from dalenius import losses
from dalenius.errors import CannotMeet, NotMonotone
from tests.calculus.contract import quickly

Family = Callable[[float], dp.Loss]

G1 = dp.theorems.gaussian_tradeoff(1.0)

NOISE: dict[str, tuple[Family, dp.Guarantee]] = {
    "laplace, pure": (losses.laplace, dp.PureDP(0.7)),
    "laplace * 20, approx": (lambda s: losses.laplace(s) * 20, dp.ApproxDP(1.0, 1e-5)),
    "geometric, pure": (losses.geometric, dp.PureDP(0.7)),
    "gaussian, approx": (losses.gaussian, dp.ApproxDP(1.0, 1e-6)),
    "gaussian * 100, approx": (lambda s: losses.gaussian(s) * 100, dp.ApproxDP(1.0, 1e-6)),
    "gaussian, zcdp": (losses.gaussian, dp.ZCDP(0.3)),
    "gaussian, rdp": (losses.gaussian, dp.RDP(16.0, 1.0)),
    "gaussian, gdp": (losses.gaussian, dp.GDP(0.8)),
    "gaussian, tradeoff": (losses.gaussian, dp.TradeOff(G1)),
    "discrete gaussian, approx": (lambda s: losses.discrete_gaussian(s, 2), dp.ApproxDP(0.5, 1e-6)),
    "sampled gaussian * 1000, approx": (
        lambda s: losses.poisson_sampled(losses.gaussian(s), 0.02) * 1000,
        dp.ApproxDP(2.0, 1e-6),
    ),
    "objective perturbation, approx": (
        lambda s: losses.objective_perturbation(s, 20.0, 1.0, 0.5),
        dp.ApproxDP(1.0, 1e-5),
    ),
    "objective perturbation, zcdp": (
        lambda s: losses.objective_perturbation(s, 200.0, 1.0, 0.5),
        dp.ZCDP(0.2),
    ),
    "mixed, approx": (
        lambda s: losses.gaussian(s) * 5 + losses.laplace(s) * 3 + losses.pure(0.1),
        dp.ApproxDP(1.5, 1e-5),
    ),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise(name: str) -> None:
    family, promise = NOISE[name]
    scale = dp.calibrate(family, promise)
    assert promise.holds(family(scale))
    assert not promise.holds(family(scale * 0.999))


COST: dict[str, tuple[Family, dp.Guarantee]] = {
    "epsilon of a hundred answers": (lambda e: losses.pure(e) * 100, dp.ApproxDP(1.0, 1e-6)),
    "rho": (losses.zcdp, dp.ApproxDP(1.0, 1e-6)),
    "mu": (losses.gdp, dp.ApproxDP(1.0, 1e-6)),
    "eta": (lambda e: losses.bounded_range(e) * 10, dp.ZCDP(0.5)),
    "randomized response": (lambda e: losses.randomized_response(e, 4), dp.PureDP(0.3)),
    "sensitivity": (lambda d: losses.gaussian(3.0, sensitivity=d), dp.GDP(0.5)),
    "rate": (lambda q: losses.poisson_sampled(losses.pure(2.0), q), dp.PureDP(0.1)),
}


@pytest.mark.parametrize("name", COST)
def test_cost_parameters_are_pushed_up(name: str) -> None:
    """The family grows with its parameter: the answer is the largest that is still allowed."""
    family, promise = COST[name]
    value = dp.calibrate(family, promise)
    assert promise.holds(family(value))
    assert not promise.holds(family(value * 1.001))


def test_ridge_goes_the_way_of_noise() -> None:
    promise = dp.ApproxDP(1.0, 1e-5)
    ridge = dp.calibrate(lambda x: losses.objective_perturbation(5.0, x, 1.0, 1.0), promise)
    assert promise.holds(losses.objective_perturbation(5.0, ridge, 1.0, 1.0))
    assert not promise.holds(losses.objective_perturbation(5.0, ridge * 0.999, 1.0, 1.0))


@pytest.mark.parametrize("start", [1e-6, 1e-2, 1.0, 1e3, 1e6])
def test_start_does_not_matter(start: float) -> None:
    scale = dp.calibrate(losses.laplace, dp.PureDP(0.5), start=start)
    assert scale == pytest.approx(2.0, rel=1e-8)
    assert scale >= 2.0


@quickly(8)
@given(st.floats(-2.0, 1.5), st.floats(-12.0, -1.0), st.floats(-2.0, 2.0))
def test_analytic_gaussian(log_epsilon: float, log_delta: float, log_sensitivity: float) -> None:
    epsilon, delta, sensitivity = 10.0**log_epsilon, 10.0**log_delta, 10.0**log_sensitivity
    closed = dp.theorems.analytic_gaussian_sigma(epsilon, delta, sensitivity)
    found = dp.calibrate(lambda s: losses.gaussian(s, sensitivity), dp.ApproxDP(epsilon, delta))
    assert found == pytest.approx(closed, rel=2e-8)
    assert losses.gaussian(found, sensitivity).delta(epsilon) <= delta * (1 + 1e-13)


def test_the_promise_is_kept_to_the_last_bit() -> None:
    """calibrate says the promise was verified on the value returned: delta(1) <= 1e-9, not nearly so."""
    sigma = dp.calibrate(losses.gaussian, dp.ApproxDP(1.0, 1e-9))
    assert losses.gaussian(sigma).delta(1.0) <= 1e-9


@pytest.mark.parametrize(
    ("family", "promise", "closed"),
    [
        (losses.gaussian, dp.GDP(0.8), 1 / 0.8),
        (losses.gaussian, dp.ZCDP(0.5), 1.0),
        (losses.gaussian, dp.RDP(16.0, 1.0), math.sqrt(8.0)),
        (losses.laplace, dp.PureDP(0.25), 4.0),
        (lambda s: losses.laplace(s, 3.0) * 2, dp.PureDP(1.0), 6.0),
        (losses.pure, dp.ApproxDP(1.0, 0.0), 1.0),
        (lambda q: losses.poisson_sampled(losses.pure(1.0), q), dp.PureDP(0.1585651), 0.1),
    ],
)
def test_closed_forms(family: Family, promise: dp.Guarantee, closed: float) -> None:
    assert dp.calibrate(family, promise) == pytest.approx(closed, rel=1e-6)


def test_analytic_beats_the_classical_constant() -> None:
    assert dp.calibrate(
        losses.gaussian, dp.ApproxDP(0.5, 1e-5)
    ) < 0.75 * dp.theorems.classical_gaussian_sigma(0.5, 1e-5)


def test_few_evaluations() -> None:
    """Calibration calls the family a few dozen times, not hundreds."""
    calls = []

    def family(sigma: float) -> dp.Loss:
        calls.append(sigma)
        return losses.gaussian(sigma) * 100

    dp.calibrate(family, dp.ApproxDP(1.0, 1e-6))
    assert len(calls) <= 60


def test_parameters_the_family_refuses_are_not_candidates() -> None:
    ridge = dp.calibrate(lambda x: losses.objective_perturbation(50.0, x, 1.0, 10.0), dp.ApproxDP(2.0, 1e-5))
    assert ridge > 10.0


@pytest.mark.parametrize(
    ("family", "promise"),
    [
        (losses.gaussian, dp.PureDP(1.0)),
        (lambda s: losses.laplace(s) + losses.approx(0.1, 1e-3), dp.ApproxDP(1.0, 1e-5)),
        (lambda s: losses.laplace(s) + losses.pure(2.0), dp.PureDP(1.0)),
        (lambda s: losses.gaussian(1.0), dp.ApproxDP(0.1, 1e-9)),
        (lambda s: losses.gaussian(1.0), dp.ApproxDP(9.0, 0.5)),
        (lambda s: dp.Loss.zero(), dp.ZCDP(1.0)),
    ],
)
def test_cannot_meet(family: Family, promise: dp.Guarantee) -> None:
    with pytest.raises(CannotMeet, match="parameter") as caught:
        dp.calibrate(family, promise)
    assert repr(promise) in str(caught.value)


@pytest.mark.parametrize(
    "family",
    [
        lambda x: losses.gaussian(1 + math.log(x) ** 2),
        lambda x: losses.laplace(max(x, 1 / x) / 2),
        lambda x: losses.gaussian(2.0 + math.sin(2 * math.log(x))),
    ],
)
def test_not_monotone(family: Family) -> None:
    with pytest.raises((NotMonotone, CannotMeet)) as caught:
        dp.calibrate(family, dp.ApproxDP(1.0, 1e-5))
    assert isinstance(caught.value, NotMonotone)
    assert "monotone" in str(caught.value)


def test_other_errors_of_the_family_come_through() -> None:
    def family(sigma: float) -> dp.Loss:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dp.calibrate(family, dp.GDP(1.0))


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_epsilon_of_what_was_calibrated_is_not_above_what_was_asked_for(epsilon: float, delta: float) -> None:
    families: tuple[Family, ...] = (
        losses.gaussian,
        lambda s: losses.gaussian(s) * 10,
        lambda s: losses.poisson_sampled(losses.gaussian(s), 0.01) * 1000,
    )
    for family in families:
        assert family(dp.calibrate(family, dp.ApproxDP(epsilon, delta))).epsilon(delta) <= epsilon
