from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Laplace
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import hockey_stick


def case(sensitivity: float, scale: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, scale {scale}",
        lambda change: Laplace(sensitivity=sensitivity, scale=scale * change, **more),
        sensitivity=sensitivity,
        scale=scale,
    )


class TestLaplace(MechanismContract):
    cases = (case(1, 2.0), case(1.3, 0.7), case(1e-9, 1.0, adjacency=dp.REPLACE_ONE), case(3.0, 0.6))
    promises = (dp.PureDP(0.3), dp.ApproxDP(0.5, 1e-3), dp.ApproxDP(1.0, 1e-9), dp.ZCDP(0.1), dp.GDP(0.5))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"scale": x} for x in NUMBERS_OUT_OF_RANGE),
        {"scale": 1e13},
        {"scale": 1e-5},
        {"adjacency": "replace"},
    )

    def calibrated(self, promise: Any) -> Any:
        return Laplace.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, scale=mechanism.scale * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Laplace.for_accuracy(within, confidence, sensitivity=case.sensitivity, size=size)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return stats.laplace(scale=case.scale).cdf(x)

    def profile(self, case: Case, epsilon: float) -> float:
        noise = stats.laplace(scale=case.scale)
        return hockey_stick(noise, case.sensitivity, epsilon, (0.0, case.sensitivity))


def test_seed_001() -> None:
    """Theorem 2.5: errors beyond scale ln(d/delta) have probability at most delta."""
    m = Laplace.calibrated(dp.PureDP(0.5), sensitivity=2)
    assert m.scale == 4.0
    assert m.loss.epsilon(0.0) == 0.5
    for size, delta in ((1, 0.05), (10, 0.05), (100, 1e-6)):
        union = m.scale * math.log(size / delta)
        assert m.accuracy(1 - delta, size) <= union * (1 + 1e-9)
        assert m.accuracy(1 - delta, size) >= union * 0.99
    assert Laplace(sensitivity=1, scale=3.0).accuracy(1 - math.exp(-2)) == pytest.approx(6.0, rel=1e-9)


def test_one_proportion() -> None:
    """A proportion: n = 1000, epsilon = 1, theta = .3: variance p(1-p)/n + 2/(n epsilon)^2 = 2.12e-4."""
    m = Laplace.calibrated(dp.PureDP(1.0), sensitivity=1 / 1000)
    assert 0.3 * 0.7 / 1000 + 2 * m.scale**2 == pytest.approx(2.12e-4, rel=1e-9)


def test_any_number_is_taken_exactly() -> None:
    m = Laplace(sensitivity=1, scale=1.0)
    with bits("exact"):
        noise = m.release(0)
    for value in (1, 2**52, 3.25, -(2**40)):
        with bits("exact"):
            assert m.release(value) == value + noise
    with bits("exact"):  # beyond doubles the answer is the nearest one
        assert m.release(2**80) == 2.0**80
    assert isinstance(m.release(10**400), float)
    assert m.release([2**70, 1.5]).shape == (2,)
    assert m.release(np.array([1, 2**63], dtype=np.uint64)).dtype == np.float64
    assert m.release(np.float32(1.5)) != 1.5
    assert m.release([[1, 2], [3, 4]]).shape == (2, 2)
    assert m.release(1.7e308) > 1e308


def test_neighbouring_integers_beyond_doubles_do_not_drift_apart() -> None:
    """[2^60 + 1, 0.5] as doubles would be 2^60; as numbers it is what it is."""
    m = Laplace(sensitivity=1, scale=2.0**-10)
    with bits("large"):
        a = m.release([2**53 + 1, 0.5])
    with bits("large"):
        b = m.release(np.array([2**53 + 1, 0]))
    assert a[0] == b[0]


def test_a_million() -> None:
    with bits("many"):
        drawn = Laplace(sensitivity=1, scale=2.0).release(np.zeros(10**6))
    assert abs(drawn.mean()) < 8 * math.sqrt(8 / 10**6)
    assert abs((drawn**2).mean() - 8) < 8 * math.sqrt((24 * 16 - 64) / 10**6)


def test_releases_are_independent_releases() -> None:
    m = Laplace(sensitivity=1, scale=2.0)
    with bits("several"):
        drawn = m.releases([1.0, 2.0], 5000)
    assert drawn.shape == (5000, 2)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.1
    assert m.releases(3, 4).shape == (4,)


def test_error_names_the_fix() -> None:
    with pytest.raises(InvalidParameter, match="hides nothing"):
        Laplace(sensitivity=1, scale=0.0)
    with pytest.raises(InvalidParameter, match="Check the units"):
        Laplace(sensitivity=1e-9, scale=1e9)
    with pytest.raises(InvalidParameter, match="ragged"):
        Laplace(sensitivity=1, scale=1.0).release([[1, 2], [3]])
    with pytest.raises(InvalidParameter, match="must hold real numbers"):
        Laplace(sensitivity=1, scale=1.0).release([1.0, "x"])
    with pytest.raises(InvalidParameter, match="nothing to release"):
        Laplace(sensitivity=1, scale=1.0).release(np.empty((0, 3)))
    with pytest.raises(InvalidParameter, match="float64"):
        Laplace(sensitivity=1, scale=1.0).release(np.array([1.0], dtype=np.longdouble))
