"""Every fitted model of `dp.learn` says what it cost one person, if only the worst case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive.personal.noisy_statistics import NoisyStatistics
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.worst_case import WorstCase

PURE, APPROX = dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-5)


def data() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(1).uniform(-0.5, 0.5, size=(300, 2))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (dp.learn.LogisticRegression(APPROX), PerturbedObjective),
        (dp.learn.LogisticRegression(PURE, rows="normalize"), PerturbedObjective),
        (dp.learn.LogisticRegression(APPROX, method="kifer"), PerturbedObjective),
        (dp.learn.LinearSVC(APPROX, intercept_scale=0), PerturbedObjective),
        (dp.learn.HuberRegression(dp.ZCDP(0.1), target_bounds=(-1, 3)), PerturbedObjective),
        (dp.learn.PoissonRegression(APPROX), PerturbedObjective),
        (dp.learn.LinearRegression(dp.GDP(0.5)), NoisyStatistics),
        (dp.learn.LogisticRegression(dp.GDP(0.5)), WorstCase),
        (dp.learn.LogisticRegression(APPROX, method="output"), WorstCase),
        (dp.learn.PosteriorSampleRegression(APPROX), WorstCase),
    ],
)
def test_of_features_and_labels(model: Any, kind: type) -> None:
    x, y = data()
    report = model.fit(x, y).privacy_report_
    (release,) = report.releases
    assert isinstance(release, kind)
    found = report.epsilon(x, y, failure=1e-3)
    assert found.shape == (300,)
    assert (found > 0).all()
    assert (found <= report.worst(failure=1e-3) * (1 + 1e-12)).all()
    assert report.to_json() == type(report).from_json(report.to_json()).to_json()


@pytest.mark.parametrize("model", [dp.learn.GradientMean(PURE), dp.learn.ExponentialQuantile(PURE)])
def test_of_a_list_of_numbers(model: Any) -> None:
    report = model.fit([0.2, 0.4, 0.9] * 100).privacy_report_
    assert report.epsilon([0.4]) == pytest.approx(1.0)


def test_the_worst_record_is_near_the_promise() -> None:
    """The largest report is about the loss's own tail: personal bounds give nothing away on the worst record."""
    x, y = data()
    model = dp.learn.LogisticRegression(APPROX).fit(x, y)
    assert model.privacy_report_.worst(failure=1e-5) < 1.1 * model.loss_.tail(5e-6)
