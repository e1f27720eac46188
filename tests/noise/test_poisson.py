"""Poisson and Skellam integers: their laws, the rare draws that need more digits, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import ive

from dalenius.errors import InvalidParameter
from dalenius.noise import poisson, skellam
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.poisson import levels, quantile
from tests.noise.goodness import WrongLaw, check_events, check_integers
from tests.noise.seeded import ListedSource, seeded, using

N = 100_000
MEANS = [0.05, Fraction(1, 3), 1.0, 7.5, 400]


def around(mean: Any, two_sided: bool = False) -> np.ndarray:
    reach = int(40 + 12 * float(mean) ** 0.5)
    return np.arange(-reach if two_sided else max(0, int(mean) - reach), int(mean) * (not two_sided) + reach)


@pytest.mark.parametrize("mean", MEANS)
def test_laws(mean: Any) -> None:
    m = float(mean)
    with seeded(1):
        one, two = poisson(mean, N), skellam(mean, N)
    check_integers(one, lambda k: stats.poisson.pmf(k, m), around(mean))
    check_integers(two, lambda k: ive(np.abs(k), m), around(mean, two_sided=True))


@pytest.mark.parametrize("off", [1.15, 1 / 1.15])
@pytest.mark.parametrize("mean", [0.5, 400.0])
def test_rejects_a_mean_that_is_off(mean: float, off: float) -> None:
    with seeded(2):
        one, two = poisson(mean * off, N), skellam(mean * off, N)
    with pytest.raises(WrongLaw):
        check_integers(one, lambda k: stats.poisson.pmf(k, mean), around(mean))
    with pytest.raises(WrongLaw):
        check_integers(two, lambda k: ive(np.abs(k), mean), around(mean, two_sided=True))


def test_large_means() -> None:
    mean = 5e5
    with seeded(3):
        drawn = poisson(mean, N)
    assert drawn.dtype == np.int64
    places = [int(mean + x * mean**0.5) for x in (-3, -1, 0, 0.5, 2, 3.5)]
    check_events([int((drawn <= k).sum()) for k in places], [stats.poisson.cdf(k, mean) for k in places], N)
    check_events([int((drawn % 3 == r).sum()) for r in range(3)], [1 / 3] * 3, N)


@pytest.mark.parametrize("mean", [Fraction(1, 10**6), Fraction(1), Fraction(5, 2), Fraction(10**4, 7)])
@pytest.mark.parametrize("bits", [64, 192])
def test_levels_enclose_the_truth_and_are_narrow(mean: Fraction, bits: int) -> None:
    first, low, high = levels(mean, bits)
    assert max(b - a for a, b in zip(low[:-1], high[:-1], strict=True)) <= 1
    with mpmath.workprec(bits + 200):
        m = mpmath.mpf(mean.numerator) / mean.denominator
        weight = mpmath.exp(-m)
        total = mpmath.mpf(0)
        for k in range(first + len(low)):
            total += weight
            if k >= first:
                scaled = total * 2**bits
                assert low[k - first] <= scaled < high[k - first] + 1 or scaled > 2**bits - 1
            weight *= m / (k + 1)


def test_a_draw_on_a_level_takes_more_digits() -> None:
    """e^-1 in 64 digits leaves 0 and 1 open; the next word decides."""
    first, low, high = levels(Fraction(1), 64)
    assert first == 0
    assert low[0] == high[0]
    deep = levels(Fraction(1), 128).low[0] & (2**64 - 1)
    for more, expected in ((deep - 1, 0), (deep + 1, 1)):
        with using(ListedSource([more])):
            assert quantile(LazyUniform(low[0], 64), Fraction(1)) == expected


def test_the_ends_of_the_table_are_open() -> None:
    """A word of ones alone, and one of zeros where 0 is not in the table, take more digits."""
    with using(ListedSource([0])):
        assert quantile(LazyUniform(2**64 - 1, 64), Fraction(1)) == 20
    mean = Fraction(10**4)
    assert levels(mean, 64).first > 0
    with using(ListedSource([2**63])):
        k = quantile(LazyUniform(0, 64), mean)
    assert stats.poisson.cdf(k - 1, 1e4) < 2.0**-65 < stats.poisson.cdf(k, 1e4) * (1 + 1e-6)


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), "1", None, 2**31])
def test_refusals(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="mean"):
        poisson(wrong)
    with pytest.raises(InvalidParameter, match="variance"):
        skellam(wrong)
