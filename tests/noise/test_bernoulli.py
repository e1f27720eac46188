"""Coins of exact bias."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import bernoulli, bernoulli_exp
from dalenius.noise.lazy import LazyUniform, below, below_exp
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 200_000


class TestBernoulli:
    @pytest.mark.parametrize("p", [0.5, 0.3, Fraction(1, 3), 1e-3, 0.999, 2.0**-20, 1, 0])
    def test_law(self, p: float | Fraction) -> None:
        with seeded(1):
            drawn = bernoulli(p, N)
        check_events([drawn.sum()], [float(p)], N)

    def test_rejects_a_bias_that_is_off(self) -> None:
        with seeded(1), pytest.raises(WrongLaw):
            check_events([bernoulli(0.3 * 1.15, N).sum()], [0.3], N)

    def test_array_of_biases(self) -> None:
        p = np.array([0.0, 1.0, 0.25, 0.1, 1e-3])
        with seeded(2):
            drawn = bernoulli(np.tile(p, (N // 5, 1)))
        check_events(drawn.sum(axis=0), p, N // 5)

    @pytest.mark.parametrize("p", [0.3, 0.1, 2.0**-30 * 1.37, 1 - 2.0**-50])
    def test_the_word_of_p_itself_is_settled_by_later_digits(self, p: float) -> None:
        """Given the first digits of p, U < p has the probability of the digits that follow."""
        cut, rest = divmod(Fraction(p) * 2**16, 1)
        with seeded(3):
            outcomes = [below(LazyUniform(cut.__index__(), 16), Fraction(p)) for _ in range(4000)]
        check_events([sum(outcomes)], [float(rest)], 4000)

    def test_first_sixteen_digits_equal(self) -> None:
        cut, rest = divmod(Fraction(0.3) * 2**16, 1)
        word = sum(int(cut) << shift for shift in (0, 16, 32, 48))
        found = []
        for seed in range(200):
            with using(ListedSource([word], seed)):
                found.extend(bernoulli(0.3, 4))
        check_events([sum(found)], [float(rest)], 800)

    @pytest.mark.parametrize("p", [2.0**-20 * 1.1, 2.0**-60 * 1.9, 5e-324])
    def test_first_word_equal(self, p: float) -> None:
        cut, rest = divmod(Fraction(p) * 2**64, 1)
        found = []
        for seed in range(400):
            with using(ListedSource([int(cut)], seed)):
                found.append(bernoulli(np.array([p]))[0])
        check_events([sum(found)], [float(rest)], 400)
        for word, expected in ((int(cut) + 1, False), (int(cut) - 1, True)):
            if word >= 0:
                with using(ListedSource([word])):
                    assert bernoulli(np.array([p]))[0] == expected

    def test_shapes(self) -> None:
        assert type(bernoulli(0.5)) is bool
        assert bernoulli(0.5, (2, 3)).shape == (2, 3)
        assert bernoulli([0.5, 0.5]).shape == (2,)
        assert bernoulli(np.array(0.5), 3).dtype == np.bool_

    @pytest.mark.parametrize(
        "p", [-0.1, 1.1, float("nan"), float("inf"), "half", None, True, [0.5, 2.0], [float("nan")]]
    )
    def test_bad_input(self, p: Any) -> None:
        with pytest.raises(InvalidParameter):
            bernoulli(p, 1 if not isinstance(p, list) else None)


class TestBernoulliExp:
    @pytest.mark.parametrize("x", [0.0, 1e-3, 0.3, 1.0, Fraction(22, 7), 7.5, 30.0, 1e5, 1e300])
    def test_law(self, x: float | Fraction) -> None:
        with seeded(1):
            drawn = bernoulli_exp(x, N)
        check_events([drawn.sum()], [np.exp(-float(x))], N)

    def test_rejects_a_rate_that_is_off(self) -> None:
        with seeded(1), pytest.raises(WrongLaw):
            check_events([bernoulli_exp(1.15, N).sum()], [np.exp(-1.0)], N)

    def test_array(self) -> None:
        x = np.array([0.0, 0.5, 3.0, 1e10])
        with seeded(2):
            drawn = bernoulli_exp(np.tile(x, (N // 4, 1)))
        check_events(drawn.sum(axis=0), np.exp(-x), N // 4)

    @pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(2), Fraction(1, 1000)])
    def test_settled_law_given_six_digits(self, x: Fraction) -> None:
        """Every first word of 6 digits: surely below, surely above, or the exact part of its interval."""
        p = np.exp(-float(x)) * 64
        for value in range(64):
            share = min(max(p - value, 0.0), 1.0)
            trials = 2000 if 0 < share < 1 else 3
            with seeded(value):
                found = sum(below_exp(LazyUniform(value, 6), x) for _ in range(trials))
            check_events([found], [share], trials)

    @pytest.mark.parametrize("x", [0.1, 1.0, 20.0, 43.0])
    def test_doubles_agree_with_exact_arithmetic_near_the_cut(self, x: float) -> None:
        cut = int(np.exp(-x) * 2.0**64)
        spread = [0, *(sign * (1 << k) for k in range(0, 40, 3) for sign in (1, -1))]
        near = [min(max(cut + offset, 0), 2**64 - 1) for offset in spread]
        with using(ListedSource(near)):
            found = bernoulli_exp(np.full(len(near), x))
        with seeded(1):
            exact = [below_exp(LazyUniform(w, 64), Fraction(x)) for w in near]
        assert found.tolist() == exact

    @pytest.mark.parametrize("x", [-1e-300, float("nan"), float("inf"), "1", [1.0, -1.0], [float("inf")]])
    def test_bad_input(self, x: Any) -> None:
        with pytest.raises(InvalidParameter):
            bernoulli_exp(x, 1 if not isinstance(x, list) else None)
