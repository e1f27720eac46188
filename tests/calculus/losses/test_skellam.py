"""Skellam noise and sums of discrete Gaussians: under the contract, against 40 digits, and against the theorems."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy.special import ive

import dalenius as dp
from dalenius import losses
from dalenius.calculus.pairs.skellam import log_weights, skellam_divergence
from dalenius.cli.loss_expressions import read_loss
from tests.calculus.contract import Case, LossContract


class TestSkellam(LossContract):
    cases = tuple(
        Case(f"variance {v} by {s}", lambda x, v=v, s=s: losses.skellam(v * x * x, s), law=(v, s))
        for v, s in ((4.0, 1), (30.0, 3))
    )
    proved = False
    examples = 2
    repeats = (2,)
    epsilons = (0.0, 0.3)
    levels = 12

    def draw(self, case: Case, rng: np.random.Generator, size: int, present: bool) -> np.ndarray:
        variance, shift = case.law
        return rng.poisson(variance / 2, size) - rng.poisson(variance / 2, size) + shift * present

    def log_ratio(self, case: Case, outcomes: np.ndarray) -> np.ndarray:
        variance, shift = case.law
        return np.log(ive(np.abs(outcomes - shift), variance)) - np.log(ive(np.abs(outcomes), variance))


def law(variance: float, reach: int) -> list[mpmath.mpf]:
    """P(-reach), ..., P(reach) to 40 digits."""
    with mpmath.workdps(40):
        half = [mpmath.exp(-variance) * mpmath.besseli(k, variance) for k in range(reach + 1)]
    return [*half[:0:-1], *half]


@pytest.mark.parametrize(("variance", "steps"), [(0.05, 1), (1.0, 1), (9.0, 2), (200.0, 5)])
def test_delta_to_many_digits(variance: float, steps: int) -> None:
    reach = int(40 + 12 * math.sqrt(variance))
    p = law(variance, reach)
    loss = losses.skellam(variance, steps)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        with mpmath.workdps(40):
            grown = mpmath.exp(mpmath.mpf(epsilon))
            truth = mpmath.fsum(
                max(a - grown * b, 0) for a, b in zip(p[: len(p) - steps], p[steps:], strict=True)
            )
            truth += mpmath.fsum(p[len(p) - steps :])  # Q is next to nothing there
        low, high = loss.delta_bounds(epsilon)
        assert low - 1e-25 <= float(truth) <= high + 1e-25
        assert high - low <= 1e-7 * high


@pytest.mark.parametrize("variance", [1e-3, 0.7, 40.0, 3000.0])
def test_weights_are_within_their_errors(variance: float) -> None:
    logs, bound, rest = log_weights(variance, 3)
    assert rest < 1e-300
    assert bound[-1] < 1e-8
    with mpmath.workdps(40):
        middle = mpmath.besseli(0, variance)
        for k in (1, 2, 7, len(logs) // 2, len(logs) - 1):
            truth = mpmath.log(mpmath.besseli(k, variance) / middle)
            assert abs(float(mpmath.mpf(float(logs[k])) - truth)) <= bound[k]


def test_weights_of_large_variances_agree_with_scipy() -> None:
    logs, bound, _ = log_weights(1e6, 1)
    k = np.arange(0, 5000, 97)
    assert np.abs(logs[k] - np.log(ive(k, 1e6) / ive(0, 1e6))).max() < 1e-10
    assert bound[5000] < 1e-8


def divergence(p: np.ndarray, steps: int, order: float) -> float:
    with np.errstate(divide="ignore"):
        a, b = np.log(p[:-steps]), np.log(p[steps:])
    return float(np.logaddexp.reduce(order * a - (order - 1) * b)) / (order - 1)


@pytest.mark.parametrize(("variance", "steps"), [(0.5, 1), (4.0, 1), (4.0, 4), (100.0, 7)])
def test_divergences_are_below_the_theorem_and_the_view(variance: float, steps: int) -> None:
    k = np.arange(-int(60 + 14 * math.sqrt(variance)), int(61 + 14 * math.sqrt(variance)))
    p = ive(np.abs(k), variance)
    loss = losses.skellam(variance, steps)
    for order in (1.2, 2.0, 2.5, 3.0, 6.0, 20.0):
        exact = divergence(p, steps, order)
        assert exact <= loss.renyi(order) * (1 + 1e-9)
        if order < 20:  # beyond, what was cut may weigh more than the theorem allows for
            assert loss.renyi(order) <= exact * (1 + 1e-6)
        if order == int(order):
            assert exact <= skellam_divergence(order, variance, steps, steps) * (1 + 1e-12)
        vector = losses.skellam_vector(variance, math.sqrt(2) * steps, 2 * steps) if steps > 1 else None
        if vector is not None:  # two coordinates, each moved by as much
            assert 2 * exact <= vector.renyi(order) * (1 + 1e-12)
    assert loss.zcdp() >= max(divergence(p, steps, a) / a for a in (1.01, 2.0, 5.0))


def test_a_sum_of_noise_is_the_noise_of_the_sum() -> None:
    """Ten people with a tenth of the variance each: the law convolved."""
    k = np.arange(-120, 121)
    part, whole = ive(np.abs(k), 2.0), ive(np.abs(k), 20.0)
    total = part
    for _ in range(9):
        total = np.convolve(total, part, "same")
    assert np.abs(total - whole).max() < 1e-12


@pytest.mark.parametrize("sigma", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("parties", [1, 2, 5])
def test_sums_of_discrete_gaussians(sigma: float, parties: int) -> None:
    k = np.arange(-60, 61)
    one = np.exp(-(k**2) / (2 * sigma**2))
    one /= one.sum()
    total = one
    for _ in range(parties - 1):
        total = np.convolve(total, one, "same")
    for steps in (1, 3):
        rho = losses.discrete_gaussian_sum(sigma, parties, float(steps)).zcdp()
        kept = total[total > 1e-280]
        for order in (1.5, 2.0, 4.0):
            assert divergence(kept, steps, order) <= rho * order * (1 + 1e-9)


def test_many_coordinates_cost_more_and_large_sigmas_next_to_nothing_more() -> None:
    costs = [losses.discrete_gaussian_sum(1.0, 10, 5.0, dimension=d).zcdp() for d in (1, 100, 10_000)]
    assert costs == sorted(costs)
    assert losses.discrete_gaussian_sum(3.0, 100, 5.0, dimension=10**6).zcdp() == pytest.approx(
        25 / (2 * 100 * 9), rel=1e-9
    )


def test_written_and_read() -> None:
    loss = losses.skellam(4.0, 3)
    assert losses.Loss.from_json(GOLDEN) == loss
    assert loss.to_json() == GOLDEN
    assert read_loss("skellam(4, sensitivity=3)") == loss
    assert read_loss("discrete_gaussian_sum(2, 100, 10)").zcdp() == pytest.approx(0.125)
    vector = losses.skellam_vector(100.0, 2.0, 3.0)
    assert pickle.loads(pickle.dumps(vector)) == vector == read_loss("skellam_vector(100, 2, 3)")
    again = losses.Loss.from_json(VECTOR)
    assert again == vector
    assert vector.to_json() == VECTOR
    assert again.epsilon(1e-6) == vector.epsilon(1e-6)


GOLDEN = (
    '{"format":"dalenius loss","loss":{"add":[{"pair":{"kind":"skellam","sensitivity":3,"variance":"4.0"},"times":1}],'
    '"adjacency":"add_remove","expression":"skellam(variance=4, sensitivity=3)","remove":[{"pair":{"kind":"skellam",'
    '"sensitivity":3,"variance":"4.0"},"times":1}]},"version":1}'
)
VECTOR = (
    '{"format":"dalenius loss","loss":{"add":[{"pair":{"kind":"skellam_vector","l1":"3.0","l2":"2.0",'
    '"variance":"100.0"},"times":1}],"adjacency":"add_remove","expression":"skellam_vector(variance=100, '
    'l2_sensitivity=2, l1_sensitivity=3)","remove":[{"pair":{"kind":"skellam_vector","l1":"3.0","l2":"2.0",'
    '"variance":"100.0"},"times":1}]},"version":1}'
)


def test_vectors_of_a_line_are_steepest_where_the_view_says() -> None:
    vector = losses.skellam_vector(25.0, 3.0, 5.0)
    orders = np.concatenate((np.geomspace(1e-6, 1.0, 50), np.geomspace(1.0, 1e5, 200))) + 1.0
    steepest = max(vector.renyi(float(a)) / a for a in orders)
    assert steepest <= vector.zcdp() <= steepest * 1.01
    a, b = vector.terms_remove[0][0].asymptote
    assert all(vector.renyi(float(x)) <= a * x + b for x in orders if x >= 2)


def test_refusals() -> None:
    for wrong in (
        lambda: losses.skellam(0.0),
        lambda: losses.skellam(1e7),
        lambda: losses.skellam(1.0, 0),
        lambda: losses.skellam(1.0, 1.5),  # type: ignore[arg-type]
        lambda: losses.skellam(1.0, 10**5),
        lambda: losses.skellam_vector(1.0, 2.0, 1.0),
        lambda: losses.skellam_vector(1.0, 2.0, 5.0),
        lambda: losses.discrete_gaussian_sum(0.4, 2, 1.0),
        lambda: losses.discrete_gaussian_sum(1.0, 0, 1.0),
    ):
        with pytest.raises(dp.errors.InvalidParameter):
            wrong()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.losses.skellam_vector(1e-300, 1.0, 1.0), "variance is 1e-300"),
        (lambda: dp.losses.skellam_vector(1e308, 1.0, 1.0), "variance is 1e"),
        (lambda: dp.losses.discrete_gaussian_sum(1e308, 3, 1.0), "sigma is 1e"),
        (lambda: dp.losses.discrete_gaussian_sum(2.0, 3, 1e308), "l2_sensitivity is 1e"),
        (lambda: dp.losses.discrete_gaussian_sum(0.5, 3, 4.0, 9, l1_sensitivity=0.1), "at least the l2 norm"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match=message):
        make()


def test_sum_of_discrete_gaussians_claims_nothing_from_below() -> None:
    """For sigma = 1/2 the bound is far from the truth: epsilon of the exact law of 100 parts is below 1 at 1e-6."""
    k = np.arange(-40, 41)
    one = np.exp(-2.0 * k**2) / np.exp(-2.0 * k**2).sum()
    law = one
    for _ in range(99):
        law = np.convolve(law, one)
    assert np.maximum(law[1:] - math.e * law[:-1], 0.0).sum() < 1e-6
    low, high = losses.discrete_gaussian_sum(0.5, 100, 1.0).epsilon_bounds(1e-6)
    assert low < 1.0 < high
