"""The winner among noisy scores."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

from dalenius.errors import InvalidParameter
from dalenius.noise import argmax, noisy_argmax
from dalenius.noise.contest import Contestant, winner
from dalenius.noise.exponential import exponentials
from dalenius.noise.interval import exponential
from dalenius.noise.lazy import LazyUniform
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 100_000


def exponential_law(scores: list[float]) -> list[float]:
    """P(i wins) under exponential noise: its density times the chance that others are less, integrated."""
    x = np.linspace(0, 60, 600_001)
    parts = []
    for i, s in enumerate(scores):
        value = s + x
        f = np.exp(-x)
        for j, other in enumerate(scores):
            if j != i:
                f = f * np.where(value > other, 1 - np.exp(-np.maximum(value - other, 0)), 0.0)
        parts.append(trapezoid(f, x))
    return parts


def laplace_law(scores: list[float]) -> list[float]:
    x = np.linspace(-60, 60, 1_200_001)
    parts = []
    for i, s in enumerate(scores):
        f = np.exp(-np.abs(x)) / 2
        for j, other in enumerate(scores):
            if j != i:
                d = x + s - other
                f = f * np.where(d > 0, 1 - np.exp(-np.abs(d)) / 2, np.exp(-np.abs(d)) / 2)
        parts.append(trapezoid(f, x))
    return parts


class TestLaw:
    @pytest.mark.parametrize("scale", [1.0, 0.3, Fraction(7, 3), 100.0])
    def test_gumbel_is_softmax(self, scale: Any) -> None:
        scores = np.array([0.0, 1.0, 0.5, -2.0, 1.0])
        with seeded(1):
            found = noisy_argmax(np.tile(scores, (N, 1)), scale)
        p = np.exp(scores / float(scale))
        check_events(np.bincount(found, minlength=5), p / p.sum(), N)

    def test_base_measure(self) -> None:
        scores, base = np.array([0.0, 1.0, 0.5, 3.0]), np.array([1.0, 1e-3, 7.5, 0.0])
        with seeded(2):
            found = noisy_argmax(np.tile(scores, (N, 1)), 2.0, base=base)
        p = base * np.exp(scores / 2)
        check_events(np.bincount(found, minlength=4), p / p.sum(), N)

    @pytest.mark.parametrize(("noise", "law"), [("exponential", exponential_law), ("laplace", laplace_law)])
    def test_other_noise(self, noise: Any, law: Any) -> None:
        scores = [0.0, 1.0, 0.8, -0.7]
        with seeded(3):
            found = noisy_argmax(np.tile(np.array(scores) * 2.5, (N, 1)), 2.5, noise)
        check_events(np.bincount(found, minlength=4), law(scores), N)

    @pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
    def test_rejects_a_scale_that_is_off(self, noise: Any) -> None:
        scores = [0.0, 1.5]
        law = {"exponential": exponential_law, "laplace": laplace_law}.get(
            noise, lambda s: (np.exp(s) / np.exp(s).sum()).tolist()
        )(scores)
        with seeded(4):
            good, bad = (noisy_argmax(np.tile(scores, (N, 1)), off, noise) for off in (1.0, 1.15))
        check_events(np.bincount(good), law, N)
        with pytest.raises(WrongLaw):
            check_events(np.bincount(bad), law, N)

    @pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
    def test_settling_everything_has_the_same_law_and_values(
        self, noise: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Doubles that know nothing leave every row to exact arithmetic: same bits, same winners."""
        scores = np.tile([0.0, 1.0, 0.5], (2000, 1))
        with seeded(5):
            quick = noisy_argmax(scores, 1.0, noise)
        monkeypatch.setattr(
            argmax, "exponentials", lambda w, bits: (exponentials(w, bits)[0], np.full(w.shape, np.inf))
        )
        with seeded(5):
            exact = noisy_argmax(scores, 1.0, noise)
        assert (quick == exact).all()

    @pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
    def test_equal_words_are_settled_by_later_digits(self, noise: Any) -> None:
        """Two candidates with the same score and the same first word: a fair coin."""
        wins = 0
        for seed in range(400):
            with using(ListedSource([2**62 + 12345] * 2, seed)):
                wins += noisy_argmax([1.0, 1.0], 1.0, noise)
        check_events([wins], [0.5], 400)

    @pytest.mark.parametrize("word", [0, 2**64 - 1, 2**63, 2**63 - 1])
    @pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
    def test_words_at_the_ends(self, noise: Any, word: int) -> None:
        wins = 0
        for seed in range(400):
            with using(ListedSource([word] * 3, seed)):
                wins += noisy_argmax([1.0, 1.0, 1.0], 0.01, noise) == 0
        check_events([wins], [1 / 3], 400)

    def test_contest_from_no_digits(self) -> None:
        """The settling alone, without a first word."""
        with seeded(6):
            found = []
            for _ in range(3000):
                field = [
                    Contestant("gumbel", Fraction(s), Fraction(b), 1, LazyUniform())
                    for s, b in ((0, 1), (1, 2), (2, 1))
                ]
                found.append(winner(field))
        p = np.array([1.0, 2 * math.e, math.e**2])
        check_events(np.bincount(found, minlength=3), p / p.sum(), 3000)

    def test_bounds_hold(self) -> None:
        """The doubles of E are within their error of the certified value, for words of all sizes."""
        generator = np.random.default_rng(7)
        drawn = np.concatenate(
            [generator.integers(0, 2**64, 300, dtype=np.uint64) >> np.uint64(k) for k in range(0, 64, 3)]
        )
        drawn = np.concatenate([drawn, ~drawn])
        for bits in (64, 63):
            values, relative = exponentials(drawn, bits)
            for word, value, error in zip(drawn.tolist(), values.tolist(), relative.tolist(), strict=True):
                if math.isinf(error):
                    continue
                bounds = exponential(LazyUniform(word & ((1 << bits) - 1), bits), 200)
                assert Fraction(value) * (1 - Fraction(error)) <= Fraction(bounds.low, 1 << 200)
                assert Fraction(value) * (1 + Fraction(error)) >= Fraction(bounds.high, 1 << 200)

    def test_more_candidates_than_a_chunk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(argmax, "CHUNK", 7)
        scores = np.log(np.arange(1.0, 21.0))
        with seeded(8):
            found = [noisy_argmax(scores, 1.0) for _ in range(1500)]
        check_events(np.bincount(found, minlength=20), np.arange(1, 21) / 210, 1500)
        base = np.arange(20.0)
        with seeded(9):
            found = noisy_argmax(np.zeros((1500, 20)), 1.0, base=base)
        check_events(np.bincount(found, minlength=20), base / 190, 1500)

    def test_a_long_row(self) -> None:
        scores = np.zeros(200_000)
        scores[123_456] = 40.0
        assert noisy_argmax(scores, 1.0) == 123_456  # fails with probability below 1e-11


class TestExtremes:
    def test_huge_scores_decide(self) -> None:
        assert noisy_argmax([-1.7e308, 1.7e308], 1.0) == 1
        assert noisy_argmax([1.7e308, -1.7e308], 2.0**-900) == 0
        assert noisy_argmax([1e-200, 0.0], 2.0**-900, base=[1e-300, 1e300]) == 0

    def test_huge_scale_hides_them(self) -> None:
        with seeded(1):
            found = noisy_argmax(np.tile([-1.7e308, 1.7e308], (2000, 1)), 2.0**900 * 0.999)
        assert found.all()  # 1.7e308/2^900 is still 2e37
        with seeded(2):
            found = noisy_argmax(np.tile([-1e250, 1e250], (2000, 1)), 2.0**900)
        check_events([found.sum()], [0.5], 2000)

    def test_scores_that_differ_in_the_last_place(self) -> None:
        with seeded(3):
            found = noisy_argmax(np.tile([1.0, math.nextafter(1.0, 2.0)], (2000, 1)), 2.0**-52)
        check_events([found.sum()], [1 / (1 + math.exp(-1))], 2000)

    def test_subnormal_scores(self) -> None:
        with seeded(4):
            found = noisy_argmax(np.tile([0.0, 5e-324], (2000, 1)), 1.0)
        check_events([found.sum()], [0.5], 2000)

    def test_base_of_zero_never_wins(self) -> None:
        assert noisy_argmax([1e300, 0.0], 1.0, base=[0.0, 1e-300]) == 1


class TestInput:
    def test_shapes(self) -> None:
        assert type(noisy_argmax([1.0, 2.0], 1.0)) is int
        assert noisy_argmax(np.zeros((2, 3, 4)), 1.0).shape == (2, 3)
        assert noisy_argmax(np.zeros((0, 4)), 1.0).shape == (0,)
        assert noisy_argmax(np.zeros(1), 1.0) == 0
        assert noisy_argmax(np.array([[1, 2], [3, 4]]), 1).dtype == np.int64

    @pytest.mark.parametrize(
        ("scores", "options"),
        [
            ([], {}),
            (1.0, {}),
            ([1.0, float("nan")], {}),
            ([1.0, float("inf")], {}),
            (["a", "b"], {}),
            ([2**53 + 1, 0], {}),
            ([1.0, 2.0], {"scale": 0.0}),
            ([1.0, 2.0], {"scale": -1.0}),
            ([1.0, 2.0], {"scale": float("nan")}),
            ([1.0, 2.0], {"scale": 2.0**901}),
            ([1.0, 2.0], {"noise": "normal"}),
            ([1.0, 2.0], {"base": [1.0]}),
            ([1.0, 2.0], {"base": [1.0, -1.0]}),
            ([1.0, 2.0], {"base": [0.0, 0.0]}),
            ([1.0, 2.0], {"base": [1.0, float("inf")]}),
            ([1.0, 2.0], {"base": [1.0, 1.0], "noise": "laplace"}),
        ],
    )
    def test_bad_input(self, scores: Any, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidParameter) as caught:
            noisy_argmax(scores, **{"scale": 1.0, **options})
        assert "9007199254740993" not in str(caught.value)
