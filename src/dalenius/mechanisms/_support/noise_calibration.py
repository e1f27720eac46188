"""The noise that keeps a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalenius.calculus.guarantees import Guarantee
from dalenius.errors import CannotMeet
from dalenius.mechanisms.mechanism import Mechanism

M = TypeVar("M", bound=Mechanism)


def ensure_kept(build: Callable[[float], M], noise: float, guarantee: Guarantee) -> M:
    """The mechanism with this noise, or a few roundings more, so that the guarantee certainly holds."""
    for _ in range(100):
        mechanism = build(noise)
        if guarantee.holds(mechanism.loss):
            return mechanism
        noise *= 1 + 2.0**-52
    raise CannotMeet(f"no noise of about {noise:g} keeps {guarantee}.")
