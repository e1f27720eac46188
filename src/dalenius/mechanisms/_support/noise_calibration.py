"""The noise that keeps a guarantee or reaches an accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.errors import CannotMeet
from dalenius.mechanisms.mechanism import Mechanism


class Accurate(Protocol):
    """Anything that says how far off it is."""

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error every one of `size` coordinates stays within."""
        ...


A = TypeVar("A", bound=Accurate)
M = TypeVar("M", bound=Mechanism)


def most_noise(build: Callable[[float], A], within: float, confidence: float, size: int, guess: float) -> A:
    """The noisiest mechanism of a family that stays within an error, which all but grows in proportion."""
    within, noise = checks.positive("within", within), guess
    for _ in range(100):
        mechanism = build(noise)
        reached = mechanism.accuracy(confidence, size)
        if reached <= within:
            return mechanism
        noise *= min(within / reached, 1 - 1e-13)
    raise CannotMeet(f"no noise stays within {within:g}; ask for less accuracy or less confidence.")


def ensure_kept(build: Callable[[float], M], noise: float, guarantee: Guarantee) -> M:
    """The mechanism with this noise, or a few roundings more, so that the guarantee certainly holds."""
    for _ in range(100):
        mechanism = build(noise)
        if guarantee.holds(mechanism.loss):
            return mechanism
        noise *= 1 + 2.0**-52
    raise CannotMeet(f"no noise of about {noise:g} keeps {guarantee}.")
