"""Shares and means from many reports. Comparisons with draws are at 1e-9 or below; seeds are fixed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius import local
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.local.consistency import simplex
from tests.mechanisms.contract import bits, frequency

SHARES = np.array([0.5, 0.3, 0.15, 0.05, 0, 0, 0, 0, 0, 0])
ORACLES = [
    local.RandomizedResponse(epsilon=1.0, k=10),
    local.SymmetricUnaryEncoding(epsilon=1.0, k=10),
    local.OptimizedUnaryEncoding(epsilon=1.0, k=10),
    local.HadamardResponse(epsilon=1.0, k=10),
    local.HadamardResponse(epsilon=3.0, k=10, blocks=2),
    local.LocalHashing(epsilon=1.0, k=10),
    local.SubsetSelection(epsilon=1.0, k=10),
]


def name(m: Any) -> str:
    return f"{type(m).__name__}{getattr(m, 'blocks', '')}"


@pytest.mark.parametrize("m", ORACLES, ids=name)
def test_unbiased_with_the_stated_variance(m: Any) -> None:
    trials, n = 300, 400
    truth = np.repeat(np.arange(10), (SHARES * n).astype(int))
    with bits("unbiased", repr(m)):
        reports = m.releases(truth, trials)
    found = [m.frequencies(rows) for rows in reports]
    estimates = np.array([f.estimate for f in found])
    if isinstance(m, local.HadamardResponse):
        parts = SHARES.copy()
        block = np.arange(10) // (m.block_size - 1)
        stated = np.array(
            [m.noise_variance(s, n, parts[block == b].sum()) for s, b in zip(SHARES, block, strict=True)]
        )
    else:
        stated = np.array([m.noise_variance(s, n) for s in SHARES])
    # Means of near-normal estimates: 7 standard errors, 10 of them. Variances: 8 of theirs.
    assert (np.abs(estimates.mean(axis=0) - SHARES) < 7 * np.sqrt(stated / trials)).all()
    assert (np.abs(estimates.var(axis=0) / stated - 1) < 8 * math.sqrt(2 / trials)).all()
    population = stated + SHARES * (1 - SHARES) / n
    mean_stated = np.array([f.variance for f in found]).mean(axis=0)
    assert mean_stated == pytest.approx(population, rel=0.05)
    held = np.array([(f.conf_int()[:, 0] <= SHARES) & (f.conf_int()[:, 1] >= SHARES) for f in found])
    for cell in held.T:
        assert frequency(int(cell.sum()), trials)[1] >= 0.95
    at_once = np.array([_inside(f.conf_int(simultaneous=True)) for f in found])
    assert frequency(int(at_once.sum()), trials)[1] >= 0.95


def _inside(limits: Any) -> bool:
    return bool(((limits[:, 0] <= SHARES) & (limits[:, 1] >= SHARES)).all())


@pytest.mark.parametrize("m", [o for o in ORACLES if isinstance(o, local.PureOracle)], ids=name)
def test_coverage_at_few_people_exactly(m: Any) -> None:
    """Of the population's share, summed over all counts of a binomial law."""
    n = 12
    counts = np.arange(n + 1)
    limits = np.array([m.limits(np.full(m.k, c), n, 0.05)[0] for c in counts])
    for share in np.linspace(0, 1, 41):
        chance = stats.binom.pmf(counts, n, float(m.q) + float(m.p - m.q) * share)
        held = (limits[:, 0] <= share) & (share <= limits[:, 1])
        assert chance[held].sum() >= 0.95 - 1e-9


def test_tallies_add_up() -> None:
    for m in ORACLES:
        first, second = m.release(np.arange(10)), m.release(np.arange(5))
        both = m.tally(np.concatenate([first, second]))
        assert (m.tally(first) + m.tally(second) == both).all()
        found = m.from_tally(m.tally(first) + m.tally(second), 15)
        assert (found.estimate == m.frequencies(np.concatenate([first, second])).estimate).all()


def test_support_of_hashes_one_by_one() -> None:
    m = local.LocalHashing(epsilon=1.0, k=50)
    reports = m.release(np.arange(50))
    slow = [
        sum((a * v + b) % m.prime * m.g // m.prime == y for a, b, y in reports.tolist()) for v in range(50)
    ]
    assert m.tally(reports).tolist() == slow


def test_consistency() -> None:
    raw = np.array([0.6, 0.5, 0.1, -0.1, -0.2])
    near = simplex(raw)
    assert near.sum() == pytest.approx(1)
    assert (near >= 0).all()
    np.testing.assert_allclose(near, [16 / 30, 13 / 30, 1 / 30, 0, 0])
    rng = np.random.default_rng(0)
    for _ in range(100):  # no distribution is nearer
        other = rng.dirichlet(np.full(5, 0.5))
        assert np.sum((near - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-12
    # norm-sub as it is described: negative ones are 0, and the excess is shared by the others, again and again.
    for _ in range(20):
        raw = rng.normal(0.1, 0.2, 10)
        kept = raw > -np.inf
        for _ in range(50):
            kept &= np.where(kept, raw - (raw[kept].sum() - 1) / kept.sum(), -1) > 0
        shared = np.where(kept, raw - (raw[kept].sum() - 1) / kept.sum(), 0)
        np.testing.assert_allclose(simplex(raw), shared, atol=1e-12)
    m = local.OptimizedUnaryEncoding(epsilon=1.0, k=100)
    with bits("cut"):
        found = m.frequencies(m.release(np.zeros(20_000, dtype=int)))
    cut = found.consistent("base-cut")
    assert cut[0] > 0.9
    assert (cut[1:] == 0).mean() > 0.95
    assert (found.consistent("norm-sub") == found.consistent()).all()
    limits = found.conf_int()
    found.consistent()
    assert (found.conf_int() == limits).all()


def test_histogram() -> None:
    pets = ["cat"] * 3000 + ["dog"] * 2000
    with bits("pets"):
        found = dp.local.histogram(pets, dp.PureDP(3.0), categories=["cat", "dog", "fish"])
    assert found.categories == ("cat", "dog", "fish")
    assert np.abs(found.estimate - [0.6, 0.4, 0]).max() < 0.1
    assert found.counts.sum() == pytest.approx(5000, rel=0.1)
    assert "cat" in str(found)
    for mechanism in {type(m) for m in ORACLES}:
        one = dp.local.histogram(np.arange(100) % 20, 1.0, k=20, mechanism=mechanism)
        assert isinstance(one.mechanism, mechanism)
    for promise in (dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1), dp.GDP(1.0)):
        assert promise.holds(dp.local.histogram([0, 1, 2], promise, k=3).loss)
    for bad in (
        {},
        {"k": 3, "categories": [1, 2]},
        {"k": 1},
        {"categories": "ab"},
        {"categories": ["a", "a"]},
    ):
        with pytest.raises(InvalidParameter):
            dp.local.histogram([0, 1], 1.0, **bad)  # type: ignore[arg-type]
    for values in (["bird"], [], None, [["cat"]], 12345):
        with pytest.raises(InvalidParameter) as caught:
            dp.local.histogram(values, 1.0, categories=["cat", "dog"])
        assert not any(word in str(caught.value) for word in ("bird", "12345"))
    with pytest.raises(InvalidParameter, match="mechanism"):
        dp.local.histogram([0, 1], 1.0, k=2, mechanism=dp.local.Duchi)  # type: ignore[arg-type]


def test_best() -> None:
    assert isinstance(dp.local.best(2, 1.0, 100).mechanism, local.RandomizedResponse)
    assert isinstance(dp.local.best(4, 3.0, 100).mechanism, local.RandomizedResponse)
    choice = dp.Local.best(1000, 1.0, 10**6)
    assert len(str(choice).splitlines()) == 2 + len(choice.table)
    assert isinstance(choice.mechanism, local.LocalHashing)
    least = min(c.standard_error for c in choice.table)
    own = next(c for c in choice.table if c.mechanism == choice.mechanism)
    assert own.standard_error <= 1.01 * least
    assert len(choice.table) == 6
    # The error is that of the estimates, whatever the shares are.
    m = choice.mechanism
    with bits("best"):
        found = m.frequencies(m.release(np.zeros(20_000, dtype=int)))
    truth = np.eye(1000)[0]
    rms = math.sqrt(np.mean((found.estimate - truth) ** 2))
    assert rms == pytest.approx(own.standard_error * math.sqrt(50), rel=0.2)
    with pytest.raises(InvalidParameter):
        dp.local.best(1, 1.0, 100)
    with pytest.raises(InvalidParameter):
        dp.local.best(10, -1.0, 100)


NUMBERS = (local.Duchi, local.Piecewise, local.Hybrid, local.Laplace)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("n", [5, 300])
def test_means(kind: Any, n: int) -> None:
    trials, m = 2000, kind(epsilon=1.0, bounds=(0, 10))
    people = np.linspace(1.0, 6.0, n)
    with bits("means", kind.__name__, n):
        decoded = m.decode(m.releases(people, trials))
    mean = decoded.mean(axis=1)
    stated = sum(m.variance(x) for x in people) / n**2
    assert abs(mean.mean() - people.mean()) < 7 * math.sqrt(stated / trials)
    assert mean.var() == pytest.approx(stated, rel=8 * math.sqrt(4 / trials))
    held = 0
    for rows in m.releases(people, 400):
        low, high = m.mean(rows).conf_int()
        held += low <= people.mean() <= high
    assert frequency(held, 400)[1] >= 0.95


def test_mean_of_everybody() -> None:
    with bits("everybody"):
        found = dp.local.mean(np.full(50_000, 7.0), dp.PureDP(2.0), bounds=(0, 10))
    assert abs(found.estimate - 7) < 7 * found.standard_error
    assert found.people == 50_000
    assert found.loss.epsilon(0.0) == 2.0
    for promise in (dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1)):
        for kind in NUMBERS:
            try:
                assert promise.holds(dp.local.mean([1.0, 2.0], promise, bounds=(0, 10), mechanism=kind).loss)
            except CannotMeet:
                pytest.fail(f"{kind.__name__} cannot keep {promise}")
    outside = dp.local.Duchi(epsilon=1.0, bounds=(0, 1))
    assert len(outside.release([10**400, -(10**400), 1])) == 3
    assert outside.variance(5.0) == outside.variance(1.0)
    for values in (math.nan, [1.0, math.inf], "12345", None, [], [12345.5, None]):
        with pytest.raises(InvalidParameter) as caught:
            dp.local.mean(values, 1.0, bounds=(0, 10))
        assert "12345" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="bounds"):
        dp.local.mean([1.0, 2.0], 1.0, bounds=(3, 3))
    with pytest.raises(InvalidParameter, match="mechanism"):
        dp.local.mean([1.0, 2.0], 1.0, bounds=(0, 1), mechanism=local.LocalHashing)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="at least 2"):
        dp.local.mean([1.0], 1.0, bounds=(0, 1))


def test_heavy_hitters() -> None:
    rng = np.random.default_rng(1)
    common = np.array([7, 923_456, 99_999, 2**19 + 5])
    people = np.concatenate([np.repeat(common, [6_000, 5_000, 4_000, 3_000]), rng.integers(0, 2**20, 2_000)])
    with bits("heavy"):
        found = dp.local.heavy_hitters(people, dp.PureDP(5.0), bits=20)
    share = dict(zip(common.tolist(), (0.3, 0.25, 0.2, 0.15), strict=True))
    assert {v for v, s in share.items() if s >= found.found_above} <= set(found.values)
    assert set(found.values) <= set(share)  # nobody else is above 0
    assert len(found.values) == 4
    for value, (low, high) in zip(found.values, found.limits, strict=True):
        assert low <= share[value] <= high
    assert found.loss.epsilon(0.0) == 5.0
    assert found.people == len(people)
    assert str(found).endswith("is listed")


def test_heavy_words() -> None:
    words = ["tea"] * 3500 + ["coffee"] * 3000 + ["Mate"] * 2500
    with bits("words"):
        found = dp.local.heavy_hitters(words, dp.PureDP(5.0), length=4)
    assert found.values == ["tea", "coff", "?ate"]
    for bad in ({}, {"bits": 8, "length": 2}, {"bits": 63}, {"length": 99}, {"length": 3, "alphabet": "aa"}):
        with pytest.raises(InvalidParameter):
            dp.local.heavy_hitters(words, 1.0, **bad)  # type: ignore[arg-type]
    for values, options in (
        ([12345], {"bits": 8}),
        ([None], {"length": 2}),
        ([], {"length": 2}),
        (5, {"length": 2}),
    ):
        with pytest.raises(InvalidParameter) as caught:
            dp.local.heavy_hitters(values, 1.0, **options)  # type: ignore[arg-type]
        assert "12345" not in str(caught.value)


@pytest.mark.parametrize("m", [*ORACLES, local.Piecewise(epsilon=1.0), local.Duchi(epsilon=1.0)], ids=name)
def test_reports_of_something_else(m: Any) -> None:
    read = m.frequencies if isinstance(m, local.FrequencyOracle) else m.mean
    for bad in (None, "12345", [], [12345678], [-1], [0.5], [[1, 2], [3]], np.ones((2, 9))):
        with pytest.raises(InvalidParameter):
            read(bad)
    for bad in (None, 12345678, -1, "a", [], [math.nan]):
        if isinstance(m, local.FrequencyOracle):
            with pytest.raises(InvalidParameter) as caught:
                m.release(bad)
            assert "12345" not in str(caught.value)


@pytest.mark.parametrize("m", ORACLES, ids=name)
def test_tallies_of_something_else(m: Any) -> None:
    for tally, people in (
        (None, 3),
        ([1, 2], 3),
        (np.full(m.tally_size, -1), 3),
        (np.full(m.tally_size, 4), 3),
    ):
        with pytest.raises(InvalidParameter):
            m.from_tally(tally, people)
    with pytest.raises(InvalidParameter):
        m.from_tally(np.zeros(m.tally_size, dtype=int), 0)


def test_one_person_alone() -> None:
    for m in ORACLES:
        alone = m.release(3)
        many = m.release(np.array([3, 4]))
        assert np.shape(alone) == np.shape(many)[1:]
        assert m.frequencies(np.expand_dims(alone, 0)).people == 1


@pytest.mark.parametrize("guarantee", [dp.ZCDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.GDP(1.0)], ids=repr)
def test_any_promise_can_be_kept(guarantee: Any) -> None:
    choice = local.best(16, guarantee, 1000)
    for one in choice.table:
        assert guarantee.holds(one.mechanism.loss)
        more = dataclasses.replace(one.mechanism, epsilon=one.mechanism.epsilon * 1.01)
        assert not guarantee.holds(more.loss)
