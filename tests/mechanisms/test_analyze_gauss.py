from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import AnalyzeGauss, Gaussian
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract, bits, follows
from tests.mechanisms.quadrature import hockey_stick


def case(sensitivity: float, sigma: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity}, sigma {sigma}",
        lambda change: AnalyzeGauss(sensitivity=sensitivity, sigma=sigma * change, **more),
        sensitivity=sensitivity,
        sigma=sigma,
    )


class TestAnalyzeGauss(MechanismContract):
    cases = (case(1, 2.0), case(0.25, 0.1, adjacency=dp.REPLACE_ONE))
    inputs = (np.eye(3), [[1, 2], [2, 5]], [[4.0]])
    confidences = ((0.9, 1), (0.95, 4))
    trials = 6000
    tight = 1e-8
    promises = (dp.GDP(0.4), dp.ApproxDP(0.5, 1e-5), dp.ZCDP(0.1))
    bad_parameters = (
        *({"sensitivity": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"sigma": x} for x in NUMBERS_OUT_OF_RANGE),
        {"sigma": 1e13},
    )
    bad_values = (
        1.0,
        [1.0, 2.0],
        [[1.0, 2.0]],
        np.zeros((2, 2, 2)),
        [[math.nan]],
        "x",
        None,
        np.zeros((0, 0)),
    )
    revealing = ([[12345.678, math.nan], [1.0, 1.0]], [12345.678, 1.0])

    def calibrated(self, promise: Any) -> Any:
        return AnalyzeGauss.calibrated(promise, sensitivity=0.7)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, sigma=mechanism.sigma * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return AnalyzeGauss.for_accuracy(within, confidence, sensitivity=case.sensitivity, size=size)

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        """An off-diagonal entry."""
        return mechanism.releases(np.zeros((2, 2)), n)[:, 0, 1]

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        return stats.norm(scale=case.sigma).cdf(x)

    def profile(self, case: Case, epsilon: float) -> float:
        """Theorem A.4.1: N(0, sigma^2) on [diagonal/sqrt(2), upper triangle], moved by 1/sqrt(2)."""
        return hockey_stick(stats.norm(scale=case.sigma), case.sensitivity / math.sqrt(2), epsilon)

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        return np.abs(mechanism.releases(np.zeros((size, size)), trials)).max(axis=(1, 2))


class TestTheEnsemble:
    def test_covariance(self) -> None:
        """Variance 1 off the diagonal and 2 on it, symmetric, nothing correlated."""
        m = AnalyzeGauss(sensitivity=1, sigma=1.0)
        with bits("goe"):
            drawn = m.releases(np.zeros((3, 3)), 20_000)
        assert (drawn == drawn.transpose(0, 2, 1)).all()
        upper = drawn[:, *np.triu_indices(3)]
        expected = np.diag([2.0, 1, 1, 2, 1, 2])
        assert np.abs(np.cov(upper.T) - expected).max() < 8 * 2 * math.sqrt(2 / 20_000)
        assert follows(drawn[:, 1, 1], stats.norm(scale=math.sqrt(2)).cdf)
        assert not follows(drawn[:, 1, 1], stats.norm(scale=1.0).cdf)

    def test_loss_is_that_of_the_two_blocks(self) -> None:
        """A change x x^T of Frobenius norm 1 moves the vector of both blocks by 1/sqrt(2)."""
        rng = np.random.default_rng(2)
        for _ in range(20):
            x = rng.normal(size=4)
            x /= np.linalg.norm(x)
            change = np.outer(x, x)
            vector = np.concatenate((np.diag(change) / math.sqrt(2), change[np.triu_indices(4, 1)]))
            assert np.linalg.norm(vector) == pytest.approx(math.sqrt(0.5))
        m = AnalyzeGauss(sensitivity=1, sigma=2.0)
        assert m.loss.gdp() == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-12)
        assert m.loss.gdp() >= 1 / (2 * math.sqrt(2))

    def test_half_the_variance_of_the_usual_kind(self) -> None:
        ours = AnalyzeGauss.calibrated(dp.ApproxDP(1.0, 1e-6), sensitivity=1).sigma
        usual = Gaussian.calibrated(dp.ApproxDP(1.0, 1e-6), sensitivity=1).sigma
        assert ours == pytest.approx(usual / math.sqrt(2), rel=1e-8)

    @pytest.mark.parametrize(("epsilon", "sigma"), [(0.1, 6.42)])
    def test_golden_sigma(self, epsilon: float, sigma: float) -> None:
        """Redberg (2023), section 2.5: rho = 1e-6, beta = 1/4; sigma_3, and lambda >= 2 sigma_3 12.97."""
        m = AnalyzeGauss.calibrated(dp.ApproxDP(epsilon, 1e-6), sensitivity=0.25)
        assert m.sigma == pytest.approx(sigma, abs=0.005)
        for epsilon_3, least in ((0.1, 166.0), (0.25, 70.7), (1.0, 19.4)):
            found = AnalyzeGauss.calibrated(dp.ApproxDP(epsilon_3, 1e-6), sensitivity=0.25).sigma
            assert 2 * found * 12.97 == pytest.approx(least, rel=5e-3)

    def test_theorem_a_4_1_holds(self) -> None:
        """The printed (epsilon, delta) is valid and loose; the Gaussian profile is what is used."""
        for sigma, delta in ((2.0, 1e-6), (0.7, 1e-3)):
            printed = 1 / (4 * sigma**2) + math.sqrt(2 * math.log(1 / delta)) / (math.sqrt(2) * sigma)
            assert AnalyzeGauss(sensitivity=1, sigma=sigma).loss.epsilon(delta) < printed

    def test_largest_eigenvalue(self) -> None:
        """d = 50: mean 13.43, sd .67, quantiles 13.39 and 14.30; the printed tau = 12 is far below."""
        m = AnalyzeGauss(sensitivity=1, sigma=1.0)
        with bits("eigenvalues"):
            drawn = m.releases(np.zeros((50, 50)), 600)
        values = np.linalg.eigvalsh(drawn)
        top = values[:, -1]
        assert top.mean() == pytest.approx(13.43, abs=8 * 0.67 / math.sqrt(600))
        assert top.std() == pytest.approx(0.67, rel=8 / math.sqrt(1200))
        assert np.quantile(top, [0.5, 0.9]) == pytest.approx([13.39, 14.30], abs=0.35)
        assert (top > 12).mean() > 0.95
        assert top.max() < 16.97 + 1.5
        size = np.abs(values).max(axis=1)
        assert (size <= m.spectral_accuracy(0.9, 50)).mean() >= 0.9
        assert m.spectral_accuracy(0.9, 50) < 1.3 * np.quantile(size, 0.9)


class TestRepair:
    def test_nearest_positive_matrix(self) -> None:
        rng = np.random.default_rng(4)
        for _ in range(20):
            a = rng.normal(size=(4, 4))
            a = (a + a.T) / 2
            fixed = AnalyzeGauss.positive(a, 0.1)
            values, vectors = np.linalg.eigh(a)
            expected = (vectors * np.maximum(values, 0.1)) @ vectors.T
            assert fixed == pytest.approx(expected, abs=1e-12)
            assert np.linalg.eigvalsh(fixed)[0] >= 0.1
            assert (fixed == fixed.T).all()
        assert AnalyzeGauss.positive(np.eye(2)) == pytest.approx(np.eye(2))
        assert (np.linalg.eigvalsh(AnalyzeGauss.positive(-np.eye(3))) >= 0).all()

    def test_refusals(self) -> None:
        with pytest.raises(InvalidParameter, match="least"):
            AnalyzeGauss.positive(np.eye(2), -1)
        with pytest.raises(InvalidParameter, match="square"):
            AnalyzeGauss.positive(np.zeros((2, 3)))


def test_only_the_upper_triangle_is_read() -> None:
    m = AnalyzeGauss(sensitivity=1, sigma=1.0)
    with bits("upper"):
        a = m.release([[1.0, 2.0], [2.0, 3.0]])
    with bits("upper"):
        b = m.release([[1.0, 2.0], [-77.0, 3.0]])
    assert (a == b).all()


def test_rounding_of_many_entries_is_paid_for() -> None:
    m = AnalyzeGauss(sensitivity=1, sigma=1.0)
    assert m._rounding(1) == 2
    assert m._rounding(10) == 50
