"""Checks of the parameters that several models share."""

from __future__ import annotations

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter

SMALLEST, LARGEST = 1e-6, 1e6
"""Public numbers of a model, in its own units. What is released must not depend on whether a solver ends: numbers are
refused that would bring it to the end of what floats hold, as a constant of 6e153 beside one row did."""

MOST_RATIO = 100.0


def checked_guarantee(guarantee: object) -> Guarantee:
    """The argument, if it is a promise."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            f"guarantee is {guarantee!r}; it must be a promise such as dalenius.ApproxDP(1.0, 1e-5)."
        )
    return guarantee


def approximate(guarantee: object, method: str) -> ApproxDP:
    """The promise, if it allows a small chance of failure."""
    promise = checked_guarantee(guarantee)
    if not isinstance(promise, ApproxDP) or promise.delta == 0 or promise.epsilon == 0:
        raise CannotMeet(f"{method} cannot keep {promise} here; ask for ApproxDP(epsilon, delta).")
    return promise


def checked_norm(norm: object) -> float:
    """The largest norm of a row, of a size whose square is a float, too."""
    allowed, why = "a number from 1e-100 to 1e100", "Scale X by a public number."
    return checks.within("row_norm", norm, allowed, lambda x: 1e-100 <= x <= 1e100, why)


def checked_scale(scale: object) -> float:
    """The entry of the constant column beside rows of norm 1."""
    allowed = f"0, or a number from {SMALLEST:g} to {LARGEST:g}"
    return checks.within("intercept_scale", scale, allowed, lambda x: x == 0 or SMALLEST <= x <= LARGEST)


def constant_column(norm: object, scale: object) -> float:
    """The entry of the constant column of rows of this norm."""
    return checked_norm(norm) * checked_scale(scale)


def checked_ratio(ratio: object) -> float:
    """How much more noise there is than the Gaussian mechanism would need."""
    allowed = f"a number above 0, and at most {MOST_RATIO:g}"
    return checks.within("noise_ratio", ratio, allowed, lambda x: 0 < x <= MOST_RATIO)


def moderate(name: str, value: object, least: float = SMALLEST) -> float:
    """A public number that a solver can work with in floats, whatever the data."""
    allowed = f"a number from {least:g} to {LARGEST:g}"
    why = "Beyond that rounding keeps the solver from the minimum for some data and not for others, which would tell."
    return checks.within(name, value, allowed, lambda x: least <= x <= LARGEST, why)
