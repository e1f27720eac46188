"""More published numbers, of things that live on higher floors.

Chapters are those of Awan 2025 (lecture notes); "adaptive" is Redberg 2023. False alarms: one statistical test, six
standard errors, below 1e-8; all else is exact. Each family of numbers is also shown to differ from a nearby mistake.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.adaptive.selection import trial_counts
from dalenius.learn import ExponentialMean, GradientMean, PoissonTries
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.pure_objective_perturbation import OUTPUT_SHARE, PureObjectivePerturbation
from dalenius.learn.models import mean as mean_module
from dalenius.mechanisms import Exponential, Laplace
from tests.calculus.test_golden import printed
from tests.noise.seeded import seeded

# -- 6.4: the ridge of pure objective perturbation -------------------------------------------------


@pytest.mark.parametrize(
    ("smoothness", "epsilon", "share", "ridge"),
    [
        (0.25, 1.0, 0.5, "0.3853735206"),
        (0.25, 0.1, 0.5, "4.8760416233"),
        (0.25, 1.0, 0.9, "2.3770829862"),
        (1.0, 1.0, 0.5, "1.5414940825"),
    ],
)
def test_ridge_of_pure_objective_perturbation(
    smoothness: float, epsilon: float, share: float, ridge: str
) -> None:
    """gamma = lambda/(e^(eps (1-q)) - 1), what the output noise takes of epsilon set aside."""
    whole = dp.PureDP(epsilon / (1 - OUTPUT_SHARE))
    plan = PureObjectivePerturbation.calibrated(whole, 1.0, smoothness, 1 / share)
    assert printed(plan.ridge, ridge)
    assert plan.scale == pytest.approx(1 / (epsilon * share), rel=1e-11)
    assert whole.holds(plan.loss)
    other = PureObjectivePerturbation.calibrated(whole, 1.0, smoothness, 1.001 / share)
    assert not printed(other.ridge, ridge)


# -- 7.4: the exponential mechanism for a mean, and its rivals -------------------------------------


def test_corollary_7_1() -> None:
    """Of 100 candidates the chosen one is 15.2103404 below the best with probability .0497871 at most."""
    found = Exponential.for_accuracy(15.2103404, 1 - 0.0497871, sensitivity=1, size=100)
    assert 0.98 < found.epsilon <= 1.0
    assert Exponential(sensitivity=1, epsilon=1.0).accuracy(1 - 0.0497871, 100) <= 15.2103404


def deviation(places: np.ndarray, logs: np.ndarray) -> float:
    """Of the law with these log-probabilities, up to a constant, on these places."""
    law = np.exp(logs - logs.max())
    law /= law.sum()
    return float(np.sqrt(law @ (places - law @ places) ** 2))


HALVES = np.full(1000, 0.5)


def test_exponential_mean_is_as_wide_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """n = 1000. Awan's epsilon of 1 is our 1/2: a record only lowers the score, and no factor 2 is paid."""
    seen: list[tuple[np.ndarray, float]] = []

    def release(self: Exponential, scores: Any) -> int:
        seen.append((np.asarray(scores), self.scale))
        return 0

    monkeypatch.setattr(Exponential, "release", release)
    for epsilon in (0.5, 1.0):
        ExponentialMean(dp.PureDP(epsilon)).fit(HALVES)
    places = np.array(mean_module.PLACES) / mean_module.STEPS
    right, other = (deviation(places, scores / scale) for scores, scale in seen)
    assert right == pytest.approx(0.0316228, abs=2e-7)
    assert other == pytest.approx(0.0316228 / math.sqrt(2), abs=2e-7)


def test_gradient_mean_is_as_wide_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lap(2/(n epsilon)): the sampler is held to its law in tests/learn, here are the numbers it is called with."""
    seen: list[tuple[int, int, int, int, float]] = []

    def draw(*args: Any) -> int:
        seen.append(args)
        return 0

    monkeypatch.setattr(mean_module, "draw_by_gradient", draw)
    GradientMean(dp.PureDP(1.0)).fit(HALVES)
    ((slope, level, low, high, scale),) = seen
    k = np.arange(low, high + 1)
    assert deviation(k / mean_module.STEPS, -np.abs(slope * k - level) / scale) == pytest.approx(
        0.0028284, abs=1e-7
    )


def test_laplace_mean_is_as_wide_as_printed() -> None:
    """20 000 draws: the standard error of their deviation is 0.8 % of it; six are allowed, and 15 % off rejected."""
    mechanism = Laplace.calibrated(dp.PureDP(1.0), sensitivity=1 / 1000)
    with seeded(74):
        found = float(np.std(mechanism.releases(0.5, 20_000)))
    assert found == pytest.approx(0.0014142, rel=0.048)
    assert 1.15 * found != pytest.approx(0.0014142, rel=0.048)


# -- 14.4: the pair made of a profile --------------------------------------------------------------


@pytest.mark.parametrize(("x", "height"), [(0.05, "0.0040863"), (0.3, "0.0637043"), (0.95, "0.7404890")])
def test_cdf_of_the_pair_of_a_profile(x: float, height: str) -> None:
    """Lemma 16 for G_1: Q uniform, P with cdf f(1 - x), three ways; without the sign change it is another number."""
    loss = losses.gdp(1.0)
    assert printed(dp.theorems.gaussian_tradeoff(1.0)(1 - x), height)
    assert printed(loss.tradeoff(1 - x), height)
    assert printed(dp.theorems.tradeoff_from_profile(loss.delta, 1 - x), height)
    assert not printed(1 - loss.tradeoff(x), height)


# -- adaptive 4.2: how often to try ----------------------------------------------------------------


@pytest.mark.parametrize(("mean", "least", "off"), [(15.4066, 11, 5e-5), (14.206, 10, 5e-4)])
def test_mean_number_of_tries(mean: float, least: int, off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """P(K > 10) = 0.9 at 15.4066 and P(K >= 10) = 0.9 at 14.206, by the weights that K is drawn with."""
    seen: list[np.ndarray] = []

    def draw(weights: np.ndarray) -> int:
        seen.append(weights / weights.sum())
        return 0

    monkeypatch.setattr(trial_counts, "categorical", draw)
    for shifted in (mean, mean - 2 * off, mean + 2 * off):
        PoissonTries(shifted).draw()
    here, below, above = (float(law[least:].sum()) for law in seen)
    assert here == pytest.approx(0.9, abs=0.05 * off)
    assert below < 0.9 < above


# -- adaptive 4.4: Kifer's constants, and the calibration of the experiments ------------------------


@pytest.mark.parametrize(
    ("sigma", "ridge", "delta", "epsilon"),
    [
        (5.0, 20.0, 1e-3, "1.641630"),
        (5.0, 20.0, 1e-5, "2.057964"),
        (5.0, 20.0, 1e-6, "2.236194"),
        (10.0, 5.0, 1e-3, "0.800046"),
        (10.0, 5.0, 1e-5, "1.008375"),
        (10.0, 5.0, 1e-6, "1.097540"),
    ],
)
def test_kifer(sigma: float, ridge: float, delta: float, epsilon: str) -> None:
    """At the printed epsilon Kifer's noise is sigma and its ridge enough; the last place makes a difference."""
    plan = ObjectivePerturbation.kifer(dp.ApproxDP(float(epsilon), delta), 1.0, 1.0)
    slack = 1.01e-6 / float(epsilon)
    assert plan.sigma == pytest.approx(sigma, rel=slack)
    assert plan.ridge <= ridge
    other = ObjectivePerturbation.kifer(dp.ApproxDP(float(epsilon) + 3e-6, delta), 1.0, 1.0)
    assert other.sigma != pytest.approx(sigma, rel=slack)
    assert losses.objective_perturbation(sigma, ridge, 1.0, 1.0).epsilon(delta) < float(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "noise", "sigma", "ridge", "smoothness"),
    [
        (0.025, 152.640, 198.432, 225.43, 0.5),
        (0.05, 81.700, 106.210, 100.69, 0.5),
        (0.25, 18.789, 24.425, 17.132, 0.5),
        (0.5, 9.9445, 12.928, 8.2207, 0.5),
        (2.0, 2.8197, 3.6656, 2.0194, 0.5),
        (4.0, 1.5290, 1.9877, 1.0795, 0.5),
        # Smoothness without the bias column.
        (0.1, 43.487, 56.532, 26.330, 0.25),
        (1.0, 5.2759, 6.8587, 2.3753, 0.25),
        (8.0, 0.8489, 1.1035, 0.35949, 0.25),
    ],
)
def test_calibration_of_the_experiments(
    epsilon: float, noise: float, sigma: float, ridge: float, smoothness: float
) -> None:
    """Section 4.5, the Renyi route; forgetting the bias column in the smoothness is the mistake told apart."""
    bound = math.sqrt(2)
    assert dp.theorems.analytic_gaussian_sigma(epsilon, 1e-5, bound) == pytest.approx(noise, rel=1e-4)
    assert sigma == pytest.approx(1.3 * noise, rel=1e-4)

    def spent(smoothness: float) -> float:
        loss = losses.approximate_minima(sigma, ridge, bound, smoothness, tolerance=0.01, output_sigma=0.15)
        return dp.theorems.epsilon_from_renyi(loss.renyi, 1e-5, "improved")

    assert spent(smoothness) == pytest.approx(epsilon, rel=2e-4)
    assert spent(0.9 * smoothness) != pytest.approx(epsilon, rel=2e-4)
