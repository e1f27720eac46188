"""How far rows reach: as far as public facts can pay for, and then what is estimated without weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.infer.regression.plan import Facts, plan
from dalenius.infer.regression.reach import REACHES, Probe, Weights, checked_reach
from dalenius.mechanisms import AnalyzeGauss, Gaussian
from dalenius.session.record.estimators import estimator_record
from tests.noise.seeded import seeded


def facts(n: float, mu: float, size: int) -> Facts:
    return Facts(n, mu, size, dp.REPLACE_ONE, columns=0, looks=2, scale_known=False)


def test_weights_are_those_of_normal_rows() -> None:
    """A million rows; means of bounded numbers, to three deviations of 2e-3."""
    squares = np.random.default_rng(0).chisquare(3, 1_000_000) / 3
    weights = np.minimum(1, 1.2**2 / squares)
    told = Weights.of(1.2, 3)
    assert told.curvature == pytest.approx(np.mean(weights * squares), abs=6e-3)
    assert told.square == pytest.approx(np.mean(weights**2 * squares), abs=6e-3)


@pytest.mark.parametrize("size", [1, 4, 10])
def test_more_rows_reach_farther_up_to_three(size: int) -> None:
    reaches = [facts(n, 0.5, size).reach() for n in np.geomspace(50, 1e6, 25)]
    assert reaches == sorted(reaches)
    assert (reaches[0], reaches[-1]) == (1.0, 3.0)
    assert set(reaches) <= set(REACHES)


def test_no_reach_takes_the_interval_away_or_makes_it_much_wider() -> None:
    for n in (200, 500, 2000, 10_000):
        for mu in (0.25, 0.5, 1.0, 2.0):
            for size in (1, 4, 10):
                public = facts(n, mu, size)
                near, far = Weights.of(1.0, size), Weights.of(public.reach(), size)
                assert plan(public, far).feasible == plan(public, near).feasible
                assert public.standard_error(far) <= 1.1 * public.standard_error(near)


def test_where_the_model_is_an_approximation_many_rows_give_maximum_likelihood() -> None:
    """A relation that bends: hardly weighted, the line is that of all rows (3 errors), near the centre it is not."""
    random = np.random.default_rng(0)
    x = random.gamma(2, 1, 30_000)
    chance = 1 / (1 + np.exp(-(x - 1) * (4 - x) / 2))
    y = random.random(30_000) < chance
    design, root = np.column_stack([x, np.ones(len(x))]), np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ root))
        root += np.linalg.solve((design * (p * (1 - p))[:, None]).T @ design, design.T @ (y - p))
    with seeded(1):
        default = dp.infer.logistic_regression(x[:, None], y, dp.GDP(1.0))
        near = dp.infer.logistic_regression(x[:, None], y, dp.GDP(1.0), reach=1)
    assert np.abs(default.params - root)[0] < 3 * default.bse[0]
    assert np.abs(near.params - root)[0] > 5 * near.bse[0]


def test_heavy_tails_are_told_of() -> None:
    """40 % errors of a Cauchy law: a sixth is beyond three scales; next to none of a normal law."""
    random = np.random.default_rng(0)
    x = random.normal(size=(5000, 1))
    known = {"x_center": 0.0, "x_scale": 1.0, "y_center": 0.0, "y_scale": 1.0}
    normal = random.normal(size=5000)
    long = np.where(random.random(5000) < 0.4, 3 * random.standard_cauchy(5000), normal)
    with seeded(0):
        assert len(dp.infer.linear_regression(x, x[:, 0] + long, dp.GDP(1.0), **known).notes) == 2
        assert len(dp.infer.linear_regression(x, x[:, 0] + normal, dp.GDP(1.0), **known).notes) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-4, 1e4, np.nan, np.inf, "3", True])
def test_reaches_that_mean_nothing_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="reach"):
        checked_reach(value)


def test_a_reach_of_one_is_what_ledgers_mean_by_questions_without_it() -> None:
    def settings(**some: object) -> dict[str, object]:
        return estimator_record(dp.infer.LogisticRegression(guarantee=dp.GDP(1.0), **some))["settings"]

    assert "reach" not in settings(reach=1)
    assert settings()["reach"] is None
    assert settings(reach=2) == {**settings(reach=1.0), "reach": {"number": "2.0"}}


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("kind", [dp.infer.LinearRegression, dp.infer.LogisticRegression])
@pytest.mark.parametrize("known", [{}, {"x_center": 0.0, "x_scale": 1.0}])
def test_with_the_look_all_that_is_released_adds_up_to_the_promise(
    kind: Any, adjacency: Any, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent, looks = [], []

    def watch(mechanism: Any, factor: float) -> None:
        right = mechanism.release

        def release(self: Any, value: Any) -> Any:
            spent.append(self.sensitivity * factor / self.sigma)
            return right(self, value)

        monkeypatch.setattr(mechanism, "release", release)

    watch(Gaussian, 1.0)
    watch(AnalyzeGauss, math.sqrt(0.5))
    look = Probe.of.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(Probe, "of", classmethod(lambda *given: looks.append(1) or look(*given)))
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 3))
    model = kind(guarantee=dp.GDP(0.8), adjacency=adjacency, **known)
    model.release(X, X[:, 0] + random.normal(size=4000) > 0)
    assert looks == [1]
    assert math.hypot(*spent) <= model.mu * (1 + 1e-12)
    assert math.hypot(*spent) == pytest.approx(model.mu, rel=1e-6)
