from __future__ import annotations

import math
import random

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dalenius.calculus.theorems import (
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
)
from dalenius.errors import InvalidParameter


def ball_delta(mu: object, epsilon: object) -> arb:
    """The profile in ball arithmetic, at a precision no cancellation here can exhaust."""
    ctx.prec = 3000
    m, e = arb(mu), arb(epsilon)

    def phi(x: arb) -> arb:
        return (-x / arb(2).sqrt()).erfc() / 2

    return phi(m / 2 - e / m) - e.exp() * phi(-m / 2 - e / m)


GOLDEN = [  # epsilon, delta, sigma(1.32), sigma(1.25), sigma analytic, exact delta at sigma(1.32)
    (1.0, 1e-5, 4.85603896, 4.84480526, 3.73063163, 3.8704e-8),
    (0.5, 1e-5, 9.71207792, 9.68961053, 7.03182668, 1.5128e-8),
    (0.1, 1e-6, 53.0907568, 52.9880253, 36.3046904, 1.9296e-10),
    (0.9, 1e-5, 5.39559885, 5.38311696, 4.10662433, 3.3166e-8),
    (1.0, 0.1, 2.27165879, 2.24754472, 1.08587777, 2.8303e-3),
]


@pytest.mark.parametrize(("epsilon", "delta", "proved", "customary", "analytic", "exact"), GOLDEN)
def test_golden_sigmas(
    epsilon: float, delta: float, proved: float, customary: float, analytic: float, exact: float
) -> None:
    assert analytic_gaussian_sigma(epsilon, delta) == pytest.approx(analytic, rel=6e-9)
    assert gaussian_delta(1 / proved, epsilon) == pytest.approx(exact, rel=1e-4)
    if epsilon < 1:
        assert classical_gaussian_sigma(epsilon, delta) == pytest.approx(proved, rel=6e-9)
        assert classical_gaussian_sigma(epsilon, delta, constant=1.25) == pytest.approx(customary, rel=6e-9)


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [
        (1.0, 0.0, 0.3829249),
        (1.0, 1.0, 0.1269367),
        (1.0, 3.0, 0.0015371854),
        (0.5, 1.0, 0.0068295950),
        (2.0, 1.0, 0.5098616601),
    ],
)
def test_golden_deltas(mu: float, epsilon: float, delta: float) -> None:
    assert gaussian_delta(mu, epsilon) == pytest.approx(delta, abs=5.1e-8)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.5, 1.9930914), (1.0, 4.3771781), (2.0, 9.9972561)])
def test_golden_epsilons(mu: float, epsilon: float) -> None:
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(epsilon, abs=1e-7)


def test_profile_is_above_and_close_to_ball_arithmetic() -> None:
    rng = random.Random(20)
    seen = 0
    for trial in range(700):
        mu = 10 ** rng.uniform(-12, 2.3)
        epsilon = mu * (rng.uniform(-8, 37) + mu / 2) if trial % 3 else 10 ** rng.uniform(-12, 4)
        if epsilon < 0 or epsilon > 1e4:
            continue
        ours = gaussian_delta(mu, epsilon)
        if ours < 1e-300:
            continue
        excess = arb(ours) / ball_delta(mu, epsilon) - 1
        # Where delta is within 1e-900 of 1 the balls overlap, hence not a bare "> 0".
        assert excess > -1e-100, (mu, epsilon)
        assert excess < 2e-11, (mu, epsilon)
        seen += 1
    assert seen > 300


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e4, 1e-300), (1e4, 0.9), (0.0, 1e-300), (1e-9, 1e-12), (0.0, 0.5), (3.0, 1e-300)]
)
def test_calibration_is_safe_and_tight_at_extremes(epsilon: float, delta: float) -> None:
    sigma = analytic_gaussian_sigma(epsilon, delta)
    ratio = ball_delta(1 / arb(sigma), epsilon) / arb(delta)
    assert ratio <= 1
    assert ratio > 1 - 1e-10
    assert gaussian_delta(1 / sigma, epsilon) <= delta * (1 + 1e-10)


def test_sensitivity_scales_sigma() -> None:
    sigma = analytic_gaussian_sigma(1.0, 1e-5, 7.3)
    assert sigma == pytest.approx(7.3 * analytic_gaussian_sigma(1.0, 1e-5), rel=1e-14)
    assert ball_delta(arb(7.3) / arb(sigma), 1.0) <= arb(1e-5)


def test_underflow_never_reads_as_perfect_privacy() -> None:
    assert gaussian_delta(0.001, 10.0) > 0
    assert gaussian_delta(1e-310, 1.0) > 0
    assert gaussian_delta(0.0, 0.0) == 0


def test_constants_are_safe_below_one() -> None:
    worst = {1.32: 0.0, 1.25: 0.0}
    for constant in worst:
        for epsilon in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999):
            for delta in (1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
                sigma = classical_gaussian_sigma(epsilon, delta, constant=constant)
                worst[constant] = max(worst[constant], gaussian_delta(1 / sigma, epsilon) / delta)
    assert worst[1.32] < 0.257
    assert worst[1.25] < 0.319


def test_control_classical_formula_breaks_above_one() -> None:
    for epsilon, exact in [(10.0, 2.14e-5), (20.0, 1.45e-3)]:
        sigma = math.sqrt(2 * math.log(1.32 / 1e-5)) / epsilon
        assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(exact, rel=5e-3)
        assert gaussian_delta(1 / sigma, epsilon) > 1e-5
        assert analytic_gaussian_sigma(epsilon, 1e-5) > sigma
    assert gaussian_delta(5 / math.sqrt(2 * math.log(1.32 / 1e-5)), 5.0) == pytest.approx(1.27e-6, rel=5e-3)


def test_control_false_step_of_the_125_proof() -> None:
    c, epsilon = 100.0, 1.0
    assert c**2 - epsilon + epsilon**2 / (4 * c**2) < c**2 - 8 / 9


def test_control_printed_sign_of_the_analytic_gaussian_profile_understates_delta() -> None:
    mu, epsilon = 1.0, 1.0
    printed = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 + epsilon / mu
    )
    assert printed < 0 < gaussian_delta(mu, epsilon)


def test_control_difference_of_two_cdfs_loses_small_mu() -> None:
    mu, epsilon = 1e-9, 7e-9
    naive = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    truth = float(ball_delta(mu, epsilon).mid())
    assert abs(naive / truth - 1) > 1e-6
    assert gaussian_delta(mu, epsilon) == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("bad", [1.0, 1.5, 10.0])
def test_classical_refuses_large_epsilon_with_advice(bad: float) -> None:
    with pytest.raises(InvalidParameter, match="analytic_gaussian_sigma"):
        classical_gaussian_sigma(bad, 1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_delta(-1.0, 1.0),
        lambda: gaussian_delta(1.0, -1.0),
        lambda: gaussian_delta(math.nan, 1.0),
        lambda: gaussian_epsilon(1.0, 0.0),
        lambda: gaussian_epsilon(1.0, 1.0),
        lambda: analytic_gaussian_sigma(1.0, 0.0),
        lambda: analytic_gaussian_sigma(1.0, 1e-5, 0.0),
        lambda: classical_gaussian_sigma(0.5, 1e-5, constant=1.2),
        lambda: gaussian_delta("1", 1.0),  # type: ignore[arg-type]
    ],
)
def test_refusals(call: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        call()  # type: ignore[operator]


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 50), st.floats(0, 100), st.floats(1.001, 3), st.floats(0.01, 5))
def test_monotone_in_mu_and_epsilon(mu: float, epsilon: float, factor: float, more: float) -> None:
    base = gaussian_delta(mu, epsilon)
    assert gaussian_delta(mu * factor, epsilon) >= base * (1 - 1e-10)
    assert gaussian_delta(mu, epsilon + more) <= base * (1 + 1e-10) or base < 1e-300


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 20), st.floats(-300, -0.1))
def test_epsilon_inverts_delta(mu: float, exponent: float) -> None:
    delta = 10.0**exponent
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert gaussian_delta(mu, epsilon * (1 - 1e-9)) > delta
