"""How many guesses may be right: the theorem against exact laws, and noise that is off by 15 %.

`SURE` is the false-alarm rate of every statistical test here; the bounds it rests on are proved, not estimated.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import dalenius as dp
from dalenius.audit.attacks import Guesses, random_bits
from dalenius.audit.attacks.coins import chance_by_coins, chance_by_runs
from dalenius.errors import InvalidParameter

SURE = 1e-9


class TestTheorem:
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_randomized_response_attains_it(self, epsilon: float) -> None:
        """Each bit is told truly with probability p: the number of right guesses is Binomial(n, p)."""
        p = 1 / (1 + math.exp(-epsilon))
        loss = dp.PureDP(epsilon).loss()
        for right in (30, 45, 50):
            assert chance_by_coins(loss, 50, 50, right) == pytest.approx(binom.sf(right - 1, 50, p), rel=1e-6)

    @pytest.mark.parametrize("delta", [0.3, 0.01])
    def test_all_or_nothing(self, delta: float) -> None:
        """With probability delta everything is told, else nothing: (0, delta)-DP, and all bits right that often."""
        loss = dp.losses.approx(0.0, delta)
        n = 20
        exact = [delta + (1 - delta) * binom.sf(v - 1, n, 0.5) for v in range(1, n + 1)]
        bound = [chance_by_coins(loss, n, n, v) for v in range(1, n + 1)]
        assert all(b >= e - 1e-12 for b, e in zip(bound, exact, strict=True))
        assert bound[-1] < 1.0 or delta > 0.09

    def test_every_release_of_two_bits(self) -> None:
        """All pairs of events of a release on a small grid of laws: no attack beats the bound."""
        random = np.random.default_rng(5)
        for _ in range(30):
            law = random.dirichlet(np.ones(4), size=4)  # of four outputs, for the inputs 00, 01, 10, 11
            pairs = [(a, b) for a in range(4) for b in range(4) if bin(a ^ b).count("1") == 1]
            epsilon = max(np.log(law[a] / law[b]).max() for a, b in pairs)
            loss = dp.PureDP(epsilon).loss()
            # The best guesses: for each output, which of the inputs makes v bits right most often.
            for v in (1, 2):
                best = 0.0
                for output in range(4):
                    chances = [
                        sum(law[x, output] / 4 for x in range(4) if 2 - bin(x ^ g).count("1") >= v)
                        for g in range(4)
                    ]
                    best += max(chances)
                assert best <= chance_by_coins(loss, 2, 2, v) + 1e-12

    def test_falls_as_more_are_right(self) -> None:
        loss = dp.losses.gaussian(sigma=1.0)
        chances = [chance_by_coins(loss, 100, 100, right) for right in range(0, 101, 5)]
        assert chances == sorted(chances, reverse=True)
        assert chances[0] == 1.0

    def test_means_of_runs(self) -> None:
        """Hoeffding's bound is above the binomial tail, which it is about."""
        loss = dp.losses.gaussian(sigma=1.0)
        p = (1 + loss.total_variation()) / 2
        for right in (80, 90, 100):
            exact = binom.sf(right - 1, 100, p)
            assert chance_by_runs(loss, 100, right / 100) >= exact
            assert chance_by_runs(loss, 100, right / 100, whole=True) == pytest.approx(exact, rel=1e-6)
        assert chance_by_runs(loss, 100, 0.5) == 1.0


class TestHistogram:
    """Each bit in a cell of its own, geometric noise: rounding is the best attack, and as good as the loss allows."""

    N = 60_000

    def guesses(self, scale: float) -> Guesses:
        bits = random_bits(self.N)
        released = dp.mechanisms.Histogram(scale=scale).release(bits.astype(np.int64))
        return Guesses(released > 0.5, bits, "rounding")

    def test_held_to_the_bound(self) -> None:
        found = self.guesses(scale=1.0)
        claim = dp.mechanisms.Histogram(scale=1.0)
        assert not found.contradicts(claim, SURE)
        assert found.allowed(claim) == pytest.approx(math.e / (1 + math.e), abs=1e-9)
        low, high = found.interval(1 - SURE)
        assert low < found.allowed(claim) < high  # it is attained

    def test_noise_off_by_15_percent_is_caught(self) -> None:
        assert self.guesses(scale=1 / 1.15).contradicts(dp.PureDP(1.0), SURE)

    def test_limit(self) -> None:
        found = self.guesses(scale=1.0)
        limit = found.limit(dp.PureDP(1.0), SURE)
        assert found.success < limit < 0.76
        assert found.limit(dp.PureDP(30.0), SURE) > 0.99


class TestGuesses:
    def test_counts(self) -> None:
        found = Guesses([1, 0, -1, 1], [1, 1, 1, 1])
        assert (found.right, found.made, found.coins, found.runs) == (2, 3, 4, 1)
        assert found.success == pytest.approx(2 / 3)
        low, high = found.interval()
        assert (low, high) == pytest.approx((0.0943, 0.9916), abs=1e-4)  # Clopper and Pearson's for 2 of 3

    def test_saying_nothing_where_in_doubt(self) -> None:
        """Only where the release shouts: more than (1 + TV)/2 of those are right, and the bound allows it."""
        bits = random_bits(200_000)
        released = dp.mechanisms.Laplace(sensitivity=1, scale=1.0).release(bits.astype(np.float64))
        order = np.argsort(np.abs(released - 0.5))
        guess = (released > 0.5).astype(int)
        guess[order[:100_000]] = -1
        found = Guesses(guess, bits)
        assert found.made == 100_000
        assert not found.contradicts(dp.PureDP(1.0), SURE)

    def test_runs(self) -> None:
        found = Guesses(np.ones((300, 4)), np.ones((300, 4)))
        assert found.runs == 300
        assert found.contradicts(dp.GDP(1.0), SURE)
        assert not Guesses(np.ones(4), np.ones(4)).contradicts(dp.GDP(1.0), 0.05)

    def test_unknown_truth(self) -> None:
        found = Guesses([1, 0])
        assert "2 of 2 bits" in repr(found)
        with pytest.raises(InvalidParameter, match="truth"):
            _ = found.success

    @pytest.mark.parametrize(
        ("guess", "truth"),
        [
            ([np.nan], [1]),
            ([257], [1]),
            ([], []),
            ([2], [1]),
            ([0.5], [1]),
            ([1, 0], [1]),
            (["a"], [1]),
            ([1], [-1]),
            (None, None),
            (1, 1),
        ],
    )
    def test_odd_input(self, guess: object, truth: object) -> None:
        with pytest.raises(InvalidParameter):
            Guesses(guess, truth)

    def test_words_and_picture(self, tmp_path: object) -> None:
        found = Guesses([1, 0, 1, 1] * 25, [1, 0, 1, 0] * 25, "differencing")
        words = found.explain(dp.PureDP(0.1))
        assert words.startswith("Differencing: 75 of 100 guesses")
        assert "CONTRADICTED" in words
        assert "not contradicted" in found.explain(dp.PureDP(3.0))
        found.plot(f"{tmp_path}/guesses.png", dp.PureDP(1.0))


def test_random_bits_are_fair() -> None:
    """Every word of three bits, 30 000 times; a false alarm has probability 1e-9 for each of the eight."""
    words = random_bits(30_000, 3) @ np.array([1, 2, 4])
    low, high = binom.ppf([5e-10, 1 - 5e-10], 30_000, 1 / 8)
    for word, count in itertools.zip_longest(range(8), np.bincount(words)):
        assert low <= count <= high, word


def test_nothing_was_guessed() -> None:
    found = Guesses([-1, -1], [0, 1])
    assert (found.limit(dp.PureDP(1.0)), found.p_value(dp.PureDP(1.0)), found.right) == (1.0, 1.0, 0)
