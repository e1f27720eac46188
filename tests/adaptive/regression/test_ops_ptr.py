"""OPS-PTR: its bounds are bounds, its promise is kept, refusals happen, and print is contradicted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalenius as dp
from dalenius.adaptive import Refusal, ops_ptr
from dalenius.adaptive.regression.ops_ptr import Statement
from dalenius.adaptive.regression.posterior_sample import sample_delta
from dalenius.adaptive.regression.ridge import RidgeBounds, Squares
from dalenius.errors import InvalidParameter
from tests.mechanisms.contract import frequency
from tests.noise.seeded import seeded

PROMISE = dp.ApproxDP(1.0, 1e-6)


def squares(x: np.ndarray, y: np.ndarray) -> Squares:
    return Squares(x.T @ x, x.T @ y)


def records(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], rng.uniform(-1, 1, size=n)


def test_keeps_its_promise_and_wastes_little() -> None:
    for promise in (PROMISE, dp.ApproxDP(0.1, 1e-8), dp.ApproxDP(8.0, 1e-5)):
        loss = ops_ptr(promise, square=1.0, ridge=10.0).loss
        assert promise.delta * 0.8 < loss.delta(promise.epsilon) <= promise.delta


def test_residuals_and_eigenvalues_of_neighbours() -> None:
    """What the bounds rest on (Weyl; Wang 2018, Lemma 12), for records added and removed."""
    for seed in range(60):
        x, y = records(12, 2, seed)
        for ridge in (0.1, 2.0):
            here, there = squares(x, y), squares(x[1:], y[1:])
            assert abs(here.least_eigenvalue - there.least_eigenvalue) <= 1 + 1e-12
            leverage = 1 / (there.least_eigenvalue + ridge)
            sizes = [math.log1p(float(np.linalg.norm(s.solved(ridge)[1]))) for s in (here, there)]
            assert abs(sizes[0] - sizes[1]) <= math.log1p(leverage) + 1e-12


def test_dependent_columns_and_a_tiny_ridge_do_not_fail() -> None:
    """Rounding makes X^T X + ridge singular for one of two neighbours: both are refused, and neither is an error."""
    for n in (10, 1000, 100_001):
        for ridge in (1e-15, 1e-18, 1e-100):
            alike = Squares(np.full((2, 2), float(n)), np.full(2, 0.3 * n))
            other = Squares(alike.gram + np.array([[1.0, -1.0], [-1.0, 1.0]]), alike.product)
            sample = ops_ptr(PROMISE, square=2.0, ridge=ridge)
            assert [sample.release(alike), sample.release(other)] == [Refusal(), Refusal()]


def test_bounds_fail_as_often_as_they_say() -> None:
    x, y = records(400, 2, 1)
    data, bounds = squares(x, y), RidgeBounds(1.0, dp.ApproxDP(2.0, 0.1), 0.2)
    truth = float(np.linalg.norm(data.solved(5.0)[1]))
    with seeded(1):
        low = [bounds.eigenvalue(data) for _ in range(2000)]
        high = [bounds.residual(data, 5.0, 1 / 50) for _ in range(2000)]
    # They hold for neighbours, too, which one move of the statistic is left for.
    false = sum(found + 1 > data.least_eigenvalue for found in low)
    assert frequency(false, 2000)[0] <= 0.2
    assert false > 200
    false = sum(found / (1 + 1 / 50) < 1 + truth for found in high)
    assert frequency(false, 2000)[0] <= 0.2
    assert false > 200


def test_printed_bounds_are_on_the_wrong_side() -> None:
    """Redberg 2023, Algorithm 14 as printed: "lambda_min <= the release", a licence for a sharper posterior."""
    x, y = records(400, 2, 1)
    data, bounds = squares(x, y), RidgeBounds(1.0, dp.ApproxDP(2.0, 0.1), 0.2)
    with seeded(2):
        printed = [2 * data.least_eigenvalue - bounds.eigenvalue(data) for _ in range(500)]
    assert sum(found > data.least_eigenvalue for found in printed) > 300


def test_printed_precision_breaks_its_promise() -> None:
    """The largest gamma by Theorem 3.6.1 of Redberg 2023, without the 2 under the root: more delta than promised."""
    release = ops_ptr(PROMISE, square=1.0, ridge=1.0)
    family, statement = release.family, Statement(least=1e4, residual=2.0)
    epsilon, delta, star = family.epsilon, family.delta, 1e4 + 1.0
    root = 2.0 * math.sqrt(math.log(2 / delta) / star)
    square, rest = 4.0 / (2 * (star + 1)), (1 + math.log(2 / delta)) / (2 * star)
    printed = ((-root + math.sqrt(root**2 + 4 * square * (epsilon - rest))) / (2 * square)) ** 2
    assert sample_delta(epsilon, printed, 2.0, 1 / star) > 3 * delta
    phi = family.choose(statement)
    assert phi is not None
    assert 0.5 * delta < sample_delta(epsilon, phi[0], 2.0, 1 / star) <= delta
    assert phi[0] < printed


def test_small_ridges_are_refused() -> None:
    x, y = records(30, 3, 0)
    with seeded(3):
        assert ops_ptr(PROMISE, square=1.0, ridge=0.01).release(squares(x, y)) == Refusal()
        assert not isinstance(ops_ptr(PROMISE, square=1.0, ridge=1e3).release(squares(x, y)), Refusal)


def test_flat_posteriors_are_refused() -> None:
    family = ops_ptr(PROMISE, square=1.0, ridge=1.0).family
    assert family.choose(Statement(least=100.0, residual=100.0)) is None
    for least in (100.0, 400.0, 1e4, 1e6):
        phi = family.choose(Statement(least=least, residual=2.0))
        assert phi is not None
        assert phi[1] <= 1 / 3


def test_nothing_is_hidden_by_an_overflow() -> None:
    for residual in (1e10, 1e160, 1e250):
        assert sample_delta(1.0, 1.0, residual, 0.1) == 1.0


def test_audit_of_the_worst_pair_and_a_planted_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    promise = dp.ApproxDP(1.0, 0.05)
    release = ops_ptr(promise, square=1.0, ridge=1.0)

    def released(data: Squares) -> float:
        answer = release.release(data)
        return 1e9 if isinstance(answer, Refusal) else float(answer[0])

    with seeded(5):
        found = dp.audit.lower_bound(released, pair=release.worst_pair, trials=600, delta=0.05)
    assert found.epsilon <= 1.0
    monkeypatch.setattr(
        type(release.family),
        "choose",
        lambda self, statement: (1e6, 1e-3),  # a posterior far too sharp
    )
    with seeded(6):
        caught = dp.audit.lower_bound(released, pair=release.worst_pair, trials=600, delta=0.05)
    assert caught.epsilon > 1.0


@pytest.mark.parametrize("change", [{"square": 0.0}, {"ridge": 0.0}, {"ridge": math.nan}, {"square": -1.0}])
def test_parameters_are_checked(change: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        ops_ptr(PROMISE, **({"square": 1.0, "ridge": 1.0} | change))
