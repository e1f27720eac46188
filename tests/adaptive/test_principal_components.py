"""Principal components with noise for their eigengap: how far a record turns them, and what that costs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import Refusal, pca_ptr
from dalenius.adaptive.principal_components import Components, GapBound, Rows, rotation
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.errors import CannotMeet, InvalidParameter
from tests.noise.seeded import seeded

PROMISE = dp.ApproxDP(1.0, 1e-6)
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])


def projection(c: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    values, vectors = np.linalg.eigh(c)
    first = vectors[:, -k:]
    return first @ first.T, float(values[-k] - values[-k - 1])


def test_no_record_turns_them_further() -> None:
    """Random spectra with the record in the worst direction, in a random one, or nearly so; added and removed."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(3000):
        d = int(rng.integers(2, 5))
        k = int(rng.integers(1, d))
        values, basis = rng.exponential(rng.choice([1, 3, 10]), d), np.linalg.qr(rng.normal(size=(d, d)))[0]
        c = (basis * values) @ basis.T
        p, gap = projection(c, k)
        if gap <= 1.01:
            continue
        a = rng.normal(size=d)
        inside, outside = p @ a, a - p @ a
        share = gap / (2 * gap - 1) if rng.random() < 0.7 else rng.random()
        a = math.sqrt(1 - share) * inside / np.linalg.norm(inside) + math.sqrt(
            share
        ) * outside / np.linalg.norm(outside)
        for there in (c + np.outer(a, a), c - np.outer(a, a)):
            if np.linalg.eigvalsh(there)[0] < -1e-12:
                continue
            q, other = projection(there, k)
            assert abs(gap - other) <= 1 + 1e-9
            worst = max(worst, float(np.linalg.norm(p - q)) / rotation(gap))
    assert 0.9 < worst <= 1


@pytest.mark.parametrize("gap", [1.5, 3.0, 50.0])
def test_a_plane_turned_by_every_angle(gap: float) -> None:
    """All records of norm 1, and the two that replace one by another; a tenth less would be exceeded at a wide gap."""
    angles = np.linspace(0, math.pi, 181)
    base, turned = np.diag([gap + 1.5, 1.5]), 0.0
    vectors = [np.array([math.cos(t), math.sin(t)]) for t in angles]
    p, _ = projection(base, 1)
    for a in vectors:
        for there in (base + np.outer(a, a), base - np.outer(a, a)):
            turned = max(turned, float(np.linalg.norm(p - projection(there, 1)[0])))
    assert turned <= rotation(gap)
    assert gap < 50 or turned > 0.98 * rotation(gap)
    if gap > 2:
        replaced = max(
            float(np.linalg.norm(p - projection(base - np.outer(a, a) + np.outer(b, b), 1)[0]))
            for a in vectors[::6]
            for b in vectors[::6]
        )
        assert 0.8 * rotation(gap) < replaced <= rotation(gap, REPLACE_ONE)


@BOTH
def test_keeps_its_promise(adjacency: Adjacency) -> None:
    for promise in (PROMISE, dp.ApproxDP(0.2, 1e-8), dp.ApproxDP(5.0, 1e-4)):
        loss = pca_ptr(promise, columns=4, components=2, adjacency=adjacency).loss
        assert loss.adjacency is adjacency
        assert 0.8 * promise.delta < loss.delta(promise.epsilon) <= promise.delta


def test_the_parts_cost_what_is_said() -> None:
    """By hand: mu of the gap and mu of the projection, whose noise off the diagonal counts twice."""
    m = pca_ptr(PROMISE, columns=3, components=1)
    assert isinstance(m.bound, GapBound)
    assert isinstance(m.family, Components)
    mu = math.hypot(1 / m.bound.sigma, math.sqrt(0.5) / m.family.sigma)
    both = dp.losses.gdp(mu)
    assert both.delta(1.0) + m.bound.failure <= 1e-6
    assert both.delta(1.0) + m.bound.failure == pytest.approx(1e-6, rel=0.02)


@BOTH
def test_the_gap_is_bounded_as_often_as_is_said(adjacency: Adjacency) -> None:
    """2000 bounds that may fail one time in five: the rate is off by 6 deviations once in 1e8 runs."""
    bound = GapBound(Rows(1.0, 2), 1, 2.0, 0.2, adjacency)
    rows = np.array([[1.0, 0.0]] * 40 + [[0.0, 1.0]] * 10)
    with seeded(1):
        false = float(np.mean([bound.release(rows) > 30.0 for _ in range(2000)]))
    assert 0.03 < false < 0.2 + 6 * math.sqrt(0.16 / 2000)


def test_with_a_wide_gap_it_is_as_near_as_noisy_squares() -> None:
    """X^T X with noise for the same promise, in ten columns: both are near the truth, ours hardly nearer."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(20_000, 10)) * np.array([0.5, *[0.08] * 9])
    m = pca_ptr(PROMISE, columns=10, components=1)
    gram = m.family.rows.gram(rows)  # type: ignore[attr-defined]
    truth = np.linalg.eigh(gram)[1][:, -1]
    plain = dp.mechanisms.AnalyzeGauss.calibrated(PROMISE, sensitivity=1.0)
    with seeded(3):
        ours = [1 - abs(float(m.release(rows)[0] @ truth)) for _ in range(40)]
        theirs = [1 - abs(float(np.linalg.eigh(plain.release(gram))[1][:, -1] @ truth)) for _ in range(40)]
    assert np.mean(ours) < 1e-4
    assert np.mean(ours) < 1.3 * np.mean(theirs)


@BOTH
def test_without_a_gap_it_refuses(adjacency: Adjacency) -> None:
    m = pca_ptr(PROMISE, columns=2, components=1, adjacency=adjacency)
    assert m.release(np.zeros((0, 2))) == Refusal()
    assert m.release(np.eye(2)[[0, 1] * 500]) == Refusal()
    assert m.release(np.full((500, 2), np.nan)) == Refusal()


def test_an_audit_finds_no_more_than_the_claim() -> None:
    """The worst pair: which way the first component leans. With a thirtieth of the noise the audit objects."""
    m = pca_ptr(dp.ApproxDP(1.0, 1e-3), columns=2, components=1)
    here, there = m.worst_pair

    def leaning(release: object, times: int) -> float:
        draws = {}
        for name, rows in (("here", here), ("there", there)):
            found = [release(rows) for _ in range(times)]  # type: ignore[operator]
            draws[name] = np.array([x[0, 1] if not isinstance(x, Refusal) else -9.0 for x in found])
        # Of 200 draws each, about a half on either side: the log ratio is off by 0.6 once in 1e6 runs.
        cut = np.median(np.concatenate(list(draws.values())))
        p, q = (float((draws[name] > cut).mean()) for name in ("there", "here"))
        return math.log(max(p, 1e-9) / max(q, 1e-9))

    with seeded(4):
        assert leaning(m.release, 200) < 1.0
        quiet = Components(m.family.rows, 1, m.family.sigma / 30, ADD_REMOVE)  # type: ignore[attr-defined]
        assert leaning(lambda rows: quiet.release(rows, quiet.choose(150.0) or 1.0), 200) > 1.0


def test_rows_are_clipped_and_rounded_one_by_one() -> None:
    rng = np.random.default_rng(5)
    rows = np.vstack((rng.normal(size=(300, 3)) * 5, [[1e308, 1e308, 0], [1e-320, 0, 0], [np.inf, 0, 0]]))
    reader = Rows(2.0, 3)
    whole = reader.gram(rows)
    assert np.array_equal(whole, sum(reader.gram(row[None]) for row in rows))
    assert all(np.linalg.norm(reader.gram(row[None])) <= 1 for row in rows)
    small = rows[(np.abs(rows) < 1.1).all(axis=1)]
    assert np.allclose(reader.gram(small), small.T @ small / 4, atol=1e-3)


def test_what_is_wrong_is_refused() -> None:
    for wrong in ({"components": 0}, {"components": 3}, {"norm": 0.0}, {"columns": 101}, {"columns": 1}):
        with pytest.raises(InvalidParameter):
            pca_ptr(PROMISE, **{"columns": 3, "components": 1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(CannotMeet):
        pca_ptr(dp.PureDP(1.0), columns=3, components=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="3 columns"):
        pca_ptr(PROMISE, columns=3, components=1).release([[1.0, 2.0]])
