"""Losses of noise that is moved and stretched, from their privacy profiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.tabulate import symmetric_above
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency
from dalenius.core.bisection import last_true

POINTS = 1500
NEGLIGIBLE = 1e-40
FURTHEST = 300.0

Reals = NDArray[np.float64]
Profile = Callable[[Reals], Reals]


def profile_loss(
    profile: Profile,
    first: float,
    adjacency: Adjacency,
    name: str,
    *,
    at_zero: float = 1.0,
    **arguments: float,
) -> Loss:
    """The loss of anything with delta(epsilon) at most profile(epsilon) for every epsilon from `first` on.

    Below `first`, `at_zero`, which bounds delta(0), and convexity alone bound the profile; so does convexity between
    the points of a table.
    """
    first = checks.moderate("1 / scale", first, FURTHEST / 4)
    last = last_true(lambda e: bool(profile(np.array([e]))[0] > NEGLIGIBLE), first, FURTHEST, steps=40)[1]
    epsilon = first + (last - first) * np.linspace(0.0, 1.0, POINTS) ** 2
    delta = np.maximum(profile(epsilon), NEGLIGIBLE)  # where doubles underflow, too
    if first > 0:
        epsilon, delta = np.concatenate(([0.0], epsilon)), np.concatenate(([at_zero], delta))
    return Loss.symmetric(symmetric_above(epsilon, delta), adjacency, call(name, **arguments))


def largest_shift(
    guarantee: Guarantee, first: Callable[[float], float], profile: Callable[[Reals, float], Reals]
) -> float:
    """The largest shift that keeps (epsilon, delta)-DP, and 0 for other promises and where there is none.

    `profile(epsilons, shift)` holds for epsilons from first(shift) on.
    """
    if not isinstance(guarantee, ApproxDP) or guarantee.delta == 0:
        return 0.0
    epsilon = np.array([guarantee.epsilon])

    def kept(shift: float) -> bool:
        return epsilon[0] >= first(shift) and bool(profile(epsilon, shift)[0] <= guarantee.delta)

    return last_true(kept, 0.0, 1e3, relative=1e-9)[0] if kept(0.0) else 0.0
