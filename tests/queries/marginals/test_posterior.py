"""Posterior means of noisy columns: nearer to the exact counts where noise is large, untouched where it is small."""

from __future__ import annotations

import numpy as np

from dalenius.queries.marginals.fit import Target
from dalenius.queries.marginals.posterior import denoised
from dalenius.queries.marginals.refine import on_the_simplex

TOTAL = 30_000.0
PLACE = np.arange(32)
SMOOTH = np.exp(-0.5 * ((PLACE - 12) / 5.0) ** 2)
SPARSE = np.where(PLACE == 0, 300.0, np.where(PLACE == 7, 30.0, 0.5))
ROUGH = np.where(PLACE % 2, 1.0, 3.0)[:8]


def exact() -> list[np.ndarray]:
    return [TOTAL * shape / shape.sum() for shape in (SMOOTH, SPARSE, ROUGH)]


def noisy(sigma: float, seed: int) -> list[Target]:
    draw = np.random.default_rng(seed)
    return [Target((v,), x + draw.normal(0, sigma, x.size), sigma) for v, x in enumerate(exact())]


def test_smooth_and_sparse_columns_gain_and_rough_ones_do_not_lose_much() -> None:
    """From fixed seeds: no failure by chance. Against the nearest distribution, what the fit had before."""
    off = np.zeros((2, 3))
    for seed in range(2):
        before = noisy(200.0, seed)
        for k, targets in enumerate((before, denoised(before, TOTAL))):
            fitted = [on_the_simplex(t.counts, TOTAL) for t in targets]
            off[k] += [np.abs(a - b).sum() for a, b in zip(fitted, exact(), strict=True)]
    smooth, sparse, rough = off[1] / off[0]
    assert smooth < 0.9
    assert sparse < 0.9
    assert rough < 1.1


def test_small_noise_pairs_and_long_columns_are_left_as_they_were_measured() -> None:
    targets = noisy(2.0, 0)
    targets += [Target((0, 1), np.full((8, 8), 50.0), 500.0), Target((4,), np.full(500, 60.0), 500.0)]
    assert all(a is b for a, b in zip(targets, denoised(targets, TOTAL), strict=True))


def test_the_same_counts_give_the_same_means_which_sum_to_the_total_and_are_no_less_precise() -> None:
    targets = noisy(200.0, 1)
    one, two = denoised(targets, TOTAL), denoised(targets, TOTAL)
    for target, a, b in zip(targets, one, two, strict=True):
        assert np.array_equal(a.counts, b.counts)
        assert a.counts is not target.counts
        assert abs(a.counts.sum() - TOTAL) < 1e-6 * TOTAL
        assert a.counts.min() >= 0
        assert a.sigma <= target.sigma


def test_any_noise_is_answered() -> None:
    """Post-processing comes after the charge: no released numbers, however odd, may make it fail."""
    draw = np.random.default_rng(2)
    for total in (1.0, 5.0, 1e12):
        for sigma in (1e-3, 50.0, 1e9, 1e15):
            targets = [Target((v,), draw.normal(0, sigma, n), sigma) for v, n in enumerate((3, 40))]
            for found in denoised(targets, total):
                assert np.isfinite(found.counts).all()
                assert found.sigma > 0
