from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import dalenius as dp
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Histogram
from tests.mechanisms.contract import NUMBERS_OUT_OF_RANGE, Case, MechanismContract
from tests.mechanisms.quadrature import enumerated


def case(sensitivity: float, sigma: float, **more: Any) -> Case:
    return Case(
        f"sensitivity {sensitivity:.4g}, sigma {sigma}",
        lambda change: DiscreteGaussian(sensitivity=sensitivity, sigma=sigma * change, **more),
        sensitivity=sensitivity,
        sigma=sigma,
    )


def law(sigma: float, centre: int, k: np.ndarray) -> np.ndarray:
    weights = np.exp(-((k - centre) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


class TestDiscreteGaussian(MechanismContract):
    cases = (
        case(1, 3.0),
        case(1, 0.7),
        case(4, 9.0, coordinates=1),
        case(1, 250.0, adjacency=dp.REPLACE_ONE),
    )
    inputs = (41, [1, 2, 3], np.arange(6).reshape(2, 3))
    scalar = int
    dtype = np.int64
    grain = 1.0
    tight = 1e-8
    promises = (dp.ZCDP(0.1), dp.ApproxDP(0.5, 1e-6), dp.ApproxDP(3.0, 1e-9))
    bad_parameters = (
        *({"sensitivity": x} for x in (*NUMBERS_OUT_OF_RANGE, 0.5)),
        *({"sigma": x} for x in NUMBERS_OUT_OF_RANGE),
        *({"coordinates": x} for x in (0, -1, 1.5, "2")),
        {"sigma": 1e14},
        {"sigma": 1e-5},
    )
    bad_values = (*MechanismContract.bad_values, 41.0, [1.0, 2.0])
    revealing = ([12345.678, 1.0], [12345, None])

    def calibrated(self, promise: Any) -> Any:
        return DiscreteGaussian.calibrated(promise, sensitivity=1)

    def changed(self, mechanism: Any, factor: float) -> Any:
        return replace(mechanism, sigma=mechanism.sigma * factor)

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Any:
        return DiscreteGaussian.for_accuracy(
            within, confidence, sensitivity=case.sensitivity, size=size, coordinates=1
        )

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        reach = math.ceil(12 * case.sigma) + 2
        k = np.arange(-reach, reach + 1)
        total = np.concatenate(([0.0], np.cumsum(law(case.sigma, 0, k))))
        return total[np.clip(np.floor(x).astype(int) + reach + 1, 0, len(total) - 1)]

    def profile(self, case: Case, epsilon: float) -> float:
        reach = math.ceil(38 * case.sigma) + 4
        k = np.arange(-reach, reach + 1)
        shift = int(case.sensitivity)
        return enumerated(law(case.sigma, shift, k), law(case.sigma, 0, k), epsilon)


class TestVectors:
    """Two places change by one: the exact law is that of a difference of two draws."""

    @pytest.mark.parametrize("sigma", [0.6, 1.5, 4.0, 20.0])
    def test_loss_is_an_upper_bound_and_close(self, sigma: float) -> None:
        m = DiscreteGaussian(sensitivity=math.sqrt(2), sigma=sigma)
        assert m.squared == 2
        reach = math.ceil(20 * sigma)
        p = np.convolve(
            law(sigma, 0, np.arange(-reach, reach + 1)), law(sigma, 0, np.arange(-reach, reach + 1))
        )
        k = np.arange(-2 * reach, 2 * reach + 1)
        loss = (2 * k + 2) / (2 * sigma**2)
        for epsilon in np.array([0.0, 0.3, 1.0, 2.0, 4.0]) / sigma:
            truth = (p * np.maximum(0, -np.expm1(np.minimum(epsilon - loss, 0)))).sum()
            assert m.loss.delta(epsilon) >= truth * (1 - 1e-9)
            if sigma > 3:
                assert m.loss.delta(epsilon) <= truth * (1 + 8 / sigma**2)
            assert m.loss.delta_bounds(epsilon).lower <= truth * (1 + 1e-9)

    def test_zcdp_is_that_of_the_gaussian(self) -> None:
        for squared in (1, 2, 3, 5, 100):
            m = DiscreteGaussian(sensitivity=math.sqrt(squared), sigma=3.0)
            assert m.squared == squared
            assert m.loss.zcdp() == pytest.approx(squared / 18, rel=1e-12)
            assert (m.loss * 5).zcdp() == pytest.approx(5 * squared / 18, rel=1e-9)

    def test_calibrated_for_a_histogram(self) -> None:
        m = DiscreteGaussian.calibrated(dp.ZCDP(0.25), sensitivity=math.sqrt(2))
        assert m.sigma == pytest.approx(2.0, rel=1e-8)
        n = DiscreteGaussian.calibrated(dp.ApproxDP(1.0, 1e-6), sensitivity=math.sqrt(2))
        tight = dp.calibrate(lambda s: dp.losses.gaussian(s, math.sqrt(2)), dp.ApproxDP(1.0, 1e-6))
        assert tight < n.sigma < tight * 1.01
        assert not dp.ApproxDP(1.0, 1e-6).holds(replace(n, sigma=n.sigma * 0.99).loss)

    def test_fewer_coordinates_cost_less(self) -> None:
        for sigma in (2.0, 5.0):
            one = DiscreteGaussian(sensitivity=3, sigma=sigma, coordinates=1).loss
            many = DiscreteGaussian(sensitivity=3, sigma=sigma).loss
            assert one.epsilon(1e-6) < many.epsilon(1e-6) < one.epsilon(1e-6) * 1.1

    def test_beyond_the_written_out_law(self) -> None:
        m = DiscreteGaussian(sensitivity=1, sigma=3e5)
        assert m.loss.gdp() == pytest.approx(1 / 3e5, rel=1e-9)
        assert (
            m.loss.delta_bounds(0.0).lower <= m.loss.delta(0.0) <= m.loss.delta_bounds(0.0).lower * (1 + 1e-8)
        )
        assert m.accuracy(0.95) == math.ceil(1.959963984540054 * 3e5)

    def test_worst_pair_is_as_far_apart_as_stated(self) -> None:
        for squared, coordinates in ((2, None), (3, None), (7, None), (7, 2), (9, None), (5, 1)):
            m = DiscreteGaussian(sensitivity=math.sqrt(squared), sigma=3.0, coordinates=coordinates)
            a, b = (np.atleast_1d(x) for x in m.worst_pair)
            assert (b - a) @ (b - a) <= squared
            if coordinates is None:
                assert (b - a) @ (b - a) == squared
            else:
                assert len(a) <= coordinates


def test_a_rounded_root_counts_in_full() -> None:
    assert DiscreteGaussian(sensitivity=math.sqrt(3), sigma=1.0).squared == 3
    assert DiscreteGaussian(sensitivity=math.nextafter(math.sqrt(7), 0), sigma=1.0).squared == 7
    assert DiscreteGaussian(sensitivity=1.9, sigma=1.0).squared == 3
    with pytest.raises(InvalidParameter, match="move by 1 or more"):
        DiscreteGaussian(sensitivity=0.9, sigma=1.0)


class TestGaussianPrivacy:
    """mu-GDP of the exact law, and what calibration makes of it."""

    @pytest.mark.parametrize(
        ("mu", "sensitivity"), list(itertools.product((0.05, 0.5, 2.0), (1.0, 2**0.5, 3.0)))
    )
    def test_calibrated(self, mu: float, sensitivity: float) -> None:
        m = DiscreteGaussian.calibrated(dp.GDP(mu), sensitivity=sensitivity)
        assert dp.GDP(mu).holds(m.loss)
        assert sensitivity / mu <= m.sigma <= sensitivity / mu * (1.02 if mu < 2 else 1.2)

    @pytest.mark.parametrize(
        ("sigma", "steps"), [(0.2, 1), (0.5, 1), (0.5, 3), (2.0, 1), (4.0, 30), (150.0, 2)]
    )
    def test_no_test_beats_the_gaussian(self, sigma: float, steps: int) -> None:
        mu = discrete_gaussian_mu(sigma, steps)
        k = np.arange(1 - math.ceil(8 * sigma), math.ceil(8 * sigma) + steps + 1)
        with mpmath.workdps(60):
            found = [_quantile(sigma, int(j)) for j in (k if sigma < 10 else k[::200])]
            later = [_quantile(sigma, int(j) + steps) for j in (k if sigma < 10 else k[::200])]
            widest = max(float(b - a) for a, b in zip(found, later, strict=True))
        assert widest <= mu
        assert mu <= max(widest * (1 + 1e-2), steps / sigma * 1.02)

    def test_far_tails_count(self) -> None:
        # The largest difference of quantiles lies far beyond what is ever drawn, and above 1/sigma.
        with mpmath.workdps(200):
            far = float(_quantile(3.0, 38) - _quantile(3.0, 37))
        assert 1 / 3 < far <= discrete_gaussian_mu(3.0, 1)

    def test_more_noise_never_looks_worse(self) -> None:
        mus = [discrete_gaussian_mu(float(s), 1) for s in np.geomspace(0.05, 120.0, 200)]
        assert (np.diff(mus) < 0).all()
        assert discrete_gaussian_mu(100.0, 1) > discrete_gaussian_mu(np.nextafter(100.0, 101.0), 1)

    def test_histograms_profit(self) -> None:
        m = Histogram.calibrated(dp.GDP(0.5), noise="gaussian")
        assert m.sigma is not None
        assert m.sigma < 2.03
        assert dp.GDP(0.5).holds(m.loss)


def _quantile(sigma: float, j: int) -> mpmath.mpf:
    """The x with 1 - Phi(x) = P(k >= j)."""
    if j < 1:
        return -_quantile(sigma, 1 - j)
    weights = [
        mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(_far(sigma, j))
    ]
    tail = mpmath.fsum(weights[j:]) / (2 * mpmath.fsum(weights) - 1)
    start = mpmath.sqrt(-2 * mpmath.log(2 * tail)) if tail < 0.4 else mpmath.mpf(0.1)
    return mpmath.findroot(
        lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2) - mpmath.log(tail), start
    )


def _far(sigma: float, j: int) -> int:
    return j + math.ceil(12 * sigma) + 5
