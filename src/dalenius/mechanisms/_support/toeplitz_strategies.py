"""Strategies C of a stream: lower triangular Toeplitz matrices in whole numbers, applied to one step after another.

Both kinds say what a stream has to keep, how the next row of C x is added up exactly, how C is undone (as numerator
and denominator of a recursion), and how far contributions move C x.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.participation.schedule import Schedule
from dalenius.calculus.participation.toeplitz import toeplitz_squares
from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter

ENTRY_DIGITS = 16
ENTRY = 1 << ENTRY_DIGITS
"""The first coefficient; others are whole numbers beside it."""

DECAY_DIGITS = 20
"""Of the decay of a buffer, after the binary point."""

SPLIT = 24
"""Sums are made in two parts, of which the lower has so many binary digits."""

WIDEST, MOST_BUFFERS = 2**13, 16

Filter = tuple[Reals, Reals]
"""Numerator and denominator."""


class Strategy(ABC):
    """C in whole numbers, over ENTRY."""

    @property
    @abstractmethod
    def row(self) -> Ints:
        """What the parts of a state are multiplied with to be the next row of C x."""

    @abstractmethod
    def start(self, size: int) -> Ints:
        """The state before the first step: a row of numbers for each entry of `row`."""

    @abstractmethod
    def next(self, state: Ints, units: Ints) -> Ints:
        """The state in the next step, whose numbers are these."""

    @property
    @abstractmethod
    def undone(self) -> Filter:
        """C^-1."""

    @abstractmethod
    def coefficients(self, steps: int) -> Reals:
        """The first column of C over ENTRY, none of them too small."""

    @property
    @abstractmethod
    def most(self) -> int:
        """Numbers up to this size can be taken: no sum exceeds 2^62."""

    drift: Fraction = Fraction(0)
    """How far roundings can drive the entries of C x for two neighbours apart, in each step and coordinate."""

    def square(self, schedule: Schedule) -> Fraction:
        """How far contributions of length 1 move C x, squared and bounded from above."""
        return toeplitz_squares(tuple(self.coefficients(schedule.steps).tolist()), schedule).upper * ENTRY**2


@dataclass(frozen=True)
class Bands(Strategy):
    """c_0, c_1, ..., c_(p-1): the last p steps are kept."""

    column: tuple[float, ...]

    @staticmethod
    def of(coefficients: object) -> Bands:
        """From what a user says."""
        if not isinstance(coefficients, Sequence | np.ndarray) or isinstance(coefficients, str):
            raise InvalidParameter.of("coefficients", "coefficients must be a list of numbers.")
        column = tuple(checks.number("coefficients", c) for c in coefficients)
        if not 1 <= len(column) <= WIDEST:
            raise InvalidParameter.of(
                "coefficients", f"there are {len(column)} coefficients; give 1 to {WIDEST}."
            )
        if not 1e-100 <= column[0] <= 1e100 or max(map(abs, column)) > 16 * column[0]:
            raise InvalidParameter.of(
                "coefficients", "the first coefficient must be above 0, and none larger than 16 times it."
            )
        return Bands(column)

    @cached_property
    def row(self) -> Ints:
        scaled = np.rint(ENTRY * (np.array(self.column) / self.column[0]))
        return np.asarray(np.trim_zeros(scaled, "b").astype(np.int64))

    def start(self, size: int) -> Ints:
        return np.zeros((len(self.row), size), np.int64)

    def next(self, state: Ints, units: Ints) -> Ints:
        return np.concatenate((units[None], state[:-1]))

    @property
    def undone(self) -> Filter:
        return np.ones(1), self.row / ENTRY

    def coefficients(self, steps: int) -> Reals:
        return np.asarray(self.row[:steps] / ENTRY)  # exact: a power of two

    @property
    def most(self) -> int:
        return min((1 << 62) // int(np.abs(self.row).sum()) << SPLIT, 1 << 61)


@dataclass(frozen=True)
class Buffers(Strategy):
    """c_0 = 1, c_k = sum over i of scale_i decay_i^(k-1): one buffer is kept for each i, whatever the number of steps.

    A buffer becomes floor(decay x buffer) + x, with a decay of 20 binary digits, exactly. What is cut off is from 0
    to 1, so for two neighbours it differs by less than 1 in each step, and buffer i by less than 1/(1 - decay_i) from
    what the linear recursion would make of their difference.
    """

    pairs: tuple[tuple[float, float], ...]

    @staticmethod
    def of(buffers: Any) -> Buffers:
        """From what a user says: (decay, scale) of each."""
        try:
            pairs = tuple((checks.number("buffers", d), checks.number("buffers", s)) for d, s in buffers)
        except (TypeError, ValueError) as problem:
            raise InvalidParameter.of(
                "buffers", "buffers must be a list of pairs (decay, scale)."
            ) from problem
        if not 1 <= len(pairs) <= MOST_BUFFERS:
            raise InvalidParameter.of("buffers", f"there are {len(pairs)} buffers; give 1 to {MOST_BUFFERS}.")
        found = Buffers(pairs)
        if not all(0 < d < 1 and s >= 0 for d, s in pairs) or sum(s for _, s in pairs) > 1:
            raise InvalidParameter.of(
                "buffers", "decays must be between 0 and 1, and scales 0 or more and 1 at most together."
            )
        return found

    @cached_property
    def decays(self) -> Ints:
        most = (1 << DECAY_DIGITS) - 1
        return np.array([min(max(round(d * (most + 1)), 1), most) for d, _ in self.pairs], dtype=np.int64)

    @cached_property
    def row(self) -> Ints:
        return np.array([ENTRY, *(math.floor(s * ENTRY) for _, s in self.pairs)], dtype=np.int64)

    def start(self, size: int) -> Ints:
        return np.zeros((len(self.pairs) + 1, size), np.int64)

    def next(self, state: Ints, units: Ints) -> Ints:
        """The first row is the new step itself; buffers hold what came before it."""
        before, buffers = state[0], state[1:]
        high, low = buffers >> 32, buffers & 0xFFFFFFFF
        decays = self.decays[:, None]
        # decay x (h 2^32 + l) / 2^20, rounded down: the first part is a multiple of 2^12.
        kept = (decays * high << (32 - DECAY_DIGITS)) + (decays * low >> DECAY_DIGITS)
        return np.concatenate((units[None], kept + before))

    @property
    def _rates(self) -> tuple[Reals, Reals]:
        """Decays and scales as they are used; exact."""
        return self.decays / (1 << DECAY_DIGITS), self.row[1:] / ENTRY

    @cached_property
    def undone(self) -> Filter:
        """C(z) = 1 + sum of scale z/(1 - decay z), as one fraction, turned over."""
        decays, scales = self._rates
        whole = np.ones(1)
        for d in decays:
            whole = np.convolve(whole, [1.0, -d])
        top = whole.copy()
        for i, s in enumerate(scales):
            others = np.ones(1)
            for d in np.delete(decays, i):
                others = np.convolve(others, [1.0, -d])
            top[1:] += s * others
        return whole, top

    def coefficients(self, steps: int) -> Reals:
        """Multiples of 2^-50, not below the true ones: a power has a relative error of fewer than 2^17 roundings.

        The true ones fall, so that the last step changes roundings only, and upward.
        """
        decays, scales = self._rates
        with np.errstate(under="ignore"):
            powers = decays[:, None] ** np.arange(steps - 1)
        later = np.ceil(np.ldexp((scales @ powers) * (1 + 1e-10) + 1e-30, 50))
        column = np.concatenate(([1.0], np.ldexp(later, -50)))
        return np.asarray(np.maximum.accumulate(column[::-1])[::-1])

    @property
    def most(self) -> int:
        left = (1 << DECAY_DIGITS) - int(self.decays.max())
        return (1 << 60) // (1 << DECAY_DIGITS) * left

    @property
    def drift(self) -> Fraction:  # type: ignore[override]
        return sum(
            (
                Fraction(int(w) << DECAY_DIGITS, (1 << DECAY_DIGITS) - int(t))
                for w, t in zip(self.row[1:], self.decays, strict=True)
            ),
            Fraction(0),
        )
