"""Bounds against laws computed independently with mpmath, at the ends of the range of parameters.

An upper bound below the truth, or a lower bound above it, by any amount is a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import dalenius as dp
from dalenius.calculus.pairs import mixture
from dalenius.calculus.pairs.bounded_range import BoundedRangePair
from dalenius.calculus.pairs.curves import repeated
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.half_normal import ChiPair, HalfNormalPair
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.pair import Bounds, Pair
from dalenius.calculus.pairs.tabulate import symmetric_above, symmetric_below

losses = dp.losses
Real = mp.mpf
Law = list[tuple[Real, Real]]


def brackets(bounds: Bounds, truth: Real) -> None:
    assert bounds.lower <= truth, f"lower bound {bounds.lower!r} is above {mp.nstr(truth, 20)}"
    assert bounds.upper >= truth, f"upper bound {bounds.upper!r} is below {mp.nstr(truth, 20)}"


@pytest.fixture(autouse=True)
def _digits() -> object:
    with mp.workdps(50):
        yield


# -- laws, written out -----------------------------------------------------------------------------------


def law_of(p: list[Real], q: list[Real]) -> Law:
    return [(mp.log(a / b), a) for a, b in zip(p, q, strict=True)]


def times(law: Law, n: int) -> Law:
    """The law of n copies; equal multisets of outcomes are counted together."""
    total: dict[tuple[int, ...], tuple[Real, Real]] = {(0,) * len(law): (mp.mpf(0), mp.mpf(1))}
    for _ in range(n):
        new: dict[tuple[int, ...], tuple[Real, Real]] = {}
        for key, (x, p) in total.items():
            for j, (y, q) in enumerate(law):
                after = (*key[:j], key[j] + 1, *key[j + 1 :])
                new[after] = x + y, p * q + (new[after][1] if after in new else 0)
        total = new
    return list(total.values())


def plus(a: Law, b: Law) -> Law:
    return [(x + y, p * q) for x, p in a for y, q in b]


def hockey_stick(law: Law, epsilon: float) -> Real:
    e = mp.mpf(epsilon)
    return mp.fsum(p * -mp.expm1(e - x) for x, p in law if x > e)


def sampled_response(epsilon: float, rate: float) -> tuple[Law, Law]:
    """Randomized response on a Poisson sample: remove and add directions."""
    truth, g = 1 / (1 + mp.exp(-mp.mpf(epsilon))), mp.mpf(rate)
    having, without = [truth, 1 - truth], [1 - truth, truth]
    mixed = [(1 - g) * b + g * a for a, b in zip(having, without, strict=True)]
    return law_of(mixed, without), law_of(without, mixed)


@pytest.mark.parametrize(
    ("epsilon", "rate", "n"), [(0.3, 0.2, 4), (3.0, 1e-3, 5), (8.0, 1e-6, 3), (0.01, 0.7, 6)]
)
def test_sampled_response(epsilon: float, rate: float, n: int) -> None:
    run = losses.poisson_sampled(losses.pure(epsilon), rate) * n
    for law, side in zip(sampled_response(epsilon, rate), (run.remove, run.add), strict=True):
        total = times(law, n)
        top = max(x for x, _ in total)
        for share in (0.0, 0.3, 0.77):
            brackets(side.delta(float(top) * share), hockey_stick(total, float(top) * share))


@pytest.mark.parametrize("seed", range(6))
def test_written_out_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss, law = dp.Loss.zero(), [(mp.mpf(0), mp.mpf(1))]
    for size in rng.integers(2, 5, size=3):
        p, q = (rng.dirichlet(np.full(size, 0.7)) + 1e-9 for _ in range(2))
        p, q = p / p.sum(), q / q.sum()
        loss = loss + losses.from_pair(list(p), list(q))
        law = plus(law, law_of([mp.mpf(float(x)) for x in p], [mp.mpf(float(x)) for x in q]))
    top = float(max(x for x, _ in law))
    for share in (0.0, 0.4, 0.9, 0.999999):
        brackets(loss.remove.delta(top * share), hockey_stick(law, top * share))


@pytest.mark.parametrize(("epsilon", "rate", "n"), [(0.5, 0.1, 4), (4.0, 0.01, 3), (1.0, 0.9, 5)])
def test_subset_of_randomized_response(epsilon: float, rate: float, n: int) -> None:
    remove, _ = sampled_response(epsilon, rate)
    up = [(x, p) for x, p in remove if x > 0]
    law = up + [(-x, p * mp.exp(-x)) for x, p in up]
    law.append((mp.mpf(0), 1 - mp.fsum(p for _, p in law)))
    run = losses.cp(losses.pure(epsilon, adjacency=dp.REPLACE_ONE), rate) * n
    total = times(law, n)
    top = float(max(x for x, _ in total))
    for share in (0.0, 0.35, 0.8):
        brackets(run.delta_bounds(top * share), hockey_stick(total, top * share))


@pytest.mark.parametrize(("rate", "z"), [(1e-15, 31.0), (1e-14, 30.5), (1e-20, 40.0)])
def test_rare_samples_of_telling_outcomes(rate: float, z: float) -> None:
    found, noise = mixture.log_mixture(np.array([z]), rate)
    truth = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(z)))
    assert abs(float(found[0]) - truth) <= noise[0] * 2.0**-53


def test_lattice_near_its_largest_loss() -> None:
    run = losses.geometric(scale=0.29917772415989774, sensitivity=9) * 3
    step = mp.mpf(run.terms_remove[0][0].lattice.spacing) / 2
    epsilon = 90.247359153969
    # Above this epsilon only the outcome in which all three show the largest loss counts.
    truth = (1 / (1 + mp.exp(-step))) ** 3 * -mp.expm1(epsilon - 27 * step)
    brackets(run.delta_bounds(epsilon), truth)


def test_proof_near_the_largest_loss() -> None:
    pytest.importorskip("flint")
    run = losses.geometric(scale=0.29917772415989774, sensitivity=9) * 3
    step = mp.mpf(run.terms_remove[0][0].lattice.spacing) / 2
    epsilon = 90.247359153969
    truth = (1 / (1 + mp.exp(-step))) ** 3 * -mp.expm1(epsilon - 27 * step)
    brackets(run.delta_bounds(epsilon, engine="proof"), truth)


@pytest.mark.parametrize(("epsilon", "rate"), [(0.2472932891392913, 1.6176722166384048e-05)])
def test_no_delta_is_left_at_the_largest_loss(epsilon: float, rate: float) -> None:
    run = losses.poisson_sampled(losses.pure(epsilon), rate)
    for law, side in zip(sampled_response(epsilon, rate), (run.remove, run.add), strict=True):
        brackets(side.delta(side.largest), hockey_stick(law, side.largest))


# -- |normal vector| ---------------------------------------------------------------------------------------


@cache
def gauss_rule() -> list[tuple[Real, Real]]:
    """40 Gauss-Legendre nodes to 50 digits, by Newton's method."""
    n, nodes = 40, []
    for start in np.polynomial.legendre.leggauss(n)[0]:
        x = mp.mpf(float(start))
        for _ in range(4):
            before, here = mp.mpf(1), x
            for k in range(2, n + 1):
                before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
            slope = n * (x * here - before) / (x * x - 1)
            x -= here / slope
        nodes.append((x, 2 / ((1 - x * x) * slope**2)))
    return nodes


def integral(f: Callable[[Real], Real], edges: list[Real]) -> Real:
    total = mp.mpf(0)
    for a, b in pairwise(edges):
        half, middle = (b - a) / 2, (a + b) / 2
        total += half * mp.fsum(w * f(middle + half * x) for x, w in gauss_rule())
    return total


def chi_delta(offset: float, mu: float, d: int, epsilon: float) -> Real:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    start = mp.mpf(offset) + m * m / 2
    norm = (mp.mpf(d) / 2 - 1) * mp.log(2) + mp.loggamma(mp.mpf(d) / 2)
    first = max((e - start) / m, mp.mpf(0))
    peak = max(mp.sqrt(d - 1), first)
    edges = [max(first, peak - 18)]
    width = 4 / m
    while width < 1 and edges[0] == first:  # the gain bends within 1/mu
        edges.append(first + width)
        width *= 2
    while edges[-1] < peak + 18:
        edges.append(edges[-1] + 1)
    return integral(
        lambda r: mp.exp((d - 1) * mp.log(r) - r * r / 2 - norm) * -mp.expm1(e - start - m * r), edges
    )


@pytest.mark.parametrize(
    ("offset", "mu", "d", "epsilon"),
    [
        (0.1, 0.5, 10, 2.0),
        (0.0, 1e-3, 3, 5e-3),
        (0.3, 2.0, 1, 40.0),
        (0.1, 0.1, 10**4, 12.0),
        (0.1, 0.01, 10**5, 3.3),
        (0.1, 0.001, 10**6, 1.11),
        (0.0, 100.0, 3, 5500.0),
    ],
)
def test_chi(offset: float, mu: float, d: int, epsilon: float) -> None:
    brackets(ChiPair(offset, mu, d).delta(epsilon), chi_delta(offset, mu, d, epsilon))


def test_chi_in_many_dimensions() -> None:
    loss = losses.objective_perturbation(
        sigma=1000.0, ridge=1.0, gradient_bound=1.0, smoothness=0.0, dimension=10**6
    )
    brackets(loss.delta_bounds(0.0), chi_delta(0.0, 1e-3, 10**6, 0.0))


def test_chi_with_little_noise() -> None:
    brackets(ChiPair(0.0, 300.0, 3).delta(45600.0), chi_delta(0.0, 300.0, 3, 45600.0))


@pytest.mark.parametrize("d", [10**4, 10**5])
def test_chi_runs_in_many_dimensions_tell_something(d: int) -> None:
    step = losses.objective_perturbation(
        sigma=10 * math.sqrt(d), ridge=100.0 * d, gradient_bound=1.0, smoothness=1.0, dimension=d
    )
    assert (step * 10).delta_bounds(1.1).upper < 1e-3


def test_chi_cells_in_one_dimension() -> None:
    """chi_1 is |N(0, 1)|: narrow cells, and some far wider than the law."""
    edges = np.concatenate((np.linspace(0.1, 3.0, 30), [40.0, 1e4]))
    for mu in (0.01, 0.5, 30.0):
        for found, closed in zip(
            ChiPair(0.1, mu, 1).cells(edges), HalfNormalPair(0.1, mu).cells(edges), strict=True
        ):
            assert found == pytest.approx(closed, rel=1e-9, abs=1e-14)


# -- one loss, all engines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "epsilon"),
    [
        (GaussianPair(0.05), 0.2),
        (GaussianPair(20.0), 300.0),
        (LaplacePair(3.0), 2.5),
        (HalfNormalPair(0.05, 0.2), 0.7),
        (BoundedRangePair(2.0), 1.0),
        (GaussianPair(1.0).sampled(1e-3, True), 1e-4),
        (LaplacePair(2.0).sampled(0.1, False), 0.3),
        (LaplacePair(1e-9).sampled(0.1, False), 3e-11),
        (LaplacePair(1e-9).sampled(0.1, True), 3e-11),
        (LaplacePair(60.0).sampled(1e-30, False), 1e-5),
        (GaussianPair(0.5).sampled(0.05, False).mirrored(), 0.05),
        (GaussianPair(50.0), 1400.0),  # exp(epsilon) is no float
        (LaplacePair(800.0), 790.0),
        (LaplacePair(800.0).sampled(0.5, False), 795.0),
        (LaplacePair(800.0).sampled(0.5, True), 0.6),
        (BoundedRangePair(800.0), 795.0),
    ],
)
def test_the_lattice_agrees_with_closed_forms(pair: Pair, epsilon: float) -> None:
    loss = dp.Loss.symmetric(pair, dp.REPLACE_ONE, "pair")
    closed, rounded = loss.delta_bounds(epsilon), loss.delta_bounds(epsilon, engine="grid")
    assert rounded.upper >= closed.lower
    assert rounded.lower <= closed.upper


def test_large_losses_do_not_vanish_in_a_sum() -> None:
    one = losses.poisson_sampled(losses.laplace(scale=1 / 800), 0.5)
    # delta_3(3 e) >= delta_1(e)^3: (1 - exp(3e - L))_+ is at least the product where all three exceed e.
    assert (one * 3).delta_bounds(2385.0).upper >= one.delta_bounds(795.0).lower ** 3


# -- quadratures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mu", "rate", "c", "added", "reach"),
    [
        (1.0, 0.01, 3.0, False, 40.0),
        (1.0, 0.01, 3.0, True, 40.0),
        (5.0, 1e-4, 1.5, False, 10.0),
        (0.01, 0.3, 200.0, False, 500.0),
        # Beyond the window the integrand on Im x = a is huge.
        (0.2883241533437121, 0.00016151951550061986, 2.046254673931243, True, 138583.3),
        (0.3458159092423944, 3.289672121974904e-05, 0.11250125484959668, True, 86638.57),
        (0.4312986059584983, 2.1700480916168944e-05, 0.2540608856745693, True, 4827922.1),
    ],
)
def test_trapezoid_error(mu: float, rate: float, c: float, added: bool, reach: float) -> None:
    """The rule against one of a much smaller step, at the largest t it was made for."""
    rule = mixture.trapezoid(mu, rate, added, c, reach)
    m = -c if added else 1 + c
    h = mixture.step_for(mu, rate, m, reach, 40.0) / 16
    low, high = mixture.window(mu, rate, m)
    x = np.arange(math.floor(low / h), math.ceil(high / h) + 1) * h
    log_w = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    weights = np.exp(m * log_w - x * x / 2 - rule.log_scale) * h / math.sqrt(2 * math.pi)
    t = np.array([0.8, 1.0]) * reach
    fine = np.exp(1j * np.multiply.outer(t, -log_w if added else log_w)) @ weights
    found = rule.along(t)
    assert (np.abs(found.values - fine) <= found.error).all()


def test_what_is_left_beside_the_atoms() -> None:
    """|M| below its own atom does not make M^n - A^n vanish: the atom and the remainder are bounded apart."""
    mu, rate, c, n = 6.35, 0.0114, 0.114, 2
    pair = GaussianPair(mu).sampled(rate, False).mirrored()
    assert pair.atomic is not None
    at = np.array([c])
    share = math.exp(float((pair.atomic.log_mgf(at) - pair.log_mgf(at))[0]))
    t = np.linspace(0.05, 3.0, 200)
    tilted = pair.tilted(c, t)
    assert tilted is not None
    left = np.abs(tilted.values**n - share**n)
    allowed = share**n * np.expm1(n * np.log1p(np.maximum(pair.beside_atoms(c, t) / share - 1, 0.0)))
    assert (left <= allowed + 1e-9).all()
    assert (left <= pair.envelope(c, t, n) ** n + share**n + 1e-9).all()


def test_one_node_of_a_large_rule() -> None:
    loss = np.linspace(0.0, 1.0, 30_000)
    assert mixture.transform(np.zeros(1), loss, np.full(30_000, 1 / 30_000)) == pytest.approx(1.0)


# -- tables ------------------------------------------------------------------------------------------------


def gaussian_table(mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    grid = np.linspace(0.0, 9.0, 200) * mu
    found = [losses.gdp(mu).delta_bounds(float(e)) for e in grid]
    return grid, np.array([b.lower for b in found]), np.array([b.upper for b in found])


@pytest.mark.parametrize("mu", [1.0, 1e-3, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("size", [2, 5])
def test_chains_of_a_tabulated_gaussian(mu: float, size: int) -> None:
    grid, low, high = gaussian_table(mu)
    above = repeated(symmetric_above(grid, high), size, "upper")
    below = repeated(symmetric_below(grid, low, high), size, "lower")
    for x in (0.0, 0.7, 2.0, 4.0):
        truth = losses.gdp(size * mu).delta_bounds(x * size * mu)
        assert above.delta(x * size * mu).upper >= truth.lower
        assert below.delta(x * size * mu).lower <= truth.upper


def test_a_group_loses_no_less_than_one() -> None:
    step = losses.poisson_sampled(losses.gaussian(1e6), 1e-4)
    assert losses.group(step, 2).delta_bounds(0.0).upper >= step.delta_bounds(0.0).lower


def test_tables_below_a_profile_known_to_vanish() -> None:
    grid = np.concatenate(([0.0], np.linspace(0.13, 1.33, 13)))
    found = [losses.laplace(1.0).delta_bounds(float(e)) for e in grid]
    table = symmetric_below(grid, np.array([b.lower for b in found]), np.array([b.upper for b in found]))
    for e in np.linspace(0.9, 1.1, 21):
        assert table.delta(float(e)).lower <= losses.laplace(1.0).delta_bounds(float(e)).upper


def gaussian_tradeoff(level: float) -> float:
    return float(ndtr(-ndtri(level) - 1.0)) if 0 < level < 1 else 1.0 - level


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0, 8.0, 20.0])
def test_tradeoff_brackets_the_gaussian(epsilon: float) -> None:
    found, truth = losses.from_tradeoff(gaussian_tradeoff).delta_bounds(epsilon), losses.gdp(1.0)
    assert found.upper >= truth.delta_bounds(epsilon).lower
    assert found.lower <= truth.delta_bounds(epsilon).upper


@pytest.mark.parametrize("rho", [1.0, 1e-2, 1e-4, 1e-10, 1e-14])
def test_renyi_profile_is_not_below_its_formula(rho: float) -> None:
    """No order gives less than the least over all orders, which is found here with 50 digits."""
    for bits in (4.0, 20.0, 100.0, 150.0):
        epsilon = rho + 2 * math.sqrt(rho * bits)

        def height(x: Real, epsilon: float = epsilon) -> Real:
            s = mp.exp(x)
            return mp.mpf(rho) * s * (1 + s) - s * mp.log1p(1 / s) - mp.log1p(s) - s * mp.mpf(epsilon)

        best = mp.findroot(lambda x: mp.diff(height, x), mp.log(epsilon / (2 * rho)))
        assert losses.zcdp(rho).delta_bounds(epsilon).upper >= mp.exp(height(best))


@pytest.mark.parametrize(
    "epsilon", [1e-300, 1e-30, 1e-12, 1e-8, 1e-3, 0.5, 1 - 1e-15, 1.0, 3.0, 12.0, 36.5, 40.0]
)
@pytest.mark.parametrize("times", [1, 7, 10**6])
def test_the_gdp_of_a_bounded_loss_is_an_upper_bound_with_all_its_digits(epsilon: float, times: int) -> None:
    # The two laws (p, 1-p) and (1-p, p), p = e^eps / (1 + e^eps), are Phi^-1(p) - Phi^-1(1-p) apart.
    mp.mp.dps = 350
    tail = 1 / (1 + mp.exp(Real(epsilon)))  # mu / 2 solves erfc(x / sqrt 2) / 2 = tail
    half = mp.sqrt(2) * mp.erfinv(1 - 2 * tail)
    truth = 2 * half * mp.sqrt(times)
    found = (losses.pure(epsilon) * times).gdp()
    assert truth <= found <= truth * (1 + Real(3e-14))
