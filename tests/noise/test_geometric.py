"""Geometric and discrete Laplace integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import discrete_laplace, geometric
from dalenius.noise.geometric import levels
from dalenius.noise.lazy import LazyUniform, level, rational, two_sided_level
from tests.noise.goodness import WrongLaw, check_events, check_integers
from tests.noise.seeded import ListedSource, seeded, using

N = 200_000
SCALES = [0.05, 0.4, 1.0, Fraction(10, 3), 10.0, 137.5, 1000]
LARGE = [1e6, 2.0**24, 2.0**24 + 2, Fraction(10**13, 3), 2.0**47, 2**56]

geometric_module = __import__("dalenius.noise.geometric", fromlist=["BAND"])


def laplace_pmf(scale: float) -> Callable[[Any], Any]:
    return lambda k: np.exp(-np.abs(k) / scale)


def support(scale: float, two_sided: bool) -> Any:
    top = int(40 * scale) + 3
    return np.arange(-top if two_sided else 0, top + 1)


class TestLaw:
    @pytest.mark.parametrize("scale", SCALES)
    def test_geometric(self, scale: Any) -> None:
        with seeded(1):
            drawn = geometric(scale, N)
        check_integers(drawn, laplace_pmf(float(scale)), support(float(scale), False))

    @pytest.mark.parametrize("scale", SCALES)
    def test_discrete_laplace(self, scale: Any) -> None:
        with seeded(2):
            drawn = discrete_laplace(scale, N)
        check_integers(drawn, laplace_pmf(float(scale)), support(float(scale), True))

    @pytest.mark.parametrize("off", [1.15, 1 / 1.15])
    @pytest.mark.parametrize("scale", [0.4, 1.0, 10.0, 1000.0])
    def test_rejects_a_scale_that_is_off(self, scale: float, off: float) -> None:
        with seeded(3):
            one, two = geometric(scale * off, N), discrete_laplace(scale * off, N)
        with pytest.raises(WrongLaw):
            check_integers(one, laplace_pmf(scale), support(scale, False))
        with pytest.raises(WrongLaw):
            check_integers(two, laplace_pmf(scale), support(scale, True))

    @pytest.mark.parametrize("scale", LARGE)
    @pytest.mark.parametrize("two_sided", [False, True])
    def test_large_scales(self, scale: Any, two_sided: bool) -> None:
        """Quantiles, and the last digits, which are as good as uniform."""
        with seeded(4):
            drawn = (discrete_laplace if two_sided else geometric)(scale, N)
        assert drawn.dtype == np.int64
        s = float(scale)
        sizes = np.abs(drawn)
        at = [0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
        # P(|k| >= j) = exp(-j/s), times 2/(1 + exp(-1/s)) if two-sided
        factor = 2 / (1 + math.exp(-1 / s)) if two_sided else 1.0
        places = [math.ceil(a * s) for a in at]
        check_events(
            [int((sizes >= j).sum()) for j in places], [math.exp(-j / s) * factor for j in places], N
        )
        check_events(
            [int((drawn % m == r).sum()) for m in (2, 3, 64) for r in range(2)],
            [1 / m for m in (2, 3, 64) for _ in range(2)],
            N,
        )
        if two_sided:
            check_events([(drawn > 0).sum()], [0.5 - 0.5 * math.tanh(0.5 / s)], N)

    @pytest.mark.parametrize("off", [1.15, 1 / 1.15])
    def test_rejects_a_large_scale_that_is_off(self, off: float) -> None:
        s = 2.0**45
        with seeded(5):
            drawn = np.abs(discrete_laplace(s * off, N))
        with pytest.raises(WrongLaw):
            check_events([(drawn >= s).sum()], [math.exp(-1)], N)

    def test_tiny_scales_are_zero(self) -> None:
        for scale in (1e-3, 1e-200, 5e-324, Fraction(1, 10**400)):
            assert not discrete_laplace(scale, 1000).any()
            assert not geometric(scale, 1000).any()


def near_edges(scale: Fraction, fold: bool) -> list[int]:
    """Words around those where the value changes, out to beyond the band."""
    with mpmath.workprec(200):
        s = mpmath.mpf(scale.numerator) / scale.denominator
        p = 1 / (1 + mpmath.exp(-1 / s)) if fold else mpmath.mpf(1)
        edges = [int(p * mpmath.exp(-k / s) * 2**64) for k in (0, 1, 2, 3, 10, 50)]
    spread = [0, *(sign * (1 << j) for j in range(0, 50, 4) for sign in (1, -1))]
    near = [edge + offset for edge in edges for offset in spread]
    near += [2**64 - 1 - w for w in near] if fold else []
    return [w for w in near if 0 <= w < 2**64] + [0, 1, 2**43, 2**43 - 1, 2**64 - 1, 2**63, 2**64 - 2]


EXACT = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(1000, 7), Fraction(10**6), Fraction(2**24)]


class TestSettling:
    @pytest.mark.parametrize("scale", EXACT)
    def test_doubles_agree_with_exact_arithmetic(self, scale: Fraction) -> None:
        """Where doubles decide, they decide as exact arithmetic does, right up to the edge of the band."""
        near = near_edges(scale, fold=False)
        values, undecided = levels(np.array(near, dtype=np.uint64), float(scale), 64 * math.log(2.0))
        assert undecided.any()
        assert not undecided.all()
        with seeded(1):
            exact = [level(LazyUniform(w, 64), rational(1 / scale)) for w in near]
        assert all(a == b for a, b, open_ in zip(values, exact, undecided, strict=True) if not open_)

    @pytest.mark.parametrize("scale", EXACT)
    def test_two_sided_doubles_agree_with_exact_arithmetic(self, scale: Fraction) -> None:
        near = near_edges(scale, fold=True)
        for word in near:
            with using(ListedSource([word], 1)):
                found = discrete_laplace(scale, 1)[0]
            with using(ListedSource([], 1)):
                assert found == two_sided_level(LazyUniform(word, 64), scale)

    @pytest.mark.parametrize("sampler", [geometric, discrete_laplace])
    @pytest.mark.parametrize("scale", [Fraction(1, 3), 1.0, 20.0, 1e4])
    def test_a_wide_band_changes_nothing(
        self, sampler: Any, scale: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same bits with nearly all draws left to exact arithmetic give the same values."""
        with seeded(6):
            quick = sampler(scale, 3000)
        monkeypatch.setattr(geometric_module, "BAND", 0.45 / float(scale))
        with seeded(6):
            exact = sampler(scale, 3000)
        assert (quick == exact).all()

    @pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(29, 4)])
    def test_settled_law_given_six_digits(self, scale: Fraction) -> None:
        """For every word of 6 digits, the law of what is settled is its interval's part in each level."""
        s = float(scale)
        for value in range(64):
            low, high = value / 64, (value + 1) / 64
            top = int(-s * math.log(high)) if high < 1 else 0
            parts = {}
            for k in range(top, top + 200):
                share = 64 * max(min(high, math.exp(-k / s)) - max(low, math.exp(-(k + 1) / s)), 0.0)
                if share > 1e-4:
                    parts[k] = share
            trials = 400 if len(parts) > 1 else 3
            with seeded(value):
                found = [level(LazyUniform(value, 6), rational(1 / scale)) for _ in range(trials)]
            check_events([found.count(k) for k in parts], list(parts.values()), trials)

    @pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5)])
    def test_two_sided_settled_law(self, scale: Fraction) -> None:
        """From no digits at all, so that both sides and the fold between them are settled."""
        s = float(scale)
        with seeded(7):
            found = np.array([two_sided_level(LazyUniform(), scale) for _ in range(4000)])
        check_integers(found, laplace_pmf(s), support(s, True))

    def test_values_beyond_64_bits(self) -> None:
        """A word of zeros leads to a large value at a large scale; it comes back as a Python integer."""
        with using(ListedSource([0, 2**63, *[0] * 20], 3)):
            found = geometric(2**56, 2)
        assert found.dtype == object
        assert found[0] > 2**62
        assert all(type(k) is int for k in found)

    def test_minus_zero_is_drawn_anew(self) -> None:
        """At a large scale: size 0 with a negative sign is refused, with a positive one it is 0."""
        zero = [2**64 - 2**50, 0]  # high digits 0, then low digits 0, kept
        for sign, expected in ((2**64 - 1, 9 << 12), (0, 0)):
            # The next attempt has high digits 9: floor(-2^12 ln U) = 9.
            nine = int(math.exp(-9.5 / 2**12) * 2**64)
            with using(ListedSource([*zero, sign, nine, 0, 0])):
                assert discrete_laplace(2**24 + 2**13, 1)[0] == expected

    def test_remainders_are_settled(self) -> None:
        """The longest remainder with the largest digits v: kept with the exact probability, nearly always."""
        scale = Fraction(2**30)
        draw = geometric_module.remainders(scale, 18)
        refused = 0
        for seed in range(300):
            with using(ListedSource([2**64 - 1], seed)):
                refused += int(draw(1)[0] != 2**18 - 1)
        # Given v = 2^18 - 1, U is uniform in the last 2^-18, and exp(-r/scale) is about 1 - 2^-12: refused.
        assert refused == 300
        with using(ListedSource([2**64 - 2**18], 1)):
            assert draw(1)[0] == 2**18 - 1


@pytest.mark.parametrize("sampler", [geometric, discrete_laplace])
class TestInput:
    @pytest.mark.parametrize(
        "scale",
        [0, -1.0, float("nan"), float("inf"), "3", None, True, 2.0**56 * 1.01, 1e300, Fraction(-1, 2), 1j],
    )
    def test_bad_scale(self, sampler: Any, scale: Any) -> None:
        with pytest.raises(InvalidParameter, match="scale is"):
            sampler(scale, 3)

    def test_shapes(self, sampler: Any) -> None:
        assert type(sampler(3.0)) is int
        assert sampler(3.0, 5).shape == (5,)
        assert sampler(3.0, (2, 3)).dtype == np.int64
        assert sampler(3.0, 0).shape == (0,)
        assert sampler(2.0**40, (0, 2)).shape == (0, 2)
        assert sampler(np.float64(3.0), np.int64(4)).shape == (4,)
        assert sampler(np.int64(3), 70_000).shape == (70_000,)

    def test_is_reproducible_under_a_seed_only(self, sampler: Any) -> None:
        with seeded(9):
            first = sampler(1e6, 100)
        with seeded(9):
            assert (sampler(1e6, 100) == first).all()
        assert (sampler(1e6, 100) != first).any()
