from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from dalenius.calculus.theorems import (
    Approximation,
    berry_esseen,
    gaussian_moments,
    gaussian_tradeoff,
    gdp_limit,
    randomized_response_moments,
    sampled_gaussian_limit,
)
from dalenius.errors import InvalidParameter


def repeated(epsilon: float, k: int) -> Approximation:
    one = randomized_response_moments(epsilon)
    return berry_esseen([one.kl] * k, [one.k2] * k, [one.kbar3] * k)


def exact_composition(epsilon: float, k: int, alphas: np.ndarray) -> np.ndarray:
    """The trade-off of k randomized responses: two binomials, Neyman-Pearson, straight lines between."""
    q = 1 / (1 + math.exp(epsilon))
    j = np.arange(k, -1, -1)
    level = np.concatenate(([0.0], np.cumsum(stats.binom.pmf(j, k, q))))
    power = np.concatenate(([0.0], np.cumsum(stats.binom.pmf(j, k, 1 - q))))
    return 1 - np.interp(alphas, level, power)


def test_golden_berry_esseen() -> None:
    limit = repeated(0.1, 100)
    assert randomized_response_moments(0.1).kl == pytest.approx(0.0049958375, abs=1e-10)
    assert limit.mu == pytest.approx(1.0004167, abs=1e-7)
    assert limit.gamma == pytest.approx(0.0562100, abs=1e-7)
    finer = repeated(0.01, 10**4)
    assert finer.mu == pytest.approx(1.0000042, abs=1e-7)
    assert finer.gamma == pytest.approx(0.0056002, abs=1e-7)


def test_bounds_hold_on_the_whole_interval_and_the_true_distance_is_small() -> None:
    limit = repeated(0.1, 100)
    assert limit.gamma is not None
    alphas = np.linspace(limit.gamma, 1 - limit.gamma, 301)
    exact = exact_composition(0.1, 100, alphas)
    for alpha, value in zip(alphas, exact, strict=True):
        lower, upper = limit.tradeoff_bounds(float(alpha))
        assert lower <= value <= upper
    everywhere = np.linspace(0, 1, 20001)
    limit_curve = np.array([gaussian_tradeoff(limit.mu)(float(a)) for a in everywhere])
    assert np.abs(exact_composition(0.1, 100, everywhere) - limit_curve).max() == pytest.approx(
        0.0013955, abs=2e-6
    )


def test_control_printed_centring_is_off() -> None:
    # kbar3 with -kl, as printed, and k3 in its place: both larger than the centred moment.
    epsilon, k = 0.1, 100
    one = randomized_response_moments(epsilon)
    rare = 1 / (1 + math.exp(epsilon))
    printed = rare * abs(epsilon - one.kl) ** 3 + (1 - rare) * abs(-epsilon - one.kl) ** 3
    variance = k * (one.k2 - one.kl**2)
    gamma = 0.56 * k * printed / variance**1.5
    assert gamma == pytest.approx(0.0571, abs=5e-5)
    right = repeated(epsilon, k).gamma
    assert right is not None
    assert gamma > right


def test_limits_agree() -> None:
    one = randomized_response_moments(0.01)
    assert gdp_limit([one.kl] * 10**4, [one.k2] * 10**4).mu == pytest.approx(1.0, abs=1e-4)
    assert gdp_limit([], []).mu == 0.0


def test_gaussian_moments_against_quadrature() -> None:
    with mp.workdps(25):
        for mu in (0.3, 1.0, 2.5):
            m = mpf(mu)

            def moment(h, m=m):  # type: ignore[no-untyped-def]
                return mp.quad(lambda z: h(m * z - m * m / 2) * mp.npdf(z), [-12, -2, 0, m / 2, 2, 12])

            ours = gaussian_moments(mu)
            assert ours.kl == pytest.approx(float(-moment(lambda y: y)), rel=1e-12)
            assert ours.k2 == pytest.approx(float(moment(lambda y: y * y)), rel=1e-12)
            assert ours.k3 == pytest.approx(float(moment(lambda y: abs(y) ** 3)), rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "poisson", "subset", "true_remove"),
    [
        (0.01, 1.0, 1000, 1.61771, 2.17581, 1.8272),
        (0.01, 2.0, 1000, 0.60176, 0.71937, 0.6215),
        (0.1, 1.0, 10, 1.61771, 2.17581, 2.85447),
    ],
)
def test_golden_sampled_gaussian_and_control_that_the_limit_understates(
    rate: float, sigma: float, steps: int, poisson: float, subset: float, true_remove: float
) -> None:
    limit = sampled_gaussian_limit(sigma, rate, steps)
    assert limit.estimated_epsilon(1e-5) == pytest.approx(poisson, abs=6e-6)
    assert sampled_gaussian_limit(sigma, rate, steps, "subset").estimated_epsilon(1e-5) == pytest.approx(
        subset, abs=6e-6
    )
    assert limit.estimated_epsilon(1e-5) < true_remove


def test_subset_formula_survives_large_sigma() -> None:
    with mp.workdps(40):
        for sigma in (0.5, 1.0, 30.0, 3000.0):
            s = mpf(sigma)
            spread = mp.exp(1 / s**2) * mp.ncdf(mpf(3) / 2 / s) + 3 * mp.ncdf(-1 / (2 * s)) - 2
            ours = sampled_gaussian_limit(sigma, 1.0, 1, "subset").mu
            assert ours == pytest.approx(float(mp.sqrt(2 * spread)), rel=1e-8)


def test_an_approximation_promises_nothing() -> None:
    limit = sampled_gaussian_limit(1.0, 0.01, 1000)
    public = {name for name in dir(limit) if not name.startswith("_")}
    assert public == {"mu", "gamma", "estimated_epsilon", "estimated_delta", "tradeoff_bounds"}
    with pytest.raises(InvalidParameter, match="bounds nothing"):
        limit.tradeoff_bounds(0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        limit.mu = 0.0  # type: ignore[misc]


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="only in"):
        repeated(0.1, 100).tradeoff_bounds(0.01)
    with pytest.raises(InvalidParameter, match=r"below 0\.5"):
        repeated(0.1, 1)
    with pytest.raises(InvalidParameter, match="above 0"):
        berry_esseen([0.0], [0.0], [0.0])
    with pytest.raises(InvalidParameter, match="cannot be"):
        gdp_limit([1.0], [0.5])
    with pytest.raises(InvalidParameter, match="must be"):
        sampled_gaussian_limit(1.0, 0.1, 10, "shuffle")  # type: ignore[arg-type]
