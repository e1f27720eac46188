"""Regression drawn by the exponential mechanism: the law of the draw, what it costs, and the manners of the estimators.

False alarms. Laws are compared by DKW at level 1e-10, audits run at confidence 1 - 1e-9; seeds are fixed.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.learn import (
    ExponentialLeastSquares,
    ExponentialQuantileRegression,
    GradientLeastSquares,
    GradientQuantileRegression,
)
from dalenius.learn.numerics import grid_draw, grid_scores
from dalenius.learn.numerics.grid_draw import Boxes
from dalenius.learn.numerics.grid_scores import PinballGradient, PinballRisk, SquaresGradient, SquaresRisk
from tests.learn.contract import EXPECTED
from tests.learn.models.test_regressors import Bounded, RegressorContract
from tests.mechanisms.contract import follows
from tests.noise.seeded import seeded

TOP = 0.5
KINDS: dict[str, tuple[Any, int]] = {
    "squares, gradient": (lambda x, y: SquaresGradient(x, y, TOP), 2),
    "squares, risk": (lambda x, y: SquaresRisk(x, y, TOP), 1),
    "pinball, gradient": (lambda x, y: PinballGradient(x, y, TOP, 3 << 18), 2),
    "pinball, risk": (lambda x, y: PinballRisk(x, y, TOP, 3 << 18), 1),
}
FEW = "at most four coefficients can be drawn exactly; the check has more columns"


def whole(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.rint(np.reshape(x, (len(y), -1)) * 2.0**18), np.rint(np.asarray(y, dtype=float) * 2.0**18)


def some(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return whole(x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], rng.uniform(-TOP, TOP, rows))


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """A grid of 8 x 8, and those of its points that lie in the ball."""
    for module in (grid_draw, grid_scores):
        monkeypatch.setattr(module, "AXIS_BITS", 3)
    points = np.array(list(itertools.product(range(-7, 8, 2), repeat=2)))
    return points[(points**2).sum(axis=1) <= 64]


def chances(score: Any, points: np.ndarray, scale: float) -> np.ndarray:
    values = np.array([float(score.at(p)) for p in points]) / scale
    weight = np.exp(values - values.max())
    return weight / weight.sum()


@pytest.mark.parametrize("name", KINDS)
def test_law_of_the_draw(name: str, coarse: np.ndarray) -> None:
    """Every point of a small grid as often as it should be, and not as often as with half the scale."""
    score = KINDS[name][0](*some(30, 1))
    scale = 1.0
    boxes = Boxes(score, np.zeros((1, 2), dtype=np.int64), np.full((1, 2), 8, dtype=np.int64))
    for _ in range(4):
        boxes = boxes.replaced(np.full(len(boxes.bound), True))
    assert len(boxes.bound) == 16  # of 4 points each: rejection is put to the test
    place = {tuple(p): k for k, p in enumerate(coarse.tolist())}
    order = np.argsort(-chances(score, coarse, scale), kind="stable")
    rank = np.argsort(order)
    with seeded(len(name)):
        drawn = [grid_draw._kept(boxes, scale) for _ in range(800)]
    ranks = np.array([rank[place[tuple(p.tolist())]] for p in drawn if p is not None])
    assert len(ranks) > 750

    def cdf(used: float) -> Any:
        steps = np.cumsum(chances(score, coarse, used)[order])
        return lambda x: np.concatenate(([0.0], steps))[
            np.searchsorted(np.arange(len(steps)), x, side="right")
        ]

    assert follows(ranks, cdf(scale))
    assert not follows(ranks, cdf(scale * 0.5))


@pytest.mark.parametrize("name", KINDS)
def test_bounds_hold_all_over_a_box(name: str) -> None:
    rng = np.random.default_rng(2)
    score = KINDS[name][0](*some(200, 3))
    sides = 1 << rng.integers(0, 21, size=(60, 2))
    corners = rng.integers(0, (1 << 20) // sides) * sides
    boxes = Boxes(score, corners, sides)
    for k in range(60):
        for corner in (np.zeros(2), np.ones(2), rng.uniform(size=2), rng.uniform(size=2)):
            place = corners[k] + np.rint(corner * (sides[k] - 1)).astype(np.int64)
            assert score.at(2 * place + 1 - (1 << 20)) <= boxes.bound[k]
    near = Boxes(score, corners, np.ones_like(sides))
    exact = np.array([float(score.at(2 * c + 1 - (1 << 20))) for c in corners])
    np.testing.assert_allclose(near.bound, exact, atol=1e-6)


def test_four_coefficients_need_few_boxes() -> None:
    """Bounds along the gradient, not along the axes alone, which took nine times as many."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(200, 3))
    y = x @ [1, -2, 0.5] + 0.5 * rng.normal(size=200)
    looked = []
    bounds = PinballGradient.bounds

    def counted(self: PinballGradient, middle: np.ndarray, half: np.ndarray) -> np.ndarray:
        looked.append(len(middle))
        return bounds(self, middle, half)

    with pytest.MonkeyPatch.context() as patch, seeded(1):
        patch.setattr(PinballGradient, "bounds", counted)
        dp.learn.GradientQuantileRegression(dp.PureDP(1.0), target_bounds=(-4, 4)).fit(x, y)
    assert sum(looked) < 120_000


def worst(name: str) -> tuple[Any, Any]:
    """One record pulls the coefficients back from the edge where forty others want them."""
    many = [[0.55, 0.0]] * 40, [0.5] * 40
    return many, ([*many[0], [1.0, 0.0]], [*many[1], -0.5])


@pytest.mark.parametrize("name", KINDS)
def test_cost_by_enumeration(name: str, coarse: np.ndarray) -> None:
    """The log ratio of all probabilities varies by epsilon at most: what `bounded_range` says. It would not with
    twice the exponent, as if the factor 2 (or, for a risk, half of the range) had been forgotten."""
    build, factor = KINDS[name]
    found = {1.0: 0.0, 0.5: 0.0}
    for seed in range(12):
        x, y = some(seed, seed) if seed else whole(*worst(name)[1])
        other = (x[:-1], y[:-1]) if seed or not len(y) else whole(*worst(name)[0])
        if seed > 6:  # many records alike, and one more
            x, y = np.repeat(x[:1], 30, axis=0), np.repeat(y[:1] * 0 - TOP * 2.0**18, 30)
            x = np.rint(x / np.linalg.norm(x[0]) * 2.0**18)
            other = x[:-1], y[:-1]
        for part in found:
            scale = part * factor * build(x, y).change
            ratio = np.log(chances(build(x, y), coarse, scale) / chances(build(*other), coarse, scale))
            found[part] = max(found[part], float(np.ptp(ratio)))
    assert found[1.0] <= 1.0 < found[0.5]


def test_no_records_means_any_point_of_the_ball(coarse: np.ndarray) -> None:
    score = KINDS["squares, gradient"][0](np.zeros((0, 2)), np.zeros(0))
    with seeded(1):
        drawn = np.array([grid_draw.draw(score, 2, 1.0) for _ in range(1000)])
    assert {tuple(p) for p in drawn.tolist()} == {tuple(p) for p in coarse.tolist()}


class Drawn(Bounded):
    promises = (dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.1))
    expected = {k: v for k, v in EXPECTED.items() if k != "check_supervised_y_no_nan"} | dict.fromkeys(
        (
            "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit",
            "check_estimators_dtypes",
            "check_dtype_object",
            "check_regressors_train",
            "check_regressor_data_not_an_array",
            "check_regressors_no_decision_function",
            "check_regressors_int",
            "check_fit2d_1sample",
        ),
        FEW,
    )
    audited = (dp.PureDP(1.0),)
    trials = 100
    fitted = RegressorContract.fitted
    kind: Any

    def build(self, promise: Any, **options: Any) -> Any:
        return self.kind(promise, **options)

    def data(self, rows: int = 20, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
        return super().data(rows, columns)

    def worst_pair(self) -> Any:
        x, y = worst("")[1]
        return (np.array(x[:-1]), np.array(y[:-1])), (np.array(x), np.array(y))

    def test_learns(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.uniform(-1, 1, size=(1000, 1))
        y = 50 + 30 * x[:, 0] + rng.normal(size=len(x))
        with seeded(8):
            model = self.build(dp.PureDP(8.0), target_bounds=(0, 100)).fit(x, y)
        assert model.score(x, y) > 0.9

    def test_more_columns_than_rows(self) -> None:
        x, y = self.data(rows=2, columns=3)
        assert np.isfinite(self.released(self.build(self.promises[0]).fit(x, y))).all()
        with pytest.raises(InvalidParameter, match="at most 4 coefficients"):
            self.build(self.promises[0]).fit(*self.data(rows=5, columns=4))

    @pytest.mark.parametrize("bad", [0.0, -1.0, 0.1, np.nan, np.inf, None, "2"])
    def test_unbounded_coefficients_are_refused(self, bad: Any) -> None:
        with pytest.raises(InvalidParameter, match="coef_bound"):
            self.build(self.promises[0], coef_bound=bad).fit(*self.data())

    def test_coefficients_stay_in_their_ball(self) -> None:
        x = np.full((50, 1), 0.1)
        with seeded(3):
            model = self.build(dp.PureDP(20.0), intercept_scale=0.0, coef_bound=2.0).fit(x, np.ones(50))
        assert abs(model.coef_[0]) <= 2.0

    telling: tuple[Any, Any] = ((np.zeros((0, 1)), np.zeros(0)), (np.ones((1, 1)), np.ones(1)))

    def test_too_small_a_scale_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An audit contradicts the claim when the exponent is two hundred times what was paid for."""
        monkeypatch.setattr(self.kind, "factor", self.kind.factor / 200)
        model = self.build(dp.PureDP(1.0), intercept_scale=0.0)
        with seeded(6):
            found = dp.audit.lower_bound(
                lambda data: self.released(model.fit(*data)),
                pair=self.telling,
                trials=250,
                confidence=1 - 1e-9,
            )
        assert found.epsilon > 1.0


class TestGradientLeastSquares(Drawn):
    kind = GradientLeastSquares


class Alike(Drawn):
    """The same class but for the score: scikit-learn's checks need not be repeated."""

    def test_scikit_learn_checks(self) -> None:
        pass


class TestExponentialLeastSquares(Alike):
    kind = ExponentialLeastSquares


class Quantiles(Alike):
    @pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, np.nan, "half"])
    def test_level_is_checked(self, bad: Any) -> None:
        with pytest.raises(InvalidParameter, match="level"):
            self.build(self.promises[0], level=bad).fit(*self.data())

    def test_level_is_met(self) -> None:
        rng = np.random.default_rng(4)
        x = rng.uniform(-1, 1, size=(600, 1))
        y = x[:, 0] / 2 + rng.uniform(-0.5, 0.5, size=600)
        with seeded(2):
            model = self.build(dp.PureDP(10.0), level=0.9).fit(x, y)
        assert 0.8 < np.mean(y <= model.predict(x)) < 0.97


class TestGradientQuantileRegression(Quantiles):
    kind = GradientQuantileRegression
    telling = ((np.ones((1, 1)), np.array([-0.97])), (np.ones((2, 1)), np.array([-0.97, -0.9])))


class TestExponentialQuantileRegression(Quantiles):
    kind = ExponentialQuantileRegression


def test_gradient_is_closer() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20_000, 1))
    y = np.clip(0.3 + 0.4 * x[:, 0] + 0.1 * rng.normal(size=len(x)), -1, 1)
    errors = {}
    with seeded(2):
        for kind in (GradientLeastSquares, ExponentialLeastSquares):
            errors[kind] = np.mean([abs(kind(dp.PureDP(1.0)).fit(x, y).coef_[0] - 0.4) for _ in range(20)])
    assert errors[GradientLeastSquares] < errors[ExponentialLeastSquares] / 3


TIED: dict[str, Any] = {
    "all alike": (np.full((499, 1), 0.5), np.full(499, 0.3)),
    "nearly": (0.5 + 1e-4 * np.sin(np.arange(499))[:, None], np.full(499, 0.3)),
    "two kinds": (np.repeat([[0.5], [-0.5]], 250, axis=0), np.repeat([0.3, -0.2], 250)),
    "one target": (np.linspace(-1, 1, 499)[:, None], np.full(499, 0.3)),
    "varied": (np.linspace(-1, 1, 499)[:, None], 0.3 + 0.1 * np.sin(np.arange(499) ** 2)),
}


@pytest.mark.parametrize(
    "kind", [GradientQuantileRegression, ExponentialQuantileRegression, GradientLeastSquares]
)
@pytest.mark.parametrize("name", TIED)
def test_work_does_not_grow_where_records_are_alike(
    kind: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes looked at: without a ramp, records that are alike needed as many as there are points along a line."""
    looked: list[int] = []
    build = Boxes.__init__

    def counted(self: Any, score: Any, corner: Any, side: Any) -> None:
        looked.append(len(corner))
        assert sum(looked) < 200_000
        build(self, score, corner, side)

    monkeypatch.setattr(Boxes, "__init__", counted)
    with seeded(1):
        kind(dp.PureDP(1.0)).fit(*TIED[name])
