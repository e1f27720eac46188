"""Several scores a record: the loss against densities that are integrated, the link against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import dalenius as dp
from dalenius.learn.data.rows import records
from dalenius.learn.numerics.links import Multinomial, OneScore
from dalenius.learn.numerics.minimise import Objective
from dalenius.learn.numerics.passes import Passes, close_minimum
from dalenius.sums.curves import HuberHinge, Logistic

EPS = (0.0, 0.1, 0.5, 1.0)


def profiles(link: Multinomial, ridge: float, sigma: float, data: Any) -> list[tuple[float, float]]:
    """H of (with the record, without) and of (without, with), of one column and three classes, by sums over a grid."""
    ends = np.linspace(-9 * sigma / ridge, 9 * sigma / ridge, 161)
    theta = np.stack(np.meshgrid(ends, ends, indexing="ij"), axis=-1).reshape(-1, 2)

    def density(rows: Any) -> np.ndarray:
        b, hessian = ridge * theta, np.broadcast_to(ridge * np.eye(2), (len(theta), 2, 2))
        for x, label in rows:
            labels = np.full(len(theta), float(label))
            b = b + link.slopes(theta * x, labels) * x
            hessian = hessian + link.bends(theta * x, labels) * x * x
        cell = (ends[1] - ends[0]) ** 2
        squares = (b**2).sum(axis=1) / (2 * sigma**2)
        return np.asarray(np.exp(-squares) * np.linalg.det(hessian) * cell / (2 * np.pi * sigma**2))

    without, there = density(data), density([*data, (1.0, 0)])
    assert abs(without.sum() - 1) < 0.01 > abs(there.sum() - 1)

    def apart(p: np.ndarray, q: np.ndarray, eps: float) -> float:
        return float(np.maximum(p - np.exp(eps) * q, 0).sum())

    return [(apart(there, without, eps), apart(without, there, eps)) for eps in EPS]


@pytest.mark.parametrize(("knee", "ridge", "sigma"), [(0.5, 1.0, 0.7), (0.5, 5.0, 2.0), (1.0, 1.0, 1.0)])
def test_the_loss_covers_what_is_integrated(knee: float, ridge: float, sigma: float) -> None:
    link, caught = Multinomial(3, knee), 0
    right, wrong = (
        dp.losses.objective_perturbation(s, ridge, link.steepest, link.sharpest, dimension=2, bound="sharp")
        for s in (sigma, 6 * sigma)
    )
    for data in ((), ((1.0, 0), (-0.5, 1), (0.7, 2))):
        for eps, (removed, added) in zip(EPS, profiles(link, ridge, sigma, data), strict=True):
            assert removed <= right.terms_remove[0][0].delta(eps).upper + 1e-3
            assert added <= right.terms_add[0][0].delta(eps).upper + 1e-3
            caught += added > wrong.terms_add[0][0].delta(eps).upper + 1e-3
    assert caught  # what a sixth of the noise would cost is not enough


def test_weights_multiply_slopes_and_bends() -> None:
    rng, plain, link = np.random.default_rng(7), Multinomial(3, 0.7), Multinomial(3, 0.7, (0.2, 3.0, 0.5))
    scores, labels = rng.normal(size=(600, 2)) * 3, rng.integers(0, 3, 600)
    reach, weight = np.full(600, 0.1), np.array(link.weights)[labels]
    for word, more in (("slopes", ()), ("bends", ()), ("least_bends", (reach,))):
        found, bare = (getattr(one, word)(scores, labels.astype(float), *more) for one in (link, plain))
        np.testing.assert_allclose(
            found, bare * weight.reshape(-1, *[1] * (bare.ndim - 1)), rtol=1e-12, atol=1e-15
        )
    assert (link.steepest, link.sharpest) == (3 * plain.steepest, 3 * plain.sharpest)
    assert Multinomial(3, 0.7, (1.0, 1.0, 1.0)) == plain
    for bad in ((1.0,), (1.0, -1.0, 1.0)):
        with pytest.raises(dp.errors.InvalidParameter, match="weight"):
            Multinomial(3, 0.7, bad)


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("knee", [0.5, 0.8, 1.0])
def test_slopes_and_bends(classes: int, knee: float) -> None:
    rng, link = np.random.default_rng(classes), Multinomial(classes, knee)
    scores = rng.normal(size=(2000, classes - 1)) * rng.choice([0.1, 1.0, 4.0, 12.0], size=(2000, 1))
    labels = rng.integers(0, classes, 2000).astype(float)
    slopes, bends = link.slopes(scores, labels), link.bends(scores, labels)
    sizes = np.linalg.norm(slopes, axis=1).max() / link.steepest
    traces = np.trace(bends, axis1=1, axis2=2).max() / (classes - 1) / link.sharpest
    assert 0.95 < sizes <= 1 + 1e-12
    assert 0.9 < traces <= 1 + 1e-12

    def value(u: np.ndarray, label: int) -> float:
        full = link.basis @ u
        margin = full[label] - logsumexp(np.delete(full, label))
        return float(Logistic(knee).value(np.array([margin]), np.array([1.0]))[0])

    for u, label, slope, bend in zip(scores[:40], labels[:40].astype(int), slopes, bends, strict=False):
        for e, along, row in zip(np.eye(classes - 1), slope, bend, strict=True):
            assert abs((value(u + 1e-6 * e, label) - value(u - 1e-6 * e, label)) / 2e-6 - along) < 1e-6
            ends = [link.slopes((u + h * e)[None], np.array([float(label)]))[0] for h in (1e-6, -1e-6)]
            assert np.abs((ends[0] - ends[1]) / 2e-6 - row).max() < 1e-5
    # Bends fall by no more than is said.
    moved = scores + rng.normal(size=scores.shape) * 0.05
    reach = np.linalg.norm(moved - scores, axis=1)
    least = link.least_bends(scores, labels, reach)
    assert np.linalg.eigvalsh(link.bends(moved, labels) - least).min() > -1e-9
    # Shares that are predicted are those for which the slopes cancel.
    shares = link.probabilities(scores[:200] @ link.basis.T)
    each = np.stack([link.slopes(scores[:200], np.full(200, float(k))) for k in range(classes)])
    assert np.abs(np.einsum("nk,kna->na", shares, each)).max() < 1e-12


def test_two_classes_are_logistic_regression() -> None:
    """With scores (-u, u)/sqrt(2) it is the curve of one score, slope for slope."""
    link, u = Multinomial(2), np.linspace(-5, 5, 41)
    for label in (0.0, 1.0):
        labels = np.full(len(u), label)
        ours = link.slopes(-u[:, None] / np.sqrt(2), labels)[:, 0]
        assert np.allclose(-ours * np.sqrt(2), Logistic(0.5).slope(u, labels) * 2)


@pytest.mark.parametrize("ridge", [3.0, 1e-3])
def test_passes_find_the_minimum(ridge: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(9000, 4)) / 2
    for link, labels in (
        (Multinomial(3), (x @ rng.normal(size=(4, 3)) * 4 + rng.gumbel(size=(9000, 3))).argmax(axis=1)),
        (OneScore(Logistic(0.5)), x[:, 0] + x[:, 1] > 0),
        (OneScore(HuberHinge(0.5)), x[:, 0] + x[:, 1] > 0),
    ):
        data = records(x, labels.astype(float), np.ones(9000, dtype=bool), 1.0, "clip", 0.3)
        halves = [
            data.thinned(2),
            records(x[1::2], labels[1::2].astype(float), np.ones(4500, dtype=bool), 1.0, "clip", 0.3),
        ]
        noise = rng.normal(size=5 * link.outputs) * 3
        theta = close_minimum(Passes(lambda halves=halves: halves, link, ridge, noise), 1e-8)  # type: ignore[misc]
        assert theta.any()
        assert np.linalg.norm(Passes(lambda data=data: [data], link, ridge, noise).gradient(theta)) < 1e-7  # type: ignore[misc]
        if isinstance(link, OneScore):
            whole = Objective(data, link.curve, ridge, noise)
            assert np.linalg.norm(whole.gradient_at(theta)) < 1e-7


def test_rows_that_are_alike_do_not_round_alike() -> None:
    """Of 200 000 equal rows the gradient is right to 2^-55 of their number; added up plainly, it is not."""
    rng, link, n = np.random.default_rng(0), Multinomial(3), 200_000
    theta, labels = rng.normal(size=8), np.repeat((0.0, 1.0, 2.0, 1.0), n // 4)
    rows = records(np.tile(0.3 * rng.normal(size=(1, 3)), (n, 1)), labels, labels >= 0, 1.0, "clip", 0.3)
    found = Passes(lambda: [rows], link, 1.0, np.zeros(8)).gradient(theta)
    row, total = rows.rows(slice(0, 1)), theta.astype(np.longdouble)
    for label in range(3):
        slope = link.slopes(row @ theta.reshape(2, 4).T, np.array([float(label)]))
        total = total + np.longdouble((labels == label).sum()) * np.outer(slope, row).ravel()
    assert np.abs(found - total).max() < 2.0**-55 * n
    faint = records(np.full((5, 3), 1e-320), labels[:5], labels[:5] >= 0, 1.0, "clip", 0.0)
    assert np.allclose(Passes(lambda: [faint], link, 1.0, np.zeros(6)).gradient(np.ones(6)), 1.0)
