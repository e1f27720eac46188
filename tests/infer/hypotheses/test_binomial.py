"""The binomial test: its law, its optimality against a linear program, its limits and its powers."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

import dalenius as dp
from dalenius.infer.hypotheses.binomial import Exact, Unknown, _Tails
from dalenius.mechanisms import CanonicalNoise, Tulap
from tests.noise.seeded import seeded

NOISES = [
    Tulap(sensitivity=1, epsilon=0.7),
    Tulap(sensitivity=1, epsilon=0.7, delta=0.05),
    CanonicalNoise(sensitivity=1, guarantee=dp.GDP(0.8)),
    CanonicalNoise(sensitivity=1, guarantee=dp.ApproxDP(0.7, 0.05)),
]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
def test_distribution_functions(noise: Any) -> None:
    """Of 100 000 draws: chance of a false alarm 1e-9; a scale off by 3 % is rejected."""
    with seeded(3):
        x = noise.releases(0.0, 100_000)
    distance = stats.ks_1samp(x, noise.cdf).statistic
    limit = math.sqrt(math.log(2 / 1e-9) / 2 / len(x))
    assert distance < limit < stats.ks_1samp(1.08 * x, noise.cdf).statistic
    assert noise.cdf(0.0) == pytest.approx(0.5)
    assert noise.cdf([-1e9, 1e9]).tolist() == [0.0, 1.0]
    if isinstance(noise, CanonicalNoise) and isinstance(noise.guarantee, dp.ApproxDP):
        places = np.linspace(-9, 9, 181)
        assert noise.cdf(places) == pytest.approx(NOISES[1].cdf(places), abs=1e-9)


def best_power(n: int, null: float, truth: float, level: float, epsilon: float, delta: float) -> float:
    """The most power of any test with this promise: a linear program over the chances to reject at 0..n."""
    rows, limits = [stats.binom.pmf(np.arange(n + 1), n, null)], [level]
    for x in range(n):
        for a, b in ((x, x + 1), (x + 1, x)):
            for sign, limit in ((1.0, delta), (-1.0, delta + math.exp(epsilon) - 1)):
                # phi(a) <= e^epsilon phi(b) + delta, and the same for 1 - phi
                row = np.zeros(n + 1)
                row[a], row[b] = sign, -sign * math.exp(epsilon)
                rows.append(row)
                limits.append(limit)
    found = linprog(-stats.binom.pmf(np.arange(n + 1), n, truth), np.array(rows), limits, bounds=(0, 1))
    return -float(found.fun)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 0.0), (0.7, 0.05), (2.0, 0.0)])
@pytest.mark.parametrize(("null", "truth", "side"), [(0.4, 0.6, "greater"), (0.6, 0.3, "less")])
def test_most_powerful(epsilon: float, delta: float, null: float, truth: float, side: str) -> None:
    promise = dp.ApproxDP(epsilon, delta) if delta else dp.PureDP(epsilon)
    test = dp.infer.BinomialTest(promise, share=null, alternative=side, adjacency=dp.REPLACE_ONE)
    assert dp.infer.power(test, 12, share=null) == pytest.approx(0.05, abs=1e-9)
    assert dp.infer.power(test, 12, share=truth) == pytest.approx(
        best_power(12, null, truth, 0.05, epsilon, delta), abs=1e-7
    )


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: type(noise).__name__)
def test_two_sided_test_is_exact_and_unbiased(noise: Any) -> None:
    law = Exact(0.0, 30, noise)
    sizes = [law.power(0.3, truth, "two-sided", 0.05) for truth in (0.29, 0.3, 0.31)]
    assert sizes[1] == pytest.approx(0.05, abs=1e-9)
    assert min(sizes) >= 0.05 - 1e-9
    assert sizes[0] - 0.05 == pytest.approx(sizes[2] - 0.05, rel=0.2)
    low, high = _Tails(30, 0.3, noise).region("two-sided", 0.05)
    for z in (low, high):  # the p-value at the edge of what is rejected is the level
        assert Exact(z, 30, noise).pvalue(0.3, "two-sided") == pytest.approx(0.05, abs=1e-5)


def test_p_values_by_counting() -> None:
    """Against the share of simulated releases that are as large: four standard errors."""
    noise = NOISES[0]
    with seeded(8):
        z = np.random.default_rng(0).binomial(30, 0.3, 200_000) + noise.releases(0.0, 200_000)
    for seen in (8.2, 12.7, 16.1):
        counted = np.mean(z >= seen)
        assert Exact(seen, 30, noise).pvalue(0.3, "greater") == pytest.approx(
            counted, abs=4 * math.sqrt(counted / len(z))
        )


def test_unknown_number_of_rows() -> None:
    """Never more than the level; and not so much less that nothing is seen."""
    for promise in (dp.PureDP(1.0), dp.GDP(1.0), dp.ZCDP(0.3)):
        test = dp.infer.BinomialTest(promise, share=0.3, alternative="greater")
        assert 0.035 < dp.infer.power(test, 300, share=0.3) <= 0.05
        rest = dp.infer.BinomialTest(promise, share=0.3, alternative="greater", adjacency=dp.REPLACE_ONE)
        assert dp.infer.power(test, 300, share=0.37) > 0.9 * dp.infer.power(rest, 300, share=0.37)
    noise = NOISES[0]
    law = Unknown(90.0, 210.0, noise)
    with seeded(2):
        sums = noise.releases(np.zeros(2), 20_000).sum(axis=1)
    assert np.mean(np.abs(sums) > law.rows[-1] - 300) < 1e-3


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_limits_are_inverted_tests(adjacency: Any) -> None:
    test = dp.infer.BinomialTest(dp.PureDP(1.0), adjacency=adjacency)
    released = (
        {"inside": 31.4, "rows": 100} if adjacency is dp.REPLACE_ONE else {"inside": 31.4, "outside": 68.0}
    )
    low, high = test.limits(released, alpha=0.1)
    law = test._law(released)
    assert 0.2 < low < 0.31 < high < 0.45
    assert law.pvalue(low, "greater") == pytest.approx(0.05, abs=1e-3)
    assert law.pvalue(high, "less") == pytest.approx(0.05, abs=1e-3)


def test_the_smallest_promise_takes_no_longer() -> None:
    """Canonical noise takes time as 1/mu: GDP(0.001) took a minute."""
    assert np.isclose(dp.infer.BinomialTest(dp.GDP(1e-4)).loss.gdp(), 1e-4)
    started = time.process_time()
    assert 0 <= dp.infer.binomial_test([1, 0], dp.GDP(1e-4)).pvalue <= 1
    assert time.process_time() - started < 5
