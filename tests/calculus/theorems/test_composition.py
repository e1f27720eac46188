from __future__ import annotations

import itertools
import math
import random

import pytest
from flint import arb, ctx, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.calculus.theorems import (
    advanced,
    advanced_heterogeneous,
    basic,
    f_epsilon_delta,
    group,
    group_tradeoff,
    inverse_advanced,
    optimal_heterogeneous,
    optimal_heterogeneous_epsilon,
    optimal_homogeneous,
    optimal_homogeneous_epsilon,
    parallel,
    profile_from_tradeoff,
    randomized_response,
)
from dalenius.errors import CannotMeet, InvalidParameter


def ball_homogeneous(epsilon: float, k: int, total: float) -> arb:
    """The binomial sum in ball arithmetic, term by term."""
    ctx.prec = 400
    e, g = arb(epsilon), arb(total)
    first = max(0, math.floor((total / epsilon + k) / 2) - 1)
    term = arb(fmpz.bin_uiui(k, first)) * (e * first).exp() / (1 + e.exp()) ** k
    result = arb(0)
    for j in range(first, k + 1):
        gap = e * (2 * j - k) - g
        if gap > 0:
            result += term * -(-gap).expm1()
        term = term * (k - j) / (j + 1) * e.exp()
    return result


def ball_subsets(epsilons: list[float], total: float) -> arb:
    """Murtagh and Vadhan's formula, subset by subset."""
    ctx.prec = 200
    result = arb(0)
    weight = arb(1)
    for epsilon in epsilons:
        weight *= 1 + arb(epsilon).exp()
    for chosen in itertools.product((False, True), repeat=len(epsilons)):
        inside = sum((arb(e) for e, c in zip(epsilons, chosen, strict=True) if c), arb(0))
        outside = sum((arb(e) for e, c in zip(epsilons, chosen, strict=True) if not c), arb(0))
        value = inside.exp() - (arb(total) + outside).exp()
        if value > 0:
            result += value
    return result / weight


@pytest.mark.parametrize(
    ("k", "epsilon", "slack", "simple", "bound", "optimum"),
    [
        (100, 0.1, 1e-6, 10, 6.3082310, 4.7745676),
        (1000, 0.01, 1e-5, 10, 1.6179288, 1.1977328),
        (10, 0.1, 1e-5, 1, 1.6225980, 0.9936912),
        (100, 0.01, 1e-6, 1, 0.5357023, None),
    ],
)
def test_golden_table(
    k: int, epsilon: float, slack: float, simple: float, bound: float, optimum: float | None
) -> None:
    assert basic([epsilon] * k)[0] == pytest.approx(simple, rel=1e-14)
    printed = epsilon * math.sqrt(2 * k * math.log(1 / slack)) + k * epsilon * math.expm1(epsilon)
    assert printed == pytest.approx(bound, abs=1e-7)
    ours, spent = advanced(epsilon, k, slack, kl="dwork-roth")
    if bound < simple:
        assert ours >= printed
        assert ours == pytest.approx(bound, abs=1e-7)
        assert spent == slack
    else:
        assert (ours, spent) == (basic([epsilon] * k)[0], 0.0)
    if optimum is not None:
        assert optimal_homogeneous_epsilon(epsilon, k, slack) == pytest.approx(optimum, abs=1e-7)


def test_mean_bounds_are_ordered_and_above_the_optimum() -> None:
    for epsilon, k in [(0.01, 5000), (0.1, 300), (0.5, 60), (1.0, 30)]:
        values = [advanced(epsilon, k, 1e-6, kl=kl)[0] for kl in ("tanh", "bun-steinke", "dwork-roth")]  # type: ignore[arg-type]
        assert values == sorted(values)
        assert optimal_homogeneous_epsilon(epsilon, k, 1e-6) <= values[0]


def test_a_mean_of_twice_epsilon_squared_is_looser_than_tanh() -> None:
    epsilon, k, slack = 0.1, 100, 1e-6
    printed = epsilon * math.sqrt(2 * k * math.log(1 / slack)) + 2 * k * epsilon**2
    assert advanced(epsilon, k, slack)[0] < printed


def test_homogeneous_golden() -> None:
    assert optimal_homogeneous(1.0, 2, 0.0) == pytest.approx(0.4621172, abs=1e-7)
    assert optimal_homogeneous(1.0, 2, 1.0) == pytest.approx(0.3378347, abs=1e-7)
    assert optimal_homogeneous(1.0, 2, 2.0) == 0.0


def test_homogeneous_against_balls() -> None:
    rng = random.Random(3)
    checked = 0
    for _ in range(250):
        k = int(10 ** rng.uniform(0, 3.3))
        epsilon = 10 ** rng.uniform(-4, 1.3)
        spread = math.sqrt(k) * epsilon / math.cosh(epsilon / 2)
        total = max(0.0, k * epsilon * math.tanh(epsilon / 2) + spread * rng.uniform(-3, 36))
        if total >= k * epsilon:
            continue
        truth = ball_homogeneous(epsilon, k, total)
        if truth < 1e-300:
            continue
        excess = arb(optimal_homogeneous(epsilon, k, total)) / truth - 1
        assert excess >= 0, (epsilon, k, total)
        assert excess < 1e-9, (epsilon, k, total)
        checked += 1
    assert checked > 30


def test_a_million_steps_down_to_1e_270() -> None:
    # Reference: the same sum in 60 digit arithmetic.
    from mpmath import mp, mpf

    with mp.workdps(50):
        k, epsilon, total = 10**6, mpf(1e-4), mpf(3.5)
        p = 1 / (1 + mp.exp(-epsilon))
        j = int(mp.floor((total / epsilon + k) / 2)) + 1
        logs = mp.loggamma(k + 1) - mp.loggamma(j + 1) - mp.loggamma(k - j + 1)
        term = mp.exp(logs + j * mp.log(p) + (k - j) * mp.log(1 - p))
        truth = mpf(0)
        for _ in range(6000):
            truth += term * -mp.expm1(total - epsilon * (2 * j - k))
            term = term * (k - j) / (j + 1) * p / (1 - p)
            j += 1
        excess = mpf(optimal_homogeneous(1e-4, k, 3.5)) / truth - 1
    assert 1e-275 < truth < 1e-265
    assert 0 <= excess < 1e-9


def test_many_steps_approach_the_gaussian_limit() -> None:
    from dalenius.calculus.theorems import gaussian_epsilon

    assert optimal_homogeneous_epsilon(1e-3, 10**6, 1e-6) == pytest.approx(
        gaussian_epsilon(1.0, 1e-6), rel=1e-3
    )


def test_failures_of_the_steps_enter_exactly() -> None:
    loss = optimal_homogeneous(0.3, 20, 2.0)
    expected = 1 - (1 - 1e-3) ** 20 * (1 - loss)
    assert optimal_homogeneous(0.3, 20, 2.0, 1e-3) == pytest.approx(expected, rel=1e-12)
    assert optimal_homogeneous(0.7, 1, 0.7, 1e-6) == 1e-6
    assert optimal_homogeneous(0.0, 5, 0.0, 0.1) == pytest.approx(1 - 0.9**5, rel=1e-14)


def test_unreachable_delta_is_refused() -> None:
    with pytest.raises(CannotMeet, match="no epsilon"):
        optimal_homogeneous_epsilon(0.1, 10, 1e-6, 1e-6)
    with pytest.raises(CannotMeet, match="no epsilon"):
        optimal_heterogeneous_epsilon([0.1, 0.2], 1e-6, [1e-6, 1e-6])


def test_delta_zero_is_the_basic_sum() -> None:
    assert optimal_homogeneous_epsilon(0.25, 8, 0.0) == 2.0
    assert optimal_heterogeneous_epsilon([0.25, 0.5], 0.0) == 0.75


def test_heterogeneous_against_every_subset() -> None:
    rng = random.Random(5)
    for _ in range(25):
        epsilons = [rng.choice([0.1, 0.5, rng.random(), 2 * rng.random()]) for _ in range(rng.randint(1, 8))]
        total = rng.random() * sum(epsilons)
        truth = ball_subsets(epsilons, total)
        excess = arb(optimal_heterogeneous(epsilons, total)) - truth
        assert excess >= 0
        assert excess <= truth * 1e-12 + arb(1e-300)


def test_heterogeneous_contains_homogeneous() -> None:
    for total in (0.0, 1.0, 3.0, 7.0):
        assert optimal_heterogeneous([0.1] * 100, total) == pytest.approx(
            optimal_homogeneous(0.1, 100, total), rel=1e-11
        )


def test_lattice_dominates_and_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(6)
    epsilons = [rng.random() for _ in range(15)]
    exact = randomized_response.heterogeneous(epsilons)
    assert exact is not None
    for points in (1 << 9, 1 << 13, 1 << 17):
        monkeypatch.setattr(randomized_response, "LATTICE_POINTS", points)
        rounded, excess = randomized_response.lattice(epsilons)
        for total in (0.0, 0.5, 2.0, 5.0, 0.95 * sum(epsilons)):
            ours, truth = rounded.delta(total), exact.delta(total)
            assert ours >= truth * (1 - 1e-12)
            assert ours <= exact.delta(max(0.0, total - excess)) * (1 + 1e-9) or total < excess
            if points == 1 << 17 and total < 6:
                assert ours == pytest.approx(truth, rel=1e-6)


def test_control_rounding_epsilons_down_understates() -> None:
    epsilons = [0.37, 0.61, 0.83, 0.29]
    assert optimal_heterogeneous([math.floor(10 * e) / 10 for e in epsilons], 1.0) < optimal_heterogeneous(
        epsilons, 1.0
    )


@pytest.mark.slow
def test_large_heterogeneous_uses_the_bound() -> None:
    rng = random.Random(7)
    epsilons = [0.2 * rng.random() for _ in range(60)]
    epsilon = optimal_heterogeneous_epsilon(epsilons, 1e-6)
    assert optimal_heterogeneous(epsilons, epsilon) <= 1e-6 * (1 + 1e-9)
    assert epsilon < advanced_heterogeneous(epsilons, 1e-6)[0]
    mean_square = math.sqrt(sum(e * e for e in epsilons) / 60)
    assert epsilon == pytest.approx(optimal_homogeneous_epsilon(mean_square, 60, 1e-6), rel=0.06)
    many = [0.01 * rng.random() for _ in range(6000)]
    assert optimal_heterogeneous_epsilon(many, 1e-6) < advanced_heterogeneous(many, 1e-6)[0]


def test_inverse_golden_and_recomposition() -> None:
    step = inverse_advanced(0.5, 100, 1e-6)
    assert step.epsilon == pytest.approx(0.0047559967, abs=1e-10)
    printed = step.epsilon * math.sqrt(200 * math.log(1e6)) + 100 * step.epsilon * math.expm1(step.epsilon)
    assert printed == pytest.approx(0.2522673, abs=1e-7)
    assert advanced(step.epsilon, 100, 1e-6, kl="dwork-roth")[0] == pytest.approx(0.2522673, abs=1e-7)
    assert step.total_epsilon <= 0.5


def test_control_printed_inverse_overspends() -> None:
    # The printed corollary promises delta' in total; it spends half as much again.
    assert inverse_advanced(0.5, 100, 1e-6).total_delta == pytest.approx(1.5e-6, rel=1e-12)
    # And it fails outright for delta' near 1.
    step = 0.999 / (2 * math.sqrt(2 * math.log(1 / 0.9)))
    recomposed = step * math.sqrt(2 * math.log(1 / 0.9)) + step * math.expm1(step)
    assert recomposed == pytest.approx(2.64, abs=0.01)
    with pytest.raises(CannotMeet, match="recompose"):
        inverse_advanced(0.999, 1, 0.9)


def test_group() -> None:
    assert group(0.5, 0.0, 4) == (2.0, 0.0)
    assert group(0.0, 1e-6, 5) == (0.0, 5e-6)
    epsilon, delta = group(0.5, 1e-6, 4)
    assert epsilon == 2.0
    assert delta == pytest.approx(1e-6 * math.expm1(2.0) / math.expm1(0.5), rel=1e-12)
    assert delta >= 1e-6 * math.expm1(2.0) / math.expm1(0.5)
    assert group(5.0, 1e-3, 1000)[1] == 1.0
    assert group(1.0, 1e-300, 600)[1] == pytest.approx(
        math.exp(599 - 300 * math.log(10)) / (1 - math.exp(-1)), rel=1e-9
    )


def test_group_covers_the_iterated_tradeoff() -> None:
    for epsilon, delta, size in [(0.3, 0.01, 2), (0.5, 1e-3, 3), (1.0, 0.02, 2)]:
        total, failure = group(epsilon, delta, size)
        exact = profile_from_tradeoff(group_tradeoff(f_epsilon_delta(epsilon, delta), size), total)
        assert exact <= failure + 1e-12


def test_parallel_is_the_maximum() -> None:
    assert parallel([0.1, 0.7, 0.3]) == 0.7
    assert parallel([]) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: basic([-1.0]),
        lambda: basic(1.0),  # type: ignore[arg-type]
        lambda: advanced(0.1, 0, 1e-6),
        lambda: advanced(0.1, 10, 0.0),
        lambda: advanced(0.1, 10, 1.0),
        lambda: advanced(0.1, 10, 1e-6, kl="pinsker"),  # type: ignore[arg-type]
        lambda: optimal_homogeneous(0.1, 2.5, 1.0),  # type: ignore[arg-type]
        lambda: optimal_homogeneous(0.1, 2, -1.0),
        lambda: group(0.1, 0.0, 0),
        lambda: parallel([math.inf]),
    ],
)
def test_refusals(call: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        call()  # type: ignore[operator]


def test_lengths_must_match() -> None:
    with pytest.raises(InvalidParameter, match="one delta for each epsilon"):
        basic([1.0, 2.0], [0.0])


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 2), st.integers(1, 60), st.floats(0, 20), st.floats(0.01, 0.5))
def test_monotone(epsilon: float, k: int, total: float, more: float) -> None:
    base = optimal_homogeneous(epsilon, k, total)
    assert optimal_homogeneous(epsilon, k, total + more) <= base * (1 + 1e-10)
    assert optimal_homogeneous(epsilon + more, k, total) >= base * (1 - 1e-10)
    assert optimal_homogeneous(epsilon, k + 1, total) >= base * (1 - 1e-10)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.01, 1.5), min_size=1, max_size=8), st.floats(-12, -0.5))
def test_epsilon_inverts_delta_and_orders(epsilons: list[float], exponent: float) -> None:
    delta = 10.0**exponent
    optimum = optimal_heterogeneous_epsilon(epsilons, delta)
    assert optimal_heterogeneous(epsilons, optimum) <= delta
    assert optimum <= advanced_heterogeneous(epsilons, delta)[0] <= basic(epsilons)[0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e3), max_size=20))
def test_basic_is_never_below_the_exact_sum(epsilons: list[float]) -> None:
    from fractions import Fraction

    total = Fraction(basic(epsilons)[0])
    exact = sum((Fraction(e) for e in epsilons), Fraction(0))
    assert exact <= total <= exact * (1 + Fraction(1, 2**51))
