"""Checks of the parameters that several models share."""

from __future__ import annotations

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter


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


def constant_column(norm: object, scale: object) -> float:
    """The entry of the constant column of rows of this norm."""
    return checked_norm(norm) * checks.nonnegative("intercept_scale", scale)
