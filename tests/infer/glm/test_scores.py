"""Scores: within their bounds, without bias at the truth, and their sums as sensitive as is claimed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.glm.multinomial_score import Multinomial
from dalenius.infer.glm.poisson_score import CutPoisson
from dalenius.infer.glm.tabulated_score import (
    NAMED,
    PREDICTORS,
    RESIDUALS,
    OutcomeScore,
    ResidualScore,
    Table,
)
from dalenius.infer.scores import ArraySource, Standard
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import longest
from dalenius.sums.grids import on_grid

RNG = np.random.default_rng(11)


def logistic_slope(u: object, y: object) -> object:
    return 1 / (1 + np.exp(-u)) - y  # type: ignore[operator]


SCORES: list[tuple[Score, list[float]]] = [
    (CutPoisson(1), [0.0, 1.0]),
    (CutPoisson(5), [0.0, 3.0, 900.0]),
    (CutPoisson(400), [0.0, 100.0, 1e9]),
    (Multinomial(2), [0.0, 1.0, 2.0]),
    (Multinomial(9), [0.0, 4.0, 9.0]),
    (ResidualScore(Table.of(NAMED["log_cosh"], RESIDUALS), 3.0), [-1e6, 0.0, 2.0]),
    (
        OutcomeScore(tuple(Table.of(lambda u, y=y: logistic_slope(u, y), PREDICTORS) for y in (0, 1))),  # type: ignore[misc]
        [0.0, 1.0],
    ),
]


@pytest.mark.parametrize(("score", "labels"), SCORES, ids=lambda value: type(value).__name__)
def test_slopes_and_curvatures_are_within_their_bounds(score: Score, labels: list[float]) -> None:
    k = score.outcomes
    u = np.concatenate([RNG.normal(size=(3000, k)) * s for s in (0.3, 3.0, 40.0)])
    y = RNG.choice(labels, len(u))
    u = u if k > 1 else u[:, 0]
    slopes, roots = score.slopes(u, y).reshape(len(u), -1), score.roots(u, y).reshape(len(u), -1)
    assert np.linalg.norm(slopes, axis=1).max() <= score.steepest * (1 + 1e-12)
    assert (roots**2).sum(axis=1).max() <= score.sharpest * (1 + 1e-12)
    # The bounds are reached, or nearly so: they are not wasteful.
    assert np.linalg.norm(slopes, axis=1).max() >= 0.95 * score.steepest
    assert (roots**2).sum(axis=1).max() >= 0.8 * score.sharpest


@pytest.mark.parametrize("most", [1, 3, 8])
def test_counts_that_are_cut_off_have_a_score_without_bias(most: int) -> None:
    score, k = CutPoisson(most), np.arange(0, 400.0)
    for u in (-2.0, 0.0, 1.3, 3.0):
        weights = stats.poisson.pmf(k, math.exp(u))
        assert weights @ score.slopes(np.full(400, u), k) == pytest.approx(0, abs=1e-6 * most)
        step = 1e-4
        rise = (score.slopes(np.array([u + step]), k[:1]) - score.slopes(np.array([u - step]), k[:1])) / (
            2 * step
        )
        assert score.roots(np.array([u]), k[:1]) ** 2 == pytest.approx(rise, rel=2e-3)


def test_a_clipped_poisson_score_is_biased_for_ever() -> None:
    """The control: e^u - y clipped to 1/2 has its root at -0.152 where the log-mean is 0."""
    k = np.arange(0, 60.0)
    weights = stats.poisson.pmf(k, 1.0)
    root = optimize.brentq(lambda u: weights @ np.clip(math.exp(u) - k, -0.5, 0.5), -2, 2)
    assert root == pytest.approx(-0.152, abs=0.001)


def test_roots_of_several_classes_make_up_the_curvature() -> None:
    score, u = Multinomial(3), RNG.normal(size=(50, 3)) * 2
    weights = np.column_stack([np.ones(50), np.exp(u)])
    p = (weights / weights.sum(axis=1)[:, None])[:, 1:]
    roots = score.roots(u, np.zeros(50))
    made = np.einsum("mri,mrj->mij", roots, roots)
    np.testing.assert_allclose(
        made, np.einsum("mi,ij->mij", p, np.eye(3)) - p[:, :, None] * p[:, None, :], atol=1e-12
    )


@pytest.mark.parametrize("score", [Multinomial(2), Multinomial(9), CutPoisson(4)])
def test_one_row_moves_sums_by_no_more_than_is_claimed(score: Score) -> None:
    """Adversarial single rows: the sums of one row are what it adds to any others."""
    size = 3
    standard = Standard(np.zeros(size - 1), np.ones(size - 1), 1.0, math.sqrt(size))
    most = longest(score.outcomes * size)
    worst = np.zeros(3)
    for each in range(300):
        x = RNG.normal(size=(1, size - 1)) * 10.0 ** RNG.uniform(-2, 4)
        y = np.array([float(RNG.integers(0, score.outcomes + 1))])
        theta = on_grid(RNG.normal(size=score.outcomes * size) * 10.0 ** RNG.uniform(-2, 1 + each % 3))
        totals = (
            ArraySource(x, y)
            .rows(standard)
            .totals(theta, score, want_score=True, want_bend=True, want_square=True)
        )
        parts = (totals.score, totals.bend, totals.square)
        worst = np.maximum(worst, [np.linalg.norm(np.asarray(part, dtype=float)) for part in parts])
    assert (worst <= most).all()
    assert worst[0] > 0.6 * most


@pytest.mark.parametrize(
    "slope",
    [
        lambda r: r,
        lambda r: -np.tanh(r),
        lambda r: np.sin(r),
        lambda r: np.log(r),
        lambda r: 1 / 0,
        lambda r: 5,
        lambda r: r[:3],
        lambda r: np.full(len(r), np.nan),
    ],
    ids=["unbounded", "falling", "wave", "nan", "raises", "number", "short", "all nan"],
)
def test_a_slope_that_will_not_do_is_refused_before_any_data(slope: object) -> None:
    with np.errstate(all="ignore"), pytest.raises(InvalidParameter):
        dp.infer.MEstimate(slope=slope, guarantee=dp.GDP(1.0))  # type: ignore[arg-type]


def test_a_slope_of_somebody_never_meets_the_data() -> None:
    seen = []

    def slope(r: object) -> object:
        seen.append(np.array(r))
        return np.tanh(r)  # type: ignore[call-overload]

    X, y = RNG.normal(size=(300, 2)), RNG.normal(size=300)
    dp.infer.m_estimate(X, y, dp.GDP(1.0), slope=slope, x_center=0.0, x_scale=1.0, y_center=0.0, y_scale=1.0)
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], RESIDUALS)
