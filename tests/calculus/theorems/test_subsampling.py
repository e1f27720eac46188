from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dalenius.calculus.theorems import amplify_approx, amplify_pure, f_epsilon_delta, profile_from_tradeoff
from dalenius.errors import InvalidParameter


@pytest.mark.parametrize(
    ("epsilon", "rate", "value"),
    [(1.0, 0.1, 0.1585651), (1.0, 0.5, 0.6201145), (2.0, 0.01, 0.0619325), (0.5, 0.1, 0.0628547)],
)
def test_golden(epsilon: float, rate: float, value: float) -> None:
    assert amplify_pure(epsilon, rate) == pytest.approx(value, abs=1e-7)


def test_golden_remarks() -> None:
    assert amplify_pure(1.0, 0.1) < math.expm1(1.0) * 0.1 == pytest.approx(0.1718282, abs=1e-7)
    assert math.expm1(1.0) * 0.1 < 0.2
    assert amplify_pure(3.0, 0.1 * math.exp(-3.0)) == pytest.approx(0.0907738, abs=5e-8)
    assert amplify_pure(3.0, 0.1 * math.exp(-3.0)) <= 0.1


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "amplified", "failure"),
    [(1.0, 0.05, 0.3, 0.4157352, 0.015), (3.0, 0.01, 0.5, 2.3554402, 0.005), (1.0, 0.0, 0.1, 0.1585651, 0.0)],
)
def test_golden_approx(epsilon: float, delta: float, rate: float, amplified: float, failure: float) -> None:
    result = amplify_approx(epsilon, delta, rate)
    assert result.epsilon == pytest.approx(amplified, abs=1e-7)
    assert result.delta == pytest.approx(failure, rel=1e-14)
    assert result.delta >= rate * delta
    if delta == 0 and rate == 0.1:
        assert result.total_variation == pytest.approx(0.0462117, abs=1e-7)


def test_epsilon_against_high_precision() -> None:
    with mp.workdps(400):
        for epsilon in (1e-9, 0.1, 1.0, 25.0, 40.0, 300.0, 800.0):
            for rate in (1e-300, 1e-20, 1e-6, 0.1, 0.5, 0.999):
                truth = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
                ours = amplify_pure(epsilon, rate)
                assert truth <= ours, (epsilon, rate)
                assert ours <= truth * (1 + mpf(10) ** -11) + mpf(10) ** -320, (epsilon, rate)


def hull_of_subset_sampling(epsilon: float, delta: float, rate: float, levels: np.ndarray) -> np.ndarray:
    """C_p(f) from its definition: the lower convex hull of min{f_p, f_p^-1}, as its supporting lines."""
    grid = np.linspace(0, 1, 2001)
    grid = np.append(grid, (1 - delta) / (1 + math.exp(epsilon)))  # the kink of f
    f = np.maximum(
        0, np.maximum(1 - delta - math.exp(epsilon) * grid, math.exp(-epsilon) * (1 - delta - grid))
    )
    mixed = rate * f + (1 - rate) * (1 - grid)
    # The graph of the inverse is the graph mirrored; the hull of both graphs is the hull of the minimum.
    xs, ys = np.concatenate([grid, mixed]), np.concatenate([mixed, grid])
    steep = 1 - rate + rate * math.exp(epsilon)
    slopes = -np.concatenate([np.logspace(-2, 2, 400), [1.0, steep, 1 / steep]])
    intercepts = np.min(ys[None, :] - slopes[:, None] * xs[None, :], axis=1)
    return np.max(intercepts[:, None] + slopes[:, None] * levels[None, :], axis=0)


@pytest.mark.parametrize(("epsilon", "delta", "rate"), [(1.0, 0.05, 0.3), (3.0, 0.01, 0.5), (0.5, 0.0, 0.2)])
def test_tradeoff_is_the_convex_hull_and_beats_the_printed_line(
    epsilon: float, delta: float, rate: float
) -> None:
    result = amplify_approx(epsilon, delta, rate)
    levels = np.array([0.01, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9])
    exact = hull_of_subset_sampling(epsilon, delta, rate, levels)
    for level, value in zip(levels, exact, strict=True):
        assert result.tradeoff(float(level)) == pytest.approx(float(value), abs=1e-9)
    printed = rate * delta + rate * math.tanh(epsilon / 2)
    assert result.total_variation <= printed * (1 + 1e-14)
    if (epsilon, delta, rate) == (1.0, 0.05, 0.3):
        # The printed slope -1 line is valid but not exact.
        assert printed - result.total_variation == pytest.approx(0.0069, abs=5e-5)


def test_profile_matches_tradeoff() -> None:
    result = amplify_approx(1.0, 0.05, 0.3)
    for epsilon in (0.0, 0.1, 0.3, 0.4157, 0.5, 2.0):
        dual = profile_from_tradeoff(lambda a: min(1 - a, result.tradeoff(a)), epsilon)
        assert result.profile(epsilon) == pytest.approx(dual, abs=1e-12)
        assert dual <= profile_from_tradeoff(f_epsilon_delta(result.epsilon, result.delta), epsilon) + 1e-12


def test_profile_is_attained_by_randomized_response() -> None:
    # Poisson sampling of one record: remove pair ((1-q) P + q Q, P) with Q, P randomized response.
    epsilon, rate = 1.0, 0.1
    p, q = 1 / (1 + math.e), math.e / (1 + math.e)
    result = amplify_approx(epsilon, 0.0, rate)
    for level in (0.0, 0.05, 0.1, 0.15):
        mixed = (1 - rate) * p + rate * q
        exact = max(0.0, mixed - math.exp(level) * p)
        assert exact <= result.profile(level)
        assert result.profile(level) == pytest.approx(exact, abs=1e-14)
    assert math.log(mixed / p) == pytest.approx(result.epsilon, rel=1e-13)


def test_limits() -> None:
    assert amplify_pure(1.0, 0.0) == 0.0
    assert amplify_pure(1.0, 1.0) == 1.0
    whole = amplify_approx(1.0, 1e-5, 1.0)
    assert (whole.epsilon, whole.delta) == (1.0, 1e-5)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 60), st.floats(0, 1), st.floats(0.01, 1), st.floats(0, 0.5))
def test_monotone(epsilon: float, rate: float, more: float, delta: float) -> None:
    base = amplify_approx(epsilon, delta, rate)
    assert base.epsilon <= epsilon
    assert amplify_pure(epsilon + more, rate) >= base.epsilon * (1 - 1e-12)
    assert amplify_pure(epsilon, min(1.0, rate + more)) >= base.epsilon * (1 - 1e-12)
    assert base.delta <= base.total_variation <= 1
    assert base.profile(0.5 * base.epsilon) <= base.profile(0.0) + 1e-15


def test_refusals() -> None:
    for call in (
        lambda: amplify_pure(1.0, 1.1),
        lambda: amplify_pure(-1.0, 0.1),
        lambda: amplify_approx(1.0, 1.0, 0.1),
    ):
        with pytest.raises(InvalidParameter, match="must be"):
            call()
