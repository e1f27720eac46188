"""Two questions that differ by one person, and one question asked often.

False-alarm rates are at most 1e-9 for each test.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalenius as dp
from dalenius.audit.attacks import Guesses, differencing, differencing_subsets, random_bits, repeated_question
from dalenius.errors import BudgetExceeded, InvalidParameter
from tests.audit.attacks.releases import exact, mechanism, private

SURE = 1e-9


class TestDifferencing:
    def test_exact_answers_give_all(self) -> None:
        bits = random_bits(300)
        assert differencing(exact(bits), 300, bits).success == 1.0

    def test_private(self) -> None:
        """All 101 counts of 100 rows: each bit is in 100 of them, and noise for that keeps it."""
        bits = random_bits(100)
        noise = mechanism(differencing_subsets(100), 1.0)
        assert not differencing(private(bits, noise), 100, bits).contradicts(noise, SURE)

    @pytest.mark.parametrize(("scale", "caught"), [(2.0, False), (0.7, True)])
    def test_two_counts_of_one_person(self, scale: float, caught: bool) -> None:
        """4000 people, two counts each, of which one holds the person. Noise nearly three times too small is caught."""
        bits = random_bits(4000, 1)
        counts = np.stack([np.full(4000, 41), 41 + bits[:, 0]], axis=1)
        noise = dp.mechanisms.Geometric(sensitivity=1, scale=scale)
        guess = [differencing(answers, 1).guess for answers in noise.release(counts)]
        claim = dp.mechanisms.Geometric(sensitivity=1, scale=2.0).loss
        assert Guesses(guess, bits).contradicts(claim, SURE) is caught

    def test_wrong_number_of_answers(self) -> None:
        with pytest.raises(InvalidParameter, match="4 finite numbers"):
            differencing([1, 2, 3], 3)


class TestRepeatedQuestion:
    def test_fresh_noise_averages_out(self) -> None:
        """400 secret counts, 400 answers to each: all bits come out, which no single release allows."""
        bits = random_bits(400)
        known = np.arange(400) % 30
        noise = dp.mechanisms.Geometric(sensitivity=1, scale=1.0)
        asked = repeated_question(lambda: noise.release(known + bits), 400)
        found = asked.guesses(known, bits)
        assert found.success > 0.99
        assert found.contradicts(noise.loss, SURE)  # what a cache that forgets would have to be charged:
        assert not found.contradicts(noise.loss * 400, SURE)
        assert asked.distinct == 400
        assert float(asked.standard_error.max()) < 0.2

    def test_a_record_gives_one_answer(self) -> None:
        bits = random_bits(400)
        noise = dp.mechanisms.Geometric(sensitivity=1, scale=1.0)
        recorded = noise.release(bits.astype(np.int64))
        asked = repeated_question(lambda: recorded, 50)
        assert asked.distinct == 1
        assert not asked.guesses(0, bits).contradicts(noise.loss, SURE)

    def test_errors_of_the_release_are_its_own(self) -> None:
        def spent() -> float:
            raise BudgetExceeded("nothing is left")

        with pytest.raises(BudgetExceeded, match="nothing is left"):
            repeated_question(spent, 3)

    @pytest.mark.parametrize("release", [lambda: "a", lambda: [], lambda: float("nan")])
    def test_odd_answers(self, release: object) -> None:
        with pytest.raises(InvalidParameter):
            repeated_question(release, 3)  # type: ignore[arg-type]
