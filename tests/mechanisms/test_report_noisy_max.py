"""Report noisy max with three kinds of noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Exponential, ReportNoisyMax
from dalenius.mechanisms._support.selection_error import miss
from tests.mechanisms.choices import flipped, hockey_stick, softmax, spread, winners
from tests.mechanisms.contract import Case
from tests.mechanisms.test_exponential import SelectionContract


def cases(noise: Any) -> tuple[Case, ...]:
    return (
        Case(
            f"{noise} epsilon 1",
            lambda change: ReportNoisyMax(sensitivity=1, epsilon=1 / change, noise=noise),
        ),
        Case(
            f"{noise} monotone",
            lambda change: ReportNoisyMax(sensitivity=3, epsilon=2 / change, noise=noise, monotone=True),
        ),
    )


class TestLaplaceNoise(SelectionContract):
    kind = ReportNoisyMax
    cases = cases("laplace")
    epsilons = ()  # the loss is an upper bound, attained at delta 0 only: see below
    options = {"noise": "laplace"}  # noqa: RUF012
    bad_parameters = (*SelectionContract.bad_parameters, *({"noise": x} for x in ("gauss", None, 1)))

    def law(self, scores: Any, scale: float) -> np.ndarray:
        return winners(scores, scale, "laplace")

    def test_pure_epsilon_is_attained_in_the_tail(self) -> None:
        ratios = [spread(self.law([0, g], 2.0), self.law([1, g - 1], 2.0))[0] for g in (4.0, 20.0, 50.0)]
        assert ratios[0] < ratios[1] < ratios[2] <= 1.0
        assert ratios[2] > 0.96

    def test_range_is_more_than_epsilon(self) -> None:
        """So `bounded_range(epsilon)` would be wrong."""
        p, q = self.law([0.0, 0.0, 0.0, 0.0], 2.0), self.law([1.0, 1.0, -1.0, -1.0], 2.0)
        assert spread(p, q)[0] < 1.0
        assert spread(p, q)[1] > 1.1
        assert hockey_stick(p, q, 0.0) > dp.losses.bounded_range(1.0).delta(0.0)

    def test_two_candidates_in_closed_form(self) -> None:
        for g in (0.0, 1.0, 10.0):
            p = 1 - 0.5 * math.exp(-g / 2) * (1 + g / 4)
            assert self.law([g, 0.0], 2.0)[0] == pytest.approx(p, abs=1e-12)
            assert 1 - miss("laplace", g / 2, 2) == pytest.approx(p, abs=1e-12)


class TestExponentialNoise(SelectionContract):
    kind = ReportNoisyMax
    cases = cases("exponential")
    options = {"noise": "exponential"}  # noqa: RUF012

    def law(self, scores: Any, scale: float) -> np.ndarray:
        return winners(scores, scale, "exponential")

    def test_is_permute_and_flip(self) -> None:
        for scores in ([0.0, 1.0, 3.0], [2.0, 2.0, 0.0, -1.0], [0.0, 0.0]):
            assert self.law(scores, 2.0) == pytest.approx(flipped(scores, 0.5), abs=1e-12)


class TestGumbelNoise(SelectionContract):
    kind = ReportNoisyMax
    cases = cases("gumbel")
    options = {"noise": "gumbel"}  # noqa: RUF012

    def law(self, scores: Any, scale: float) -> np.ndarray:
        return winners(scores, scale, "gumbel")

    def test_is_the_exponential_mechanism(self) -> None:
        assert self.law([0.0, 1.0, 3.0], 2.0) == pytest.approx(softmax([0.0, 1.0, 3.0], 0.5), abs=1e-11)
        m = ReportNoisyMax(sensitivity=1, epsilon=1.0, noise="gumbel")
        e = Exponential(sensitivity=1, epsilon=1.0)
        assert m.loss == e.loss
        assert m.accuracy(0.9, 7) == e.accuracy(0.9, 7)


@pytest.mark.parametrize(
    ("epsilon", "k", "laplace", "gumbel"),
    [
        (1, 2, 0.98820859, 0.99330715),
        (1, 10, 0.93201720, 0.94282562),
        (1, 1000, 0.14671462, 0.12934588),
        (0.5, 1000, 0.01218249, 0.01204777),
        (2, 1000, 0.94651332, 0.95661326),
    ],
)
def test_example_5_2(epsilon: float, k: int, laplace: float, gumbel: float) -> None:
    """One score of 100, the others 90: the chance that it is reported."""
    for noise, chance in (("laplace", laplace), ("gumbel", gumbel)):
        m = ReportNoisyMax(sensitivity=1, epsilon=epsilon, noise=noise)
        assert 1 - miss(m.noise, 10 / m.scale, k) == pytest.approx(chance, abs=6e-9)
        if chance > 0.1:
            assert m.accuracy(chance, k) == pytest.approx(10.0, rel=1e-6)
        if k == 10:
            assert winners([100] + [90] * 9, m.scale, noise)[0] == pytest.approx(chance, abs=6e-9)


def test_gap_of_example_5_2() -> None:
    m = ReportNoisyMax(sensitivity=1, epsilon=1.0)
    gap = 10 * miss("laplace", 10 / m.scale, 1000)
    assert gap == pytest.approx(8.5328538, abs=5e-8)
    assert gap <= m.expected_gap(1000) <= 16.9689417


@pytest.mark.parametrize(
    ("k", "printed", "harmonic"),
    [(2, 4.7725887, 4.0), (10, 13.5614870, 7.6579365), (1000, 32.3996078, 16.9689417)],
)
def test_expected_gaps_of_chapter_5(k: int, printed: float, harmonic: float) -> None:
    """Proposition 5.2 as printed, then with the exact mean of the largest noise; ours is below both."""
    assert 2 * (2 * math.log(k - 1) + 1 + 2 * math.log(2)) == pytest.approx(printed, abs=5e-8)
    assert 2 * (1 + sum(1 / j for j in range(1, k))) == pytest.approx(harmonic, abs=5e-8)
    laplace, exponential, gumbel = (
        ReportNoisyMax(sensitivity=1, epsilon=1.0, noise=noise).expected_gap(k)
        for noise in ("laplace", "exponential", "gumbel")
    )
    assert exponential < gumbel < laplace < harmonic < printed


def test_largest_of_many_laplace_noises() -> None:
    """The bound for Laplace noise is the mean of the largest of k: by quadrature of its distribution."""
    x = np.linspace(-60, 60, 2_400_001)
    below = np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))
    for k in (2, 3, 10, 1000):
        mean = np.trapezoid(np.where(x > 0, 1 - below**k, -(below**k)), x)
        m = ReportNoisyMax(sensitivity=0.5, epsilon=1.0)
        assert m.expected_gap(k) == pytest.approx(mean, rel=1e-4)


def test_refuses_an_unknown_noise_by_name() -> None:
    with pytest.raises(InvalidParameter, match="'laplace', 'exponential' or 'gumbel'"):
        ReportNoisyMax(sensitivity=1, epsilon=1.0, noise="normal")  # type: ignore[arg-type]
