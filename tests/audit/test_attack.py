"""What the errors of one attack say about epsilon and delta."""

from __future__ import annotations

import pytest

from dalenius.audit import Attack


def attack(alarms: int, misses: int, trials: int = 1000, failure: float = 0.05) -> Attack:
    return Attack("first", "output >= 0", alarms, misses, trials, failure)


class TestAttack:
    def test_both_branches_of_theorem_3_4(self) -> None:
        """FPR .05 and power .1359140914 is the cap at epsilon 1; so is the second branch at .3."""
        large = 10**9  # so many trials that the confidence bounds hardly matter
        low = attack(round(0.05 * large), large - round(0.1359140914 * large), large)
        high = attack(round(0.3 * large), large - round(0.7424843912 * large), large)
        for found in (low, high):
            assert 0.998 < found.epsilon() < 1.0
        assert (
            0.998
            < attack(round(0.05 * large), large - round(0.1359240914 * large), large).epsilon(1e-5)
            < 1.0
        )

    def test_errors_are_bounded_from_above(self) -> None:
        found = attack(100, 300)
        assert found.type_one > 0.1
        assert found.type_two > 0.3
        assert attack(100, 300, failure=1e-9).type_one > found.type_one

    def test_exchanging_the_errors_changes_nothing(self) -> None:
        one, other = attack(20, 700), attack(700, 20)
        assert one.epsilon() == other.epsilon()
        assert one.delta(1.0) == other.delta(1.0)
        assert one.gdp() == other.gdp()

    def test_a_useless_attack_shows_nothing(self) -> None:
        found = attack(500, 500)
        assert (found.epsilon(), found.delta(0.0), found.gdp()) == (0.0, 0.0, 0.0)

    def test_delta_and_epsilon_are_inverse(self) -> None:
        found = attack(10, 200)
        assert found.epsilon(found.delta(1.0)) == pytest.approx(1.0, abs=1e-6)

    def test_a_large_epsilon_does_not_overflow(self) -> None:
        assert attack(0, 0).delta(1e6) == 0.0
