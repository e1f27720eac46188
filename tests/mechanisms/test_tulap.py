from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import Tulap
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits
from tests.mechanisms.quadrature import enumerated


def case(sensitivity: float, epsilon: float, delta: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, epsilon {epsilon}, delta {delta}",
        lambda change: Tulap(sensitivity=sensitivity, epsilon=epsilon / change, delta=delta, **more),
        sensitivity=sensitivity,
        epsilon=epsilon,
        delta=delta,
    )


def tulap_cdf(x: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """The distribution function of Tulap(0, b, q), as Awan and Slavkovic (2018) print it."""
    b = math.exp(-epsilon)
    q = 2 * delta * b / (1 - b + 2 * delta * b)
    whole = np.round(x)
    part = x - whole + 0.5
    untruncated = np.where(
        x <= 0,
        b ** -np.minimum(whole, 0) / (1 + b) * (b + part * (1 - b)),
        1 - b ** np.maximum(whole, 0) / (1 + b) * (b + (1 - part) * (1 - b)),
    )
    return np.clip((untruncated - q / 2) / (1 - q), 0, 1)


class TestTulap(MechanismContract):
    cases = (case(1, 1.0, 0.0), case(2.0, 0.5, 0.01), case(0.3, 3.0, 1e-6, adjacency=dp.REPLACE_ONE))
    promises = (dp.PureDP(0.3), dp.ApproxDP(0.5, 1e-3), dp.GDP(0.5))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"epsilon": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"delta": x} for x in (-0.1, 1.0, math.nan, "0")),
        *({"coordinates": x} for x in (0, 1.5)),
        {"epsilon": 1e-5, "delta": 0.5},
        {"epsilon": 1e-14},
    )

    def calibrated(self, promise: Any) -> Any:
        return Tulap.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return Tulap(
            sensitivity=mechanism.sensitivity, epsilon=mechanism.epsilon / factor, delta=mechanism.delta
        )

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Tulap.for_accuracy(
            within, confidence, sensitivity=case.sensitivity, delta=case.delta, size=size
        )

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return tulap_cdf(x / case.sensitivity, case.epsilon, case.delta)

    def profile(self, case: Case, epsilon: float) -> float:
        """From the distribution function on a fine lattice: cells are post-processing."""
        cells = 64
        reach = math.ceil(45 / case.epsilon) if case.delta == 0 else math.ceil(case.mechanism.width) + 1
        edges = np.arange(-reach * cells, (reach + 1) * cells + 1) / cells
        one = np.diff(tulap_cdf(edges, case.epsilon, case.delta))
        two = np.diff(tulap_cdf(edges - 1, case.epsilon, case.delta))
        return enumerated(one, two, epsilon)

    tight = 0.02  # cells that the truncation cuts through hide a little

    def test_wrong_noise_is_told_by_its_profile(self, case: Case) -> None:
        assert case.mechanism.loss.delta(case.epsilon) == pytest.approx(case.delta, abs=1e-15)


class TestOnAGrid:
    """The noise as it is drawn, on grids of a few steps, written out: (epsilon, delta)-DP for every shift."""

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 0.02), (2.0, 1e-3), (0.2, 0.1)])
    @pytest.mark.parametrize("wide", [2, 8, 64])
    def test_every_shift(self, epsilon: float, delta: float, wide: int) -> None:
        m = Tulap(sensitivity=1, epsilon=epsilon, delta=delta)
        last = math.ceil(m.width * wide) if delta else math.ceil(40 / epsilon) * wide
        i = np.arange(-last - wide, last + wide)
        p = np.exp(-epsilon * np.abs(np.floor((i + wide // 2) / wide)))
        p[(i < -last) | (i >= last)] = 0
        p /= p.sum()
        for shift in range(wide + 1):
            moved = np.roll(p, shift)
            assert enumerated(p, moved, epsilon) <= delta + 1e-12
        # A full shift attains it but for the rounding of the width; one step more breaks it.
        full = enumerated(p, np.roll(p, wide), epsilon)
        assert full >= delta * (1 - math.exp(epsilon) / wide) - 1e-12
        more = np.append(p, np.zeros(wide + 1))
        assert enumerated(more, np.roll(more, wide + 1), epsilon) > delta + 1e-6

    def test_what_is_drawn(self) -> None:
        """Whole steps, never beyond the width, symmetric about half a step."""
        m = Tulap(sensitivity=1, epsilon=1.0, delta=0.05)
        with bits("steps"):
            drawn = m.releases(0.0, 50_000)
        assert np.abs(drawn).max() <= m.width * 1.0001
        assert np.abs(drawn).max() >= m.width * 0.99
        step = float(m._grid.granularity) / 2
        assert ((drawn / step) % 2 == 1).all()


def test_less_noise_than_laplace() -> None:
    """The same promise, smaller errors: what canonical noise is for."""
    for epsilon in (0.1, 1.0, 3.0):
        tulap = Tulap(sensitivity=1, epsilon=epsilon)
        with bits("variance", epsilon):
            drawn = tulap.releases(0.0, 100_000)
        b = math.exp(-epsilon)
        variance = 2 * b / (1 - b) ** 2 + 1 / 12
        assert variance < 2 / epsilon**2
        assert drawn.var() == pytest.approx(variance, rel=0.1)
    assert Tulap(sensitivity=1, epsilon=0.1, delta=0.05).accuracy() < 0.4 * stats.laplace(scale=10).ppf(0.975)


def test_coordinates() -> None:
    m = Tulap.calibrated(dp.GDP(1.0), sensitivity=1, coordinates=3)
    assert dp.GDP(1.0).holds(m.loss)
    assert m.loss == dp.losses.pure(m.epsilon) * 3
    assert len(m.worst_pair.first) == 3
    n = Tulap.calibrated(dp.ApproxDP(1.0, 1e-3), sensitivity=1, coordinates=2)
    assert dp.ApproxDP(1.0, 1e-3).holds(n.loss)
    assert n.epsilon < 1.0


def test_refusals() -> None:
    with pytest.raises(CannotMeet, match="half a sensitivity"):
        Tulap.for_accuracy(0.1, sensitivity=1)
    with pytest.raises(InvalidParameter, match="protects nobody"):
        Tulap(sensitivity=1, epsilon=1e-6, delta=0.9)


@pytest.mark.parametrize("coordinates", [1, 2])
def test_no_noise_keeps_nothing_at_all(coordinates: int) -> None:
    for promise in (dp.PureDP(0.0), dp.ApproxDP(0.0, 0.0)):
        with pytest.raises(CannotMeet, match="epsilon above 0"):
            Tulap.calibrated(promise, sensitivity=1, coordinates=coordinates)
    promise = dp.ApproxDP(0.0, 0.1)  # a total variation
    assert promise.holds(Tulap.calibrated(promise, sensitivity=1, coordinates=coordinates).loss)


def test_an_epsilon_whose_cut_no_double_holds() -> None:
    """exp(-epsilon) is 0 beyond 745: nothing is cut off, which promises more."""
    m = Tulap(sensitivity=1, epsilon=1000.0, delta=0.5)
    assert m.width == math.inf
    assert abs(m.release(5) - 5) < 2
