from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract
from tests.mechanisms.quadrature import hockey_stick


def case(sensitivity: float, sigma: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, sigma {sigma}",
        lambda change: Gaussian(sensitivity=sensitivity, sigma=sigma * change, **more),
        sensitivity=sensitivity,
        sigma=sigma,
    )


class TestGaussian(MechanismContract):
    cases = (case(1, 3.0), case(2.5, 0.9), case(1e-6, 2.0, adjacency=dp.REPLACE_ONE))
    promises = (dp.GDP(0.4), dp.ApproxDP(0.5, 1e-5), dp.ApproxDP(8.0, 1e-9), dp.ZCDP(0.1))
    tight = 1e-8
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"sigma": x} for x in NUMBERS_OUT_OF_RANGE),
        {"sigma": 1e13},
        {"sigma": 1e-5},
        {"adjacency": None},
    )

    def calibrated(self, promise: Any) -> Any:
        return Gaussian.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, sigma=mechanism.sigma * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return Gaussian.for_accuracy(within, confidence, sensitivity=case.sensitivity, size=size)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return stats.norm(scale=case.sigma).cdf(x)

    def profile(self, case: Case, epsilon: float) -> float:
        if case.sensitivity / case.sigma < 1e-3:  # the whole difference of densities lies in a sliver
            mu = case.sensitivity / case.sigma
            return stats.norm.cdf(mu / 2) - stats.norm.cdf(-mu / 2) if epsilon == 0 else 0.0
        return hockey_stick(stats.norm(scale=case.sigma), case.sensitivity, epsilon)


class TestCalibration:
    """Awan (2025), chapter 9: epsilon, delta, sigma(1.32), sigma(1.25), analytic sigma, delta at the first."""

    table = (
        (1.0, 1e-5, 4.85603896, 4.84480526, 3.73063163, 3.8704e-8),
        (0.5, 1e-5, 9.71207792, 9.68961053, 7.03182668, 1.5128e-8),
        (0.1, 1e-6, 53.0907568, 52.9880253, 36.3046904, 1.9296e-10),
        (0.9, 1e-5, 5.39559885, 5.38311696, 4.10662433, 3.3166e-8),
        (1.0, 0.1, 2.27165879, 2.24754472, 1.08587777, 2.8303e-3),
    )

    @pytest.mark.parametrize(("epsilon", "delta", "safe", "usual", "analytic", "exact"), table)
    def test_table(
        self, epsilon: float, delta: float, safe: float, usual: float, analytic: float, exact: float
    ) -> None:
        assert Gaussian.calibrated(dp.ApproxDP(epsilon, delta), sensitivity=1).sigma == pytest.approx(
            analytic, rel=1e-8
        )
        if epsilon < 1:
            m = Gaussian.classical(epsilon, delta, sensitivity=1)
            assert m.sigma == pytest.approx(safe, rel=1e-8)
            assert m.loss.delta(epsilon) == pytest.approx(exact, rel=1e-4)
            old = Gaussian.classical(epsilon, delta, sensitivity=1, constant=1.25)
            assert old.sigma == pytest.approx(usual, rel=1e-8)
            assert dp.ApproxDP(epsilon, delta).holds(old.loss)
        else:
            assert Gaussian(sensitivity=1, sigma=safe).loss.delta(epsilon) == pytest.approx(exact, rel=1e-3)

    @pytest.mark.parametrize(
        ("epsilon", "classical", "tight"),
        [(0.1, 48.4, 30.8), (0.5, 9.69, 7.03), (0.99, 4.89, 3.77), (2.0, 2.42, 1.99)],
    )
    def test_seed_004(self, epsilon: float, classical: float, tight: float) -> None:
        sigma = Gaussian.calibrated(dp.ApproxDP(epsilon, 1e-5), sensitivity=1).sigma
        assert sigma == pytest.approx(tight, abs=0.06)
        if epsilon < 1:
            found = Gaussian.classical(epsilon, 1e-5, sensitivity=1, constant=1.25).sigma
            assert found == pytest.approx(classical, abs=0.06)

    def test_the_classical_formula_is_refused_where_it_is_wrong(self) -> None:
        for epsilon in (1.0, 2.0, 10.0):
            with pytest.raises(InvalidParameter, match=r"Gaussian\.calibrated"):
                Gaussian.classical(epsilon, 1e-5, sensitivity=1)
        # At epsilon = 10 it would break its promise.
        sigma = math.sqrt(2 * math.log(1.32 / 1e-5)) / 10
        assert Gaussian(sensitivity=1, sigma=sigma).loss.delta_bounds(10.0).lower == pytest.approx(
            2.14e-5, rel=1e-2
        )

    def test_always_safe_below_one(self) -> None:
        for epsilon in (0.01, 0.2, 0.7, 0.999):
            for delta in (1e-12, 1e-4, 0.05, 0.5, 0.9):
                m = Gaussian.classical(epsilon, delta, sensitivity=2.0, constant=1.25)
                assert dp.ApproxDP(epsilon, delta).holds(m.loss)

    def test_refusals(self) -> None:
        for bad in ({"delta": 0.0}, {"delta": 1.0}, {"epsilon": 0.0}, {"constant": 1.0}, {"sensitivity": 0}):
            with pytest.raises(InvalidParameter):
                Gaussian.classical(**({"epsilon": 0.5, "delta": 1e-5, "sensitivity": 1.0} | bad))  # type: ignore[arg-type]

    def test_gdp_is_exact(self) -> None:
        m = Gaussian.calibrated(dp.GDP(0.3), sensitivity=1)
        assert m.loss.gdp() == pytest.approx(0.3, rel=1e-15)
        assert m.loss.gdp() <= 0.3
        assert Gaussian(sensitivity=1, sigma=1.0).loss.delta(1.0) == pytest.approx(0.1269367, abs=1e-7)


def test_vectors_of_any_length_have_the_loss_of_one_number() -> None:
    m = Gaussian(sensitivity=1, sigma=2.0)
    for size in (1, 100, 10**5):
        assert m._units(size) * float(m._grid.granularity) / 2.0 - 1 < 1e-8
    assert m.release(np.zeros((3, 4, 5))).shape == (3, 4, 5)
