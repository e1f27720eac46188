"""Every fitted model of `dp.learn` says what it cost one person, if only the worst case."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import PrivacyReport, goe_quantile
from dalenius.adaptive.personal.noisy_statistics import NoisyStatistics
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.errors import InvalidParameter
from dalenius.learn.models.sharper_report import summed_below
from tests.noise.seeded import seeded

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
        (dp.learn.LogisticRegression(APPROX, class_weight={1: 5}), PerturbedObjective),
        (dp.learn.LinearSVC(PURE, class_weight={0: 5}), PerturbedObjective),
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


def test_a_person_s_share_has_the_weight_of_their_class() -> None:
    """By hand: |g| / scale + log(1 + f'' |x|^2 / ridge), with slope and bend times 1/5 for label 0."""
    x, y = data()
    options: dict[str, Any] = {"intercept_scale": 0.0, "knee": 1.0}
    model = dp.learn.LogisticRegression(PURE, class_weight={1: 5}, **options).fit(x, y)
    point = np.array([0.3, -0.2])
    p = 1 / (1 + np.exp(-point @ model.coef_[0]))
    size = np.linalg.norm(point)
    for label, weight in ((0, 0.2), (1, 1.0)):
        slope, bend = weight * abs(p - label), weight * p * (1 - p)
        by_hand = slope * size / model.plan_.scale + np.log1p(bend * size**2 / model.plan_.ridge)
        told = model.privacy_report_.epsilon(point, label)
        assert by_hand <= told < by_hand + 0.003  # the output noise, which is 0.002 of epsilon
        again = PrivacyReport.from_json(model.privacy_report_.to_json())
        assert again.epsilon(point, label) == told


def test_a_sharper_report_knows_the_weights() -> None:
    """The released Hessian is that of weighted rows."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6000, 2)) / 2
    y = (x[:, 0] + rng.normal(size=6000) > 0).astype(int)
    model = dp.learn.LogisticRegression(APPROX, knee=1.0, class_weight={1: 5}, intercept_scale=0.0).fit(x, y)
    curved = model.sharper_report(x, y, dp.ApproxDP(2.0, 1e-6)).release.curvature
    rows = x * np.minimum(1, 1 / np.linalg.norm(x, axis=1))[:, None]
    p = 1 / (1 + np.exp(-rows @ model.coef_[0]))
    bends = p * (1 - p) * np.where(y == 1, 1.0, 0.2)
    true = (rows * bends[:, None]).T @ rows + model.plan_.ridge * np.eye(2)
    assert np.abs(np.linalg.eigvalsh(curved.square - true)).max() < 4 * curved.sigma * goe_quantile(2, 1e-6)
    assert np.linalg.eigvalsh(true)[0] > 20 * curved.sigma  # else the noise would hide them


# -- sharper reports -----------------------------------------------------------------------------------


def test_summed_below_is_below_and_its_records_are_bounded() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    bends = rng.uniform(0, 0.25, 500)
    bends[:5] = 0.25
    whole = summed_below(x, bends, 0.25)
    true = (x * bends[:, None]).T @ x
    gap = np.linalg.eigvalsh(true - whole.astype(float))
    assert 0 <= gap[0] <= gap[-1] < 1e-6
    less = summed_below(x[1:], bends[1:], 0.25)
    moved = whole - less
    assert (moved == summed_below(x[:1], bends[:1], 0.25)).all()  # exactly
    assert sum(v * v for v in moved.ravel().tolist()) <= Fraction(0.25) ** 2


def test_sharper_reports() -> None:
    """Leverage is known: smaller bounds on the model, at a price that `everything` has."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6000, 2)) / 2
    y = (x[:, 0] + rng.normal(size=6000) > 0).astype(int)
    model = dp.learn.LogisticRegression(APPROX, noise_ratio=2.0, knee=1.0).fit(x, y)
    sharper = model.sharper_report(x, y, dp.ApproxDP(0.2, 1e-6))
    free = model.privacy_report_.epsilon(x, y)
    assert np.mean(sharper.epsilon(x, y)) < 0.9 * np.mean(free)
    assert (sharper.everything.epsilon(x, y) > sharper.epsilon(x, y)).all()
    assert dp.ApproxDP(0.2, 1e-6).holds(sharper.loss)
    curved = sharper.release.curvature.square
    spread = 4 * sharper.release.curvature.sigma * goe_quantile(3, 1e-6)
    p = model.predict_proba(x)[:, 1]
    rows = np.column_stack([x * np.minimum(1, 1 / np.linalg.norm(x, axis=1))[:, None], np.full(6000, 0.3)])
    true = (rows * (p * (1 - p))[:, None]).T @ rows + model.plan_.ridge * np.eye(3)
    assert np.abs(np.linalg.eigvalsh(curved - true)).max() < spread


def test_records_that_were_left_out_of_the_fit_are_left_out_of_the_hessian() -> None:
    x, y = data()
    odd = np.vstack([x, [[np.nan, 0.0], [0.0, np.inf], [0.1, 0.1]]])
    labels = np.append(y, [0, 1, 7])
    model = dp.learn.LogisticRegression(APPROX).fit(odd, labels)
    with seeded(1):
        there = model.sharper_report(odd, labels, APPROX)
    with seeded(1):
        absent = model.sharper_report(x, y, APPROX)
    assert there.release == absent.release
    empty = model.sharper_report(x[:0], y[:0], APPROX)
    assert empty.epsilon(x, y).shape == (300,)


def test_other_fits_have_no_sharper_report() -> None:
    x, y = data()
    with pytest.raises(InvalidParameter, match="objective perturbation"):
        dp.learn.LogisticRegression(PURE).fit(x, y).sharper_report(x, y, APPROX)


def test_records_too_large_for_the_fit_are_left_out_of_the_hessian() -> None:
    x, y = data()
    odd, labels = np.vstack([x, np.full((50, 2), 1.7e308)]), np.append(y, np.ones(50, dtype=int))
    model = dp.learn.LogisticRegression(APPROX).fit(odd, labels)
    with seeded(1):
        there = model.sharper_report(odd, labels, APPROX)
    with seeded(1):
        assert there.release == model.sharper_report(x, y, APPROX).release


def test_a_fit_that_was_chosen_cost_as_much_as_the_choice() -> None:
    x, y = data()
    one = dp.learn.LogisticRegression(dp.ApproxDP(0.5, 1e-7), rows="clip")
    search = dp.learn.PrivateSearch(one, [{"row_norm": 1.0}, {"row_norm": 2.0}], dp.ApproxDP(4.0, 1e-5))
    chosen = search.fit(x, y).best_estimator_
    assert chosen.privacy_report_.releases == (WorstCase(search.loss_, "LogisticRegression"),)
