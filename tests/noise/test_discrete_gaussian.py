"""Discrete Gaussian integers, and the strips they are drawn under."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from dalenius.errors import InvalidParameter
from dalenius.noise import discrete_gaussian, tail
from dalenius.noise.discrete_gaussian import _Sampler
from dalenius.noise.lazy import LazyUniform, log_above
from dalenius.noise.source import Words
from dalenius.noise.strips import Strips
from dalenius.noise.tail import draw_tail
from tests.noise.goodness import WrongLaw, check_events, check_integers
from tests.noise.seeded import ListedSource, SeededSource, seeded, using

N = 200_000


SIGMAS = [0.05, 0.3, 0.5, 1.0, Fraction(7, 3), 10.0, 99.5, 1000]


LARGE = [1e6, 2.0**21 - 1, 2.0**21, 2.0**21 + 1, Fraction(10**13, 3), 2.0**47, 2**56]


def pmf(sigma: float) -> Callable[[Any], Any]:
    return lambda k: np.exp(-0.5 * (k / sigma) ** 2)


def support(sigma: float) -> Any:
    top = int(12 * sigma) + 2
    return np.arange(-top, top + 1)


class TestLaw:
    @pytest.mark.parametrize("sigma", SIGMAS)
    def test_small(self, sigma: Any) -> None:
        with seeded(1):
            drawn = discrete_gaussian(sigma, N)
        check_integers(drawn, pmf(float(sigma)), support(float(sigma)))

    def test_many_draws(self) -> None:
        """Four million, so that single values of the tail count too."""
        with seeded(2):
            drawn = discrete_gaussian(10, 4_000_000)
        check_integers(drawn, pmf(10.0), support(10.0))

    def test_variance(self) -> None:
        """A variance whose root is irrational."""
        with seeded(3):
            drawn = discrete_gaussian(variance=Fraction(2), size=N)
        check_integers(drawn, pmf(math.sqrt(2.0)), support(2.0))

    @pytest.mark.parametrize("off", [1.15, 1 / 1.15])
    @pytest.mark.parametrize("sigma", [0.5, 1.0, 10.0, 1000.0])
    def test_rejects_a_scale_that_is_off(self, sigma: float, off: float) -> None:
        with seeded(4):
            drawn = discrete_gaussian(sigma * off, N)
        with pytest.raises(WrongLaw):
            check_integers(drawn, pmf(sigma), support(sigma))

    @pytest.mark.parametrize("sigma", LARGE)
    def test_large(self, sigma: Any) -> None:
        """Quantiles of the normal law (from which it differs by less than 1e-6) and the last digits."""
        with seeded(5):
            drawn = discrete_gaussian(sigma, 2 * N)
        assert drawn.dtype == np.int64
        s, n = float(sigma), 2 * N
        at = np.array([-4, -3.5, -3, -2.5, -2, -1, -0.5, 0, 0.1, 1, 1.5, 2, 2.7, 2.9, 3.1, 3.3, 3.7, 4.2])
        places = np.floor(at * s)
        check_events([(drawn <= x).sum() for x in places], stats.norm.cdf((places + 0.5) / s), n)
        check_events(
            [int((drawn % m == r).sum()) for m in (2, 3, 64) for r in range(2)],
            [1 / m for m in (2, 3, 64) for _ in range(2)],
            n,
        )

    @pytest.mark.parametrize("off", [1.15, 1 / 1.15])
    def test_rejects_a_large_scale_that_is_off(self, off: float) -> None:
        with seeded(6):
            drawn = discrete_gaussian(2.0**45 * off, N)
        with pytest.raises(WrongLaw):
            check_events([(np.abs(drawn) > 2**45).sum()], [2 * stats.norm.sf(1.0)], N)

    def test_tiny(self) -> None:
        for sigma in (1e-2, 1e-100, 1e-160, 5e-324, Fraction(1, 10**400)):
            assert not discrete_gaussian(sigma, 1000).any()


def rho(x: int, sigma: float) -> Any:
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2))


class Recorded:
    """A source that remembers what it handed out."""

    def __init__(self, seed: int) -> None:
        self.source = SeededSource(seed)
        self.handed: list[Words] = []

    def words(self, n: int) -> Words:
        self.handed.append(self.source.words(n))
        return self.handed[-1]


class TestSettling:
    @pytest.mark.parametrize("sigma", [0.3, 1.0, 30.0, 2.0**30])
    def test_a_wide_band_changes_nothing(self, sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
        """With all heights compared in exact arithmetic the same bits give the same values."""
        with seeded(1):
            quick = discrete_gaussian(sigma, 3000)
        monkeypatch.setattr(Strips, "BAND", 2.0)
        monkeypatch.setattr(tail, "BAND", 1e3)
        with seeded(1):
            exact = discrete_gaussian(sigma, 3000)
        assert (quick == exact).all()

    @pytest.mark.parametrize("sigma", [0.4, 1.5, 2.0**25])
    def test_tail_law(self, sigma: float) -> None:
        """Kept tail proposals have the law of the discrete Gaussian beyond the reach."""
        strips = Strips.of(Fraction(sigma) ** 2)
        with seeded(2):
            values, kept = draw_tail(strips, N)
        values = values[kept]
        check_events([(values > 0).sum()], [0.5], len(values)) if not strips.shift else None
        sizes = np.abs(values)
        assert sizes.min() > strips.reach
        if sigma < 10:
            check_integers(sizes, pmf(sigma), strips.reach + 1 + np.arange(60))
        else:
            at = (strips.reach + 1) / sigma
            edges = np.array([0.1, 0.2, 0.5, 1.0, 2.0]) + at
            share = stats.norm.sf(edges) / stats.norm.sf(at)
            check_events([(sizes > e * sigma).sum() for e in edges], share, len(values))

    def test_a_run_beyond_32_digits(self) -> None:
        """All 32 digits zero: the run is longer than 32, far beyond the bell, so that nothing is kept."""
        strips = Strips.of(Fraction(1))
        with using(ListedSource([0, 5, 2**63], 1)):
            value, kept = draw_tail(strips, 1)
        assert value[0] >= 32 * strips.step
        assert not kept[0]

    def test_a_tiny_height_in_the_tail_is_settled(self) -> None:
        strips = Strips.of(Fraction(1))
        for height in (0, 1, 2**20, 2**43 - 1):
            # run 0, right side
            with using(ListedSource([2**31, height], 1)):
                value, kept = draw_tail(strips, 1)
            assert kept[0]
            assert value[0] > strips.reach

    @pytest.mark.parametrize("sigma", [10.0, 2.0**21, 2.0**40])
    def test_where_the_tail_begins(self, sigma: float) -> None:
        """On each side, right after the first strip ends."""
        strips = Strips.of(Fraction(sigma) ** 2)
        run, first_of_run = 2**31, int(strips.step <= 2**24)  # digits that lead to run 0 and to place 0 in it
        for sign, first in ((0, strips.reach + 1), (1, -(strips.reach + 1 + strips.shift))):
            with using(ListedSource([(sign << 63) + run, 2**62, first_of_run], 1)):
                value, _ = draw_tail(strips, 1)
            assert value[0] == first
        blocks = int(strips.width[1])
        assert -(blocks // 2 << strips.block) == first + 1

    def test_a_small_height_far_out_is_settled(self) -> None:
        """The last run that 32 digits reach: the height that matters is a few million units of 2^-64."""
        sigma = 2.0**30
        strips = Strips.of(Fraction(sigma) ** 2)
        place = strips.reach + 1 + 31 * strips.step
        stair = mpmath.mpf(strips.stair.numerator) / strips.stair.denominator
        with mpmath.workprec(200):
            edge = rho(place, sigma) * 2**31 / stair * 2**64
            height, share = int(edge), float(edge - int(edge))
        assert 2**16 < height < 2**43
        for word, chance in ((height, share), (height - 1, 1.0), (height + 1, 0.0)):
            kept = 0
            for seed in range(200):
                with using(ListedSource([1, word, 0], seed)):
                    value, found = draw_tail(strips, 1)
                assert value[0] == place
                kept += int(found[0])
            check_events([kept], [chance], 200)

    def test_positions_are_uniform_in_a_strip(self) -> None:
        """With few digits, what is refused is drawn anew in its strip, and positions stay uniform."""
        sampler = _Sampler(Strips.of(Fraction(100)))
        sampler.digits = np.uint64(7)
        sampler.low = np.uint64(127)
        width = int(sampler.strips.width[3])
        with seeded(3):
            found = np.array([sampler.position(3, first) for first in range(128) for _ in range(200)])
        # Refused for 2^7 mod width of the 128 starts; the others give each position equally often.
        check_events(np.bincount(found, minlength=width), [1 / width] * width, len(found))

    def test_positions_with_few_digits_keep_the_law(self) -> None:
        sampler = _Sampler(Strips.of(Fraction(100)))
        sampler.digits = np.uint64(6)
        sampler.low = np.uint64(63)
        with seeded(4):
            drawn = sampler.draw(300_000)
        check_integers(drawn, pmf(10.0), support(10.0))

    @pytest.mark.parametrize(
        ("bottom", "height", "x"),
        [(Fraction(1, 5), Fraction(1, 2), Fraction(3, 4)), (Fraction(0), Fraction(1), Fraction(3))],
    )
    def test_under_the_bell_given_three_digits(self, bottom: Fraction, height: Fraction, x: Fraction) -> None:
        """bottom + U height < exp(-x) for every word of 3 digits of U."""
        cut = (math.exp(-float(x)) - float(bottom)) / float(height) * 8
        for value in range(8):
            share = min(max(cut - value, 0.0), 1.0)
            trials = 2000 if 0 < share < 1 else 3
            with seeded(value):
                found = sum(log_above(LazyUniform(value, 3), bottom, height, x) for _ in range(trials))
            check_events([found], [share], trials)

    def test_bits_are_used_once(self) -> None:
        source = Recorded(1)
        with using(source):
            discrete_gaussian(5.0, 1000)
        handed = np.concatenate(source.handed)
        assert len(np.unique(handed)) == len(handed)
        assert 1000 < len(handed) < 1300


class TestInput:
    @pytest.mark.parametrize(
        "sigma",
        [0, -1.0, float("nan"), float("inf"), "3", True, 2.0**56 * 1.01, Fraction(-1, 2)],
    )
    def test_bad_sigma(self, sigma: Any) -> None:
        with pytest.raises(InvalidParameter, match="sigma is"):
            discrete_gaussian(sigma, 3)
        with pytest.raises(InvalidParameter):
            discrete_gaussian(variance=sigma if sigma != 2.0**56 * 1.01 else 2.0**113, size=3)

    def test_one_of_sigma_and_variance(self) -> None:
        with pytest.raises(InvalidParameter, match="either"):
            discrete_gaussian(size=3)
        with pytest.raises(InvalidParameter, match="either"):
            discrete_gaussian(1.0, 3, variance=1.0)

    def test_shapes(self) -> None:
        assert type(discrete_gaussian(3.0)) is int
        assert discrete_gaussian(3.0, (2, 3)).shape == (2, 3)
        assert discrete_gaussian(3.0, 0).shape == (0,)
        assert discrete_gaussian(3.0, 70_000).dtype == np.int64
