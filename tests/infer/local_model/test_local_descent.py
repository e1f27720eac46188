"""The local model: what leaves a person, what it costs, and what comes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.audit.clopper_pearson import upper
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.infer.local_model.descent import NEWTON, LocalDescent
from dalenius.infer.local_model.law import accumulated_noise
from dalenius.infer.local_model.people import People
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Standard
from dalenius.sums.curves import Huber, Logistic
from tests.noise.seeded import seeded

KNEE = 1.345
UNIT = Standard(np.zeros(0), np.ones(0), 1.0, 1.0)


def location(mu: float) -> LocalDescent:
    return LocalDescent(score=CurveScore(Huber(KNEE)), standard=UNIT, guarantee=dp.GDP(mu), straight=KNEE)


@pytest.mark.parametrize("guarantee", [dp.GDP(0.5), dp.ZCDP(0.3), dp.ApproxDP(1.0, 1e-6)])
def test_all_messages_of_a_person_keep_the_promise(guarantee: dp.Guarantee) -> None:
    design = LocalDescent(score=CurveScore(Huber(KNEE)), standard=UNIT, guarantee=guarantee, straight=KNEE)
    assert guarantee.holds(design.loss)
    assert design.loss.adjacency is dp.REPLACE_ONE
    assert not guarantee.holds(design.loss + dp.losses.gaussian(100.0, 1.0, dp.REPLACE_ONE))


def test_no_record_moves_a_message_by_more() -> None:
    """Random and hostile rows: scores by 2 B, curvatures by sqrt(2) C."""
    rng = np.random.default_rng(0)
    standard = Standard(np.zeros(2), np.ones(2), 1.0, math.sqrt(3))
    for score in (CurveScore(Huber(KNEE)), CurveScore(Logistic())):
        features = np.concatenate((rng.standard_cauchy((300, 2)), [[1e300, 0], [np.nan, 0], [0, -np.inf]]))
        responses = rng.standard_cauchy(303) if score.curve == Huber(KNEE) else rng.integers(0, 2, 303) * 1.0
        people = People(features, responses, standard, score)
        theta = rng.normal(size=3)
        sent = people.scores(theta, 5000.0)
        gaps = np.linalg.norm(sent[:, None] - sent[None, :], axis=2)
        assert gaps.max() <= people.score_message(1.0).sensitivity * (1 + 2e-3)
        assert gaps.max() > 0.5 * people.score_message(1.0).sensitivity


def audited(mu: float, sensitivity: float) -> float:
    """A lower bound on mu from the whole transcript of one person: a record at the knee, or far on the other side.

    Both see the same parameters. Everybody in a run is that person, with noise of their own.
    """
    design, n = location(mu), 60_000
    rounds = [design._mus["descent"]] * design.rounds + design._newton
    theta = np.zeros(1)
    scores = []
    for record in (KNEE * (1 - 1e-12), -1e6):
        people = People(np.zeros((n, 0)), np.full(n, record), UNIT, CurveScore(Huber(KNEE)))
        total = np.zeros(n)
        for each in rounds:
            sigma = people.score_message(each).sigma * sensitivity
            total += -people.scores(theta, each / sensitivity)[:, 0] * 2 * KNEE / sigma**2
        bend = people.bend_message(design._mus["bend"]).sigma
        sides = people.score.roots(np.zeros(n), people.responses) ** 2
        total += people.bend_message(design._mus["bend"]).release(sides) / bend**2
        scores.append(total)
    threshold = (scores[0].mean() + scores[1].mean()) / 2
    missed = upper(int((scores[0] <= threshold).sum()), n, 0.0125)
    false = upper(int((scores[1] > threshold).sum()), n, 0.0125)
    return float(-stats.norm.ppf(missed) - stats.norm.ppf(false))


def test_audit_of_the_whole_transcript() -> None:
    """Within 5 % of what is claimed, never above; noise for B instead of 2 B is caught."""
    with seeded(3):
        honest, broken = audited(1.0, 1.0), audited(1.0, 0.5)
    assert 0.95 <= honest <= 1.0
    assert broken > 1.5


def test_without_noise_it_is_the_estimate_without_privacy() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(0.4, 1.0, 500)
    with seeded(1):
        fit = dp.infer.local_location(x, dp.GDP(100.0), bounds=(-2, 2), scale=1.0)
    theta = 0.0
    for _ in range(200):
        theta += float(np.clip(x - theta, -KNEE, KNEE).mean())
    # Three Newton steps with the curvature of the first, averaged: not the root itself.
    assert abs(fit.params[0] - theta) < 0.02
    bend, square = (np.abs(x - theta) < KNEE).mean(), (np.clip(x - theta, -KNEE, KNEE) ** 2).mean()
    assert abs(fit.bse[0] / (math.sqrt(square / 500) / bend) - 1) < 0.05


def test_noise_is_everybodys_own() -> None:
    people = People(np.zeros((4000, 0)), np.zeros(4000), UNIT, CurveScore(Huber(KNEE)))
    with seeded(2):
        first, second = people.scores(np.zeros(1), 1.0)[:, 0], people.scores(np.zeros(1), 1.0)[:, 0]
    sigma = people.score_message(1.0).sigma
    assert abs(first.std() / sigma - 1) < 0.06
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.09
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.09
    assert abs(first.mean()) < 6 * sigma / math.sqrt(4000)


def test_the_noise_that_descent_gathers() -> None:
    """Against simulated descent on a quadratic; the last round's noise alone is too little."""
    rng = np.random.default_rng(0)
    curvature = np.array([[0.5, 0.1], [0.1, 0.3]])
    theta = np.zeros((40_000, 2))
    for _ in range(10):
        theta = theta - 1.2 * (theta @ curvature + rng.standard_normal(theta.shape))
    law = accumulated_noise(curvature, 1.2, 10)
    assert (np.abs(np.cov(theta, rowvar=False) - law) < 0.05 * np.trace(law)).all()
    assert law[0, 0] > 1.2 * accumulated_noise(curvature, 1.2, 1)[0, 0]


def test_one_noise_for_all_does_not_average_out() -> None:
    """As printed, theta - step (mean score + noise Z_k), Z_k shared: the error is the same for 100 times the people."""
    rng = np.random.default_rng(4)
    errors: dict[tuple[int, bool], float] = {}
    for n in (200, 20_000):
        for shared in (True, False):
            theta = np.zeros(300)
            spread = 2 * KNEE * math.sqrt(15) / (1 if shared else math.sqrt(n))
            for _ in range(15):  # scores of a normal population, its sampling error left out
                score = KNEE * np.tanh(theta / KNEE)
                theta = theta - score - spread * rng.standard_normal(300)
            errors[n, shared] = float(np.sqrt(np.mean(theta**2)))
    assert 0.8 < errors[20_000, True] / errors[200, True] < 1.25
    assert errors[20_000, False] < 0.2 * errors[200, False]


def test_intervals_hold() -> None:
    """150 locations at n = 2000, mu = 1: between 129 and 150 hold (chances outside: below 1e-5, and seeded)."""
    rng = np.random.default_rng(0)
    held = 0
    with seeded(5):
        for _ in range(150):
            fit = dp.infer.local_location(rng.normal(0.7, 1.0, 2000), dp.GDP(1.0), bounds=(-2, 2), scale=1.0)
            low, high = fit.conf_int()[0]
            held += bool(low <= 0.7 <= high)
    assert held >= 129


def test_regressions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 2))
    line = 0.5 + X @ [1.0, -0.5]
    with seeded(6):
        linear = dp.infer.local_linear_regression(
            X, line + rng.normal(size=40_000), dp.GDP(3.0), bounds=[(-2, 2)] * 2, y_bounds=(-2, 2), scale=1.0
        )
        logistic = dp.infer.local_logistic_regression(
            X, rng.random(40_000) < 1 / (1 + np.exp(-line)), dp.GDP(3.0), bounds=[(-2, 2)] * 2
        )
    for fit in (linear, logistic):
        assert fit.interval_available
        assert (np.abs(fit.params - [1.0, -0.5, 0.5]) < 5 * fit.bse).all()
        assert (fit.bse < 0.15).all()


def test_where_noise_is_too_much_there_is_no_interval_whatever_the_data() -> None:
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=200), np.full(200, 1e9), np.full(200, np.nan)):
        fit = dp.infer.local_location(x, dp.GDP(0.25), bounds=(-2, 2), scale=1.0)
        assert "straight lines" in fit.reason
        assert np.isfinite(fit.params).all()


@pytest.mark.parametrize(
    "change", [{"bounds": (2, -2)}, {"scale": 0}, {"guarantee": 5}, {"x": "abc"}, {"x": [1.0]}, {"x": []}]
)
def test_what_is_refused(change: dict[str, Any]) -> None:
    given = {"x": [1.0, 2.0], "guarantee": dp.GDP(1.0), "bounds": (-2, 2), "scale": 1.0} | change
    with pytest.raises(InvalidParameter):
        dp.infer.local_location(**given)


def test_pure_promises_are_not_for_gaussian_noise() -> None:
    with pytest.raises(CannotMeet, match="needs Gaussian noise"):
        dp.infer.local_location([1.0, 2.0], dp.PureDP(1.0), bounds=(-2, 2), scale=1.0)


def test_the_shares_add_up() -> None:
    assert sum(NEWTON) == pytest.approx(1.0)
    assert location(1.0).loss.gdp() == pytest.approx(1.0, abs=1e-6)
