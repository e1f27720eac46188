"""What the methods that correct a hypothesis share: the number of rows, noise by promise, and a budget to split."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, TypeVar

from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import gaussian, pure
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import shown
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace, Mechanism

Parts = TypeVar("Parts", bound="Composed")

COUNT_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
"""Parts of the budget that may pay for the number of rows, where that is not public; the best is taken."""


def count_shares(n_is_public: bool) -> tuple[float, ...]:
    """The parts of the budget to try."""
    return (0.0,) if n_is_public else COUNT_SHARES


def checked_guarantee(guarantee: object) -> Guarantee:
    """A promise that allows something."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            f"guarantee is {shown(guarantee)}; it must be a promise such as dalenius.PureDP(1.0)."
        )
    pure = guarantee.as_pure()
    if pure is not None and pure.epsilon == 0:
        raise CannotMeet(f"{guarantee} allows no dependence on the data: nothing can be learned from it.")
    return guarantee


@dataclass(frozen=True)
class Budget:
    """A promise as an amount that parts add up to: epsilon or rho.

    The amounts are a plan for the noise and not the account: that is the loss, which `fitted` calibrates.
    """

    amount: float
    pure: bool

    @classmethod
    def ways(cls, guarantee: Guarantee) -> list[Budget]:
        """The promise in epsilon; and, where it is not a pure one, in rho."""
        promised = guarantee.as_pure()
        if promised is not None:
            return [cls(promised.epsilon, True)]
        sigma = calibrate(lambda s: gaussian(sigma=s), guarantee)
        ways = [cls(1 / (2 * sigma * sigma), False)]
        with contextlib.suppress(CannotMeet):  # so much is promised that any epsilon keeps it
            ways.insert(0, cls(calibrate(pure, guarantee), True))
        return ways

    def epsilon(self, share: float, times: int, bounded_range: bool = False) -> float:
        """The epsilon of each of `times` pure mechanisms that together use this share."""
        if self.pure:
            return share * self.amount / times
        # Epsilon-DP is epsilon^2/2-zCDP, bounded range epsilon is epsilon^2/8-zCDP.
        return math.sqrt((8 if bounded_range else 2) * share * self.amount / times)

    def noise(self, share: float, times: int, sensitivity: float) -> float:
        """The scale (pure) or standard deviation of each of `times` numbers that together use this share."""
        if self.pure:
            return sensitivity * times / (share * self.amount)
        return sensitivity * math.sqrt(times / (2 * share * self.amount))

    def deviation(self, noise: float) -> float:
        """The standard deviation of this noise."""
        return math.sqrt(2) * noise if self.pure else noise

    def tail(self, noise: float, numbers: int, failure: float) -> float:
        """What `numbers` draws of this noise all stay within, but for this probability of failure."""
        if self.pure:
            return noise * math.log(numbers / failure)
        return noise * math.sqrt(2 * math.log(2 * numbers / failure))


def number_noise(pure: bool, sensitivity: float, noise: float, adjacency: Adjacency) -> Laplace | Gaussian:
    """Noise for a number on a grid."""
    if pure:
        return Laplace(sensitivity=sensitivity, scale=noise, adjacency=adjacency)
    return Gaussian(sensitivity=sensitivity, sigma=noise, adjacency=adjacency)


def count_noise(
    pure: bool, sensitivity: int, noise: float, adjacency: Adjacency
) -> Geometric | DiscreteGaussian:
    """Noise for a whole number."""
    if pure:
        return Geometric(sensitivity=sensitivity, scale=noise, adjacency=adjacency)
    return DiscreteGaussian(sensitivity=sensitivity, sigma=noise, adjacency=adjacency)


class Composed(Protocol):
    """The mechanisms that a release is made of."""

    def losses(self) -> Iterable[tuple[Mechanism, int]]:
        """Each with the number of times it is used."""


def total_loss(parts: Composed) -> Loss:
    """The loss of all mechanisms together."""
    return reduce(operator.add, (mechanism.loss * times for mechanism, times in parts.losses()))


def fitted(made: Callable[[float], Parts], guarantee: Guarantee, pure: bool) -> Parts:
    """The mechanisms with all noise times a factor near 1 with which they keep a promise.

    A plan in epsilons keeps it as it is. Else the factor is looked for with continuous noise in place of discrete
    noise, which is as good for the eye and quick; what is returned has been checked as it is.
    """
    if pure and guarantee.holds(total_loss(made(1.0))):
        return made(1.0)
    factor = calibrate(lambda x: _smooth_loss(made(x)), guarantee)
    for more in (1.0, 1 + 1e-6, 1 + 1e-3, 1.02):
        parts = made(factor * more)
        if guarantee.holds(total_loss(parts)):
            return parts
    return made(calibrate(lambda x: total_loss(made(x)), guarantee))


def _smooth_loss(parts: Composed) -> Loss:
    def of(mechanism: Mechanism) -> Loss:
        if isinstance(mechanism, DiscreteGaussian):
            return gaussian(mechanism.sigma, mechanism.sensitivity, mechanism.adjacency)
        return mechanism.loss

    return reduce(operator.add, (of(mechanism) * times for mechanism, times in parts.losses()))


def deviation(mechanism: Geometric | DiscreteGaussian) -> float:
    """The standard deviation of the noise, or a little more."""
    return math.sqrt(2) * mechanism.scale if isinstance(mechanism, Geometric) else mechanism.sigma
