"""How often to try: random numbers of trials, and what the best of so many costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from dalenius.calculus import checks, losses
from dalenius.calculus.errors import InvalidParameter
from dalenius.calculus.loss import Loss
from dalenius.learn.curves import Reals
from dalenius.noise import categorical, geometric

TAIL = 2.0**-60
"""A number of trials drawn from a table stops where less than this is left; it is added to delta."""


ORDERS = 1 + np.geomspace(0.02, 2000.0, 200)


class Tries(ABC):
    """A law of the number K of trials. The best of K costs `loss(base)`, base being the loss of one trial.

    The number drawn must stay secret: only the best trial is released.
    """

    @abstractmethod
    def draw(self) -> int:
        """K."""

    @abstractmethod
    def loss(self, base: Loss) -> Loss:
        """The loss of the best of K trials."""


@dataclass(frozen=True)
class GeometricTries(Tries):
    """P(K = k) = (1 - g)^(k-1) g for k >= 1, with mean 1/g = `mean`.

    Pure: three times the epsilon of a trial (Liu and Talwar 2019 Theorem 3.2). Otherwise the Renyi bound of
    Papernot and Steinke 2022 Theorem 2 with eta = 1. K is drawn exactly.
    """

    mean: float = 10.0

    def __post_init__(self) -> None:
        _mean_above_one(self.mean)

    @cached_property
    def _scale(self) -> float:
        return -1 / math.log1p(-1 / self.mean)

    def draw(self) -> int:
        return 1 + int(geometric(self._scale))

    def loss(self, base: Loss) -> Loss:
        epsilon = base.epsilon(0.0)
        if math.isfinite(epsilon):
            return losses.pure(3 * epsilon * (1 + 1e-15), base.adjacency)
        return losses.rdp(_Truncated(base, 1.0, 1 / self.mean), base.adjacency)


@dataclass(frozen=True)
class NegativeBinomialTries(Tries):
    """The negative binomial law of shape `eta` > 0 given K >= 1, with this mean (Papernot and Steinke 2022).

    P(K = k) = (1-g)^k binom(k + eta - 1, k) / (g^-eta - 1). The smaller eta, the less the tuning costs and the more
    K varies. eta = 1 is geometric.
    """

    mean: float = 10.0
    eta: float = 0.5

    def __post_init__(self) -> None:
        _mean_above_one(self.mean)
        checks.positive("eta", self.eta)

    @cached_property
    def g(self) -> float:
        low, high = 1e-12, 1 - 1e-12
        for _ in range(200):
            middle = math.sqrt(low * high)
            low, high = (
                (middle, high) if negative_binomial_mean(self.eta, middle) > self.mean else (low, middle)
            )
        return low

    def draw(self) -> int:
        k = np.arange(1, int(60 * self.mean / min(self.eta, 1.0)) + 2000)
        logs = k * math.log1p(-self.g) + gammaln(k + self.eta) - gammaln(k + 1) - gammaln(self.eta)
        return 1 + int(categorical(np.exp(logs - logs.max())))

    def loss(self, base: Loss) -> Loss:
        return losses.rdp(_Truncated(base, self.eta, self.g), base.adjacency) + losses.approx(
            0.0, TAIL, base.adjacency
        )


@dataclass(frozen=True)
class PoissonTries(Tries):
    """K ~ Poisson(mean); K = 0 must return something that does not depend on the data.

    Papernot and Steinke 2022 Theorem 6: Renyi divergence of order a at most D_a + mean * delta + log(mean)/(a - 1),
    delta that of a trial at epsilon = log(1 + 1/(a - 1)). Cheapest when trials are approximately private.
    """

    mean: float = 10.0

    def __post_init__(self) -> None:
        _mean_above_one(self.mean)

    def draw(self) -> int:
        k = np.arange(0, int(self.mean + 20 * math.sqrt(self.mean) + 60))
        return int(categorical(np.exp(k * math.log(self.mean) - self.mean - gammaln(k + 1))))

    def loss(self, base: Loss) -> Loss:
        return losses.rdp(_Poisson(base, self.mean), base.adjacency) + losses.approx(
            0.0, TAIL, base.adjacency
        )


@dataclass(frozen=True)
class _Curve(ABC):
    """Renyi divergences of the best trial at a few orders, and between them by convexity.

    (a - 1) D_a is convex in a, being a log moment generating function: its chords bound it from above. The terms added
    are bounded by their right ends (delta) or linear.
    """

    base: Loss

    def __call__(self, order: float) -> float:
        if order > ORDERS[-1]:
            return math.inf
        order = max(order, float(ORDERS[0]))  # divergences grow with the order
        right = min(max(int(np.searchsorted(ORDERS, order)), 1), len(ORDERS) - 1)
        left = right - 1
        share = (order - ORDERS[left]) / (ORDERS[right] - ORDERS[left])
        chord = (1 - share) * self._base[left] + share * self._base[right]
        return float((chord + self._constant) / (order - 1) * (1 + 1e-12) + self._extra[right])

    @cached_property
    def _base(self) -> Reals:
        """(a - 1) D_a of one trial."""
        return np.array([(a - 1) * self.base.renyi(float(a)) for a in ORDERS])

    @property
    @abstractmethod
    def _constant(self) -> float:
        """What is divided by a - 1: the log of the mean number of trials."""

    @property
    @abstractmethod
    def _extra(self) -> Reals:
        """What is added, at each order."""


@dataclass(frozen=True)
class _Poisson(_Curve):
    mean: float

    @property
    def _constant(self) -> float:
        return math.log(self.mean)

    @cached_property
    def _extra(self) -> Reals:
        """mean * delta at epsilon = log(1 + 1/(a - 1)), delta from the Renyi divergences (Canonne et al. 2020)."""
        epsilon = np.log1p(1 / (ORDERS - 1))
        logs = self._base[None, :] - (ORDERS - 1) * epsilon[:, None]
        logs = logs + (ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS)
        return np.asarray(self.mean * np.minimum(1.0, np.exp(logs.min(axis=1)) * (1 + 1e-9)))


@dataclass(frozen=True)
class _Truncated(_Curve):
    eta: float
    g: float

    @property
    def _constant(self) -> float:
        return math.log(negative_binomial_mean(self.eta, self.g))

    @cached_property
    def _extra(self) -> Reals:
        """(1 + eta) times the least of (1 - 1/b) D_b + log(1/g)/b over orders b."""
        found = self._base / ORDERS - math.log(self.g) / ORDERS
        return np.full(len(ORDERS), (1 + self.eta) * min(float(found.min()), -math.log(self.g)))


def negative_binomial_mean(eta: float, g: float) -> float:
    """The mean of the negative binomial law of shape eta given that it is not 0."""
    return eta * (1 - g) / (g * -math.expm1(eta * math.log(g)))


def _mean_above_one(mean: object) -> None:
    if not 1 < checks.number("mean", mean) < 1e6:
        raise InvalidParameter(
            f"mean is {mean}; the mean number of trials must be above 1 and below a million."
        )
