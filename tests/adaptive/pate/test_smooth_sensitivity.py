"""The private bound on what a vote costs: smoothness over all small votes, and the price of the release."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dalenius.adaptive import GNMax, VoteBound
from dalenius.adaptive.pate.smooth_sensitivity import smooth_gaussian_renyi
from tests.adaptive.pate.votes import all_counts, neighbours
from tests.mechanisms.contract import follows, frequency
from tests.noise.seeded import seeded


@pytest.mark.parametrize(
    ("sigma", "order", "classes", "teachers"), [(1.0, 3.0, 2, 6), (2.0, 8.0, 3, 4), (0.7, 2.0, 3, 4)]
)
def test_smooth_over_all_votes(sigma: float, order: float, classes: int, teachers: int) -> None:
    vote = GNMax(sigma=sigma, teachers=teachers, classes=classes, queries=2)
    for smoothness in (0.05, 0.5):
        bound = VoteBound(vote, order, smoothness, 1.0, 1.0, 0.1)
        queries = all_counts(teachers, classes)
        spread = {v: bound.smooth_sensitivity(np.array(v)) for v in product(queries, repeat=2)}
        value = {v: bound.divergence(np.array(v)) for v in spread}
        for votes, here in spread.items():
            for other in neighbours(votes):
                assert abs(value[votes] - value[other]) <= here
                assert here <= math.exp(smoothness) * spread[other] * (1 + 1e-9)


def divergence(order: float, move: float, first: float, second: float) -> float:
    """By quadrature."""

    def at(x: float) -> float:
        return math.exp(order * norm.logpdf(x, 0, first) + (1 - order) * norm.logpdf(x, move, second))

    reach = 60 * max(first, second)
    return math.log(quad(at, -reach, reach, limit=2000, epsabs=0, epsrel=1e-10)[0]) / (order - 1)


@pytest.mark.parametrize(
    ("order", "smoothness", "noise"), [(5.0, 0.05, 3.0), (20.0, 0.01, 15.0), (2.0, 0.3, 1.0)]
)
def test_price_of_the_release(order: float, smoothness: float, noise: float) -> None:
    """Attained by normal laws whose scales differ by all of the smoothness, never exceeded."""
    claim, worst = smooth_gaussian_renyi(order, smoothness, noise), 0.0
    for ratio in np.exp(np.linspace(-smoothness, smoothness, 9)):
        worst = max(worst, divergence(order, min(1.0, ratio), ratio * noise, noise))
    assert worst <= claim * (1 + 1e-9)
    assert worst > claim * 0.99


def test_printed_price_is_wrong() -> None:
    """(order + 1)/noise^2 up to 1/(2 smoothness): Papernot et al. 2018, Theorem 23; Redberg 2023, Lemma 3.6.5."""
    smoothness, noise, order = 0.1, 15.0, 4.9
    ratio = math.exp(smoothness)
    found = divergence(order, 1.0, ratio * noise, noise)
    assert found > 5 * (order + 1) / noise**2
    assert found <= smooth_gaussian_renyi(order, smoothness, noise) * (1 + 1e-9)


def test_is_a_bound_as_often_as_it_says() -> None:
    vote = GNMax(sigma=3.0, teachers=20, classes=3, queries=3)
    bound = VoteBound(vote, 4.0, 0.1, 2.0, 2.0, 0.3)
    votes = np.array([[14, 4, 2], [9, 9, 2], [20, 0, 0]])
    with seeded(2):
        below = sum(bound.release(votes) < bound.divergence(votes) for _ in range(3000))
    assert frequency(below, 3000)[0] <= 0.3
    assert below > 3000 * 0.05  # the failure is not much smaller either


def test_law_of_the_release() -> None:
    """With little noise on log S what is left is normal, of deviation S noise; others are rejected."""
    vote = GNMax(sigma=3.0, teachers=20, classes=3, queries=3)
    bound = VoteBound(vote, 4.0, 0.1, 2.0, 1e-3, 0.3)
    votes = np.array([[14, 4, 2], [9, 9, 2], [20, 0, 0]])
    spread = 2.0 * bound.smooth_sensitivity(votes)
    middle = bound.divergence(votes) + spread * -norm.ppf(0.15)
    with seeded(1):
        drawn = np.array([bound.release(votes) for _ in range(3000)])
    assert follows(drawn, norm(middle, spread).cdf)
    for wrong in (0.7, 1.4):
        assert not follows(drawn, norm(middle, wrong * spread).cdf)


def test_loss_at_an_order() -> None:
    bound = VoteBound(GNMax(sigma=3.0, teachers=20, classes=3, queries=3), 4.0, 0.005, 15.0, 15.0, 1e-6)
    assert bound.loss.renyi(8.0) == pytest.approx(
        smooth_gaussian_renyi(8.0, 0.005, 15.0) + 8.0 / (2 * 15.0**2), rel=1e-6
    )
    assert bound.loss.renyi(150.0) == math.inf


def test_the_logarithm_moves_no_further_than_its_noise_is_for() -> None:
    """To the last digit: it is a sum of doubles."""
    vote = GNMax(sigma=20.0, teachers=100, classes=3, queries=3)
    bound = VoteBound(vote, order=8.0, smoothness=0.05, noise=2.0, log_noise=2.0, failure=1e-6)
    splits = [np.tile([m, 100 - m, 0], (3, 1)) for m in range(34, 101)]
    logs = [Fraction(math.log(bound.smooth_sensitivity(votes))) for votes in splits]
    moved = max(abs(here - there) for here, there in pairwise(logs))
    assert Fraction(0.05) * Fraction(999, 1000) < moved <= Fraction(bound._log_release.sensitivity)
