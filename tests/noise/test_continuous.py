"""Continuous vectors: the law, and that the rounding is exact."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from dalenius.errors import InvalidParameter
from dalenius.noise import gamma, gaussian, goe, norm_noise, rounding, sphere
from dalenius.noise.lazy import LazyUniform
from dalenius.noise.norm_noise import Common, norm_units
from dalenius.noise.normal import certified_pair, normals
from tests.noise.goodness import WrongLaw, check_continuous, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 100_000


class TestLaw:
    def test_gaussian(self) -> None:
        with seeded(1):
            drawn = gaussian((2, N // 2))
        check_continuous(drawn, stats.norm())
        check_events([(drawn[0] * drawn[1] > 0).sum()], [0.5], N // 2)

    @pytest.mark.parametrize("shape", [1, 2, 7])
    def test_gamma(self, shape: int) -> None:
        with seeded(2):
            drawn = gamma(shape, N)
        check_continuous(drawn, stats.gamma(shape))

    @pytest.mark.parametrize("off", [1.15, 1 / 1.15])
    def test_rejects_a_scale_that_is_off(self, off: float) -> None:
        with seeded(3):
            normal, gammas = gaussian(N) * off, gamma(3, N) * off
        with pytest.raises(WrongLaw):
            check_continuous(normal, stats.norm())
        with pytest.raises(WrongLaw):
            check_continuous(gammas, stats.gamma(3))

    @pytest.mark.parametrize("d", [2, 3, 6])
    def test_sphere(self, d: int) -> None:
        """Coordinates have the law 2 Beta((d-1)/2, (d-1)/2) - 1, whatever the direction."""
        with seeded(4):
            drawn = sphere(d, N // 4)
        law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
        direction = np.arange(1.0, d + 1) / np.linalg.norm(np.arange(1.0, d + 1))
        for coordinate in (drawn[:, 0], drawn[:, -1], drawn @ direction):
            check_continuous(coordinate, law)
        assert np.abs(np.linalg.norm(drawn, axis=1) - 1).max() < d * 2.0**-32

    def test_sphere_in_one_dimension_is_a_sign(self) -> None:
        with seeded(5):
            drawn = sphere(1, 2000)[:, 0]
        assert set(drawn.tolist()) == {-1.0, 1.0}
        check_events([(drawn > 0).sum()], [0.5], 2000)

    def test_goe(self) -> None:
        with seeded(6):
            drawn = np.array([goe(3) for _ in range(4000)])
        assert (drawn == drawn.transpose(0, 2, 1)).all()
        check_continuous(drawn[:, [0, 1, 2], [0, 1, 2]], stats.norm(scale=math.sqrt(2)))
        check_continuous(drawn[:, [0, 0, 1], [1, 2, 2]], stats.norm())
        with pytest.raises(WrongLaw):
            check_continuous(drawn[:, [0, 1, 2], [0, 1, 2]], stats.norm(scale=math.sqrt(2) * 1.15))

    def test_goe_of_one_chunk_and_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dalenius.noise.continuous.CHUNK", 16)
        with seeded(7):
            drawn = goe(60)
        check_continuous(drawn[np.triu_indices(60, 1)], stats.norm())
        check_continuous(drawn.diagonal(), stats.norm(scale=math.sqrt(2)))

    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize(("norm", "order"), [("l1", 1), ("l2", 2), ("linf", np.inf)])
    def test_norms(self, norm: str, order: Any, d: int) -> None:
        """The norm has the gamma law of shape d, and the direction does not depend on it."""
        with seeded(8):
            drawn = norm_noise(d, norm, N // 4)
        size = np.linalg.norm(drawn, ord=order, axis=1)
        check_continuous(size, stats.gamma(d))
        with pytest.raises(WrongLaw):
            check_continuous(size, stats.gamma(d, scale=1.15))
        check_events([(drawn[:, 0] > 0).sum()], [0.5], len(drawn))
        if norm == "l1":
            check_continuous(drawn, stats.laplace())
        if norm == "linf" and d > 1:
            # Given the size, the coordinate that attains it is any, and the others are uniform.
            check_events(np.bincount(np.abs(drawn).argmax(axis=1), minlength=d), [1 / d] * d, len(drawn))
            other = (drawn / size[:, None])[:, 0]
            other = other[np.abs(drawn).argmax(axis=1) != 0]
            check_continuous(other, stats.uniform(-1, 2))
        if norm == "l2" and d > 1:
            law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
            check_continuous(drawn[:, 0] / size, law)


class TestRounding:
    @pytest.mark.parametrize("bits", [0, 8, 32, 40])
    def test_multiples(self, bits: int) -> None:
        with seeded(1):
            values = gaussian(500, bits=bits)
        with seeded(1):
            units = gaussian(500, bits=bits, as_units=True)
        assert units.dtype == np.int64
        assert (np.ldexp(values, bits) == units).all()

    def test_coarse_grids_have_the_rounded_law(self) -> None:
        with seeded(2):
            drawn = gaussian(N, bits=0, as_units=True)
        places = np.arange(-3, 4)
        law = stats.norm.cdf(places + 0.5) - stats.norm.cdf(places - 0.5)
        check_events([(drawn == k).sum() for k in places], law, N)

    @pytest.mark.parametrize(
        "draw",
        [
            lambda: gaussian(61, as_units=True),
            lambda: gamma(3, 40, as_units=True),
            lambda: sphere(4, 20, as_units=True),
            lambda: goe(7, as_units=True),
            lambda: norm_noise(3, "l1", 20, as_units=True),
            lambda: norm_noise(3, "l2", 20, as_units=True),
            lambda: norm_noise(3, "linf", 20, as_units=True),
        ],
    )
    def test_certified_arithmetic_rounds_alike(self, draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """With every row left to certified arithmetic, the same bits give the same multiples."""
        with seeded(3):
            quick = draw()
        settled = 0
        settle = rounding.settle

        def counted(*arguments: Any) -> list[int]:
            nonlocal settled
            settled += 1
            return settle(*arguments)

        honest = rounding.to_units

        def doubtful(value: Any, error: Any, bits: int, row: Any) -> Any:
            return honest(value, np.full_like(error, 1.0), bits, row)

        monkeypatch.setattr(rounding, "settle", counted)
        monkeypatch.setattr("dalenius.noise.continuous.to_units", doubtful)
        monkeypatch.setattr(_module("norm_noise"), "to_units", doubtful)
        with seeded(3):
            exact = draw()
        assert settled > 0
        assert (quick == exact).all()

    def test_normal_doubles_are_within_their_error(self) -> None:
        generator = np.random.default_rng(4)
        first = np.concatenate(
            [generator.integers(0, 2**64, 40, dtype=np.uint64) >> np.uint64(k) for k in range(0, 60, 4)]
        )
        first = np.concatenate([first, ~first])
        second = generator.integers(0, 2**64, len(first), dtype=np.uint64)
        values, error = normals(first, second)
        for i in range(len(first)):
            pair = certified_pair(LazyUniform(int(first[i]), 64), LazyUniform(int(second[i]), 64), 200)
            for j in range(2):
                if math.isfinite(error[i, j]):
                    value, off = Fraction(float(values[i, j])), Fraction(float(error[i, j]))
                    assert value - off <= Fraction(pair[j].low, 1 << 200)
                    assert value + off >= Fraction(pair[j].high, 1 << 200)

    def test_box_muller_is_computed_right(self) -> None:
        with mpmath.workprec(200):
            u, v = mpmath.mpf(3) / 8, mpmath.mpf(5) / 16
            radius = mpmath.sqrt(-2 * mpmath.log(1 - u))
            expected = radius * mpmath.cos(2 * mpmath.pi * v), radius * mpmath.sin(2 * mpmath.pi * v)
            first, second = LazyUniform(3 << 125, 128), LazyUniform(5 << 124, 128)
            for part, value in zip(certified_pair(first, second, 150), expected, strict=True):
                assert abs(part.low / mpmath.mpf(2) ** 150 - value) < 1e-30
                assert abs(part.high / mpmath.mpf(2) ** 150 - value) < 1e-30

    @pytest.mark.parametrize("word", [0, 1, 2**64 - 1, 2**63])
    def test_words_at_the_ends(self, word: int) -> None:
        """All first words at an end of the range: digits are fetched until the value is settled."""
        for draw in (
            lambda: gaussian(2),
            lambda: gamma(2, 1),
            lambda: sphere(2, 1),
            lambda: norm_noise(2, "l2", 1),
        ):
            with using(ListedSource([word] * 8, 5)):
                assert np.isfinite(draw()).all()

    def test_a_half_is_settled_by_later_digits(self) -> None:
        """At the word that holds E = 1/2, E is rounded up to a whole number by the exact share."""
        with mpmath.workprec(120):
            edge = (1 - mpmath.exp(mpmath.mpf("-0.5"))) * 2**64
            word = int(mpmath.floor(edge))
            share = float(1 - (edge - word))
        ups = 0
        for seed in range(400):
            with using(ListedSource([word], seed)):
                ups += gamma(1, bits=0, as_units=True)
        check_events([ups], [share], 400)


def _module(name: str) -> Any:
    return sys.modules[f"dalenius.noise.{name}"]


class TestInput:
    def test_shapes(self) -> None:
        assert type(gaussian()) is float
        assert type(gaussian(as_units=True)) is int
        assert gaussian(0).shape == (0,)
        assert gaussian(5).shape == (5,)
        assert type(gamma(2)) is float
        assert sphere(3).shape == (3,)
        assert sphere(3, (2, 2)).shape == (2, 2, 3)
        assert goe(1).shape == (1, 1)
        assert norm_noise(2).shape == (2,)
        assert norm_noise(2, "l1", 0).shape == (0, 2)

    @pytest.mark.parametrize(
        "call",
        [
            lambda: gaussian(-1),
            lambda: gaussian(2, bits=41),
            lambda: gaussian(2, bits=-1),
            lambda: gaussian(2, bits=1.5),
            lambda: gamma(0, 1),
            lambda: gamma(0.5, 1),
            lambda: gamma(2**21, 1),
            lambda: sphere(0),
            lambda: goe(0),
            lambda: goe(2.5),
            lambda: norm_noise(2, "l3"),
            lambda: norm_noise(0, "l2"),
        ],
    )
    def test_bad_input(self, call: Any) -> None:
        with pytest.raises(InvalidParameter):
            call()


def test_what_entries_share_is_not_fetched_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubles decide none of these entries on so fine a grid: their common length is asked for more digits once or
    twice, and not by each that needs more of its own."""
    asked, more = [], Common.more

    def counted(common: Common) -> None:
        asked.append(common.bits)
        more(common)

    monkeypatch.setattr(Common, "more", counted)
    with seeded(11):
        drawn = norm_units(1000, "linf", 1, 2**48)
    assert drawn.shape == (1, 1000)
    assert len(asked) <= 2
