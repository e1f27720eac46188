"""From a wish (a promise to keep, an accuracy to reach) to the noise that grants it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeVar

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import CannotMeet
from dalenius.mechanisms._support.grid_noise import up
from dalenius.mechanisms.mechanism import Mechanism


class Accurate(Protocol):
    """Anything that says how far off it is."""

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error every one of `size` coordinates stays within."""
        ...


M = TypeVar("M", bound=Accurate)
L = TypeVar("L", bound=Mechanism)


def least_noise(family: Callable[[float], Loss], guarantee: Guarantee, sensitivity: float) -> float:
    """The noise that keeps a promise: `family` gives the loss at sensitivity 1, noise is in proportion."""
    return up(Fraction(calibrate(family, guarantee)) * Fraction(sensitivity))


def most_noise(build: Callable[[float], M], within: float, confidence: float, size: int, guess: float) -> M:
    """The noisiest mechanism of a family that stays within an error, which all but grows in proportion."""
    within, noise = checks.positive("within", within), guess
    for _ in range(100):
        mechanism = build(noise)
        reached = mechanism.accuracy(confidence, size)
        if reached <= within:
            return mechanism
        noise *= min(within / reached, 1 - 1e-13)
    raise CannotMeet(f"no noise stays within {within:g}; ask for less accuracy or less confidence.")


def bisected(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number up to a relative 1e-12 at which `holds`, true at `low` and false at `high`."""
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def kept(build: Callable[[float], L], noise: float, guarantee: Guarantee) -> L:
    """The mechanism with this noise, or a few roundings more, so that the promise is certainly kept."""
    for _ in range(100):
        mechanism = build(noise)
        if guarantee.holds(mechanism.loss):
            return mechanism
        noise *= 1 + 2.0**-52
    raise CannotMeet(f"no noise of about {noise:g} keeps {guarantee}.")
