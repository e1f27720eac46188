from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Geometric
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import enumerated


def case(sensitivity: int, scale: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, scale {scale}",
        lambda change: Geometric(sensitivity=sensitivity, scale=scale * change, **more),
        sensitivity=sensitivity,
        scale=scale,
    )


def law(scale: float, centre: int, k: np.ndarray) -> np.ndarray:
    """Ghosh, Roughgarden and Sundararajan (2012), with alpha = exp(-1/scale)."""
    alpha = math.exp(1 / scale)
    return (alpha - 1) / (alpha + 1) * alpha ** -np.abs(k - centre).astype(float)


class TestGeometric(MechanismContract):
    cases = (case(1, 5.0), case(3, 2.0), case(1, 0.8, adjacency=dp.REPLACE_ONE), case(40, 1000.0))
    inputs = (41, [1, 2, 3], np.arange(6).reshape(2, 3), np.array([1, 2], dtype=np.uint8))
    scalar = int
    dtype = np.int64
    grain = 1.0
    promises = (dp.PureDP(0.3), dp.ApproxDP(0.5, 1e-6), dp.ZCDP(0.1), dp.GDP(0.5))
    bad_parameters = (
        *({"sensitivity": x} for x in (*NUMBERS_OUT_OF_RANGE, 1.5)),
        *({"scale": x} for x in NUMBERS_OUT_OF_RANGE),
        {"scale": 1e14},
    )
    bad_values = (*MechanismContract.bad_values, 41.0, [1.0, 2.0], [1, 2.5])
    revealing = ([12345.678, 1.0], [12345, None], [12345, 0.5])

    def calibrated(self, promise: Any) -> Any:
        return Geometric.calibrated(promise, sensitivity=3)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, scale=mechanism.scale * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Geometric.for_accuracy(within, confidence, sensitivity=case.sensitivity, size=size)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        q, k = math.exp(-1 / case.scale), np.floor(x)
        return np.where(k < 0, q ** np.maximum(-k, 0) / (1 + q), 1 - q ** (np.maximum(k, -1) + 1) / (1 + q))

    def profile(self, case: Case, epsilon: float) -> float:
        k = np.arange(-math.ceil(45 * case.scale), math.ceil(45 * case.scale) + case.sensitivity + 1)
        return enumerated(law(case.scale, case.sensitivity, k), law(case.scale, 0, k), epsilon)


def test_seed_001() -> None:
    """Theorems 2.7 and 2.8: variance 2 alpha/(1 - alpha)^2, tail at most alpha^-z, and the union bound."""
    m = Geometric.calibrated(dp.PureDP(0.5), sensitivity=2)
    assert m.scale == 4.0
    k = np.arange(-400, 401)
    p, alpha = law(4.0, 0, k), math.exp(1 / 4.0)
    assert (p * k**2).sum() == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=1e-9)
    for z in (0, 1, 5, 30):
        assert p[np.abs(k) > z].sum() <= alpha**-z
    for size, delta in ((1, 0.05), (10, 0.05), (100, 1e-6)):
        assert m.accuracy(1 - delta, size) <= math.ceil(m.scale * math.log(size / delta))


def test_printed_but_wrong() -> None:
    """Theorem 2.8 promises scale ln(d/delta) where only its next whole number holds (2.7 is for whole z)."""
    printed = 4.0 * math.log(1 / 0.05)
    assert printed < 12
    k = np.arange(-400, 401)
    assert law(4.0, 0, k)[np.abs(k) > printed].sum() > 0.055
    assert Geometric(sensitivity=1, scale=4.0).accuracy(0.95) == 12


def test_accuracy_is_the_least_whole_number() -> None:
    k = np.arange(-4000, 4001)
    for scale in (0.3, 1.0, 7.3):
        p = law(scale, 0, k)
        for confidence, size in ((0.5, 1), (0.95, 1), (0.99, 7)):
            m = int(Geometric(sensitivity=1, scale=scale).accuracy(confidence, size))
            assert p[np.abs(k) <= m].sum() ** size >= confidence * (1 - 1e-12)
            assert m == 0 or p[np.abs(k) <= m - 1].sum() ** size < confidence


def test_large_sensitivities_use_the_laplace_bound() -> None:
    m = Geometric(sensitivity=2_000_000, scale=1e6)
    exact = dp.losses.geometric(scale=5e5, sensitivity=10**6)
    assert m.loss.epsilon(0.0) == pytest.approx(2.0, rel=1e-9)
    assert m.loss.epsilon(0.0) >= 2.0
    assert m.loss.delta(1.0) == pytest.approx(exact.delta(1.0), rel=1e-5)


def test_integers_of_any_size() -> None:
    m = Geometric(sensitivity=1, scale=2.0)
    for value in (2**200, -(2**200)):
        assert abs(m.release(value) - value) < 200
    top = m.release(np.full(50, 2**63 - 1))
    assert top.dtype == np.int64
    assert (top > 2**63 - 300).all()
    assert m.release(np.full(5, 2**64 - 1, dtype=np.uint64)).dtype == np.int64
    assert m.release([2**70, 1])[0] == 2**63 - 1
    with bits("wide"):
        assert m.release(np.full(3, -(2**63))).min() == -(2**63)


def test_floats_are_refused_by_type() -> None:
    with pytest.raises(InvalidParameter, match="Round to integers"):
        Geometric(sensitivity=1, scale=1.0).release(41.0)
