from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.calculus.errors import InvalidParameter
from dalenius.mechanisms import Hull, KNorm, Laplace, k_norm_noise
from dalenius.mechanisms.k_norm_noise import Ball, Box, Polytope, SmallBall
from tests.mechanisms.contract import FALSE_ALARM, NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import enumerated

HEXAGON = Hull.of_vertices([[1, 0], [0, 1], [1, 1]])
"""Where two counts move if a record may be in either or both."""


def case(norm: Any, size: int, sensitivity: float = 1.0, scale: float = 2.0) -> Case:
    name = norm if isinstance(norm, str) else "hull"
    return Case(
        f"{name} in {size} dimensions",
        lambda change: KNorm(sensitivity=sensitivity, scale=scale * change, norm=norm),
        norm=norm,
        size=size,
        sensitivity=sensitivity,
        scale=scale,
    )


def length(norm: Any, rows: np.ndarray) -> np.ndarray:
    if isinstance(norm, Hull):
        sides = np.abs(rows @ norm.matrix.T) / norm.limits
        return np.maximum(sides.max(axis=1), (np.abs(rows) / norm.widths).max(axis=1))
    return np.linalg.norm(rows, ord={"l1": 1, "l2": 2, "linf": np.inf}[norm], axis=1)


class TestKNorm(MechanismContract):
    cases = (
        case("l1", 3),
        case("l2", 2),
        case("l2", 4, 2.5, 0.6),
        case("linf", 3),
        case("linf", 20, 1.0, 0.5),
        case(HEXAGON, 2),
    )
    inputs = ()
    confidences = ((0.9, 2), (0.95, 2))
    trials = 4000
    loose = 1.6
    sample = 6000
    planted = (0.85, 1.15)
    promises = (dp.PureDP(0.7), dp.ApproxDP(0.5, 1e-3), dp.GDP(0.5))
    epsilons = (0.0, 0.1)
    tight = 1.0  # in several dimensions the Laplace bound is not attained
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"scale": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"norm": x} for x in ("l3", 2, None, [[1.0, 0.0]])),
        {"scale": 1e7},
    )
    bad_values = (1.0, 41, *MechanismContract.bad_values)

    def calibrated(self, promise: Any) -> Any:
        return KNorm.calibrated(promise, sensitivity=0.7, norm="linf")

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, scale=mechanism.scale * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return KNorm.for_accuracy(within, confidence, sensitivity=case.sensitivity, size=size, norm=case.norm)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        """The norm of the noise; spec A9: gamma distributed, of mean d * scale whatever the norm."""
        return length(case.norm, mechanism.releases(np.zeros(case.size), n))

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return stats.gamma(case.size, scale=case.scale).cdf(x)

    def profile(self, case: Case, epsilon: float) -> float:
        """Both densities on a fine lattice in the plane: the worst of a few shifts of full length."""
        side = np.linspace(-13, 13, 521) * case.scale
        x, y = np.meshgrid(side, side)
        grid = np.column_stack((x.ravel(), y.ravel()))
        worst = 0.0
        for angle in (0.0, math.pi / 8, math.pi / 4, math.pi / 2):
            shift = np.array([[math.cos(angle), math.sin(angle)]])
            shift *= case.sensitivity / length(case.norm, shift)[0]
            p, q = (np.exp(-length(case.norm, grid - s) / case.scale) for s in (shift, 0 * shift))
            worst = max(worst, enumerated(p / p.sum(), q / q.sum(), epsilon))
        return worst * (1 - 2e-2)  # the lattice is coarse

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        return np.abs(mechanism.releases(np.zeros(size), trials)).max(axis=1)

    def test_accuracy_grows_with_confidence_and_size(self, case: Case) -> None:
        if isinstance(case.norm, Hull):
            assert case.mechanism.accuracy(0.5, 2) < case.mechanism.accuracy(0.9, 2)
        else:
            super().test_accuracy_grows_with_confidence_and_size(case)

    def test_release_keeps_the_shape(self, case: Case) -> None:
        value = np.arange(float(case.size))
        released = case.mechanism.release(value)
        assert released.shape == value.shape
        if case.size == 4:
            assert case.mechanism.release(value.reshape(2, 2)).shape == (2, 2)

    def test_refuses_a_bad_confidence(self, case: Case, confidence: Any) -> None:  # type: ignore[override]
        with pytest.raises(InvalidParameter, match="confidence"):
            case.mechanism.accuracy(confidence, case.size)

    test_refuses_a_bad_confidence = pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan, "0.9"])(  # type: ignore[assignment]
        test_refuses_a_bad_confidence
    )


class TestTheNoise:
    """Small lattices: the law of the vectors drawn, point by point."""

    @pytest.fixture(autouse=True)
    def _steep(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(k_norm_noise, "FLAT", 0)

    @staticmethod
    def heights(body: Any, points: np.ndarray) -> np.ndarray:
        """h(z): ticks of `ratio` steps each."""
        if isinstance(body, Polytope):
            norms = length(body.hull, points) / body.ratio
            # Vertices lie on the body up to rounding.
            return np.ceil(norms - 1e-9)
        order = np.inf if isinstance(body, Box) else 2
        return np.ceil(np.linalg.norm(points, ord=order, axis=1) / body.ratio - 1e-12)

    @pytest.mark.parametrize(
        "body",
        [Box(1, 1), Box(2, 1), Box(2, 3), SmallBall(2, 2), SmallBall(3, 2), Polytope(HEXAGON, 2)],
        ids=lambda body: f"{type(body).__name__} {body.dimension} {body.ratio}",
    )
    @pytest.mark.parametrize("scale", [1.6, 2.4])
    def test_law(self, body: Any, scale: float) -> None:
        reach = math.ceil((22 if body.dimension < 3 else 11) * scale * body.ratio)
        side = np.arange(-reach, reach + 1)
        points = np.array(list(itertools.product(side, repeat=body.dimension)))
        weights = np.exp(-self.heights(body, points) / scale)
        p = weights / weights.sum()
        n = 60_000
        with bits("law", repr(body), scale):
            drawn = body.draw(scale, n)
        index = np.ravel_multi_index(
            tuple(np.clip(drawn.T.astype(np.int64) + reach, 0, 2 * reach)), (2 * reach + 1,) * body.dimension
        )
        limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n))
        for order in (np.arange(len(p)), np.argsort(self.heights(body, points), kind="stable")):
            found = np.cumsum(np.bincount(index, minlength=len(p))[order]) / n
            assert np.abs(found - np.cumsum(p[order])).max() <= limit
        # The same test rejects a scale off by 15 %.
        other = np.exp(-self.heights(body, points) / (1.15 * scale))
        found = np.cumsum(np.bincount(index, minlength=len(p))[order]) / n
        assert np.abs(found - np.cumsum((other / other.sum())[order])).max() > limit

    @pytest.mark.parametrize(("norm", "scale"), [("l2", 6.0), ("linf", 6.0), ("l2", 2.0)])
    def test_lemma_4(self, norm: str, scale: float) -> None:
        """On a lattice: pure by the triangle inequality, and within the Laplace curve of the chain."""
        reach = math.ceil(14 * scale) + 8
        side = np.arange(-reach, reach + 1)
        x, y = np.meshgrid(side, side, indexing="ij")
        size = np.hypot(x, y) if norm == "l2" else np.maximum(np.abs(x), np.abs(y))
        p = np.exp(-np.ceil(size - 1e-12) / scale)
        p /= p.sum()
        for move in ((3, 0), (2, 2), (4, 3), (5, 1)):
            ticks = math.ceil(math.hypot(*move) if norm == "l2" else max(move))
            inner = (slice(8, -8), slice(8, -8))
            moved = np.roll(p, move, axis=(0, 1))
            assert np.abs(np.log(p[inner]) - np.log(moved[inner])).max() <= ticks / scale + 1e-9
            hops = math.isqrt(ticks)
            hop = -(-ticks // hops) + 2
            shift = hops * hop / scale + hop**2 / (4 * scale**2)
            for epsilon in (0.0, 0.1, 0.4):
                bound = max(0.0, -math.expm1((epsilon - shift) / 2))
                assert enumerated(p[inner].ravel(), moved[inner].ravel(), epsilon) <= bound


class TestManyDimensions:
    @pytest.mark.parametrize(("norm", "size"), [("l2", 12), ("l2", 60), ("linf", 300)])
    def test_norm_and_direction(self, norm: str, size: int) -> None:
        m = KNorm(sensitivity=1, scale=2.0, norm=norm)  # type: ignore[arg-type]
        trials = 250
        with bits("many", size):
            drawn = m.releases(np.zeros(size), trials)
        norms = length(norm, drawn)
        assert abs(norms.mean() / (2.0 * size) - 1) < 7 / math.sqrt(size * trials)
        # Coordinates are exchangeable and even.
        assert abs(drawn.mean()) < 8 * drawn.std() / math.sqrt(drawn.size)
        assert abs((drawn > 0).mean() - 0.5) < 4 / math.sqrt(drawn.size)

    def test_ball_is_as_small_ball(self) -> None:
        """Two samplers of the same law, in five dimensions."""
        n = 500
        with bits("ball"):
            a = Ball(5, 4).draw(2.0**20, n)
            b = SmallBall(5, 4).draw(2.0**20, n)
        for view in (lambda z: np.linalg.norm(z, axis=1), lambda z: z[:, 0], lambda z: np.abs(z).max(axis=1)):
            gap = stats.ks_2samp(view(a.astype(float)), view(b.astype(float))).statistic
            assert gap < math.sqrt(math.log(2 / 1e-9) / n)


def test_one_norm_is_laplace() -> None:
    m = KNorm(sensitivity=1, scale=2.0, norm="l1")
    with bits("l1"):
        a = m.release([1.0, 2.0])
    with bits("l1"):
        b = Laplace(sensitivity=1, scale=2.0).release([1.0, 2.0])
    assert (a == b).all()
    assert m.accuracy(0.9, 4) == Laplace(sensitivity=1, scale=2.0).accuracy(0.9, 4)


def test_expected_norm() -> None:
    """Spec A9: E||V||_K = d * scale for every norm."""
    for norm, size in (("l1", 3), ("l2", 3), ("linf", 3), (HEXAGON, 2)):
        with bits("expected"):
            drawn = KNorm(sensitivity=1, scale=1.5, norm=norm).releases(np.zeros(size), 20_000)  # type: ignore[arg-type]
        assert length(norm, drawn).mean() == pytest.approx(1.5 * size, rel=8 / math.sqrt(size * 20_000))


def test_the_extra_is_small() -> None:
    for norm, size in (("l2", 2), ("l2", 100), ("linf", 10), (HEXAGON, 2)):
        m = KNorm(sensitivity=1, scale=2.0, norm=norm)  # type: ignore[arg-type]
        plan = m._plan(size)
        tick = float(plan.grid.granularity) * plan.body.ratio
        assert 0 < plan.units * tick / 2.0 - 1 < 1e-4


def test_hull_helps() -> None:
    """Two counts that move together: the hexagon needs less noise than the l-infinity ball around it."""
    with bits("helps"):
        hull = KNorm(sensitivity=1, scale=1.0, norm=HEXAGON).releases(np.zeros(2), 20_000)
        box = KNorm(sensitivity=1, scale=1.0, norm="linf").releases(np.zeros(2), 20_000)
    assert (hull**2).sum(axis=1).mean() < 0.97 * (box**2).sum(axis=1).mean()


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="use Laplace"):
        KNorm(sensitivity=1, scale=1.0).release(3.0)
    with pytest.raises(InvalidParameter, match="3 coordinates"):
        KNorm(sensitivity=1, scale=1.0, norm=HEXAGON).release([1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="size is 3"):
        KNorm(sensitivity=1, scale=1.0, norm=HEXAGON).accuracy(0.9, 3)
