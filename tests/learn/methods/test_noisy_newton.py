"""Descent by one noisy X^T X and noisy gradients: what it costs, that it learns, whatever the units and the columns.

False alarms. Audits run at confidence 1 - 1e-9 with seeded bits, and everything else is seeded: always or never.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.learn.data.rows import records
from dalenius.learn.methods import noisy_newton
from dalenius.learn.methods.noisy_newton import NoisyNewton
from dalenius.sums.curves import HuberHinge, Logistic
from dalenius.sums.grids import ROW_BITS
from tests.noise.seeded import seeded


def test_loss_is_what_runs() -> None:
    plan = NoisyNewton.calibrated(dp.GDP(0.5), 2.0)
    assert 0.499 < plan.loss.gdp() <= 0.5
    # In units of what a record moves them by: the matrix (whose norm counts what is off the diagonal twice), and the
    # gradients.
    matrix = plan.matrix(5)
    together = (matrix.sensitivity / matrix.sigma) ** 2 / 2 + plan.steps / plan.noise_multiplier**2
    assert together == pytest.approx(plan.loss.gdp() ** 2, rel=1e-6)
    for promise in (dp.ZCDP(0.1), dp.ApproxDP(1.0, 1e-6), dp.RDP(8.0, 0.5)):
        assert promise.holds(NoisyNewton.calibrated(promise, 1.0).loss)


def test_matrix_is_released_for_what_a_record_moves_it_by() -> None:
    """The longest row there is, rounded: within the sensitivity, and close to it."""
    size = 9
    row = np.rint(np.full(size, 1 / 3) * 2.0**ROW_BITS + 0.5)
    moved = np.linalg.norm(np.outer(row, row))
    assert 0.999 * NoisyNewton(1.0, 1.0).matrix(size).sensitivity < moved
    assert moved <= NoisyNewton(1.0, 1.0).matrix(size).sensitivity


@pytest.mark.parametrize("runs", [1.0, 10.0])
def test_audit_stays_within_the_claim(runs: float) -> None:
    """One record or none; a tenth of the noise that is claimed is caught."""
    one = records(np.array([[1.0]]), np.array([1.0]), np.array([True]), 1.0, "clip")
    none = records(np.empty((0, 1)), np.empty(0), np.empty(0, dtype=bool), 1.0, "clip")
    plan = NoisyNewton(runs, 1.0, steps=2)
    with seeded(7):
        found = dp.audit.lower_bound(
            lambda data: plan.fit(data, HuberHinge(0.5)),
            pair=(one, none),
            trials=1000,
            delta=1e-2,
            confidence=1 - 1e-9,
        )
    claimed = NoisyNewton(1.0, 1.0, steps=2).loss.epsilon(1e-2)
    assert (found.epsilon > claimed) == (runs > 1)


@pytest.mark.parametrize("factor", [0.001, 1 / 3, 1000.0])
def test_units_do_not_matter(factor: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3)) / 2
    y = np.clip(x @ [0.5, -0.3, 0.2], -1, 1)
    found: list[Any] = []
    for scale, units in ((1.0, 1.0), (factor, 1.0), (1.0, factor)):
        model = dp.learn.HuberRegression(dp.GDP(1.0), row_norm=scale, target_bounds=(-units, units))
        with seeded(1):
            model.fit(x * scale, y * units)
        found.append(np.append(model.coef_ * scale / units, model.intercept_ / units))
        assert model.score(x * scale, y * units) > 0.9
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6)


def test_columns_without_a_signal_cost_little() -> None:
    """Features by public bounds, the first of which tells: as good as objective perturbation, and better than the
    answer that ignores the data, with many others beside it."""
    rng = np.random.default_rng(0)
    told = {}
    for columns in (1, 10, 100):
        x = rng.uniform(0, 8, size=(8000, columns))
        y = np.clip((x[:, 0] - 4) / 5 + 0.1 * rng.normal(size=len(x)), -1, 1)
        scaled = dp.learn.PublicBounds([(0, 8)] * columns).fit_transform(x)
        with seeded(2):
            told[columns] = dp.learn.HuberRegression(dp.GDP(1.0)).fit(scaled, y).score(scaled, y)
    assert min(told.values()) > max(told.values()) - 0.02 > 0.9


def test_rare_labels() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20_000, 2)) / np.sqrt(2)
    y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(5 - 4 * x[:, 0]))).astype(int)
    with seeded(2):
        model = dp.learn.LogisticRegression(dp.GDP(1.0)).fit(x, y)
    assert 0.8 < model.predict_proba(x)[:, 1].mean() / y.mean() < 1.25  # it was 2.9


def test_too_many_columns_for_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_newton, "MOST_COLUMNS", 3)
    monkeypatch.setattr(noisy_newton, "AnalyzeGauss", None)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 5)) / np.sqrt(5)
    data = records(x, (x[:, 0] > 0).astype(float), np.ones(len(x), dtype=bool), 1.0, "clip")
    with seeded(3):
        theta = NoisyNewton(1.0, 1.0).fit(data, Logistic())
    assert np.mean((data.scores(theta) > 0) == data.labels) > 0.9
