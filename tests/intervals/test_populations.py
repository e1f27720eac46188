"""Means and variances of populations: inverted tests that are right at every value.

Certain but where noise is drawn; that is seeded, so a test fails always or never, and refused are numbers that have a
chance below 1e-9 (`test_coverage.right`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from experiments import simulated
from scipy import stats

import dalenius as dp
from dalenius.intervals import populations
from dalenius.intervals.laws import Noisy, Normal, TwoSidedExponential, beyond, multiple
from dalenius.intervals.moments import Deviations
from dalenius.intervals.smoothest import kurtosis
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.released import release
from tests.noise.seeded import seeded
from tests.tables.release.test_coverage import holds, right


def parts(n: Any, s: Any, q: Any, sigma: float, gaussian: bool = True) -> Deviations:
    law = Normal(sigma) if gaussian else TwoSidedExponential(sigma)
    count, total, square = (Noisy(np.array(x, dtype=float), law) for x in (n, s, q))
    return Deviations(count, total, total, square, True)


def mean(made: Deviations, failure: float = 0.05) -> tuple[Any, Any]:
    spread = np.maximum(made.product.values - made.x.values**2 / made.size, 0.0)
    drawn = spread, np.zeros(len(spread)), np.zeros(len(spread))
    return populations.mean(made.x, made.n, made.product, drawn, failure, 0.0)


@pytest.mark.parametrize("gaussian", [True, False])
def test_which_bound_is_which_does_not_matter(gaussian: bool) -> None:
    n, s, q = [30.0, 300.0, 30.0, 5000.0], [-24.0, -290.0, -40.0, -4900.0], [29.0, 300.0, 12.0, 5003.0]
    one, other = parts(n, s, q, 2.0, gaussian), parts(n, [-x for x in s], q, 2.0, gaussian)
    a, b = (populations.variance(made, False, 0.05, 0.0) for made in (one, other))
    assert np.array(a) == pytest.approx(np.array(b), abs=1e-6)
    (low, high), (mirrored_low, mirrored_high) = mean(one), mean(other)
    assert low == pytest.approx(-mirrored_high, abs=1e-6)
    assert high == pytest.approx(-mirrored_low, abs=1e-6)


def test_no_interval_is_empty_or_out_of_range() -> None:
    """However far beyond what can be: an end of the range is in the interval then."""
    n = np.full(5, 40.0)
    made = parts(n, [-90.0, -45.0, 0.0, 45.0, 90.0], [60.0, 40.0, -20.0, 40.0, 60.0], 5.0)
    low, high = mean(made)
    assert (low < high).all()
    assert low[:2] == pytest.approx(-1.0)
    assert high[-2:] == pytest.approx(1.0)
    low, high = populations.variance(made, False, 0.05, 0.0)
    assert (low < high).all()
    assert low[2] == 0.0
    assert (high <= 1.0).all()
    nothing = parts([-3.0], [1.0], [1.0], 5.0)
    assert mean(nothing) == (-1.0, 1.0)
    assert populations.variance(nothing, False, 0.05, 0.0) == (0.0, 1.0)


@pytest.mark.parametrize("failure", [0.2, 0.05, 0.001])
def test_the_chance_to_be_wrong_is_used_up_at_every_distance(failure: float) -> None:
    for distance in (0.0, 0.1, 0.7, 1.5, 3.0, 40.0):
        for value in (distance, 50.0):
            much, little = populations._allowed(np.array([1.0]), np.array([value]), 0.0, failure)
            assert much + little == pytest.approx(failure)
    assert populations._allowed(np.array([0.01]), np.array([0.0]), 0.0, failure)[1] == 0.0
    assert populations._allowed(np.array([0.01]), np.array([0.5]), 0.0, failure)[1] == failure / 2


@pytest.mark.parametrize("peak", [0.0, 0.3, 1.0, 3.0])
def test_tails_and_multiples_are_of_one_law(peak: float) -> None:
    for failure in (0.2, 0.05, 0.01):
        k = multiple(np.array([peak]), failure)
        assert beyond(np.array([peak]), k) == pytest.approx(failure / 2, rel=0.02)
        assert beyond(np.array([peak]), -k) == pytest.approx(1 - failure / 2, rel=0.02)


@pytest.mark.parametrize(
    "law",
    [
        stats.uniform(-1, 2),
        stats.truncnorm(-2.5, 2.5, 0.0, 0.4),
        stats.truncnorm(-0.5, 3.5, -0.75, 0.5),
        stats.truncnorm(-20, 20, 0.0, 0.05),
        stats.truncexpon(20, -1, 0.1),
        stats.bernoulli(0.5),
        stats.bernoulli(0.02),
        stats.beta(0.5, 0.5, -1, 2),
    ],
    ids=lambda law: f"{law.dist.name}{law.args}",
)
def test_fourth_moments_of_populations_that_are_judged(law: Any) -> None:
    first, second, _, fourth = (float(x) for x in law.stats(moments="mvsk"))
    if law.dist.name == "bernoulli":
        first, second = 2 * first - 1, 4 * second
    for sign in (-1, 1):
        found = kurtosis(np.array([sign * first]), np.array([second]))
        assert found == pytest.approx(fourth + 3, rel=0.01)


def test_fourth_moments_are_possible_and_smooth() -> None:
    """At least 1 + skewness^2, of which 1 is known; no jumps where one law takes over from the other."""
    for mean_ in np.linspace(-0.999, 0.999, 41):
        shares = np.geomspace(1e-6, 1.0, 2001)
        found = kurtosis(np.full(2001, mean_), shares * (1 - mean_**2))
        assert (found >= 1).all()
        assert (np.abs(np.diff(np.log(found))) < 0.1).all()


@pytest.mark.parametrize(
    ("name", "population", "rows", "price"),
    [
        ("variance", simulated.bernoulli(0.005), 5000, dp.ZCDP(0.05)),
        ("variance", simulated.bernoulli(0.95), 300, dp.PureDP(1.0)),
        ("variance", simulated.UNIFORM, 30, dp.ZCDP(0.05)),
        ("variance", simulated.Population("Beta(2, 5)", stats.beta(2, 5)), 60, dp.ZCDP(0.5)),
        ("mean", simulated.ASIDE, 30, dp.ZCDP(0.05)),
        ("mean", simulated.bernoulli(0.02), 30, dp.ZCDP(5.0)),
    ],
    ids=lambda x: getattr(x, "name", repr(x)),
)
def test_they_hold(name: str, population: simulated.Population, rows: int, price: Any) -> None:
    """Of 1000 tables neither too few nor too many; five of these cells once failed."""
    made = simulated.planned(1000, price, {"a": simulated.STATISTICS[name].asked})
    of_population = simulated.STATISTICS[name].of_population
    assert of_population is not None
    data = population.draw(np.random.default_rng(5), 1000, rows)
    with seeded(6):
        told = release(made, simulated.exact(made, data))
    (column,) = columns(made.query, told, Wanted(sampling=True))
    assert right(holds(column, np.full(1000, of_population(population))))


def test_noise_that_is_used_again_is_the_noise_of_a_release() -> None:
    made = simulated.planned(20, dp.ZCDP(0.5), {"a": dp.quantiles("x", [0.1, 0.5], (0, 1), bins=2**9)})
    table = simulated.exact(made, simulated.UNIFORM.draw(np.random.default_rng(1), 20, 100))
    with seeded(3):
        theirs = release(made, table)
    with seeded(3):
        ours = simulated.Errors(made).added(made, table)
    for key, ranks in theirs.ranks.items():
        assert ours.ranks[key].total == pytest.approx(ranks.total)
        assert np.array_equal(ours.ranks[key].reached, ranks.reached)
    assert replace(theirs, ranks=ours.ranks).keys == ours.keys
