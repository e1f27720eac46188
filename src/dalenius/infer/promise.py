"""From what is promised to how much noise that takes."""

from __future__ import annotations

import math

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import GDP, Guarantee, PureDP
from dalenius.errors import CannotMeet, InvalidParameter

LEAST, MOST = 1e-9, 1e4
"""Of the mu of a release."""


def checked_guarantee(guarantee: object) -> Guarantee:
    """The argument, if it is a promise."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter.of(
            "guarantee", f"guarantee is {guarantee!r}; it must be a promise such as dalenius.GDP(1.0)."
        )
    return guarantee


def pure_epsilon(guarantee: object) -> float | None:
    """The epsilon of a promise that only bounded privacy losses keep, with Laplace noise; None for others."""
    pure = checked_guarantee(guarantee).as_pure()
    return None if pure is None else pure.epsilon


def gaussian_mu(guarantee: object, method: str = "this estimate") -> float:
    """The largest mu for which every mu-GDP release keeps the promise, found once for Gaussian noise.

    Parts of a release have mus whose squares add up to that of mu. It is a billionth below what was found, so that
    rounding in the parts never takes more than was promised.
    """
    promise = checked_guarantee(guarantee)
    if pure_epsilon(promise) is not None:
        raise CannotMeet(
            f"{method} needs Gaussian noise, which no PureDP promise allows: ask for GDP(mu), ZCDP(rho) or "
            "ApproxDP(epsilon, delta)."
        )
    try:
        mu = promise.mu if isinstance(promise, GDP) else 1 / calibrate(losses.gaussian, promise)
    except CannotMeet:
        mu = math.nan
    if not LEAST <= mu <= MOST:
        raise CannotMeet(
            f"{method} cannot keep {promise}: that must be kept by GDP(mu) with a mu from {LEAST:g} to {MOST:g}. With "
            "less nothing is left of an answer, and more promises nothing."
        )
    return mu * (1 - 1e-9)


def part(guarantee: object, share: float) -> Guarantee:
    """The promise that a part of a release keeps; parts whose shares add up to 1 keep the whole promise together.

    Epsilons add up for PureDP, squares of mu for all others.
    """
    epsilon = pure_epsilon(guarantee)
    if epsilon is not None:
        return PureDP(epsilon * share * (1 - 1e-12))
    return GDP(gaussian_mu(guarantee) * math.sqrt(share) * (1 - 1e-12))
