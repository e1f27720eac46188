"""What a user promises. A guarantee is frozen data that can say whether a loss keeps it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import approx, gdp, pure, rdp, zcdp
from dalenius.calculus.losses.tradeoff import chord_pair, from_tradeoff
from dalenius.calculus.pairs.pair import Bounds, Reals
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


def _log_ratio(found: float, promised: float) -> float:
    """log(found / promised), positive exactly when found exceeds promised."""
    if found <= 0:
        return -math.inf
    apart = math.log(found) - math.log(promised)
    return max(apart, 5e-324) if found > promised else min(apart, 0.0)


FLOOR = 2e-15
"""Deltas of a trade-off promise are compared down to here: they are what f is below 1, and f is a double."""


class Guarantee(ABC):
    """A promise about a release, comparable with the loss that keeps it or not."""

    @abstractmethod
    def excess(self, loss: Loss) -> float:
        """How far `loss` is from the promise: at most 0 when it is kept (certified), growing with the "
        "loss."""

    @abstractmethod
    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        """The worst loss that keeps the promise."""

    def excess_bounds(self, loss: Loss) -> Bounds:
        """A bracket around the excess, where the loss has one; `excess` is its upper end."""
        excess = self.excess(loss)
        return Bounds(excess, excess)

    def holds(self, loss: Loss) -> bool:
        """Whether the loss certainly keeps the promise."""
        return self.excess(loss) <= 0.0


@dataclass(frozen=True)
class PureDP(Guarantee):
    """No outcome is more than e^epsilon times as likely with a person as without."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", self.epsilon))

    def excess(self, loss: Loss) -> float:
        return loss.epsilon(0.0) - self.epsilon

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return pure(self.epsilon, adjacency)


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """PureDP(epsilon) up to an event of probability delta."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", checks.failure_probability("delta", self.delta))

    def excess(self, loss: Loss) -> float:
        return self.excess_bounds(loss).upper

    def excess_bounds(self, loss: Loss) -> Bounds:
        if self.delta == 0.0:
            excess = loss.epsilon(0.0) - self.epsilon
            return Bounds(excess, excess)
        low, high = loss.delta_bounds(self.epsilon)
        return Bounds(_log_ratio(low, self.delta), _log_ratio(high, self.delta))

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return approx(self.epsilon, self.delta, adjacency)


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """Renyi divergence at most rho * order at every order above 1."""

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checks.nonnegative("rho", self.rho))

    def excess(self, loss: Loss) -> float:
        return loss.zcdp() - self.rho

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return zcdp(self.rho, adjacency)


@dataclass(frozen=True)
class RDP(Guarantee):
    """Renyi divergence of one order at most epsilon."""

    order: float
    epsilon: float

    def __post_init__(self) -> None:
        order = checks.number("order", self.order, "a number above 1")
        if order <= 1:
            raise InvalidParameter(f"order is {order}; it must be a number above 1.")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", self.epsilon))

    def excess(self, loss: Loss) -> float:
        return loss.renyi(self.order) - self.epsilon

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        # Divergences grow with the order, so lower orders obey the same bound and higher ones are unknown.
        return rdp(_Below(self.order, self.epsilon), adjacency)


@dataclass(frozen=True)
class _Below:
    order: float
    epsilon: float

    def __call__(self, order: float) -> float:
        return self.epsilon if order <= self.order else math.inf


@dataclass(frozen=True)
class GDP(Guarantee):
    """No test between neighbours beats the best one between N(0, 1) and N(mu, 1)."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.nonnegative("mu", self.mu))

    def excess(self, loss: Loss) -> float:
        return loss.gdp() - self.mu

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return gdp(self.mu, adjacency)


@dataclass(frozen=True)
class TradeOff(Guarantee):
    """Every level-alpha test between neighbours has type II error at least f(alpha)."""

    f: Callable[[float], float]

    def __post_init__(self) -> None:
        from_tradeoff(self.f)  # checks that it is one

    def excess(self, loss: Loss) -> float:
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
        return worst

    @cached_property
    def _kinks(self) -> tuple[Reals, Reals]:
        allowed = chord_pair(self.f)
        epsilon = np.concatenate(([0.0], allowed.loss[allowed.loss > 0]))
        return epsilon, np.array([allowed.delta(float(e)).lower for e in epsilon])

    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        return from_tradeoff(self.f, adjacency)
