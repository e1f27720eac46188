"""The staircase mechanism: of all noise that keeps epsilon-DP, the least."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array
from dalenius.core.bisection import change_point
from dalenius.core.checks import float_up
from dalenius.errors import CannotMeet
from dalenius.mechanisms._support.epsilon_mechanism import EpsilonMechanism
from dalenius.mechanisms._support.grid_noise import check_noise_ratio, coordinate_failure
from dalenius.mechanisms._support.rounded_noise import RoundedNoise, either_side
from dalenius.noise import Grid, geometric, noisy_argmax, uniform_integers

MAX_EPSILON = 500.0
"""Noise beyond it would be finer than the grid."""


@dataclass(frozen=True, kw_only=True)
class Staircase(EpsilonMechanism, RoundedNoise):
    """Releases f(X) + sensitivity * N, N with the density that falls by exp(-epsilon) in steps of width 1.

    The density of N at x is proportional to exp(-epsilon k), k = floor(|x| + 1 - gamma): level up to gamma, then
    one step down in every unit. Of all noise that is added whatever the value is and keeps epsilon-DP, none has a
    smaller expected |N|, or a smaller expected N^2, than this with the gamma made for it (Geng and Viswanath 2016):
    the expected |N| is 1/(2 sinh(epsilon/2)), where Laplace noise has 1/epsilon. The gain is large for large
    epsilon and next to nothing below 1; and of many releases Laplace noise composes better.

    Loss: exactly `staircase(epsilon, gamma)`, less than `pure(epsilon)`. A record changes at most `coordinates`
    entries of f, each by at most `sensitivity`; every entry has noise of its own, and the loss is that of
    `coordinates` releases. (As for `Tulap`, half a change in each of two entries costs as much as a whole change in
    both.)

    Exact on the grid: gamma is a whole number of grid steps (at most half of them), the density is constant on
    each, and so drawing a level (geometric), one of the two steps within it (an exact contest of weights gamma and
    (1 - gamma) exp(-epsilon)) and a whole-numbered place on that step is drawing N and cutting off its last
    digits. Rounding the data to the same grid is paid for by the sensitivity, which is rounded up to whole steps.

    Parameters
    ----------
    sensitivity
        The most that one record changes an entry of f.
    epsilon
        The release is epsilon-DP if one entry changes; at most 500.
    objective
        What gamma makes least: the expected "absolute" error or the expected "squared" error.
    coordinates
        The most entries that one record changes.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import Laplace, Staircase
    >>> m = Staircase(sensitivity=1, epsilon=4.0)
    >>> type(m.release(41)).__name__, round(m.gamma, 6), m.loss.epsilon(delta=0.0)
    ('float', 0.119203, 4.0)
    >>> round(m.accuracy(0.8), 3), round(Laplace(sensitivity=1, scale=0.25).accuracy(0.8), 3)
    (0.11, 0.402)
    """

    sensitivity: float
    epsilon: float
    objective: Literal["absolute", "squared"] = "absolute"
    coordinates: int = 1
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        EpsilonMechanism.__post_init__(self)
        RoundedNoise.__post_init__(self)
        checks.moderate("epsilon", self.epsilon, MAX_EPSILON)
        check_noise_ratio("1 / epsilon", 1 / self.epsilon, 1.0)
        checks.one_of("objective", self.objective, "absolute", "squared")
        _ = self.loss

    def _loss_at(self, epsilon: float) -> Loss:
        if epsilon != self.epsilon:
            return replace(self, epsilon=epsilon).loss
        # Rounding gamma up, towards 1/2, makes the loss no smaller.
        gamma = float_up(Fraction(self._first_step, self._wide))
        return losses.staircase(epsilon, gamma, self.adjacency) * self.coordinates

    @property
    def gamma(self) -> float:
        """Where the first step falls, in sensitivities: the optimal number, on the grid."""
        return self._first_step / self._wide

    def accuracy(self, confidence: float = 0.95, size: int = 1) -> float:
        """The error that, with probability `confidence`, every one of `size` coordinates stays within: exact.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        size
            The number of coordinates.

        Returns
        -------
        float
            The quantile of the noise, plus one grid step.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.

        Examples
        --------
        >>> from dalenius.mechanisms import Staircase
        >>> round(Staircase(sensitivity=1, epsilon=1.0).accuracy(0.95), 3)
        2.996
        """
        failure = coordinate_failure(confidence, size)
        fall, rest = math.exp(-self.epsilon), -math.expm1(-self.epsilon)
        levels = max(0, math.floor(-math.log(failure) / self.epsilon))
        # P(|N| > levels + u) = exp(-epsilon levels) (1 - (1 - exp(-epsilon)) g(u)), g linear up to gamma and beyond.
        g = min(1.0, max(0.0, 1 - failure * math.exp(self.epsilon * levels)) / rest)
        mass = g * (self.gamma + fall * (1 - self.gamma))
        u = mass if mass <= self.gamma else min(1.0, self.gamma + (mass - self.gamma) / fall)
        return self._far((levels + u) * (1 + 1e-9) + 1e-12)

    @classmethod
    def for_accuracy(cls, within: float, confidence: float = 0.95, **options: Any) -> Self:
        """The least epsilon with which all coordinates stay within an error.

        Parameters
        ----------
        within
            The error that no coordinate may exceed.
        confidence
            The probability with which that must hold.
        **options
            The parameters of the mechanism other than epsilon, and `size`, the number of coordinates.

        Returns
        -------
        Staircase
            The mechanism with the least epsilon whose `accuracy(confidence, size)` is at most `within`.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If no epsilon up to 500 is that accurate.

        Examples
        --------
        >>> from dalenius.mechanisms import Staircase
        >>> round(Staircase.for_accuracy(0.5, 0.95, sensitivity=1).epsilon, 3)
        4.91
        """
        within, size = checks.positive("within", within), options.pop("size", 1)
        one = cls(epsilon=1.0, **options)

        def too_far(epsilon: float) -> bool:
            return replace(one, epsilon=epsilon).accuracy(confidence, size) > within

        if too_far(MAX_EPSILON):
            raise CannotMeet(f"no epsilon up to {MAX_EPSILON:g} stays within {within:g}.")
        return replace(one, epsilon=change_point(too_far, MAX_EPSILON, relative=1e-12)[1])

    @cached_property
    def _grid(self) -> Grid:
        return Grid.fine(self.sensitivity, self.sensitivity / self.epsilon)

    @cached_property
    def _first_step(self) -> int:
        """gamma in grid steps, of which the sensitivity has `_wide`."""
        return max(1, min(self._wide // 2, round(_optimal_gamma(self.epsilon, self.objective) * self._wide)))

    def _cells(self, count: int) -> Array:
        wide, first = self._wide, self._first_step
        level = np.asarray(geometric(1 / Fraction(self.epsilon), count))
        # Both weights are below 2^53, and so exact.
        scores = np.broadcast_to([0.0, -self.epsilon], (count, 2))
        second = np.asarray(noisy_argmax(scores, 1.0, noise="gumbel", base=[first, wide - first])) == 1
        place = np.empty(count, dtype=np.int64)
        place[~second] = uniform_integers(0, first, int((~second).sum()))
        place[second] = uniform_integers(first, wide, int(second.sum()))
        return either_side(self._placed(level, place))


def _optimal_gamma(epsilon: float, objective: str) -> float:
    """The gamma of the least expected error (Geng and Viswanath 2016, for the l1 and l2 costs).

    For squared errors ((b (1 + b)/2)^(1/3) - b)/(1 - b), b = exp(-epsilon), written without the differences.
    """
    if objective == "absolute":
        return 1 / (1 + math.exp(epsilon / 2))
    b = math.exp(-epsilon)
    root = math.cbrt(b * (1 + b) / 2)
    return b * (1 + 2 * b) / 2 / (root * root + root * b + b * b)
