from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dalenius.calculus.theorems import (
    f_epsilon_delta,
    gaussian_delta,
    gaussian_tradeoff,
    group_tradeoff,
    inverse,
    k2,
    k3,
    kbar3,
    kl,
    profile_from_tradeoff,
    pure_to_renyi,
    randomized_response_moments,
    renyi,
    symmetrize,
    total_variation,
    tradeoff_from_profile,
)
from dalenius.errors import InvalidParameter


def exact_gaussian_delta(mu: float, epsilon: float) -> mpf:
    with mp.workdps(40):
        m, e = mpf(mu), mpf(epsilon)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def finite_tradeoff(p: np.ndarray, q: np.ndarray):  # type: ignore[no-untyped-def]
    """T(P, Q) on a finite space: likelihood ratio order, straight lines between.

    Neyman and Pearson's lemma, as in Awan 2025, "Lecture notes on differential privacy", chapter 13.
    """
    order = np.argsort(-q / p)
    level = np.concatenate(([0.0], np.cumsum(p[order])))
    power = np.concatenate(([0.0], np.cumsum(q[order])))
    level[-1] = power[-1] = 1.0
    return lambda alpha: max(0.0, 1 - float(np.interp(alpha, level, power)))


def test_golden_tradeoffs() -> None:
    assert gaussian_tradeoff(1.0)(0.05) == pytest.approx(0.7404889772, abs=1e-10)
    assert gaussian_tradeoff(0.5)(0.05) == pytest.approx(0.8738651018, abs=1e-10)
    fixed = 0.5 * math.erfc(0.5 / math.sqrt(2))
    assert gaussian_tradeoff(1.0)(fixed) == pytest.approx(0.3085375, abs=1e-7)
    for epsilon, delta, alpha, power in [
        (1.0, 0.0, 0.05, 0.1359140914),
        (1.0, 1e-5, 0.05, 0.1359240914),
        (0.5, 0.01, 0.05, 0.0924360635),
        (1.0, 0.0, 0.3, 0.7424843912),
        (1.0, 0.0, 1 / (1 + math.e), 0.7310586),
    ]:
        assert 1 - f_epsilon_delta(epsilon, delta)(alpha) == pytest.approx(power, abs=1e-7)


def test_tradeoffs_are_below_high_precision_values() -> None:
    with mp.workdps(40):
        for mu in (0.01, 1.0, 7.0):
            f = gaussian_tradeoff(mu)
            for alpha in (1e-300, 1e-30, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
                low, high = mpf(-40), mpf(10)
                for _ in range(140):
                    z = (low + high) / 2
                    low, high = (z, high) if mp.ncdf(z) < mpf(alpha) else (low, z)
                truth = mp.ncdf(-z - mpf(mu))
                assert f(alpha) <= truth
                assert f(alpha) == pytest.approx(float(truth), rel=1e-11)
        for epsilon, delta in [(0.5, 0.0), (3.0, 1e-6), (50.0, 0.1), (800.0, 0.0)]:
            f = f_epsilon_delta(epsilon, delta)
            for alpha in (0.0, 1e-300, 1e-9, 0.05, 0.5, 0.99, 1.0):
                e, d, a = mpf(epsilon), mpf(delta), mpf(alpha)
                truth = max(mpf(0), 1 - d - mp.exp(e) * a, mp.exp(-e) * (1 - d - a))
                assert f(alpha) <= truth
                assert f(alpha) == pytest.approx(float(truth), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mu", [0.01, 0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0, 10.0])
def test_profile_of_gaussian_is_certified_and_close(mu: float, epsilon: float) -> None:
    ours, truth = profile_from_tradeoff(gaussian_tradeoff(mu), epsilon), exact_gaussian_delta(mu, epsilon)
    assert ours >= truth
    assert float(mpf(ours) - truth) < 3e-13


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 0.01), (3.0, 1e-6), (0.0, 0.1)])
def test_profile_of_epsilon_delta_returns_its_parameters(epsilon: float, delta: float) -> None:
    f = f_epsilon_delta(epsilon, delta)
    at_zero = (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)
    assert profile_from_tradeoff(f, epsilon) == pytest.approx(delta, abs=2e-13)
    assert profile_from_tradeoff(f, epsilon) >= delta
    assert profile_from_tradeoff(f, 0.0) == pytest.approx(at_zero, abs=2e-13)
    assert profile_from_tradeoff(f, 2 * epsilon + 1) >= delta


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(0, 3))
def test_profile_of_finite_pairs(seed: int, size: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(size, 0.7)) + 1e-9, rng.dirichlet(np.full(size, 0.7)) + 1e-9
    p, q = p / p.sum(), q / q.sum()
    exact = float(np.maximum(q - math.exp(epsilon) * p, 0).sum())
    ours = profile_from_tradeoff(finite_tradeoff(p, q), epsilon)
    assert ours >= exact - 1e-14
    assert ours == pytest.approx(exact, abs=1e-11)


def test_control_grid_conjugate_understates_delta() -> None:
    for mu, epsilon in [(1.0, 1.0), (1.0, 3.0), (0.5, 1.0)]:
        f = gaussian_tradeoff(mu)
        grid = max(1 - math.exp(epsilon) * a - f(float(a)) for a in np.linspace(0, 1, 101))
        assert grid < exact_gaussian_delta(mu, epsilon) < profile_from_tradeoff(f, epsilon)


def test_control_printed_conjugate_is_above_one() -> None:
    f = gaussian_tradeoff(1.0)
    printed = 1 + max(math.exp(-1.0) * a - f(float(a)) for a in np.linspace(0, 1, 1001))
    assert printed == pytest.approx(1.3679, abs=1e-4)


def test_control_corollary_14_1_literal_claims_perfect_privacy() -> None:
    # With F the cdf of PLRV(X|Y) = N(1/2, 1) (as printed) and G that of log(Q/P) under Q, also N(1/2, 1).
    from scipy import stats

    law = stats.norm(0.5, 1)
    for alpha in (0.05, 0.3):
        printed = law.cdf(law.ppf(1 - alpha))
        assert printed == pytest.approx(1 - alpha)
        assert printed > gaussian_tradeoff(1.0)(alpha)


def test_tradeoff_from_profile_is_below_and_close() -> None:
    for mu in (0.3, 1.0, 3.0):
        f = gaussian_tradeoff(mu)
        for alpha in (1e-9, 0.001, 0.05, 0.2, 0.5, 0.9, 0.999):
            back = tradeoff_from_profile(lambda e, m=mu: gaussian_delta(m, e), alpha)
            assert back <= f(alpha) * (1 + 1e-12) + 1e-12
            assert back == pytest.approx(f(alpha), abs=1e-9)
    assert tradeoff_from_profile(lambda e: gaussian_delta(1.0, e), 0.05) == pytest.approx(
        0.7404889772, abs=1e-9
    )


def test_tradeoff_from_a_single_guarantee() -> None:
    def profile(epsilon: float) -> float:
        return 0.01 if epsilon >= 1 else 1.0

    f = f_epsilon_delta(1.0, 0.01)
    for alpha in (0.0, 0.05, 0.3, 0.8):
        assert tradeoff_from_profile(profile, alpha) <= f(alpha) + 1e-12


def test_inverse_and_symmetry() -> None:
    for f in (gaussian_tradeoff(1.0), f_epsilon_delta(1.0, 0.02)):
        for alpha in (0.001, 0.05, 0.3, 0.7):
            assert inverse(f)(alpha) == pytest.approx(f(alpha), rel=1e-9, abs=1e-13)
    p, q = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    forward, backward = finite_tradeoff(p, q), finite_tradeoff(q, p)
    both = symmetrize(forward)
    for alpha in np.linspace(0.01, 0.99, 25):
        assert inverse(forward)(float(alpha)) == pytest.approx(backward(float(alpha)), abs=1e-12)
        assert both(float(alpha)) == pytest.approx(
            max(forward(float(alpha)), backward(float(alpha))), abs=1e-12
        )
    assert inverse(f_epsilon_delta(1.0, 0.1))(1.0) == 0.0


def test_golden_groups() -> None:
    twice = group_tradeoff(f_epsilon_delta(1.0), 2)
    assert twice(0.05) == pytest.approx(0.6305472, abs=1e-7)
    assert f_epsilon_delta(2.0)(0.05) == pytest.approx(0.6305472, abs=1e-7)
    assert twice(0.2) == pytest.approx(0.1678794, abs=1e-7)
    assert f_epsilon_delta(2.0)(0.2) == pytest.approx(0.1082682, abs=1e-7)
    assert group_tradeoff(gaussian_tradeoff(0.5), 2)(0.05) == pytest.approx(
        gaussian_tradeoff(1.0)(0.05), abs=1e-13
    )
    assert group_tradeoff(gaussian_tradeoff(0.2), 5)(0.3) == pytest.approx(
        gaussian_tradeoff(1.0)(0.3), abs=1e-13
    )
    assert total_variation(twice) == pytest.approx(0.6321206, abs=1e-7)
    assert total_variation(f_epsilon_delta(2.0)) == pytest.approx(0.7615942, abs=1e-7)


def test_golden_functionals() -> None:
    g = gaussian_tradeoff(1.0)
    assert total_variation(g) == pytest.approx(0.3829249, abs=1e-7)
    assert kl(g) == pytest.approx(0.5, abs=1e-8)
    assert k2(g) == pytest.approx(1.25, abs=1e-7)
    assert kbar3(g) == pytest.approx(2 * math.sqrt(2 / math.pi), abs=1e-6)
    assert renyi(g, 2.0) == pytest.approx(1.0, abs=1e-7)
    assert renyi(g, 3.0) == pytest.approx(1.5, abs=1e-6)
    assert total_variation(f_epsilon_delta(1.0)) == pytest.approx(0.4621172, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_functionals_of_randomized_response(epsilon: float) -> None:
    f, exact = f_epsilon_delta(epsilon), randomized_response_moments(epsilon)
    assert kl(f) == pytest.approx(exact.kl, rel=1e-8)
    assert k2(f) == pytest.approx(exact.k2, rel=1e-8)
    assert k3(f) == pytest.approx(exact.k3, rel=1e-8)
    assert kbar3(f) == pytest.approx(exact.kbar3, rel=1e-8)
    for order in (1.5, 2.0, 10.0):
        assert renyi(f, order) == pytest.approx(pure_to_renyi(epsilon, order), rel=1e-7)


def test_functionals_are_infinite_when_some_outcomes_are_impossible() -> None:
    f = f_epsilon_delta(1.0, 1e-6)
    assert [kl(f), k2(f), k3(f), kbar3(f), renyi(f, 2.0)] == [math.inf] * 5
    assert total_variation(f) < 1


def test_renyi_refuses_what_doubles_cannot_see() -> None:
    with pytest.raises(InvalidParameter, match="double precision"):
        renyi(gaussian_tradeoff(1.0), 12.0)


def test_control_printed_total_variation_halves_delta() -> None:
    delta = 0.1
    xs = np.linspace(0, 1, 200001)
    values = np.maximum(0.0, 1 - delta - xs)
    printed = 0.5 * float(np.sum(np.abs(np.diff(xs) + np.diff(values))))
    assert printed == pytest.approx(delta / 2, abs=1e-4)
    assert total_variation(f_epsilon_delta(0.0, delta)) >= delta > printed


def test_renyi_does_not_order_tests() -> None:
    # Awan 2025, Prop 13.7: randomized response has the smaller Renyi curve and the larger total variation.
    for order in (1.5, 2.0, 8.0):
        assert pure_to_renyi(1.0, order) < order / 2
    assert total_variation(f_epsilon_delta(1.0)) > total_variation(gaussian_tradeoff(1.0))
    for epsilon, larger in [(4.811, True), (4.812, False)]:
        assert (math.tanh(epsilon / 2) > math.erf(epsilon / 2 / math.sqrt(2))) is larger


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 4), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 1))
def test_monotone(mu: float, first: float, second: float, more: float) -> None:
    f = gaussian_tradeoff(mu)
    low, high = sorted((first, second))
    assert f(low) >= f(high) - 1e-13
    assert gaussian_tradeoff(mu + more)(low) <= f(low) + 1e-13
    assert 0 <= f(low) <= 1 - low + 1e-15


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a trade-off function"):
        profile_from_tradeoff(lambda a: 1.0, 1.0)
    with pytest.raises(InvalidParameter, match="not convex"):
        profile_from_tradeoff(lambda a: min(1 - a, 0.5), 0.5)
    with pytest.raises(InvalidParameter, match="must be"):
        gaussian_tradeoff(-1.0)
    with pytest.raises(InvalidParameter, match="must be"):
        gaussian_tradeoff(1.0)(1.5)
    with pytest.raises(InvalidParameter, match="delta is in"):
        tradeoff_from_profile(lambda e: math.nan, 0.1)
