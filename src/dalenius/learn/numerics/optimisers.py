"""From noisy gradients to steps: what is done with a release costs nothing."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from dalenius.calculus.pairs.pair import Reals

SLOW = 0.99
"""How much of the mean square of past gradients a step of Adam keeps."""


class Settings(Protocol):
    """The public numbers of a descent."""

    @property
    def steps(self) -> int: ...

    @property
    def learning_rate(self) -> float: ...

    @property
    def momentum(self) -> float: ...


class Momentum:
    """learning_rate times a running mean of gradients."""

    def __init__(self, settings: Settings) -> None:
        self.rate, self.keep = settings.learning_rate, settings.momentum
        self.mean: Reals | float = 0.0

    def move(self, gradient: Reals, step: int) -> Reals:
        self.mean = self.keep * self.mean + (1 - self.keep) * gradient
        return np.asarray(self.rate * self.mean)


class Adam:
    """A running mean of gradients over the root of their running mean square, the rate falling to nothing.

    The numbers of a row of norm 1 are of size 1/sqrt(size): coefficients are as much larger, and so are the steps.
    """

    def __init__(self, settings: Settings, size: int) -> None:
        self.rate, self.keep, self.steps = settings.learning_rate, settings.momentum, settings.steps
        self.rate *= math.sqrt(size)
        self.mean: Reals | float = 0.0
        self.square: Reals | float = 0.0

    def move(self, gradient: Reals, step: int) -> Reals:
        self.mean = self.keep * self.mean + (1 - self.keep) * gradient
        gradient *= gradient
        gradient *= 1 - SLOW
        self.square = SLOW * self.square + gradient
        size = np.sqrt(self.square / (1 - SLOW ** (step + 1)))
        np.maximum(size, 1e-300, out=size)
        share = self.rate * (1 - step / self.steps) / (1 - self.keep ** (step + 1))
        return np.asarray(share * self.mean / size)
