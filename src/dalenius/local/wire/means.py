"""Randomizers of numbers on the wire: a bit, a place of the piecewise mechanism, either of them, or a noisy place."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import geometric
from dalenius.core.adjacency import REPLACE_ONE
from dalenius.core.arrays import Reals
from dalenius.core.record import JSON
from dalenius.local.duchi import Duchi
from dalenius.local.hybrid import Hybrid
from dalenius.local.laplace import Laplace
from dalenius.local.piecewise import Piecewise
from dalenius.local.wire.kind import Kind, double, down, place, up
from dalenius.local.wire.randomized_response import respond
from dalenius.local.wire.words import below, coin, heads
from dalenius.mechanisms._support.exact_coin import exp_minus

GRID = 1 << 32
"""Numbers are first moved down to one of 2^32 + 1 places between their bounds, by at most 2^-32 of the way."""


class WireMean(Kind):
    """What kinds for numbers share: the bounds, as exact text."""

    settings = ()

    @abstractmethod
    def places(self, c: Mapping[str, int]) -> int:
        """How many different reports there are."""

    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        return place(report, self.places(c))

    def make(self, epsilon: float, record: Mapping[str, JSON]) -> Any:
        return self.mechanism(epsilon=epsilon, bounds=(double(record["lowest"]), double(record["highest"])))

    def decoded(self, mechanism: Any, c: Mapping[str, int]) -> Reals:
        """An unbiased number for each report there is."""
        return np.asarray(mechanism.decode(np.arange(self.places(c))))


class WireOneBitMean(WireMean):
    """One of the bounds, at random so that the mean is kept, through randomized response."""

    tag = "one_bit_mean"
    mechanism = Duchi

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(1 - mechanism._response._chance)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        return _bit(value, c["fits"], words)

    def places(self, c: Mapping[str, int]) -> int:
        return 2


class WirePiecewiseMean(WireMean):
    """One of `steps` + 1 places, at random so that the mean is kept; then a place of its window, or another one."""

    tag = "piecewise_mean"
    mechanism: ClassVar[type] = Piecewise

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"window": mechanism.window, "steps": mechanism.places - mechanism.window}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"fits": down(mechanism._fits)}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        window, steps = c["window"], c["steps"]
        start = _between(value, steps, words)
        if coin(c["fits"], words):
            return start + below(window, words)
        other = below(steps, words)
        return other if other < start else other + window

    def places(self, c: Mapping[str, int]) -> int:
        return c["window"] + c["steps"]


class WireHybridMean(WirePiecewiseMean):
    """As the piecewise mechanism does if a coin that knows nothing of the number says so, else a bit.

    A bit tells more than a place: the coin is rounded up.
    """

    tag = "hybrid_mean"
    mechanism = Hybrid
    rising = ("piecewise",)

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return super().numbers(mechanism._piecewise)

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        fits, bit = down(mechanism._piecewise._fits), down(1 - mechanism._bit._response._chance)
        return {"piecewise": up(Fraction(mechanism.share)), "fits": fits, "bit": bit}

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        if coin(c["piecewise"], words):
            return super().draw(c, value, words)
        return super().places(c) + _bit(value, c["bit"], words)

    def places(self, c: Mapping[str, int]) -> int:
        return super().places(c) + 2


class WireLaplaceMean(WireMean):
    """One of 129 places, at random so that the mean is kept, plus geometric noise, and no further than a margin.

    The noise is the difference of two numbers of heads in a row, of one coin `on`: P(k) is r^|k| (1 - r)/(1 + r)
    exactly, for r = on/2^64. Two places are 128 steps apart at most, and r^128 is e^-epsilon or more. The margin is 45
    scales of the noise away: the mean that is cut off there is below 10^-17 of the bounds.
    """

    tag = "laplace_mean"
    mechanism = Laplace
    rising = ("on",)
    least = 0.01
    STEPS = 128
    """Rounding to places adds at most 6e-5 to a variance of 8/epsilon^2."""

    def numbers(self, mechanism: Any) -> dict[str, int]:
        return {"steps": self.STEPS, "margin": math.ceil(45 * self.STEPS / mechanism.epsilon)}

    def thresholds(self, mechanism: Any) -> dict[str, int]:
        return {"on": up(exp_minus(Fraction(mechanism.epsilon) / self.STEPS))}

    def loss(self, mechanism: Any) -> Loss:
        """Of geometric noise: between whole steps a little above that of continuous noise of the same epsilon."""
        return geometric(math.nextafter(self.STEPS / mechanism.epsilon, 0.0), self.STEPS, REPLACE_ONE)

    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        start = _between(value, c["steps"], words) + c["margin"]
        noise = heads(c["on"], words) - heads(c["on"], words)
        return min(max(start + noise, 0), self.places(c) - 1)

    def places(self, c: Mapping[str, int]) -> int:
        return c["steps"] + 2 * c["margin"] + 1

    def decoded(self, mechanism: Any, c: Mapping[str, int]) -> Reals:
        units = 2 * (np.arange(self.places(c)) - c["margin"]) / c["steps"] - 1
        return np.asarray(mechanism.decode(units))


def _between(value: int, steps: int, words: Iterator[int]) -> int:
    """One of steps + 1 places, at random so that the mean is kept."""
    start, part = divmod(value * steps, GRID)
    return start + (below(GRID, words) < part)


def _bit(value: int, fits: int, words: Iterator[int]) -> int:
    return respond(int(below(GRID, words) < value), 2, fits, words)
