"""The engines behind the views: against each other, against enumeration and quadrature, and far out."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import time
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import dalenius as dp
from dalenius import losses
from dalenius.calculus.engines.accountant import Sum
from dalenius.calculus.engines.contour import Contour
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Bounds
from tests.calculus.contract import overlap, quickly
from tests.sample import sampled

REPLACE = dp.REPLACE_ONE

# -- engines against each other --------------------------------------------------------------------

MATRIX: dict[str, Callable[[], dp.Loss]] = {
    "gaussian * 7 + laplace": lambda: losses.gaussian(3.0) * 7 + losses.laplace(2.0),
    "laplace, two scales": lambda: losses.laplace(2.0) * 3 + losses.laplace(5.0) * 4,
    "randomized response, two": lambda: losses.pure(0.3) * 10 + losses.randomized_response(0.7, 4) * 5,
    "one lattice": lambda: losses.geometric(4.0) * 6 + losses.pure(0.25) * 3,
    "two lattices": lambda: losses.geometric(3.0, 2) * 4 + losses.discrete_gaussian(2.5) * 4,
    "sampled gaussian * 200": lambda: losses.poisson_sampled(losses.gaussian(1.0), 0.05) * 200,
    "sampled gaussian + gaussian": lambda: (
        losses.poisson_sampled(losses.gaussian(0.8), 0.1) * 20 + losses.gaussian(4.0)
    ),
    "sampled pure * 100": lambda: losses.poisson_sampled(losses.pure(1.0), 0.1) * 100,
    "subset gaussian * 50": lambda: losses.cp(losses.gaussian(1.0, adjacency=REPLACE), 0.05) * 50,
    "objective perturbation * 4": lambda: losses.objective_perturbation(8.0, 10.0, 1.0, 1.0) * 4,
    "bounded range * 8": lambda: losses.bounded_range(0.5) * 8,
    "leaks": lambda: losses.approx(0.2, 1e-4) * 10 + losses.gaussian(2.0),
    "everything": lambda: (
        losses.gaussian(3.0)
        + losses.laplace(4.0) * 2
        + losses.randomized_response(0.3, 3) * 2
        + losses.poisson_sampled(losses.gaussian(1.0), 0.1) * 5
        + losses.objective_perturbation(8.0, 30.0, 1.0, 1.0)
    ),
}

DISCRETE: dict[str, Callable[[], dp.Loss]] = {
    "approx": lambda: losses.approx(0.1, 0.01),
    "approx * 5": lambda: losses.approx(0.1, 0.01) * 5,
    "revealing pair": lambda: losses.from_pair([0.9, 0.1, 0.0], [0.5, 0.4, 0.1]),
    "randomized response": lambda: losses.randomized_response(0.7, 4),
    "pure": lambda: losses.pure(0.3),
}
PARTLY: dict[str, Callable[[], dp.Loss]] = {
    "laplace": lambda: losses.laplace(2.0),
    "laplace * 50": lambda: losses.laplace(20.0) * 50,
    "sampled laplace": lambda: losses.poisson_sampled(losses.laplace(1.0), 0.2),
    "bounded range": lambda: losses.bounded_range(0.5),
}


@pytest.mark.parametrize(("one", "other"), sampled(itertools.product(DISCRETE, PARTLY)))
def test_engines_agree_on_atoms(one: str, other: str) -> None:
    """What is infinite is counted once: a line that leaves out the atoms leaves out only the finite ones."""
    loss = DISCRETE[one]() + PARTLY[other]()
    for epsilon in (0.3, 1.5):
        found, grid = loss.delta_bounds(epsilon), loss.delta_bounds(epsilon, "grid")
        assert overlap(found, grid), (epsilon, found, grid)


def test_a_leak_beside_laplace_is_counted_once() -> None:
    # Either the leak, or (1 - 0.01) times the mean of the Laplace profile at epsilon -+ 0.1.
    at = [-math.expm1((x - 0.5) / 2) for x in (0.2, 0.4)]
    share = 1 / (1 + math.exp(-0.1))
    expected = 0.01 + 0.99 * (share * at[0] + (1 - share) * at[1])
    low, high = (losses.approx(0.1, 0.01) + losses.laplace(2.0)).delta_bounds(0.3)
    assert low <= expected <= high < expected + 1e-8


@pytest.mark.parametrize("name", MATRIX)
def test_engines_agree(name: str) -> None:
    loss = MATRIX[name]()
    for epsilon in (0.5, 2.0):
        found = {engine: loss.delta_bounds(epsilon, engine) for engine in ("auto", "contour", "grid")}
        for a, b in itertools.combinations(found, 2):
            assert overlap(found[a], found[b]), (a, b, found)
        assert all(b.lower <= b.upper for b in found.values())


@pytest.mark.parametrize(
    "name", ["gaussian * 7 + laplace", "one lattice", "sampled gaussian * 200", "objective perturbation * 4"]
)
def test_proofs_agree(name: str) -> None:
    loss = MATRIX[name]()
    proof = loss.delta_bounds(1.0, "proof")
    assert overlap(proof, loss.delta_bounds(1.0))
    assert proof.upper - proof.lower <= 1e-6 * proof.upper


def test_proved_epsilon() -> None:
    loss = losses.pure(0.1) * 40
    proof, usual = loss.epsilon_bounds(1e-6, "proof"), loss.epsilon_bounds(1e-6)
    assert overlap(proof, usual)
    assert proof.upper - proof.lower < 1e-9


# -- enumeration -----------------------------------------------------------------------------------


def weights(low: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, 20), min_size=2, max_size=4)


def enumerated(p: np.ndarray, q: np.ndarray, n: int, epsilon: float) -> float:
    """The hockey stick of the n-fold product, outcome by outcome in 50 digits."""
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        scale = mpmath.exp(mpmath.mpf(epsilon))
        for outcome in itertools.product(range(len(p)), repeat=n):
            a = mpmath.fprod(mpmath.mpf(float(p[i])) for i in outcome)
            b = mpmath.fprod(mpmath.mpf(float(q[i])) for i in outcome)
            total += max(mpmath.mpf(0), a - scale * b)
        return float(total)


@quickly(12)
@given(
    weights(0).filter(any),
    st.data(),
    st.integers(1, 4),
    st.sampled_from((-0.7, 0.0, 0.25, 1.0, 2.5)),
)
def test_small_pairs_by_enumeration(first: list[int], data: st.DataObject, n: int, epsilon: float) -> None:
    second = data.draw(st.lists(st.integers(0, 20), min_size=len(first), max_size=len(first)).filter(any))
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    loss = losses.from_pair(p, q) * n
    for side, a, b in (("remove", p, q), ("add", q, p)):
        exact = enumerated(a, b, n, epsilon)
        bounds = getattr(loss, side).delta(epsilon)
        # p and q sum to 1 up to rounding, which the library is free to put where it is safe.
        assert bounds.lower <= exact + 1e-14
        assert exact <= bounds.upper + 1e-14
        assert bounds.upper - bounds.lower <= 1e-2


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4, 1.3])
def test_different_pairs_by_enumeration(epsilon: float) -> None:
    a, b = ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]), ([0.5, 0.5, 0.0], [0.3, 0.6, 0.1])
    loss = losses.from_pair(*a) * 2 + losses.from_pair(*b)
    with mpmath.workdps(50):
        exact = mpmath.mpf(0)
        for i, j, k in itertools.product(range(3), repeat=3):
            p = mpmath.mpf(a[0][i]) * a[0][j] * b[0][k]
            q = mpmath.mpf(a[1][i]) * a[1][j] * b[1][k]
            exact += max(0, p - mpmath.exp(epsilon) * q)
    bounds = loss.remove.delta(epsilon)
    assert bounds.lower <= float(exact) + 1e-14
    assert float(exact) <= bounds.upper + 1e-14


def test_subset_sampling_of_a_leak_by_enumeration() -> None:
    """C_p of the four-point pair is a five-point pair; its powers are finite sums.

    Its masses must add up to 1 under both laws: what is lost from one step is privacy claimed in the sum.
    """
    epsilon0, delta0, p = 1.0, 0.05, 0.4
    leak = p * delta0
    high = math.log1p(p * math.expm1(epsilon0))
    # Above 0: the truth and the leak, mixed with the output of the other; mirrored below 0.
    truth, lie = (1 - delta0) / (1 + math.exp(-epsilon0)), (1 - delta0) / (1 + math.exp(epsilon0))
    up = (1 - p) * lie + p * truth
    down = lie
    assert up / down == pytest.approx(math.exp(high))
    rest = 1 - leak - up - down
    with_one = np.array([leak, up, rest, down, 0.0])
    without = np.array([0.0, down, rest, up, leak])
    loss = losses.cp(losses.approx(epsilon0, delta0, adjacency=REPLACE), p)
    for n in (1, 2, 3, 4):
        for e in (-1.0, 0.0, 0.2, 0.6):
            exact = enumerated(with_one, without, n, e)
            assert (loss * n).delta(e) >= exact * (1 - 1e-9), (n, e)
            assert (loss * n).delta_bounds(e).lower <= exact * (1 + 1e-9)


def test_bounded_range_lower_bound_is_reachable() -> None:
    """The best adaptive pair of two eta-bounded-range releases, by dynamic programming over the first.

    Given the first outcome the second release is chosen to maximise its own share, so delta of the pair is
    max over the position t of the first of E[delta_1(epsilon - L)]. A lower bound may not exceed it.
    """
    eta = 1.0

    def one(e: np.ndarray) -> np.ndarray:
        inside = np.expm1((np.minimum(e, eta) - eta) / 2) ** 2 / -math.expm1(-eta)
        return np.where(e >= eta, 0.0, np.where(e <= -eta, -np.expm1(e), inside))

    t = np.linspace(1e-9, eta - 1e-9, 20_001)
    p = np.expm1(eta - t) / (np.exp(eta - t) - np.exp(-t))
    for epsilon in (0.0, 0.3, 1.0):
        best = float((p * one(epsilon - t) + (1 - p) * one(epsilon - t + eta)).max())
        bounds = (losses.bounded_range(eta) * 2).delta_bounds(epsilon)
        assert bounds.upper >= best
        assert bounds.lower <= best * (1 + 1e-6)


# -- quadrature ------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 2.0])
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.1), (0.5, 0.3), (3.0, 0.9)])
def test_sampled_gaussian_by_quadrature(sigma: float, rate: float, epsilon: float) -> None:
    loss = losses.poisson_sampled(losses.gaussian(sigma), rate)
    with mpmath.workdps(30):
        scale = mpmath.exp(epsilon)

        def normal(x: mpmath.mpf, mean: float) -> mpmath.mpf:
            return mpmath.npdf(x, mean, sigma)

        def mixture(x: mpmath.mpf) -> mpmath.mpf:
            return (1 - rate) * normal(x, 0) + rate * normal(x, 1)

        for direction, p, q in (
            ("remove", mixture, lambda x: normal(x, 0)),
            ("add", lambda x: normal(x, 0), mixture),
        ):
            # The likelihood ratio is monotone: one crossing at most.
            inside = (scale - 1 + rate) / rate if direction == "remove" else (1 / scale - 1 + rate) / rate
            crossing = sigma**2 * mpmath.log(inside) + mpmath.mpf(1) / 2 if inside > 0 else None
            if direction == "remove":
                low, high = (-40 * sigma if crossing is None else crossing), 1 + 40 * sigma
            elif crossing is None:
                low = high = 0
            else:
                low, high = -40 * sigma, crossing
            points = [low, *(x for x in (-sigma, 0, 1, 1 + sigma) if low < x < high), high]
            exact = mpmath.quad(lambda x: p(x) - scale * q(x), points) if low < high else mpmath.mpf(0)  # noqa: B023
            bounds = getattr(loss, direction).delta(epsilon)
            assert bounds.lower <= float(exact) * (1 + 1e-13) + 1e-18
            assert float(exact) * (1 - 1e-13) - 1e-18 <= bounds.upper


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.1])
def test_two_laplace_by_quadrature(epsilon: float) -> None:
    """delta of two releases = E over the first loss of delta of the second."""
    e1, e2 = 0.5, 0.8

    def one(e: float, shift: float) -> float:
        return 0.0 if e >= shift else -math.expm1(e) if e <= -shift else -math.expm1((e - shift) / 2)

    density, _ = integrate.quad(
        lambda x: math.exp((x - e1) / 2) / 4 * one(epsilon - x, e2),
        -e1,
        e1,
        points=[x for x in (epsilon - e2, epsilon + e2) if abs(x) < e1] or None,
        epsabs=1e-13,
    )
    exact = 0.5 * one(epsilon - e1, e2) + 0.5 * math.exp(-e1) * one(epsilon + e1, e2) + density
    bounds = (losses.laplace(1 / e1) + losses.laplace(1 / e2)).delta_bounds(epsilon)
    assert bounds.lower <= exact + 1e-12
    assert exact - 1e-12 <= bounds.upper


@pytest.mark.parametrize("epsilon", [0.1, 0.9])
def test_two_sampled_gaussians_by_quadrature(epsilon: float) -> None:
    loss = losses.poisson_sampled(losses.gaussian(1.0), 0.3)
    grid = stats.norm.ppf(np.linspace(0, 1, 40_001)[1:-1:2])  # midpoints of equal mass

    for direction in ("remove", "add"):
        side = getattr(loss, direction)
        if direction == "remove":
            x = np.concatenate((grid, grid + 1))
            weight = np.concatenate((np.full(len(grid), 0.7), np.full(len(grid), 0.3))) / len(grid)
            first = np.log1p(0.3 * np.expm1(x - 0.5))
        else:
            weight = np.full(len(grid), 1.0 / len(grid))
            first = -np.log1p(0.3 * np.expm1(grid - 0.5))
        # E delta(epsilon - L), the inner profile interpolated between exact points.
        knots = np.linspace(epsilon - first.max(), epsilon - first.min(), 3000)
        profile = np.array([side.delta(float(e)).upper for e in knots])
        exact = float(weight @ np.interp(epsilon - first, knots, profile))
        bounds = getattr(loss * 2, direction).delta(epsilon)
        assert bounds.lower <= exact + 2e-5
        assert exact - 2e-5 <= bounds.upper


def test_chi_loss_by_quadrature() -> None:
    """Objective perturbation in dimensions: the Renyi curve against quadrature in high precision."""
    for d in (1, 2, 3, 10):
        loss = losses.objective_perturbation(5.0, 20.0, 1.0, 1.0, dimension=d)
        for order in (1.5, 4.0, 40.0):
            u = (order - 1) / 5.0
            with mpmath.workdps(30):
                moment = mpmath.quad(
                    lambda r: r ** (d - 1) * mpmath.exp(u * r - r * r / 2),  # noqa: B023
                    [0, 1, 3, u + 5, u + 40],
                ) / (mpmath.mpf(2) ** (mpmath.mpf(d) / 2 - 1) * mpmath.gamma(mpmath.mpf(d) / 2))
                exact = (
                    -d * mpmath.log(1 - mpmath.mpf(1) / 20)
                    + mpmath.mpf(1) / 50
                    + mpmath.log(moment) / (order - 1)
                )
            assert loss.renyi(order) >= float(exact) * (1 - 1e-12), (d, order)
            assert loss.renyi(order) <= float(exact) * (1 + 1e-8), (d, order)


# -- far out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 0.1, 10.0, 1e3, 1e5])
def test_noise_scales(sigma: float) -> None:
    for loss in (
        losses.gaussian(sigma),
        losses.laplace(sigma),
        losses.geometric(sigma),
        losses.objective_perturbation(sigma, 20.0, 1.0, 1.0),
    ):
        bounds = loss.delta_bounds(0.0)
        assert 0 <= bounds.lower <= bounds.upper <= 1
        low, high = loss.epsilon_bounds(1e-6)
        assert 0 <= low <= high
        assert high < math.inf
        assert loss.delta(high) <= 1e-6 * (1 + 1e-12)


@pytest.mark.parametrize("sigma", [1e-2, 0.1, 1.0, 1e3, 1e5])
def test_sampling_never_tells_more(sigma: float) -> None:
    base = losses.gaussian(sigma)
    loss = losses.poisson_sampled(base, 0.3)
    low, high = loss.epsilon_bounds(1e-6)
    assert 0 <= low <= high
    assert high <= base.epsilon(1e-6) * (1 + 1e-9)
    assert loss.delta(1.0) <= base.delta(1.0) * (1 + 1e-9)


def test_sampling_with_next_to_no_noise() -> None:
    """sigma = 0.001 in a process of its own, with 4 GB and 20 seconds of a processor: it must not eat the machine."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "import dalenius as dp\n"
        "print(*dp.losses.poisson_sampled(dp.losses.gaussian(1e-3), 0.3).epsilon_bounds(1e-6))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-300:]
    low, high = map(float, done.stdout.split())
    assert 0 < low <= high <= losses.gaussian(1e-3).epsilon(1e-6)


def test_discrete_gaussian_scales() -> None:
    for sigma in (0.05, 0.3, 1e3, 1e4):
        loss = losses.discrete_gaussian(sigma)
        low, high = loss.epsilon_bounds(1e-6)
        assert 0 <= low <= high < math.inf
        if sigma >= 1e3:
            assert high == pytest.approx(losses.gaussian(sigma).epsilon(1e-6), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("rate", [1e-9, 1e-6, 1e-3, 0.5, 0.999])
def test_rates(rate: float) -> None:
    step = losses.poisson_sampled(losses.gaussian(1.0), rate)
    bounds = step.delta_bounds(0.1)
    assert bounds.lower <= bounds.upper
    if rate > 1e-5:
        many = step * 100
        low, high = many.epsilon_bounds(1e-8)
        assert 0 <= low <= high
        assert many.delta(high) <= 1e-8 * (1 + 1e-9)
        assert high <= (losses.gaussian(1.0) * 100).epsilon(1e-8) * (1 + 1e-9)
    for base in (losses.pure(1.0), losses.laplace(1.0), losses.approx(1.0, 1e-3)):
        sampled = losses.poisson_sampled(base, rate)
        assert sampled.epsilon(0.5) <= base.epsilon(0.5) + 1e-12
        assert sampled.delta_bounds(0.0).lower <= rate


@pytest.mark.parametrize("n", [1, 10**3, 10**6, 10**8])
def test_numbers_of_releases(n: int) -> None:
    for loss in (
        losses.pure(1e-4) * n,
        losses.laplace(1e4) * n,
        losses.gaussian(1e4) * n,
        losses.poisson_sampled(losses.gaussian(1.0), 1 / math.sqrt(n + 1)) * n,
    ):
        low, high = loss.epsilon_bounds(1e-6)
        assert 0 <= low <= high < math.inf
        assert loss.delta(high) <= 1e-6 * (1 + 1e-9)
        assert high - low <= 1e-3 * max(1.0, high)


def test_many_noisy_minimisers() -> None:
    """A hundred million releases: the loss is normal to 1e-3, its mean m and deviation s known.

    For a normal loss delta(m + z s) = Phi(-z) - exp(z s + s^2/2) Phi(-z - s).
    """
    n, mu = 10**8, 1e-4
    loss = losses.objective_perturbation(1 / mu, 1e6, 1.0, 1e-2) * n
    mean = n * (-math.log1p(-1e-8) + mu**2 / 2 + mu * math.sqrt(2 / math.pi))
    s = math.sqrt(n) * mu * math.sqrt(1 - 2 / math.pi)
    for z in (-2.0, 2.0, 4.5):
        limit = stats.norm.sf(z) - math.exp(z * s + s * s / 2) * stats.norm.sf(z + s)
        bounds = loss.delta_bounds(mean + z * s)
        assert bounds.lower <= limit * 1.01
        assert limit * 0.99 <= bounds.upper


def test_many_releases_tend_to_the_gaussian() -> None:
    low, high = (losses.pure(1e-4) * 10**8).epsilon_bounds(1e-6)
    assert low == pytest.approx(losses.gdp(1.0).epsilon(1e-6), rel=1e-3)
    assert high - low < 1e-6


@pytest.mark.parametrize("delta", [1e-12, 1e-30, 1e-100, 1e-300])
def test_tiny_deltas(delta: float) -> None:
    for loss in (
        losses.gaussian(1.0),
        losses.poisson_sampled(losses.gaussian(1.0), 0.01) * 10_000,
        losses.pure(0.1) * 400,
        losses.objective_perturbation(5.0, 20.0, 1.0, 1.0) * 10,
        losses.gaussian(2.0) + losses.laplace(1.0),
    ):
        low, high = loss.epsilon_bounds(delta)
        assert 0 < low <= high < math.inf
        assert high - low <= 1e-6 * high
        assert loss.delta(high) <= delta * (1 + 1e-9)
    # The one that has a closed form to compare with.
    exact = mpmath.findroot(
        lambda e: mpmath.log(_normal_delta(e)) - mpmath.log(delta), math.sqrt(-2 * math.log(delta))
    )
    assert losses.gaussian(1.0).epsilon(delta) == pytest.approx(float(exact), rel=1e-10)


def _normal_delta(epsilon: mpmath.mpf) -> mpmath.mpf:
    with mpmath.workdps(40):
        return mpmath.ncdf(mpmath.mpf("0.5") - epsilon) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf("0.5") - epsilon
        )


FAR: dict[str, Callable[[], dp.Loss]] = {
    "pure": lambda: losses.pure(1.0),
    "approx": lambda: losses.approx(1.0, 1e-3),
    "laplace": lambda: losses.laplace(1.0),
    "laplace * 3": lambda: losses.laplace(1.0) * 3,
    "gaussian": lambda: losses.gaussian(1.0),
    "geometric": lambda: losses.geometric(1.0),
    "discrete gaussian": lambda: losses.discrete_gaussian(1.0),
    "bounded range": lambda: losses.bounded_range(1.0),
    "zcdp": lambda: losses.zcdp(0.5),
    "rdp": lambda: losses.rdp(lambda order: 0.1 * order),
    "objective perturbation": lambda: losses.objective_perturbation(5.0, 20.0, 1.0, 1.0),
    "approximate minima": lambda: losses.approximate_minima(5.0, 20.0, 1.0, 1.0, 0.01, 0.15),
    "sampled gaussian": lambda: losses.poisson_sampled(losses.gaussian(1.0), 0.1),
    "sampled gaussian * 10": lambda: losses.poisson_sampled(losses.gaussian(1.0), 0.1) * 10,
    "subset gaussian": lambda: losses.cp(losses.gaussian(1.0, adjacency=REPLACE), 0.1),
    "from tradeoff": lambda: losses.from_tradeoff(dp.theorems.gaussian_tradeoff(1.0)),
    "from pair": lambda: losses.from_pair([0.9, 0.1], [0.5, 0.5]),
}


@pytest.mark.parametrize("name", FAR)
def test_large_epsilons(name: str) -> None:
    """What is left at epsilon 1000 and beyond is the infinite mass, to within the smallest floats."""
    loss = FAR[name]()
    floor = loss.delta_at_infinity()
    for epsilon in (600.0, 1e3, 1e4):
        bounds = loss.delta_bounds(epsilon)
        assert 0 <= bounds.lower <= bounds.upper
        assert bounds.upper <= floor * (1 + 1e-9) + 1e-20
        assert bounds.lower <= floor, "a lower bound above the truth, which is below every float"


def test_strongly_negative_epsilons() -> None:
    for name in ("pure", "laplace", "gaussian", "sampled gaussian", "subset gaussian", "from pair"):
        for epsilon in (-50.0, -1e3):
            bounds = FAR[name]().delta_bounds(epsilon)
            assert bounds.lower <= 1.0
            assert bounds.upper >= 1.0 - 1e-15


@pytest.mark.parametrize(("p", "q", "n"), [(7.23e-300, 0.16, 2), (5e-324, 2.6e-7, 5), (1e-200, 0.5, 3)])
def test_as_near_the_largest_loss_as_floats_tell(p: float, q: float, n: int) -> None:
    """A lower bound was the product of two numbers below 0 where roundings exceed what is left, and above the truth."""
    run = losses.from_pair([p, 1.0], [q, 1.0 - q]) * n
    rest = mpmath.mpf(1.0 - q)
    largest = float(-n * mpmath.log(rest))
    for epsilon in (
        largest * (1 - 1e-6),
        largest * (1 - 1e-12),
        largest,
        largest * (1 + 1e-12),
        largest + 1e-9,
    ):
        truth = max(0.0, 1 - mpmath.exp(epsilon) * rest**n)
        low, high = run.remove.delta(epsilon)
        assert low <= truth <= high <= truth + 1e-10
    low, high = run.remove.epsilon(1e-30)
    assert low <= largest <= high <= low + 1e-10


def test_probabilities_that_underflow_together() -> None:
    run = losses.from_pair([8e-197, 1.0], [5e-324, 1.0]) * 10
    assert run.total_variation() < 1e-10
    assert run.epsilon(1e-9) == 0.0


def test_large_losses() -> None:
    for loss in (losses.pure(1e3), losses.laplace(1e-3), losses.gaussian(0.02), losses.pure(30.0) * 40):
        low, high = loss.epsilon_bounds(1e-6)
        assert 0 < low <= high < math.inf
        assert loss.delta_bounds(0.0).upper <= 1.0
        assert loss.delta_bounds(0.0).lower >= 1 - 1e-6
        assert overlap(loss.delta_bounds(high), Bounds(0.0, 1e-6))


# -- the certified side ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [
        losses.gaussian(1.5),
        losses.laplace(2.0) * 4,
        losses.pure(0.3) * 20,
        losses.objective_perturbation(3.0, 20.0, 1.0, 1.0),
        losses.poisson_sampled(losses.gaussian(1.0), 0.02) * 500,
    ],
    ids=repr,
)
def test_epsilon_keeps_its_promise_to_the_last_bit(loss: dp.Loss) -> None:
    """epsilon(delta) is documented to have been checked: delta(epsilon) <= delta, not nearly so."""
    for delta in (math.exp(-12.0), math.exp(-10.71875), 1e-5, 1e-9, 0.01, 3e-7):
        assert loss.delta(loss.epsilon(delta)) <= delta


# -- cost ------------------------------------------------------------------------------------------


def nodes(loss: dp.Loss, epsilon: float) -> int:
    """How many points of the line the answer at this epsilon was summed over."""
    loss.delta_bounds(epsilon, "contour")
    assert loss.remove.upper is not None
    line = loss.remove.upper.lines.line
    assert isinstance(line, Contour)
    return len(line.nodes)


@pytest.mark.parametrize(
    "step",
    [losses.poisson_sampled(losses.gaussian(1.0), 0.01), losses.gaussian(300.0) + losses.laplace(300.0)],
    ids=["sampled gaussian", "gaussian and laplace"],
)
def test_cost_does_not_grow_with_the_number_of_releases(step: dp.Loss) -> None:
    """Counted in nodes of the rule, where delta is about the same: never in seconds."""
    counts = []
    for n in (10_000, 1_000_000, 10_000_000):
        loss = step * n
        counts.append(nodes(loss, loss.epsilon(1e-6)))
    assert counts[-1] <= 2 * counts[0] + 100
    assert max(counts) < 20_000


def test_equal_terms_are_counted_not_listed() -> None:
    step = losses.poisson_sampled(losses.gaussian(1.0), 0.01)
    loss = sum([step] * 50) + losses.laplace(1.0) * 3 + losses.gaussian(1.0) * 10**6 + losses.gaussian(2.0)
    assert len(loss.terms_remove) == 3
    assert isinstance(loss.remove.upper, Sum)


def test_a_delta_that_is_revealed_anyway_is_answered_at_once() -> None:
    """Beyond every epsilon there is something besides; the search for the last one went on to 1e18, on grids."""
    loss = losses.gdp(0.4) + losses.approx(0.0, 5e-8)
    lower, upper = loss.epsilon_bounds(5e-8)
    assert 0 < lower < upper == math.inf
    assert max(epsilon for epsilon, *_ in loss.remove._answers) < 100
    finite = losses.approx(1.0, 1e-6) + losses.laplace(2.0)
    assert finite.epsilon(1e-6) == pytest.approx(1.5)


def test_a_curve_is_no_lower_bound() -> None:
    """What is known by its divergences alone may be as harmless as nothing: the lower end of a sum is that of the rest.

    It was claimed of `rdp(order / 2) + gaussian(5)` that it needs an epsilon of 5.3387 at 1e-6 at least, and a Gaussian
    release with these divergences, 5 more added, needs 4.9970.
    """
    known = losses.gaussian(5.0)
    curves = [
        losses.rdp(lambda order: order / 2),
        losses.skellam_vector(100.0, 8.0, 15.0),
        losses.discrete_gaussian_sum(10.0, 20, 15.0, 3),
    ]
    for curve in curves:
        lower, upper = (curve + known).epsilon_bounds(1e-6)
        assert lower == pytest.approx(known.epsilon(1e-6), rel=1e-6)
        assert upper > curve.epsilon(1e-6)
        assert (curve * 3 + known).delta_bounds(0.5).lower <= known.delta(0.5)
    attained = losses.gaussian(1.0) + known
    assert (curves[0] + known).epsilon_bounds(1e-6).lower < attained.epsilon_bounds(1e-6).upper
    assert (losses.zcdp(0.5) + known).epsilon_bounds(1e-6).lower == pytest.approx(
        attained.epsilon(1e-6), rel=1e-6
    )


def test_hardly_any_noise_on_a_rare_sample_is_answered_at_once() -> None:
    """Divergences of every order were integrated at every epsilon; it took minutes."""
    loss = losses.banded_sampled(0.0038, 8, 1.08e-10, bands=2) * 2
    start = time.process_time()
    lower, upper = loss.epsilon_bounds(2.8e-15)
    assert time.process_time() - start < 20.0
    # One hit of mu = 294.2 sampled at this rate, and no hit of a smaller mu, need about so much.
    hit = 0.5 * 294.2**2 + math.log(1.08e-10) + 294.2 * 4.51
    assert lower < hit < upper < 2 * hit


def test_divergences_where_the_sample_is_all_there_is() -> None:
    """The closed form of large orders, beside quadrature."""
    s = np.array([0.5, 1.0, 2.0, 7.0])
    for mu, rate in ((8.0, 1e-3), (20.0, 1e-9), (12.0, 0.7)):
        pair = GaussianPair(mu).sampled(rate, False)
        x = np.linspace(-12.0, 12.0 + 9 * mu, 400_001)
        log_w = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2)
        for order, found in zip(s, pair.renyi_log_mgf(s), strict=True):
            exponent = (1 + order) * log_w - x * x / 2
            top = float(exponent.max())
            truth = top + math.log(
                float(np.exp(exponent - top).sum()) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
            )
            assert truth * (1 - 1e-11) <= found <= truth * (1 + 1e-9)


def test_interpolation_does_not_settle_where_nothing_crosses() -> None:
    """delta falls by a third between 11 640 and 11 715, and is flat from there on: 11 714.8 was the answer."""
    trial = losses.discrete_gaussian(0.21510259516971908, 3)
    best = losses.best_of_binomial(trial, 126, 0.0008990230679476946) * 736
    loss = best + losses.poisson_sampled(losses.gaussian(0.7379975337628673), 0.0013233136473073774) * 1411
    delta = 4.583591733618426e-05
    upper = loss.epsilon_bounds(delta).upper
    assert loss.delta(upper) == pytest.approx(delta, rel=1e-4)


def test_a_guess_far_above_costs_no_digits() -> None:
    """The tolerance was that of the guess, 1e10; and what is next to impossible kept lattices from what is likely."""
    base = losses.gdp(2.0, adjacency=dp.REPLACE_ONE)
    loss = losses.sampled_with_replacement(base, 1000, 1000)
    upper = loss.epsilon_bounds(1e-6).upper
    assert loss.delta(upper * (1 - 1e-9)) > 1e-6
    twice = (loss * 2).epsilon_bounds(1e-3)
    assert twice.upper < 1.1 * twice.lower
