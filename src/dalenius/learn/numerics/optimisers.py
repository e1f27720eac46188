"""From noisy gradients to steps: what is done with a release costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dalenius.calculus.pairs.pair import Reals

SLOW = 0.99
"""How much of the mean square of past gradients a step of Adam keeps."""


class Momentum:
    """learning_rate times a running mean of gradients."""

    def __init__(self, learning_rate: float, momentum: float) -> None:
        self.rate, self.keep = learning_rate, momentum
        self.mean: Reals | float = 0.0

    def move(self, gradient: Reals, step: int) -> Reals:
        self.mean = self.keep * self.mean + (1 - self.keep) * gradient
        return np.asarray(self.rate * self.mean)


class Adam:
    """A running mean of gradients over the root of their running mean square, the rate falling to nothing.

    The numbers of a row of norm 1 are of size 1/sqrt(size): coefficients are as much larger, and so are the steps.
    """

    def __init__(self, learning_rate: float, momentum: float, steps: int, size: int) -> None:
        self.rate, self.keep, self.steps = learning_rate * math.sqrt(size), momentum, steps
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


def averaged(step: Callable[[Reals, int], Reals], steps: int, size: int) -> Reals:
    """The average of the last half of the iterates theta, step(theta, 0), ..., from zero."""
    theta, average, kept = np.zeros(size), np.zeros(size), 0
    for k in range(steps):
        theta = step(theta, k)
        if 2 * (k + 1) > steps:
            kept += 1
            average += (theta - average) / kept
    return average
