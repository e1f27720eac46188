"""A quantile of counted rows: its windows, on every data set of a few bins and rows, and every neighbour."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from dalenius.adaptive import SmoothGaussian
from dalenius.adaptive.ptr import GaussianDistanceTest, LocalBinnedQuantile, ProposeTestRelease, Refusal
from dalenius.adaptive.smooth.gaussian import gaussian_distance
from dalenius.adaptive.statistics import BinnedQuantile, Median
from dalenius.calculus import losses
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import InvalidParameter
from tests.noise.seeded import seeded

Counts = tuple[int, ...]
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
BETAS = (0.05, 0.4, 2.0)


def vectors(size: int, rows: int) -> list[Counts]:
    """All counts of up to so many rows: even and odd numbers of them, and none."""
    return [c for c in itertools.product(range(rows + 1), repeat=size) if sum(c) <= rows]


def neighbours(counts: Counts, units: list[Counts], adjacency: Adjacency, known: set[Counts]) -> set[Counts]:
    """One unit less or more (ADD_REMOVE), or one less and one more, each of them any rows that a unit can have."""
    less = [c for u in units if min(c := tuple(a - b for a, b in zip(counts, u, strict=True))) >= 0]
    if adjacency is REPLACE_ONE:
        found = {tuple(a + b for a, b in zip(c, u, strict=True)) for c in less for u in units}
    else:
        found = {*less, *(tuple(a + b for a, b in zip(counts, u, strict=True)) for u in units)}
    return found & known


def pairs(size: int, rows: int, own: int, adjacency: Adjacency) -> Iterator[tuple[Counts, Counts]]:
    known = vectors(size, rows)
    units = vectors(size, own)
    for counts in known:
        for other in neighbours(counts, units, adjacency, set(known)):
            yield counts, other


def defined(q: BinnedQuantile, counts: Counts) -> Fraction:
    """By the definition, from the list of rows."""
    x, last = [i for i, c in enumerate(counts) for _ in range(c)], q.size - 1

    def at(rank: int) -> int:
        return 0 if rank < 1 else last if rank > len(x) else x[rank - 1]

    place = Fraction(q.part, 2**30) * len(x)
    return Fraction(at(math.ceil(place)) + at(math.floor(place) + 1))


@BOTH
@pytest.mark.parametrize("level", [0.5, 0.25, 0.9])
@pytest.mark.parametrize(("size", "rows", "own"), [(4, 5, 1), (3, 6, 2), (3, 6, 3)])
def test_every_data_set(size: int, rows: int, own: int, level: float, adjacency: Adjacency) -> None:
    q = BinnedQuantile(level=level, size=size, max_rows=own, adjacency=adjacency)
    data = {c: q.prepared(c) for c in vectors(size, rows)}
    value = {c: q.exactly(d) for c, d in data.items()}
    assert all(value[c] == defined(q, c) for c in data)
    away = {c: q.at_distances(d, 8) for c, d in data.items()}
    assert all((np.diff(a) >= 0).all() and a[-1] <= q.global_steps for a in away.values())
    smooth = {(c, b): q.smooth_steps(d, b) for c, d in data.items() for b in BETAS}
    moved = dict.fromkeys(data, Fraction(0))
    for here, there in pairs(size, rows, own, adjacency):
        moved[here] = max(moved[here], abs(value[here] - value[there]))
        assert (away[here][:-1] <= away[there][1:]).all()
        assert all(smooth[here, b] <= math.exp(b) * smooth[there, b] * (1 + 1e-12) for b in BETAS)
    assert all(moved[c] <= away[c][0] for c in data)
    assert all(smooth[c, b] >= moved[c] for c in data for b in BETAS)


@BOTH
def test_windows_for_one_row_are_too_narrow_for_two(adjacency: Adjacency) -> None:
    """A control: who takes units of two rows for units of one has neither bound."""
    q = BinnedQuantile(level=0.5, size=3, max_rows=1, adjacency=adjacency)
    data = {c: q.prepared(c) for c in vectors(3, 6)}
    found = [(q.exactly(data[a]), q.exactly(data[b]), a, b) for a, b in pairs(3, 6, 2, adjacency)]
    assert any(abs(x - y) > q.at_distance(data[a], 0) for x, y, a, _ in found)
    assert any(
        q.smooth_steps(data[a], 0.4) > math.exp(0.4) * q.smooth_steps(data[b], 0.4) * 1.01
        for _, _, a, b in found
    )


def test_the_median_of_single_rows_is_that_of_numbers() -> None:
    numbers = Median(bounds=(0, 9), granularity=1)
    q = BinnedQuantile(level=0.5, size=10)
    rng = np.random.default_rng(0)
    for n in range(20):
        x = rng.integers(0, 10, n)
        counts = np.bincount(x, minlength=10)
        assert q.value(counts) == 2 * numbers.value(x)
        for k in range(6):
            assert q.local_sensitivity(counts, k) == 2 * numbers.local_sensitivity(x, k)


def test_large_numbers_are_exact() -> None:
    q = BinnedQuantile(level=0.3, size=4, max_rows=10**9, adjacency=REPLACE_ONE)
    counts = np.array([0, 2**40, 2**40, 0])
    assert q.value(counts) == 2.0
    assert q.local_sensitivity(counts, 2000) == 6.0
    assert q.smooth_sensitivity(counts, 1e-3) > 0


def test_what_is_no_count_is_refused() -> None:
    q = BinnedQuantile(level=0.5, size=3)
    for wrong in ([1, 2], [1.5, 2, 3], "abc", [[1, 2, 3]]):
        with pytest.raises(InvalidParameter, match="3 whole numbers"):
            q.value(wrong)
    assert BinnedQuantile(level=0.5, size=1).value([7]) == 0.0


# -- propose, test, release --------------------------------------------------------------------------


def profile(p: float, q: float, apart: float, epsilon: float) -> float:
    """H of p N(apart, 1) against q N(0, 1) at e^epsilon."""
    if p == 0:
        return 0.0
    shifted = epsilon + math.log(q / p) if q > 0 else -math.inf
    if apart == 0:
        return max(0.0, p * -math.expm1(shifted)) if shifted < 700 else 0.0
    far = apart / 2 - shifted / apart
    return float(p * (ndtr(far) - math.exp(min(shifted, 700)) * ndtr(far - apart)))


def local(own: int, adjacency: Adjacency, wrong: float) -> ProposeTestRelease:
    q = BinnedQuantile(level=0.5, size=4, max_rows=own, adjacency=adjacency)
    mechanism = LocalBinnedQuantile(statistic=q, sensitivity=2, sigma=3.0, furthest=40)
    return ProposeTestRelease(
        mechanism=mechanism, test=GaussianDistanceTest(mechanism=mechanism, sigma=1.0, wrong_pass=wrong)
    )


@BOTH
@pytest.mark.parametrize("own", [1, 2])
def test_every_pair_keeps_the_loss_of_a_proposal(own: int, adjacency: Adjacency) -> None:
    """The exact laws: a refusal, or a normal number; both happen. A test by A_0 alone is caught."""
    m = local(own, adjacency, 0.05)
    test, mechanism = m.test, m.mechanism
    assert isinstance(test, GaussianDistanceTest)
    assert isinstance(mechanism, LocalBinnedQuantile)
    loss = test.loss + mechanism.budget + losses.approx(0.0, test.wrong_pass, adjacency)
    allowed = {e: loss.delta(e) for e in (0.0, 0.3, 1.0, 2.0)}
    tight = {e: m.loss.delta(e) for e in allowed}
    laws, jumps = {}, {}
    for c in vectors(4, 7):
        distance = min(mechanism.distance(c), 40)
        passed = float(ndtr((distance - test.threshold) / test.sigma))
        value = float(mechanism.statistic.exactly(mechanism.statistic.prepared(c)))
        laws[c], jumps[c] = (passed, value), (float(distance > 0), value)
    assert any(1e-3 < passed < 1 - 1e-3 for passed, _ in laws.values())
    assert all(passed <= test.wrong_pass for c, (passed, _) in laws.items() if mechanism.distance(c) == 0)

    def worst(of: dict[Counts, tuple[float, float]], epsilon: float) -> float:
        most = 0.0
        for a, b in pairs(4, 7, own, adjacency):
            (p, x), (q, y) = of[a], of[b]
            refused = max(0.0, (1 - p) - math.exp(epsilon) * (1 - q))
            most = max(most, refused + profile(p, q, abs(x - y) / mechanism.sigma, epsilon))
        return most

    for epsilon, most in allowed.items():
        assert worst(laws, epsilon) <= min(most, tight[epsilon]) + 1e-12
    assert worst(jumps, 1.0) > allowed[1.0]


@BOTH
def test_distances_that_are_not_told_are_no_longer_than_the_last(adjacency: Adjacency) -> None:
    """Neighbours' distances differ by 1 at most, wherever counting stops."""
    q = BinnedQuantile(level=0.5, size=4, adjacency=adjacency)
    m = LocalBinnedQuantile(statistic=q, sensitivity=1, sigma=1.0, furthest=2)
    found = {c: m.distance(c) for c in vectors(4, 6)}
    assert set(found.values()) == {0, 1, 2}
    assert all(abs(found[a] - found[b]) <= 1 for a, b in pairs(4, 6, 1, adjacency))


def test_draws_of_a_proposal() -> None:
    """Of 4000, the share that passes and the spread of those that do: wrong ones at a rate below 1e-6."""
    m = local(2, ADD_REMOVE, 1e-3)
    counts = (0, 7, 7, 0)
    assert isinstance(m.test, GaussianDistanceTest)
    assert isinstance(m.mechanism, LocalBinnedQuantile)
    passed = float(ndtr((min(m.mechanism.distance(counts), 40) - m.test.threshold) / m.test.sigma))
    assert 0.05 < passed < 0.95
    with seeded(3):
        found = m.releases(counts, 4000)
    drawn = np.array([x for x in found if not isinstance(x, Refusal)])
    assert abs(len(drawn) / 4000 - passed) < 5 * math.sqrt(passed * (1 - passed) / 4000)
    assert abs(drawn.std() / 3.0 - 1) < 5 / math.sqrt(2 * len(drawn)) < 0.15


# -- normal noise in a Gaussian budget ---------------------------------------------------------------


@pytest.mark.parametrize(("mu", "delta"), [(0.3, 1e-8), (1.0, 1e-6)])
def test_mu_but_for_a_delta(mu: float, delta: float) -> None:
    """Every stretch and shift up to the largest, by quadrature: below delta + (1 - delta) G. Less noise is not."""
    m = SmoothGaussian.within(mu, delta, statistic=BinnedQuantile(level=0.5, size=8))
    certified = m.mu(delta)
    assert 0.9 * mu < certified <= mu
    epsilons = np.concatenate(([0.0], np.geomspace(mu / 50, 6.5 * mu, 40)))
    bound = delta + (1 - delta) * np.array([losses.gaussian(1 / certified).delta(e) for e in epsilons])
    z = np.linspace(-14, 14, 40_001)

    def largest(scale: float) -> float:
        over = -1.0
        for t in np.linspace(0, m.beta, 4):
            for shift in (0.0, 0.5 / scale, 1 / scale):
                p = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
                q = np.exp(-(((z - shift) * math.exp(-t)) ** 2) / 2 - t) / math.sqrt(2 * math.pi)
                for one, other in ((p, q), (q, p)):
                    found = [np.maximum(one - math.exp(e) * other, 0).sum() * (z[1] - z[0]) for e in epsilons]
                    over = max(over, float(np.max(np.array(found) - bound)))
        return over

    assert largest(m.scale) <= 1e-9
    assert largest(m.scale / 2.5) > 1e-4
    assert gaussian_distance(1 / m.scale, m.beta) >= losses.gaussian(m.scale).delta(0.0)
