"""Scores of coefficients theta in the unit ball: minus the risk of records, or minus the norm of its gradient.

Records are rows x with |x| <= 1 and targets y with |y| <= top, both rounded to whole numbers of 2^-18, each on its own.
Scores are exact rational functions of them and of theta (norms are rounded down to 2^-56), so adding a record changes a
score by what that record contributes and by nothing else. `change` bounds that, with the rounding of the record and of
the norm included.

Bounds over boxes are computed in doubles. For n records they are off by less than 16 (1 + top) times 2^-52 (n + 1)^2 +
2^-48 (n + 1) d^2: an inner product of k terms errs by k 2^-53 of the sum of their sizes. That much is added.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.numerics.grid_draw import AXIS_BITS, Ints

FINE = 18
TOGETHER = 1 << 15
"""So many products of two numbers below 2^19 add up to less than 2^53."""
WORK = 1 << 21
"""Residuals looked at together."""
LEVEL = 20
"""Levels of quantiles are multiples of 2^-20."""
RAMP = 6
"""The gradient of a quantile's risk is smoothed over 2^-6 of coef_bound, in the units of the targets."""
SLACK = 1 + 1e-9
SHORT = 1 - 1e-14
"""What is taken for a unit vector may be longer than 1 by rounding."""


def directed(gradients: Reals) -> tuple[Reals, Reals]:
    """The lengths and directions of gradients in the middle of boxes. Over a box a gradient is nowhere shorter than its
    part along any direction: this one, or (coordinate by coordinate) the axes."""
    norm = np.sqrt((gradients * gradients).sum(axis=1))
    return norm, gradients / np.maximum(norm, 1e-300)[:, None]


@dataclass
class _Scores:
    """Whole numbers of 2^-18, as doubles."""

    rows: Reals
    targets: Reals
    top: float

    @property
    def size(self) -> int:
        return int(self.rows.shape[1])

    @property
    def long(self) -> float:
        """The norm of a rounded row."""
        return 1 + math.sqrt(self.size) * 2.0**-FINE

    @property
    def far(self) -> float:
        """The largest residual."""
        return self.long + self.top + 2.0**-FINE

    @cached_property
    def error(self) -> float:
        n = float(len(self.targets) + 1)
        return 16 * (1 + self.top) * (2.0**-52 * n * n + 2.0**-48 * n * self.size**2)


class _Squares(_Scores):
    """Sums of products, exact; then nothing depends on the number of records, but for the size of what is rounded."""

    @cached_property
    def error(self) -> float:
        return 16 * (1 + self.top) * 2.0**-48 * (len(self.targets) + 1.0) * self.size**2

    @cached_property
    def sums(self) -> tuple[Ints, Ints]:
        """X^T X and X^T y in units of 2^-36, as Python integers."""
        gram, product = np.zeros((self.size, self.size), dtype=object), np.zeros(self.size, dtype=object)
        for start in range(0, len(self.targets), TOGETHER):
            part = slice(start, start + TOGETHER)
            x, y = self.rows[part], self.targets[part]
            gram += (x.T @ x).astype(np.int64).astype(object)
            product += (y @ x).astype(np.int64).astype(object)
        return gram, product

    @cached_property
    def doubles(self) -> tuple[Reals, Reals]:
        gram, product = self.sums
        return gram.astype(np.float64) * 4.0**-FINE, product.astype(np.float64) * 4.0**-FINE

    @cached_property
    def weights(self) -> Reals:
        return np.asarray(np.abs(self.doubles[0]).sum(axis=0))

    def gradient(self, middle: Reals) -> Reals:
        gram, product = self.doubles
        return np.asarray(middle @ gram - product)


class SquaresGradient(_Squares):
    """-|X^T (X theta - y)|."""

    @property
    def change(self) -> float:
        """|x| |x.theta - y|."""
        return self.long * self.far * SLACK

    def bounds(self, middle: Reals, half: Reals) -> Reals:
        gradient, gram = self.gradient(middle), self.doubles[0]
        left = np.maximum(np.abs(gradient) - half @ np.abs(gram), 0)
        norm, along = directed(gradient)
        shortest = norm - (half * np.abs(along @ gram)).sum(axis=1)
        return np.asarray(self.error - np.maximum(np.sqrt((left * left).sum(axis=1)), shortest * SHORT))

    def at(self, whole: Ints) -> Fraction:
        gram, product = self.sums
        gradient = gram @ whole.astype(object) - product * (1 << AXIS_BITS)
        return Fraction(-math.isqrt(int((gradient * gradient).sum())), 1 << (2 * FINE + AXIS_BITS))


class SquaresRisk(_Squares):
    """-(1/2)|X theta - y|^2, but for |y|^2, which is the same for all theta."""

    @property
    def change(self) -> float:
        """(1/2) (x.theta - y)^2, always down."""
        return 0.5 * self.far**2 * SLACK

    def bounds(self, middle: Reals, half: Reals) -> Reals:
        gradient = self.gradient(middle)
        risk = 0.5 * ((gradient - self.doubles[1]) * middle).sum(axis=1)
        # Convex: nowhere below its tangent.
        return np.asarray(self.error - risk + (half * np.abs(gradient)).sum(axis=1))

    def at(self, whole: Ints) -> Fraction:
        (gram, product), theta = self.sums, whole.astype(object)
        twice = int(theta @ gram @ theta) - (int(theta @ product) << (1 + AXIS_BITS))
        return Fraction(-twice, 1 << (1 + 2 * FINE + 2 * AXIS_BITS))


@dataclass
class _Pinball(_Scores, ABC):
    level: int
    """In 2^-20."""

    @property
    def steepest(self) -> float:
        return max(self.level, (1 << LEVEL) - self.level) * 2.0**-LEVEL

    @cached_property
    def weights(self) -> Reals:
        return np.asarray(np.abs(self.rows).sum(axis=0) * 2.0**-FINE)

    def bounds(self, middle: Reals, half: Reals) -> Reals:
        """A few boxes at a time; records that behave the same all over all of them are added up before."""
        if len(middle) == 0:
            return np.empty(0)
        low, high = (middle - half).min(axis=0), (middle + half).max(axis=0)
        records, bound = self.within((low + high)[None] / 2, (high - low)[None] / 2)
        together = max(1, WORK // max(1, records))
        parts = [slice(k, k + together) for k in range(0, len(middle), together)]
        return np.concatenate([bound(middle[p], half[p]) for p in parts]) + self.error

    @abstractmethod
    def within(self, middle: Reals, half: Reals) -> tuple[int, Callable[[Reals, Reals], Reals]]:
        """For boxes within one large box: how many records are looked at, and their bounds but for rounding."""

    def reached(self, middle: Reals, half: Reals) -> tuple[Reals, Reals]:
        """The residuals in the middle of boxes, and by how much they vary to either side, in 2^-38."""
        reach = (half * 2.0**AXIS_BITS) @ np.abs(self.rows).T
        return self.residuals(middle * 2.0**AXIS_BITS), reach

    def residuals(self, whole: Reals) -> Reals:
        """y - x.theta of every record (along the last axis) in 2^-38, exact: whole numbers below 2^53."""
        return np.asarray(self.targets * 2.0**AXIS_BITS - whole @ self.rows.T)


class PinballGradient(_Pinball):
    """-|sum_i (r_i - level) x_i|, where r_i rises from 0 to 1 as x_i.theta passes y_i, over a width of 2^-RAMP.

    A step instead of the ramp would make the score jump by all records that are alike at once: boxes along the jump
    would have bounds that no point in them attains, and as many of them would be needed as there are grid points.
    Records that are alike are looked at once.
    """

    @property
    def change(self) -> float:
        return self.steepest * self.long * SLACK

    @property
    def wide(self) -> float:
        """The width of the ramp in units of the residuals."""
        return 2.0 ** (FINE + AXIS_BITS - RAMP)

    @cached_property
    def alike(self) -> tuple[PinballGradient, Reals]:
        """Records that differ, and how many there are of each."""
        both = np.column_stack((self.rows, self.targets))
        kept, counts = np.unique(both, axis=0, return_counts=True)
        return PinballGradient(kept[:, :-1], kept[:, -1], self.top, self.level), counts.astype(np.float64)

    def within(self, middle: Reals, half: Reals) -> tuple[int, Callable[[Reals, Reals], Reals]]:
        records, counts = self.alike
        level = self.level * 2.0**-LEVEL
        least, most = records.ramps(middle, half)
        sure = (least == most)[0]
        start = ((least[0] - level) * counts * sure) @ records.rows
        rest = PinballGradient(records.rows[~sure], records.targets[~sure], self.top, self.level)
        heavy = rest.rows * counts[~sure][:, None]

        def bound(middle: Reals, half: Reals) -> Reals:
            least, most = rest.ramps(middle, half)
            # Give or take half of what r varies by over the box.
            gradient, half_varied = start + ((least + most) / 2 - level) @ heavy, (most - least) / 2
            left = np.maximum(np.abs(gradient) - half_varied @ np.abs(heavy), 0)
            norm, along = directed(gradient)
            shortest = norm - (half_varied * np.abs(along @ heavy.T)).sum(axis=1)
            return np.asarray(-np.maximum(np.sqrt((left * left).sum(axis=1)), shortest * SHORT) * 2.0**-FINE)

        return len(heavy), bound

    def ramps(self, middle: Reals, half: Reals) -> tuple[Reals, Reals]:
        """The least and the largest r of every record over a box."""
        residuals, reach = self.reached(middle, half)
        least, most = (0.5 - (residuals + reach) / self.wide), (0.5 - (residuals - reach) / self.wide)
        return np.clip(least, 0.0, 1.0), np.clip(most, 0.0, 1.0)

    def at(self, whole: Ints) -> Fraction:
        records, counts = self.alike
        wide = int(self.wide)
        ramp = np.clip(wide // 2 - records.residuals(whole.astype(np.float64)).astype(np.int64), 0, wide)
        parts = ramp * counts.astype(np.int64)  # below 2^53 for up to 2^20 records that are alike
        rows = records.rows.astype(np.int64)
        gradient = [0] * self.size
        for start in range(0, len(parts), TOGETHER):
            p = slice(start, start + TOGETHER)
            high, low = (parts[p] >> 26) @ rows[p], (parts[p] & ((1 << 26) - 1)) @ rows[p]
            gradient = [g + (int(h) << 26) + int(v) for g, h, v in zip(gradient, high, low, strict=True)]
        every = [int(v) for v in self.rows.sum(axis=0)]
        gradient = [(g << LEVEL) - self.level * e * wide for g, e in zip(gradient, every, strict=True)]
        return Fraction(-math.isqrt(sum(g * g for g in gradient) << 36), wide << (FINE + LEVEL + 18))


class PinballRisk(_Pinball):
    """-sum_i rho(y_i - x_i.theta), rho(r) = max(level r, (level - 1) r)."""

    @property
    def change(self) -> float:
        """rho, always down."""
        return self.steepest * self.far * SLACK

    def within(self, middle: Reals, half: Reals) -> tuple[int, Callable[[Reals, Reals], Reals]]:
        (residuals,), (reach,) = self.reached(middle, half)
        level, below = self.level * 2.0**-LEVEL, residuals <= -reach
        mixed = ~below & (residuals <= reach)
        sure = level * ~mixed - below
        slope, start = (sure @ self.rows) * 2.0**-FINE, float(sure @ self.targets) * 2.0**-FINE
        rest = PinballRisk(self.rows[mixed], self.targets[mixed], self.top, self.level)

        def bound(middle: Reals, half: Reals) -> Reals:
            residuals = rest.residuals(middle * 2.0**AXIS_BITS)
            share = level - (residuals <= 0)
            risk = (residuals * share).sum(axis=1) * 2.0 ** -(FINE + AXIS_BITS) + start - middle @ slope
            # Convex: nowhere below its tangent.
            return np.asarray(-risk + (half * np.abs(share @ rest.rows * 2.0**-FINE + slope)).sum(axis=1))

        return len(rest.targets), bound

    def at(self, whole: Ints) -> Fraction:
        residuals = self.residuals(whole.astype(np.float64)).astype(np.int64)
        over = under = 0
        for start in range(0, len(residuals), TOGETHER):
            part = residuals[start : start + TOGETHER]
            over += int(part[part > 0].sum())
            under -= int(part[part < 0].sum())
        risk = self.level * over + ((1 << LEVEL) - self.level) * under
        return Fraction(-risk, 1 << (FINE + AXIS_BITS + LEVEL))
