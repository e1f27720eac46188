"""Local hashing: everybody hashes the answers to a few, and randomizes which of the few theirs is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Ints
from dalenius.errors import InvalidParameter
from dalenius.local.pure_oracle import PureOracle
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.mechanisms.randomized_response import RandomizedResponse
from dalenius.noise import uniform_integers

CHUNK = 1 << 20
"""Numbers worked on at a time."""


@dataclass(frozen=True, kw_only=True)
class LocalHashing(PureOracle):
    """Reports a hash function drawn at random, and the hash of the answer through randomized response.

    The hash of v is floor(((a v + b) mod P) g / P), with P the least prime that is at least k and g, 1 <= a < P and
    0 <= b < P. Two different answers are then sent to each pair of different places mod P with the same chance, so
    that they meet in one of the g cells with a chance c that is known exactly, and a little below 1/g. A report
    (a, b, y) supports all answers with hash y: the true one with p = e^epsilon/(e^epsilon + g - 1), any other one with
    q = c p + (1 - c)(1 - p)/(g - 1).

    "Optimal local hashing" (Wang, Blocki, Li and Jha 2017), with hash functions for which the chances are exact;
    g = 2 is that of Bassily and Smith (2015). All shares of n reports take n + min(n, P) P steps.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.
    g
        The number of hashes; by default the best one, about e^epsilon + 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.LocalHashing(epsilon=1.0, k=1000)
    >>> m.g, m.prime, m.report_bits
    (4, 1009, 22)
    >>> m.release(7).shape
    (3,)
    """

    epsilon: float
    k: int
    g: int = 0
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        self._check()
        g = checks.count("g", self.g) or self._best_g()
        if not 2 <= g <= self.most:
            raise InvalidParameter.of("g", f"g is {g}; it must be from 2 to {self.most}.")
        object.__setattr__(self, "g", g)
        _ = self.loss

    def _best_g(self) -> int:
        """The least variance for rare answers, of the whole numbers on either side of e^epsilon + 1, up to k."""
        near = min(math.exp(min(self.epsilon, 30.0)) + 1, self.k)
        choices = {max(2, math.floor(near)), min(max(2, math.ceil(near)), self.k)}
        return min(
            choices, key=lambda g: LocalHashing(epsilon=self.epsilon, k=self.k, g=g).noise_variance(0.0, 1)
        )

    @cached_property
    def prime(self) -> int:
        """P, the number of places that answers are sent to before they are hashed."""
        n = max(self.k, self.g)
        while any(n % d == 0 for d in range(2, math.isqrt(n) + 1)):
            n += 1
        return n

    @cached_property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon, k=self.g)

    @cached_property
    def _edges(self) -> Ints:
        """The first place of each cell, and P: places t with floor(t g / P) = y start at ceil(y P / g)."""
        return np.array([-(-y * self.prime // self.g) for y in range(self.g + 1)], dtype=np.int64)

    @cached_property
    def _collision(self) -> Fraction:
        """The chance that two answers have the same hash."""
        wide = self.prime % self.g  # cells of one place more
        size = self.prime // self.g
        pairs = wide * (size + 1) * size + (self.g - wide) * size * (size - 1)
        return Fraction(pairs, self.prime * (self.prime - 1))

    @cached_property
    def p(self) -> Fraction:
        return 1 / (1 + (self.g - 1) * exp_minus(Fraction(self.epsilon)))

    @cached_property
    def q(self) -> Fraction:
        return self._collision * self.p + (1 - self._collision) * (1 - self.p) / (self.g - 1)

    @cached_property
    def loss(self) -> Loss:
        telling = (1 - self._collision) * self.p
        return two_level_loss(
            self.epsilon, telling, call("local_hashing", epsilon=self.epsilon, k=self.k, g=self.g)
        )

    @property
    def report_bits(self) -> int:
        return 2 * (self.prime - 1).bit_length() + (self.g - 1).bit_length()

    def _draw(self, answers: Ints) -> Array:
        n = len(answers)
        a = np.asarray(uniform_integers(1, self.prime, n))
        b = np.asarray(uniform_integers(0, self.prime, n))
        hashed = (a * answers + b) % self.prime * self.g // self.prime
        return np.column_stack((a, b, self._response.release(hashed)))

    def _checked(self, reports: Any) -> Ints:
        array = whole_numbers(reports, "reports")
        if array.ndim < 1 or array.shape[-1] != 3:
            raise InvalidParameter.of("reports", "reports must have three numbers (a, b, y) for each person.")
        rows = array.reshape(-1, 3)
        if not all(
            low <= rows[:, i].min() and rows[:, i].max() < high
            for i, (low, high) in enumerate(((1, self.prime), (0, self.prime), (0, self.g)))
        ):
            raise InvalidParameter.of(
                "reports", "reports hold a number out of range: use the same k, g and epsilon."
            )
        return rows.astype(np.int64)

    def people(self, reports: Any) -> int:
        return len(self._checked(reports))

    def tally(self, reports: Any) -> Ints:
        """How many reports support each answer.

        (a v + b) mod P is in cell y if a v mod P is one of as many places from (edge of y) - b on, mod P. For all
        reports with the same a, these ranges are added up by their ends; answers are looked up in the sums.
        """
        a, b, y = self._checked(reports).T
        factors, which = np.unique(a, return_inverse=True)
        start = (self._edges[y] - b) % self.prime
        end = start + self._edges[y + 1] - self._edges[y]
        order = np.argsort(which, kind="stable")
        which, start, end = which[order], start[order], end[order]
        support = np.zeros(self.k, dtype=np.int64)
        step = max(1, CHUNK // self.prime)
        answers = np.arange(self.k)
        for first in range(0, len(factors), step):
            part = factors[first : first + step]
            low, high = np.searchsorted(which, (first, first + len(part)))
            row = (which[low:high] - first) * (2 * self.prime)
            size = len(part) * 2 * self.prime
            changes = np.bincount(row + start[low:high], minlength=size)
            changes -= np.bincount(row + end[low:high], minlength=size)
            sums = np.cumsum(changes.reshape(len(part), -1), axis=1)
            folded = sums[:, : self.prime] + sums[:, self.prime :]
            support += np.take_along_axis(folded, part[:, None] * answers % self.prime, axis=1).sum(axis=0)
        return support
