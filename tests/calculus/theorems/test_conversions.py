from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dalenius.calculus.theorems import (
    bounded_range_to_zcdp,
    delta_at_order,
    delta_from_renyi,
    delta_from_tails,
    epsilon_at_order,
    epsilon_from_renyi,
    gaussian_delta,
    gaussian_epsilon,
    gdp_to_renyi,
    gdp_to_zcdp,
    optimal_homogeneous,
    probability_preservation,
    pure_to_renyi,
    pure_to_zcdp,
    zcdp_group,
    zcdp_to_delta,
    zcdp_to_epsilon,
)
from dalenius.errors import InvalidParameter

CASES = [
    (2.0, 0.1, 0.2),
    (2.0, 0.1, 0.0),
    (8.0, 0.1, 0.3),
    (1.1, 0.5, 0.1),
    (20.0, 0.5, 0.6),
    (5.0, 2.0, 1.0),
]
CASES += [(50.0, 0.1, 0.2), (3.0, 0.01, 0.5), (1.5, 3.0, 0.5)]


@pytest.mark.parametrize(
    ("mu", "simple", "improved", "exact"),
    [(1.0, 5.2985259, 4.7283870, 4.3771781), (0.5, 2.5242630, 2.1657155, 1.9930914)],
)
def test_golden_gaussian_curve(mu: float, simple: float, improved: float, exact: float) -> None:
    values = [
        epsilon_from_renyi(lambda a: gdp_to_renyi(mu, a), 1e-5, c) for c in ("simple", "improved", "optimal")
    ]  # type: ignore[arg-type]
    assert values[0] == pytest.approx(simple, abs=1e-7)
    assert values[1] == pytest.approx(improved, abs=1e-7)
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(exact, abs=1e-7)
    assert exact < values[2] <= values[1] < values[0]
    assert values[0] >= mu * mu / 2 + mu * math.sqrt(2 * math.log(1e5))


def test_golden_best_order() -> None:
    order = 5.7985259
    assert epsilon_at_order(order, order / 2, 1e-5, "simple") == pytest.approx(5.2985259, abs=1e-7)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "simple", "improved"),
    [
        (0.01, 1.0, 1000, 2.53835, 2.10775),
        (0.01, 2.0, 1000, 0.85939, 0.68619),
        (0.1, 1.0, 10, 4.17701, 3.55150),
    ],
)
def test_golden_sampled_gaussian_integer_orders(
    rate: float, sigma: float, steps: int, simple: float, improved: float
) -> None:
    def curve(order: float) -> float:
        a = round(order)
        logs = [
            math.log(math.comb(a, j))
            + (a - j) * math.log1p(-rate)
            + j * math.log(rate)
            + j * (j - 1) / (2 * sigma**2)
            for j in range(a + 1)
        ]
        return steps * float(np.logaddexp.reduce(logs)) / (a - 1)

    orders = list(range(2, 80))
    assert epsilon_from_renyi(curve, 1e-5, "simple", orders) == pytest.approx(simple, abs=6e-6)
    assert epsilon_from_renyi(curve, 1e-5, "improved", orders) == pytest.approx(improved, abs=6e-6)
    assert epsilon_from_renyi(curve, 1e-5, "optimal", orders) <= improved + 6e-6


def binary(order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        second = np.where(p < 1, order * np.log1p(-p) + (1 - order) * np.log1p(-q), -np.inf)
        return np.logaddexp(order * np.log(p) + (1 - order) * np.log(q), second) / (order - 1)


@pytest.mark.parametrize(("order", "divergence", "epsilon"), CASES)
def test_optimal_is_attained_and_never_exceeded_by_binary_pairs(
    order: float, divergence: float, epsilon: float
) -> None:
    # For each q the largest p within the divergence, by bisection: no knowledge of the stationary point.
    bound = delta_at_order(order, divergence, epsilon, "optimal")
    left, right, best = -30.0, -1e-9, 0.0
    for _ in range(3):
        q = np.exp(np.linspace(left, right, 20001))
        low, high = q.copy(), np.ones_like(q)
        for _ in range(60):
            middle = 0.5 * (low + high)
            inside = binary(order, middle, q) <= divergence
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        low = np.where(-np.log(q) <= divergence, 1.0, low)  # p = 1 itself, where bisection cannot arrive
        values = low - math.exp(epsilon) * q
        assert values.max() <= bound * (1 + 1e-12)
        best = max(best, float(values.max()))
        where = int(values.argmax())
        left, right = math.log(q[max(where - 3, 0)]), math.log(q[min(where + 3, 20000)])
    assert best == pytest.approx(bound, rel=1e-8)


def test_optimal_holds_for_richer_pairs() -> None:
    rng = np.random.default_rng(1)
    order, closest = 3.0, 0.0
    for size in (3, 5):
        p = rng.dirichlet(np.full(size, 0.5), 20000) + 1e-12
        q = rng.dirichlet(np.full(size, 0.5), 20000) + 1e-12
        p, q = p / p.sum(1, keepdims=True), q / q.sum(1, keepdims=True)
        divergence = np.log((p**order * q ** (1 - order)).sum(1)) / (order - 1)
        for epsilon in (0.0, 0.5):
            stick = np.maximum(p - math.exp(epsilon) * q, 0).sum(1)
            for index in np.argsort(divergence)[:: 20000 // 60]:
                bound = delta_at_order(order, max(0.0, float(divergence[index])) * (1 + 1e-12), epsilon)
                assert stick[index] <= bound + 1e-13
                closest = max(closest, float(stick[index]) / bound)
    assert closest > 0.8  # the check has teeth


def test_joint_range_is_convex_so_no_hull_is_needed() -> None:
    # delta -> least moment is convex and increasing, read off the conversion itself.
    for order, epsilon in [(2.0, 0.3), (7.0, 0.1), (1.2, 0.5)]:
        moments = np.expm1(np.linspace(0.01, 3.0, 40))
        deltas = np.array([delta_at_order(order, math.log1p(m) / (order - 1), epsilon) for m in moments])
        assert np.all(np.diff(deltas) > 0)
        slopes = np.diff(deltas) / np.diff(moments)
        assert np.all(np.diff(slopes) <= 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.floats(1.01, 300), st.floats(1e-6, 5), st.floats(-200, -0.2))
def test_conversions_are_ordered_and_inverse(order: float, divergence: float, exponent: float) -> None:
    delta = 10.0**exponent
    values = [epsilon_at_order(order, divergence, delta, c) for c in ("simple", "improved", "optimal")]  # type: ignore[arg-type]
    assert values[2] <= values[1] <= values[0] + 1e-12
    back = delta_at_order(order, divergence, values[2], "optimal")
    assert back <= delta * (1 + 1e-6 + 1e-11 * order)


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-4, 3), st.floats(-12, -0.5), st.floats(1.01, 2))
def test_monotone_in_curve_and_delta(rho: float, exponent: float, factor: float) -> None:
    delta = 10.0**exponent
    base = epsilon_from_renyi(lambda a: rho * a, delta, "improved")
    assert epsilon_from_renyi(lambda a: factor * rho * a, delta, "improved") >= base * (1 - 1e-9)
    assert epsilon_from_renyi(lambda a: rho * a, min(0.99, delta * factor), "improved") <= base * (1 + 1e-9)


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.1, 0.5, 5.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-10, 1e-5, 0.1])
def test_zcdp_conversions_cover_the_gaussian(rho: float, delta: float) -> None:
    simple, orders = zcdp_to_epsilon(rho, delta, "simple"), zcdp_to_epsilon(rho, delta)
    assert gaussian_epsilon(math.sqrt(2 * rho), delta) <= orders * (1 + 1e-12) <= simple * (1 + 1e-11)
    assert simple == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1 / delta)), rel=1e-13)
    epsilon = simple
    assert gaussian_delta(math.sqrt(2 * rho), epsilon) <= zcdp_to_delta(rho, epsilon)
    assert zcdp_to_delta(rho, epsilon) <= zcdp_to_delta(rho, epsilon, "simple")


def test_delta_from_renyi_matches_high_precision_at_a_fixed_order() -> None:
    with mp.workdps(50):
        for order, divergence, epsilon in [(30.0, 1.5, 20.0), (200.0, 0.3, 3.5), (2.0, 0.1, 600.0)]:
            a, r, e = mpf(order), mpf(divergence), mpf(epsilon)
            simple = mp.exp((a - 1) * (r - e))
            improved = simple * (1 - 1 / a) ** (a - 1) / a
            for kind, truth in (("simple", simple), ("improved", improved)):
                ours = delta_at_order(order, divergence, epsilon, kind)  # type: ignore[arg-type]
                assert truth <= ours <= truth * (1 + mpf(10) ** -10)


@pytest.mark.parametrize(
    ("epsilon", "order", "value"),
    [(1.0, 2.0, 0.7353257), (1.0, 10.0, 0.9651931), (0.5, 2.0, 0.2273363), (3.0, 5.0, 2.9878532)],
)
def test_golden_randomized_response_renyi(epsilon: float, order: float, value: float) -> None:
    assert pure_to_renyi(epsilon, order) == pytest.approx(value, abs=1e-7)


def test_randomized_response_renyi_against_high_precision() -> None:
    rng = random.Random(9)
    with mp.workdps(60):
        for _ in range(300):
            epsilon, order = 10 ** rng.uniform(-8, 2.5), 1 + 10 ** rng.uniform(-8, 4)
            e, a = mpf(epsilon), mpf(order)
            truth = mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)
            ours = pure_to_renyi(epsilon, order)
            assert truth * (1 - mpf(10) ** -40) <= ours <= truth * (1 + mpf(10) ** -13)


def test_tight_zcdp_is_the_supremum_over_a_dense_grid_of_orders() -> None:
    with mp.workdps(60):
        for epsilon in (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0):
            e = mpf(epsilon)
            limit = e * mp.tanh(e / 2)
            previous = limit
            for index in range(400):
                a = 1 + mpf(10) ** (-10 + index * mpf(14) / 400)
                ratio = mp.log(mp.cosh((a - mpf(1) / 2) * e) / mp.cosh(e / 2)) / (a * (a - 1))
                assert ratio <= previous * (1 + mpf(10) ** -40)
                previous = ratio
            assert limit <= pure_to_zcdp(epsilon) <= limit * (1 + mpf(10) ** -14)
            assert pure_to_zcdp(epsilon) <= pure_to_zcdp(epsilon, "simple")


def test_control_rho_below_tanh_is_not_enough() -> None:
    # One percent less and the order just above 1 already violates rho * a.
    epsilon = 1.0
    assert pure_to_renyi(epsilon, 1.001) > 0.99 * pure_to_zcdp(epsilon) * 1.001


def test_pure_renyi_is_below_both_simple_bounds() -> None:
    for epsilon in np.logspace(-3, 1.5, 25):
        for order in (1.0, 1.01, 1.5, 2.0, 5.0, 32.0, 1e4, math.inf):
            value = pure_to_renyi(float(epsilon), order)
            assert value <= epsilon
            if order < math.inf:
                assert value <= order * epsilon**2 / 2 * (1 + 1e-12)


def test_zcdp_of_composed_pure_covers_the_optimum() -> None:
    epsilon, k = 0.1, 100
    rho = k * pure_to_zcdp(epsilon)
    for total in (1.0, 3.0, 5.0):
        assert optimal_homogeneous(epsilon, k, total) <= zcdp_to_delta(rho, total)


def test_small_conversions() -> None:
    assert gdp_to_zcdp(1.0) == pytest.approx(0.5, rel=1e-15)
    assert gdp_to_renyi(0.5, 10.0) == pytest.approx(1.25, rel=1e-15)
    assert bounded_range_to_zcdp(2.0) == pytest.approx(0.5, rel=1e-15)
    assert zcdp_group(0.5, 3) == 4.5
    assert zcdp_group(0.1, 3) >= 0.9
    assert delta_from_tails([1e-6, 3e-6]) == 3e-6
    assert [f(0.0) for f in (gdp_to_zcdp, bounded_range_to_zcdp, pure_to_zcdp)] == [0.0, 0.0, 0.0]


def test_bounded_range_on_two_point_pairs() -> None:
    # Every pair on two points with loss range eta: D_a <= a eta^2/8, and nearly attained.
    eta, closest = 0.5, 0.0
    for low in np.linspace(-eta + 1e-6, -1e-6, 200):
        high = low + eta
        q = (1 - math.exp(low)) / (math.exp(high) - math.exp(low))
        p = q * math.exp(high)
        for order in (1.01, 2.0, 8.0, 50.0):
            moment = p * math.exp((order - 1) * high) + (1 - p) * math.exp((order - 1) * low)
            ratio = math.log(moment) / (order - 1) / order
            assert ratio <= bounded_range_to_zcdp(eta)
            closest = max(closest, ratio)
    assert closest > 0.95 * bounded_range_to_zcdp(eta)


def test_zcdp_group_on_gaussians() -> None:
    assert zcdp_group(gdp_to_zcdp(0.3), 4) >= gdp_to_zcdp(1.2) * (1 - 1e-15)


def test_golden_probability_preservation() -> None:
    rare, often = 1 / (1 + math.e), math.e / (1 + math.e)
    lower, upper = probability_preservation(rare, 2.0, pure_to_renyi(1.0, 2.0))
    assert lower == pytest.approx(0.0347, abs=5e-5)
    assert upper == pytest.approx(0.7490, abs=5e-5)
    assert lower <= often <= upper
    assert probability_preservation(rare, 5.0, pure_to_renyi(1.0, 5.0))[1] == pytest.approx(0.73108, abs=5e-6)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.floats(1.05, 50))
def test_probability_preservation_on_binary_pairs(p: float, q: float, order: float) -> None:
    forward = float(binary(order, np.array(p), np.array(q)))
    backward = float(binary(order, np.array(q), np.array(p)))
    divergence = max(forward, backward, 0.0) * (1 + 1e-9) + 1e-12
    lower, upper = probability_preservation(q, order, divergence)
    assert lower <= p <= upper


def test_tails_are_cruder_than_the_exact_delta() -> None:
    from scipy import stats

    mu, epsilon = 1.0, 3.0
    tail = float(stats.norm.sf((epsilon - mu * mu / 2) / mu))
    assert gaussian_delta(mu, epsilon) < delta_from_tails([tail, tail])


def test_control_remark_4_3_3_renyi_exponent() -> None:
    # E[e^(a w)] under P, as printed, is the moment of order a + 1.
    epsilon, order = 1.0, 2.0
    p = math.e / (1 + math.e)
    printed = math.log(p * math.exp(order * epsilon) + (1 - p) * math.exp(-order * epsilon)) / (order - 1)
    assert abs(printed - pure_to_renyi(epsilon, order)) > 0.5


def test_unusable_orders_are_skipped_and_nonsense_is_refused() -> None:
    def curve(order: float) -> float:
        return math.inf if order > 10 else order / 2

    assert epsilon_from_renyi(curve, 1e-5, "simple") == pytest.approx(5.2985259, abs=1e-6)
    with pytest.raises(InvalidParameter, match="must be 0 or more"):
        epsilon_from_renyi(lambda a: math.nan, 1e-5)
    with pytest.raises(InvalidParameter, match="must be 0 or more"):
        delta_from_renyi(lambda a: -1.0, 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: epsilon_at_order(1.0, 1.0, 1e-5),
        lambda: epsilon_at_order(2.0, -1.0, 1e-5),
        lambda: epsilon_at_order(2.0, 1.0, 0.0),
        lambda: epsilon_at_order(2.0, 1.0, 0.1, "best"),  # type: ignore[arg-type]
        lambda: zcdp_to_epsilon(0.5, 0.0),
        lambda: zcdp_to_epsilon(0.5, 0.1, "x"),  # type: ignore[arg-type]
        lambda: pure_to_renyi(1.0, 0.5),
        lambda: pure_to_zcdp(1.0, "x"),  # type: ignore[arg-type]
        lambda: zcdp_group(1.0, 0),
        lambda: probability_preservation(1.5, 2.0, 1.0),
    ],
)
def test_refusals(call: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        call()  # type: ignore[operator]


def test_one_direction_is_not_enough() -> None:
    with pytest.raises(InvalidParameter, match="each direction"):
        delta_from_tails([1e-6])


def least_moment(order: float, delta: mpf, epsilon: float) -> mpf:
    """The least E_Q[(dP/dQ)^a] over binary pairs with hockey-stick divergence delta, by ternary search."""
    a, gamma = mpf(order), mp.exp(mpf(epsilon))

    def log_moment(t: mpf) -> mpf:
        p = delta * (1 + mp.exp(t))
        q = (p - delta) / gamma
        return p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)

    low, high = mpf(-60), mp.log((1 - delta) / delta) - mpf(10) ** -30
    for _ in range(260):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if log_moment(first) < log_moment(second):
            high = second
        else:
            low = first
    return min(log_moment((low + high) / 2), mp.power((1 - delta) / gamma, 1 - a))


@pytest.mark.slow
def test_optimal_is_certified_in_high_precision() -> None:
    rng = random.Random(12)
    with mp.workdps(60):
        for _ in range(24):
            order = 1 + 10 ** rng.uniform(-2, 5)
            divergence, delta = 10 ** rng.uniform(-6, 1), 10 ** rng.uniform(-250, -0.3)
            epsilon = epsilon_at_order(order, divergence, delta)
            if epsilon == 0:
                continue
            budget = mp.exp((mpf(order) - 1) * mpf(divergence))
            assert least_moment(order, mpf(delta), epsilon) >= budget * (1 - mpf(10) ** -30)
            assert least_moment(order, mpf(delta), epsilon * (1 - 1e-6) - 1e-9) < budget
