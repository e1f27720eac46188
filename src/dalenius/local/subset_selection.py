"""Subset selection: a random set of answers that holds the true one more often than not."""

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
from dalenius.local.packed_reports import Bytes, checked, clear_padding, column_sums, ones, put, width
from dalenius.local.pure_oracle import PureOracle
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.noise import bernoulli, packed_bernoulli, uniform_integers

DIGITS = 6
"""Binary digits of the chance with which bits are first set: it need not be any number in particular."""
FEWER = 1.0
"""How many standard deviations of their number fewer bits are first set."""


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(PureOracle):
    """Reports a set of d answers: each set that holds the true one weighs 1, each other one e^-epsilon.

    The true answer is in it with p = d/(d + (k - d) e^-epsilon), any other one with
    q = (p (d - 1) + (1 - p) d)/(k - 1). With d near k/(e^epsilon + 1) no other randomizer of this room has less
    variance (Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy",
    2018; Wang et al. 2016). d = 1 is randomized response. A report is a row of bytes, the first answer in the lowest
    bit of the first one.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.
    d
        The size of the sets; by default the best one.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.SubsetSelection(epsilon=1.0, k=100)
    >>> m.d
    27
    >>> reports = m.release(np.zeros(50, dtype=int))
    >>> np.unpackbits(reports, axis=1).sum(axis=1).tolist() == [27] * 50
    True
    """

    epsilon: float
    k: int
    d: int = 0
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        self._check()
        d = checks.count("d", self.d) or self._best_d()
        if d >= self.k:
            raise InvalidParameter.of("d", f"d is {d}; it must be below k = {self.k}.")
        object.__setattr__(self, "d", d)
        _ = self.loss

    def _best_d(self) -> int:
        """The least variance for rare answers, of the whole numbers on either side of k/(e^epsilon + 1)."""
        near = self.k / (math.exp(min(self.epsilon, 700.0)) + 1)
        choices = {max(1, math.floor(near)), min(max(1, math.ceil(near)), self.k - 1)}
        return min(
            choices, key=lambda d: SubsetSelection(epsilon=self.epsilon, k=self.k, d=d).noise_variance(0.0, 1)
        )

    @cached_property
    def p(self) -> Fraction:
        return self.d / (self.d + (self.k - self.d) * exp_minus(Fraction(self.epsilon)))

    @cached_property
    def q(self) -> Fraction:
        return (self.p * (self.d - 1) + (1 - self.p) * self.d) / (self.k - 1)

    @cached_property
    def loss(self) -> Loss:
        telling = self.p * Fraction(self.k - self.d, self.k - 1)
        return two_level_loss(
            self.epsilon, telling, call("subset_selection", epsilon=self.epsilon, k=self.k, d=self.d)
        )

    @property
    def report_bits(self) -> int:
        return self.k

    @property
    def _rate(self) -> Fraction:
        """The bias of the first coins: fewer ones than d rather than more, as one to set is sooner found."""
        share = self.d / self.k
        few = share - FEWER * math.sqrt(share * (1 - share) / self.k)
        return Fraction(max(0, math.floor(few * 2**DIGITS)), 2**DIGITS)

    def _draw(self, answers: Ints) -> Bytes:
        """Coins for all bits, with about d ones, and then the right number of them.

        Coins of one bias leave every set of as many ones equally likely. Bits of the other k - 1 answers drawn
        uniformly until one is found that can be set (or cleared) keep that so, one by one.
        """
        n, row = len(answers), width(self.k)
        included = np.asarray(bernoulli(self.p, n))
        reports = packed_bernoulli(self._rate, n * row).reshape(n, row)
        clear_padding(reports, self.k)
        put(reports, answers, np.zeros(n, dtype=np.bool_))
        missing = self.d - included - ones(reports)
        self._settle(reports, answers, missing)
        put(reports, answers, included)
        return reports

    def _settle(self, reports: Bytes, answers: Ints, missing: Ints) -> None:
        """Set as many bits as are missing in each row, or clear as many as there are too many."""
        open_ = np.flatnonzero(missing)
        while len(open_):
            bit = np.asarray(uniform_integers(0, self.k, len(open_)))
            byte, mask = bit >> 3, np.left_shift(1, bit & 7).astype(np.uint8)
            there = reports[open_, byte] & mask != 0
            want = missing[open_] > 0
            change = (there != want) & (bit != answers[open_])
            rows = open_[change]
            reports[rows, byte[change]] ^= mask[change]
            missing[rows] -= np.where(want[change], 1, -1)
            open_ = open_[missing[open_] != 0]

    def _checked(self, reports: Any) -> Array:
        rows = checked(reports, self.k)
        if (ones(rows) != self.d).any():
            raise InvalidParameter.of("reports", f"reports hold a set that does not have {self.d} answers.")
        return rows

    def people(self, reports: Any) -> int:
        return len(checked(reports, self.k))

    def tally(self, reports: Any) -> Ints:
        return column_sums(self._checked(reports), self.k)
