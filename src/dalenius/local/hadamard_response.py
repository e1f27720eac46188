"""Hadamard response: a short report, and all shares at once by a fast transform."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.core.hadamard import hadamard_transform
from dalenius.errors import InvalidParameter
from dalenius.intervals.binomial import binomial_limits
from dalenius.local.frequency_oracle import FrequencyOracle
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.answers import as_answers
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import bernoulli, uniform_integers

ASIDE = 0.05
"""Of alpha: for the number of reports in a block, which is known well."""


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(FrequencyOracle):
    """Reports one of K places: the s places that fit the answer weigh 1 each, all others e^-epsilon.

    The answers are dealt out to `blocks` blocks of b places, b a power of two, b - 1 answers to a block. An answer
    fits half of the places of its block: those at which its row of Hadamard's matrix is 1. So another answer of the
    block fits half of these, and half of the others. With N+ reports in the places that fit an answer and N- in the
    others of its block, its share is (N+ - N-)/(n g), where g = s (1 - e^-epsilon)/(s + (K - s) e^-epsilon). (Acharya,
    Sun and Zhang, "Hadamard response: estimating distributions privately, efficiently, and with little
    communication", 2019.)

    Reports have log2 K bits; with k answers and n people, shares take n + K log K steps. One block is best while
    epsilon is below about 1.2. Intervals hold for the population from which people were drawn.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.
    blocks
        A power of two; by default the number with the least variance on average.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.HadamardResponse(epsilon=1.0, k=1000)
    >>> m.blocks, m.report_bits
    (1, 10)
    >>> reports = m.release(np.arange(1000))
    >>> m.frequencies(reports).estimate.shape
    (1000,)
    """

    epsilon: float
    k: int
    blocks: int = 0
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        self._check()
        blocks = checks.count("blocks", self.blocks) or self._best_blocks()
        if blocks & (blocks - 1) or blocks > self.k:
            raise InvalidParameter.of(
                "blocks", f"blocks is {blocks}; it must be a power of two, at most k = {self.k}."
            )
        object.__setattr__(self, "blocks", blocks)
        _ = self.loss

    @cached_property
    def _other(self) -> Fraction:
        """The weight of a place that does not fit."""
        return exp_minus(Fraction(self.epsilon))

    def _best_blocks(self) -> int:
        choices = [1 << i for i in range(self.k.bit_length()) if 1 << i <= self.k]
        return min(choices, key=lambda blocks: _spread(float(self._other), blocks, 1 / blocks))

    @property
    def block_size(self) -> int:
        """Places in a block, b."""
        return 1 << (-(-self.k // self.blocks)).bit_length()

    @property
    def tally_size(self) -> int:
        """K, the number of places."""
        return self.blocks * self.block_size

    @property
    def report_bits(self) -> int:
        return (self.tally_size - 1).bit_length()

    @cached_property
    def _fits(self) -> Fraction:
        """The probability that a report fits the answer."""
        s = self.block_size // 2
        return s / (s + (self.tally_size - s) * self._other)

    @cached_property
    def _gain(self) -> float:
        return max(float(self._fits * (1 - self._other)), 5e-324)

    @cached_property
    def loss(self) -> Loss:
        apart = self.k > self.block_size - 1  # answers in different blocks fit no place together
        telling = self._fits if apart else self._fits / 2
        return two_level_loss(
            self.epsilon,
            telling,
            call("hadamard_response", epsilon=self.epsilon, k=self.k, blocks=self.blocks),
        )

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(0, self.block_size - 1 if self.k > self.block_size - 1 else 1)

    def _places(self, answers: Ints) -> tuple[Ints, Ints]:
        """The block of each answer, and its row of the matrix; the first row, all ones, is left out."""
        block, row = np.divmod(answers, self.block_size - 1)
        return block, row + 1

    def _draw(self, answers: Ints) -> Array:
        n, b, s = len(answers), self.block_size, self.block_size // 2
        block, row = self._places(answers)
        fits = np.asarray(bernoulli(self._fits, n))
        # Of those that do not fit, the first s stand for the rest of the block and the others for other blocks.
        elsewhere = np.asarray(uniform_integers(0, self.tally_size - s, n)) - s
        column = np.asarray(uniform_integers(0, b, n))
        wrong = _odd(column & row) == fits
        column = np.where(wrong, column ^ (row & -row), column)
        other = np.where(elsewhere < block * b, elsewhere, elsewhere + b)
        return np.where(fits | (elsewhere < 0), block * b + column, other)

    def people(self, reports: Any) -> int:
        return int(np.size(reports))

    def tally(self, reports: Any) -> Ints:
        places = as_answers(reports, self.tally_size, "reports").ravel()
        return np.bincount(places, minlength=self.tally_size)

    def _counts(self, tally: Ints) -> tuple[Ints, Ints]:
        """N+ - N- of each answer, and the number of reports in its block."""
        table = hadamard_transform(tally.reshape(self.blocks, self.block_size))
        block, row = self._places(np.arange(self.k))
        return table[block, row], table[block, 0]

    def shares(self, tally: Ints, people: int) -> tuple[Reals, Reals]:
        apart, inside = self._counts(tally)
        mean = apart / people
        variance = (inside / people - mean**2) / (max(people - 1, 1) * self._gain**2)
        return mean / self._gain, variance

    def limits(self, tally: Ints, people: int, alpha: float) -> Reals:
        """(2 rho - 1) times the chance of the block over g, rho the chance that a report in the block fits."""
        apart, inside = self._counts(tally)
        if self.blocks == 1:
            return np.asarray((2 * binomial_limits((people + apart) / 2, people, alpha) - 1) / self._gain)
        rho = 2 * binomial_limits((inside + apart) / 2, inside, alpha * (1 - ASIDE)) - 1
        block = binomial_limits(inside, people, alpha * ASIDE)
        low = rho[:, 0] * np.where(rho[:, 0] > 0, block[:, 0], block[:, 1])
        high = rho[:, 1] * np.where(rho[:, 1] > 0, block[:, 1], block[:, 0])
        return np.column_stack((low, high)) / self._gain

    def noise_variance(self, share: float, people: int, block_share: float | None = None) -> float:
        """Variance of an estimated share around that among the people asked.

        Parameters
        ----------
        share
            The share among them.
        people
            Their number.
        block_share
            The share of the answer's block, itself included; by default the others are spread evenly over blocks.

        Returns
        -------
        float
            The variance.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        theta, n = checks.probability("share", share), checks.count("people", people, least=1)
        even = theta + (1 - theta) / self.blocks
        block = even if block_share is None else checks.probability("block_share", block_share)
        return (_spread(float(self._other), self.blocks, block) - theta) / n


def _spread(other: float, blocks: int, block_share: float) -> float:
    """E (N+ - N-)^2 / g^2 of one report: chance of the block (1 + e^-eps or 2 e^-eps, over s + (K - s) e^-eps)."""
    inside = block_share * (1 + other) + (1 - block_share) * 2 * other
    return inside * (1 + (2 * blocks - 1) * other) / (1 - other) ** 2


def _odd(bits: Ints) -> Array:
    """Whether the number of ones is odd."""
    for shift in (32, 16, 8, 4, 2, 1):
        bits = bits ^ (bits >> shift)
    return (bits & 1).astype(np.bool_)
