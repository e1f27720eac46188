"""Sums of scores: exact, the same in whatever company, no further apart than claimed, and with the noise claimed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.infer.scores import ArraySource, CurveScore, NoisySums, Score, Standard
from dalenius.infer.scores.source import bend_unit, longest, score_unit, square_unit
from dalenius.sums.curves import Huber, Logistic
from dalenius.sums.grids import on_grid
from tests.noise.seeded import seeded


class Several(Score):
    """Three outcomes, as in a multinomial model against a fourth."""

    outcomes = 3
    steepest = math.sqrt(2)
    sharpest = 0.75

    def slopes(self, u, y):
        return self._shares(u) - (y[:, None] == np.arange(3))

    def roots(self, u, y):
        p = self._shares(u)
        roots = np.zeros((len(u), 3, 3))
        left = np.ones(len(u))
        for j in range(3):  # diag(p) - p p^T, one conditional share after the other
            share = p[:, j] / left
            roots[:, j, j] = np.sqrt(left * share * (1 - share))
            for k in range(j + 1, 3):
                roots[:, j, k] = -roots[:, j, j] * p[:, k] / (left - p[:, j])
            left = left - p[:, j]
        return roots

    def _shares(self, u):
        e = np.exp(np.clip(u, -30, 30))
        return e / (1 + e.sum(axis=1, keepdims=True))


def table(n: int = 300, columns: int = 3):
    random = np.random.default_rng(4)
    return random.standard_t(3, (n, columns)) * 3 + 1, random.integers(0, 4, n).astype(float)


STANDARD = Standard(np.array([1.0, 0.5, 0.0]), np.array([3.0, 2.0, 1.0]), 1.0, 1.7)
SCORES = [CurveScore(Huber(1.345)), CurveScore(Logistic()), Several()]


def all_of(rows, theta, score):
    return rows.totals(on_grid(theta), score, want_score=True, want_bend=True, want_square=True)


@pytest.mark.parametrize("score", SCORES, ids=["huber", "logistic", "several"])
def test_sums_are_what_they_say(score):
    features, y = table()
    y = y if score.outcomes > 1 else np.minimum(y, 1)
    theta = np.random.default_rng(0).normal(size=4 * score.outcomes)
    totals = all_of(ArraySource(features, y).rows(STANDARD), theta, score)
    z, v = STANDARD.weighted(features)
    k = score.outcomes
    u = (z / v[:, None]) @ theta.reshape(k, 4).T
    slopes = score.slopes(u if k > 1 else u[:, 0], y).reshape(-1, k) * v[:, None]
    roots = score.roots(u if k > 1 else u[:, 0], y).reshape(len(y), -1, k)
    scores = np.einsum("ik,ip->ikp", slopes, z).reshape(len(y), -1)
    bends = np.einsum("irk,ip->irkp", roots, z).reshape(-1, 4 * k)
    reach = STANDARD.reach
    assert np.allclose(totals.score * score_unit(score, reach), scores.sum(axis=0), atol=2e-3)
    assert np.allclose(totals.square * square_unit(score, reach), scores.T @ scores, atol=2e-3)
    assert np.allclose(totals.bend * bend_unit(score, reach), bends.T @ bends, atol=2e-3)
    if score.outcomes == 1:
        assert np.allclose((roots**2).ravel(), score.curve.bend(u[:, 0], y))


@pytest.mark.parametrize("score", SCORES, ids=["huber", "logistic", "several"])
def test_a_row_moves_sums_by_its_own_share_in_whatever_company(score):
    features, y = table(5000)
    y = y if score.outcomes > 1 else np.minimum(y, 1)
    features[7], features[4095], features[4999] = 1e9, np.nan, -1e308
    theta = np.random.default_rng(1).normal(size=4 * score.outcomes) * 3
    whole = all_of(ArraySource(features, y).rows(STANDARD), theta, score)
    for place in (0, 7, 4095, 4999):
        less = all_of(
            ArraySource(np.delete(features, place, axis=0), np.delete(y, place)).rows(STANDARD), theta, score
        )
        alone = all_of(ArraySource(features[[place]], y[[place]]).rows(STANDARD), theta, score)
        for name in ("score", "bend", "square"):
            share = getattr(whole, name) - getattr(less, name)
            assert (share == getattr(alone, name)).all()
            assert np.linalg.norm(share.astype(float)) <= longest(theta.size)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_noise_is_as_wide_as_claimed(adjacency: Adjacency):
    """Variances of 1 600 numbers against the claim, z = 6: false alarms below 1e-8; 15 % off is 9 deviations."""
    features, y = table(50)
    sums = NoisySums(ArraySource(features, y).rows(STANDARD), adjacency)
    score = SCORES[0]
    exact = sums.rows.totals(np.zeros(4), score, want_score=True, want_bend=True, want_square=True)
    with seeded(3):
        drawn = [
            sums.release(np.zeros(4), score, score_mu=0.3, bend_mu=0.4, square_mu=0.5) for _ in range(400)
        ]
    reach = STANDARD.reach
    away = np.array([r.score for r in drawn]) - exact.score * score_unit(score, reach)
    double = adjacency is REPLACE_ONE
    assert drawn[0].score_sd == pytest.approx(1.345 * 1.7 / 0.3 * (2 if double else 1), rel=1e-4)
    assert drawn[0].bend_sd == pytest.approx(1.7**2 / 0.4 / (1 if double else math.sqrt(2)), rel=1e-4)
    assert drawn[0].square_sd == pytest.approx(
        (1.345 * 1.7) ** 2 / 0.5 / (1 if double else math.sqrt(2)), rel=1e-4
    )
    upper = np.triu_indices(4)
    sizes = [(away, drawn[0].score_sd)]
    for name, unit in (("bend", bend_unit), ("square", square_unit)):
        noise = np.array([getattr(r, name) for r in drawn]) - getattr(exact, name) * unit(score, reach)
        assert (noise == noise.swapaxes(1, 2)).all() or np.allclose(noise, noise.swapaxes(1, 2))
        noise[:, range(4), range(4)] /= math.sqrt(2)
        sizes.append((noise[:, *upper], getattr(drawn[0], name + "_sd")))
    for noise, sd in sizes:
        assert abs(np.mean(noise**2) / sd**2 - 1) < 6 * math.sqrt(2 / noise.size)
    once = NoisySums(sums.rows, adjacency)
    once.release(np.zeros(4), score, score_mu=0.3, bend_mu=0.4)
    assert dp.GDP(0.5 * (1 + 1e-9)).holds(once.loss)
    assert not dp.GDP(0.499).holds(once.loss)


def test_two_matrices_are_as_far_apart_as_claimed():
    """Replacing one row by an orthogonal one comes within 1e-4 of the bound, and never above it."""
    standard = Standard(np.zeros(2), np.ones(2), 0.0, 1.0)
    score = SCORES[0]

    def totals(row):
        rows = ArraySource(np.array([row]), np.array([9.0])).rows(standard)
        return all_of(rows, np.zeros(2), score)

    apart = np.linalg.norm((totals([1.0, 0.0]).square - totals([0.0, 1.0]).square).astype(float))
    assert 1 - 1e-4 < apart / (math.sqrt(2) * longest(2)) <= 1
