"""What is run, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

import dalenius as dp
from dalenius import losses
from dalenius.audit import Attack, Audit, lower_bound
from dalenius.errors import InvalidParameter

SURE = 1 - 1e-9


def attack(alarms: int, misses: int, trials: int = 1000, failure: float = 0.05) -> Attack:
    return Attack("first", "output >= 0", alarms, misses, trials, failure)


def result(*attacks: Attack, claim: Any = None) -> Audit:
    return Audit("a release", attacks, 2000, 0.0, 0.95, claim)


class TestMechanism:
    """One of our own, without its room: the audit asks for nothing but `release`, `loss` and `worst_pair`."""

    class Coin(dp.mechanisms.Mechanism):
        loss = losses.pure(1.0)
        worst_pair = (0, 1)

        def __init__(self, keep: float) -> None:
            self.keep = keep

        def release(self, value: Any) -> Any:
            return value if random.random() < self.keep else 1 - value

        def __repr__(self) -> str:
            return f"Coin({self.keep})"

    def test_uses_its_worst_pair_and_its_loss(self) -> None:
        random.seed(13)
        honest = lower_bound(self.Coin(0.7310), trials=10_000, confidence=SURE)
        assert honest.claim == losses.pure(1.0)
        assert not honest.contradicts()
        assert 0.7 < honest.epsilon <= 1.0
        assert "Coin(0.731)" in repr(honest)
        assert lower_bound(self.Coin(0.9), trials=10_000, confidence=SURE).contradicts()

    def test_another_pair(self) -> None:
        random.seed(14)
        assert lower_bound(self.Coin(0.9), pair=(1, 1), trials=1000, confidence=SURE).epsilon == 0.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"trials": 10}, "trials is 10; it must be a whole number, 100 or more"),
            ({"trials": 1000.5}, "trials"),
            ({"delta": 1.0}, "delta"),
            ({"delta": -0.1}, "delta"),
            ({"confidence": 1.0}, "confidence is 1.0; it must be a number strictly between 0 and 1"),
            ({"confidence": 0.0}, "confidence"),
            ({"confidence": "high"}, "confidence"),
            ({"pair": None}, "name two neighbouring inputs"),
            ({"pair": (1,)}, "two neighbouring inputs"),
            ({"pair": 3}, "two neighbouring inputs"),
            ({"mechanism": 3}, "a mechanism or a function"),
            ({"mechanism": lambda x, n: [x], "batched": True}, "one output per trial"),
        ],
    )
    def test_refused(self, change: dict[str, Any], complaint: str) -> None:
        arguments: dict[str, Any] = {"mechanism": lambda x: x, "pair": (0, 1), "trials": 200} | change
        with pytest.raises(InvalidParameter, match=complaint):
            lower_bound(**arguments)

    def test_an_error_of_the_release_is_passed_on(self) -> None:
        with pytest.raises(ZeroDivisionError):
            lower_bound(lambda x: 1 // x, (0, 1), 200)

    @pytest.mark.parametrize("value", [-1.0, float("nan"), "1"])
    def test_bad_questions(self, value: Any) -> None:
        found = result(attack(20, 500))
        for ask in (found.epsilon_at, found.delta, found.tradeoff):
            with pytest.raises(InvalidParameter):
                ask(value)
