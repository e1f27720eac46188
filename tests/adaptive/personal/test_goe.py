"""Quantiles of the largest eigenvalue: against exact laws, and against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from dalenius.adaptive import goe_quantile
from dalenius.adaptive.personal.goe import LARGEST, expected_beyond
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import AnalyzeGauss

PRINTED = 12.0
"""tau for d = 50 and a failure of 8.465e-6/2 in Redberg 2023: Chiani's normalisation, variance 1/2 off the diagonal."""


def drawn(d: int, times: int, seed: int = 0) -> np.ndarray:
    w = np.random.default_rng(seed).normal(size=(times, d, d))
    return np.linalg.eigvalsh((w + w.transpose(0, 2, 1)) / math.sqrt(2))[:, -1]


def exact_cdf(d: int, t: float, points: int = 6001) -> float:
    """De Bruijn's Pfaffian (Chiani 2014, Theorem 2), squared: det of the integrals of x < y < t; even d only."""
    from numpy.polynomial.hermite_e import hermeval

    def gram(end: float) -> np.ndarray:
        x = np.linspace(-12.0, end, points)
        basis = [
            hermeval(x, np.eye(d)[k]) / math.sqrt(math.factorial(k)) * np.exp(-(x**2) / 2) for k in range(d)
        ]
        step = x[1] - x[0]
        below = [np.append(0.0, np.cumsum((f[1:] + f[:-1]) / 2 * step)) for f in basis]
        a = np.array([[np.trapezoid(below[i] * basis[j], dx=step) for j in range(d)] for i in range(d)])
        return a - a.T

    scaled = t / math.sqrt(2)
    return math.sqrt(np.linalg.det(gram(scaled)) / np.linalg.det(gram(12.0)))


@pytest.mark.parametrize("failure", [0.3, 0.01, 1e-9])
def test_one_row_is_a_normal_number(failure: float) -> None:
    assert goe_quantile(1, failure) == pytest.approx(-math.sqrt(2) * ndtri(failure), rel=1e-8)


@pytest.mark.parametrize("d", [2, 4, 8])
@pytest.mark.parametrize("failure", [0.2, 0.05, 1e-3])
def test_against_the_exact_distribution(d: int, failure: float) -> None:
    """Upper, and tight: the exact probability of exceeding it lies just below `failure`."""
    beyond = 1 - exact_cdf(d, goe_quantile(d, failure))
    assert 0.93 * failure <= beyond <= failure * (1 + 1e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 51])
def test_half_of_the_eigenvalues_are_above_zero(d: int) -> None:
    assert expected_beyond(d, 0.0) == pytest.approx(d / 2, rel=1e-8)


def test_draws_reject_a_quantile_that_is_five_percent_too_small() -> None:
    """20 000 draws: a share of 0.05 is seen to within 0.0062 but for a chance of 6e-5; 5 % less gives 0.19."""
    found = drawn(20, 20_000)
    assert abs((found > goe_quantile(20, 0.05)).mean() - 0.05) < 0.0062
    assert (found > 0.95 * goe_quantile(20, 0.05)).mean() > 0.12


def test_the_printed_normalisation_fails() -> None:
    """Redberg 2023 takes tau = 12 for d = 50; the largest eigenvalue is larger nearly always."""
    right = goe_quantile(50, 8.465e-6 / 2)
    assert right == pytest.approx(PRINTED * math.sqrt(2), abs=0.01)
    found = drawn(50, 1000)
    assert (found > PRINTED).mean() > 0.95
    assert (found > right).mean() == 0


def test_it_is_the_noise_of_the_mechanism() -> None:
    mechanism = AnalyzeGauss(sensitivity=1.0, sigma=3.0)
    noise = np.linalg.eigvalsh(mechanism.releases(np.zeros((6, 6)), 4000))[:, -1]
    assert abs((noise > 3 * goe_quantile(6, 0.1)).mean() - 0.1) < 0.02


def test_far_and_large() -> None:
    assert goe_quantile(2, 1e-200) > goe_quantile(2, 1e-100) > 20
    assert goe_quantile(LARGEST, 1e-6) < goe_quantile(LARGEST + 1, 1e-6) < 2 * math.sqrt(LARGEST) + 12
    for bad in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(InvalidParameter):
            goe_quantile(3, bad)
