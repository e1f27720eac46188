"""Uniform integers, coins and categories."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.noise import bernoulli, bernoulli_exp, categorical, uniform, uniform_integers
from dalenius.noise.lazy import LazyUniform, below, below_exp
from dalenius.noise.source import words
from dalenius.noise.uniform import below as integers_below
from dalenius.noise.uniform import one
from tests.noise.goodness import WrongLaw, check_events
from tests.noise.seeded import ListedSource, seeded, using

N = 200_000


class TestUniformIntegers:
    @pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 4), (10, 1034), (-500, 501), (0, 97)])
    def test_law(self, low: int, high: int) -> None:
        with seeded(1):
            drawn = uniform_integers(low, high, N)
        counts = np.bincount(drawn - low, minlength=high - low)
        check_events(counts, np.full(high - low, 1 / (high - low)), N)

    @pytest.mark.parametrize(
        "n", [2**24, 2**24 + 1, 3 * 2**40, 2**62 + 1, 2**63, 2**63 + 2**62, 2**64 - 1, 2**64]
    )
    def test_large_ranges(self, n: int) -> None:
        with seeded(2):
            drawn = integers_below(n, N)
        assert int(drawn.max()) < n
        parts = [int((drawn <= (n - 1) * k // 8).sum()) for k in range(1, 8)]
        check_events(parts, [((n - 1) * k // 8 + 1) / n for k in range(1, 8)], N)
        check_events([int((drawn % np.uint64(3) == r).sum()) for r in range(3)], [1 / 3] * 3, N)

    def test_a_power_of_two_too_many_is_noticed(self) -> None:
        with seeded(3):
            drawn = words(N) % np.uint64(6 << 61) // np.uint64(1 << 61)  # modulo without refusing
        with pytest.raises(WrongLaw):
            check_events(np.bincount(drawn.astype(np.int64), minlength=6), [1 / 6] * 6, N)

    def test_every_small_range_by_enumeration(self) -> None:
        """With 32 digits v, floor(v n / 2^32) is refused where it would be counted once too often."""
        for n in (3, 5, 7, 1000):
            edges = [-(-(k << 32) // n) for k in range(n + 1)]  # the first v with quotient k
            kept = [edges[k + 1] - edges[k] - int(n * edges[k] % 2**32 < 2**32 % n) for k in range(n)]
            assert set(kept) == {2**32 // n}

    def test_the_refused_digits_are_refused(self) -> None:
        """2^32 mod 3 = 1: of the products 3 v only 0 has a remainder that small. 2^64 mod 3*2^40 likewise."""
        with using(ListedSource([0x55555556])):
            assert uniform._try(3, 2).tolist() == [1]  # the halves are 0x55555556 and 0
        n = 3 << 40
        edge = 2**64 - 2**64 % n
        with using(ListedSource([edge, edge - 1])):
            assert uniform._try(n, 2).tolist() == [n - 1]

    def test_beyond_64_bits(self) -> None:
        with seeded(4):
            drawn = uniform_integers(-(2**100), 2**100 + 1, 2000)
        assert drawn.dtype == object
        assert all(-(2**100) <= x <= 2**100 for x in drawn)
        check_events([sum(x > 0 for x in drawn), sum(abs(x) < 2**99 for x in drawn)], [0.5, 0.5], 2000)

    def test_one(self) -> None:
        with seeded(5):
            drawn = np.array([one(5) for _ in range(5000)])
        check_events(np.bincount(drawn, minlength=5), [0.2] * 5, 5000)
        assert one(1) == 0

    def test_edges_and_shapes(self) -> None:
        assert uniform_integers(-(2**63), 2**63, 10).dtype == np.int64
        assert uniform_integers(5, 6) == 5
        assert type(uniform_integers(5, 9)) is int
        assert uniform_integers(0, 9, (2, 0, 3)).shape == (2, 0, 3)
        assert uniform_integers(0, 9, ()).shape == ()

    @pytest.mark.parametrize(
        ("low", "high", "size"),
        [
            (1, 1, 3),
            (2, 1, 3),
            (0.5, 2, 3),
            (0, 5, -1),
            (0, 5, 2.0),
            (0, 5, True),
            (0, 5, (2, -1)),
            ("0", 5, 1),
        ],
    )
    def test_bad_input(self, low: Any, high: Any, size: Any) -> None:
        with pytest.raises(InvalidParameter):
            uniform_integers(low, high, size)


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


class TestCategorical:
    @pytest.mark.parametrize(
        "weights",
        [
            [1, 2, 3],
            [0.1, 0.2, 0.7, 0.0],
            [Fraction(1, 3), Fraction(1, 7), 2],
            [1e-300, 1.0, 1e-3],
            [2**70, 2**70 + 1, 2**69],
            [1e300, 1.0, 1e300],
            [5],
            np.arange(50),
            np.array([0.5, 0.25, 0.125]),
        ],
    )
    def test_law(self, weights: Any) -> None:
        with seeded(1):
            drawn = categorical(weights, N)
        exact = [Fraction(w) for w in (weights.tolist() if isinstance(weights, np.ndarray) else weights)]
        p = [float(w / sum(exact)) for w in exact]
        check_events(np.bincount(drawn, minlength=len(p)), p, N)

    def test_rejects_a_weight_that_is_off(self) -> None:
        with seeded(1), pytest.raises(WrongLaw):
            check_events(np.bincount(categorical([1.15, 2.0], N)), [1 / 3, 2 / 3], N)

    def test_boundary_words_are_settled(self) -> None:
        """The words in which one category ends and the next begins, for weights beyond 64 bits."""
        weights = [2**80 + 1, 2**80, 2**80 - 1]
        total = sum(weights)
        ends = [weights[0], weights[0] + weights[1], total]
        for i in (0, 1):
            cut, rest = divmod((ends[i] << 64), total)
            found = []
            for seed in range(300):
                with using(ListedSource([cut], seed)):
                    found.append(categorical(weights, 1)[0] == i)
            check_events([sum(found)], [rest / total], 300)

    def test_shapes(self) -> None:
        assert type(categorical([1, 1])) is int
        assert categorical([1, 1], (2, 2)).shape == (2, 2)

    @pytest.mark.parametrize(
        "weights",
        [
            [],
            [0, 0],
            [1, -1],
            [float("nan"), 1],
            [float("inf"), 1],
            ["1", "2"],
            [True, False],
            [[1, 2]],
            [1, None],
        ],
    )
    def test_bad_input(self, weights: Any) -> None:
        with pytest.raises(InvalidParameter):
            categorical(weights, 1)
