"""TradeOff(f): every level-alpha test between neighbours has type II error at least f(alpha)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Guarantee, Measure
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses.tradeoff import chord_pair, from_tradeoff
from dalenius.calculus.pairs.pair import Reals
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter

FLOOR = 2e-15
"""Deltas of a trade-off promise are compared down to here: they are what f is below 1, and f is a double."""


@dataclass(frozen=True)
class TradeOff(Guarantee):
    """Every level-alpha test between neighbours has type II error at least f(alpha).

    Dong, Roth and Su 2022, "Gaussian Differential Privacy", Definition 2.3. A function has no text, no record and no
    currency: open accounts with `GDP`, and state what is to be kept as one of the other promises.

    Parameters
    ----------
    f
        A convex, decreasing, continuous function from [0, 1] to [0, 1] with f(alpha) <= 1 - alpha.

    Raises
    ------
    InvalidParameter
        If f is seen not to be such a function.

    Examples
    --------
    >>> import dalenius as dp
    >>> promise = dp.TradeOff(dp.theorems.gaussian_tradeoff(1.0))
    >>> promise.holds(dp.losses.gaussian(sigma=1.1)), promise.holds(dp.losses.gaussian(sigma=0.9))
    (True, False)
    """

    f: Callable[[float], float]

    tag: ClassVar = "tradeoff"
    parameters: ClassVar = {}
    leading: ClassVar = None
    view: ClassVar = "trade-off"
    advice: ClassVar = "A trade-off function has no filter: take a GDP(mu) that implies it."

    def __post_init__(self) -> None:
        from_tradeoff(self.f)  # checks that it is one

    def measure(self, loss: Loss) -> Measure:
        """Largest log ratio of the loss's delta to the delta f allows (compared down to 2e-15).

        What f allows is taken from chords of f, a piecewise linear profile below the true one. A convex
        profile is below a linear piece if it is at both ends, so the kinks are all there is to check.
        """
        worst = -math.inf
        for epsilon, allowed in zip(*self._kinks, strict=True):
            mine = loss.delta(float(epsilon))
            if mine > max(allowed, FLOOR):
                worst = max(worst, math.log(mine) - math.log(max(allowed, FLOOR)))
            elif mine > FLOOR:
                worst = max(worst, math.log(mine) - math.log(allowed))
        return Measure("log ratio of delta to what f allows", worst, 0.0)

    @cached_property
    def _kinks(self) -> tuple[Reals, Reals]:
        allowed = chord_pair(self.f)
        epsilon = np.concatenate(([0.0], allowed.loss[allowed.loss > 0]))
        return epsilon, np.array([allowed.delta(float(e)).lower for e in epsilon])

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return from_tradeoff(self.f, adjacency)

    def of_size(self, size: float) -> GDP:
        return GDP(size)

    def noisier(self, share: float) -> NoReturn:
        raise self._unwritten("scaled")

    @property
    def text(self) -> str:
        raise self._unwritten("written as text")

    def record(self) -> NoReturn:
        raise self._unwritten("recorded")

    @staticmethod
    def _unwritten(what: str) -> InvalidParameter:
        return InvalidParameter(
            f"a trade-off function cannot be {what}, since it is any function at all; promise GDP(mu) or "
            "ApproxDP(epsilon, delta)."
        )
