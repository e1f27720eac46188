"""Which of a few noisy scores is largest, with as many digits as it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dalenius.noise.enclosure import log_bounds, log_ratio_bounds
from dalenius.noise.lazy import STEP, LazyUniform, rational

Open = tuple[float, float]
"""Integer bounds, or an infinity on a side where nothing is known yet."""


@dataclass
class Contestant:
    """score + noise (+ ln base), the noise being made from E = -ln(1 - U) and, for Laplace, a sign."""

    noise: str
    score: Fraction
    base: Fraction | None
    sign: int
    uniform: LazyUniform

    @classmethod
    def of(cls, noise: str, score: Fraction, word: int, base: Fraction | None) -> Contestant:
        """From the word with which double precision could not decide."""
        if noise == "laplace":
            return cls(noise, score, base, -1 if word >> 63 else 1, LazyUniform(word & (2**63 - 1), 63))
        return cls(noise, score, base, 1, LazyUniform(word, 64))

    def bounds(self, precision: int) -> Open:
        """Of the noisy score, in units of 2^-precision."""
        low, high = self._noise(precision)
        for part_low, part_high in self._fixed(precision):
            low, high = low + part_low, high + part_high
        return low, high

    def _fixed(self, precision: int) -> list[tuple[int, int]]:
        score = rational(self.score)(precision)
        return [score] if self.base is None else [score, log_ratio_bounds(self.base, precision)]

    def _noise(self, precision: int) -> Open:
        low, high = _exponential(self.uniform, precision)
        if self.noise == "exponential":
            return low, high
        if self.noise == "laplace":
            return (low, high) if self.sign > 0 else (-high, -low)
        # Gumbel: -ln E, with E in [low, high] 2^-precision.
        return _minus_log(high, precision)[0], _minus_log(low, precision)[1]


def _exponential(uniform: LazyUniform, precision: int) -> Open:
    """-ln(1 - U), which is never negative."""
    rest = uniform.mirrored()
    if rest.value == 0:
        bits = log_bounds(2, precision + 12 + rest.bits.bit_length())[0]
        return (rest.bits * bits) >> (12 + rest.bits.bit_length()), math.inf
    low, high = rest.minus_log(precision)
    return max(low, 0), high


def _minus_log(e: float, precision: int) -> Open:
    """-ln(e 2^-precision)."""
    if e in (0, math.inf):
        edge = math.inf if e == 0 else -math.inf
        return edge, edge
    low, high = log_ratio_bounds(Fraction(int(e), 1 << precision), precision)
    return -high, -low


def winner(contestants: list[Contestant]) -> int:
    """The place of the largest. Two scores agree in all digits with probability 0."""
    still = range(len(contestants))
    precision = 2 * STEP
    while True:
        bounds = {i: contestants[i].bounds(precision) for i in still}
        floor = max(low for low, _ in bounds.values())
        still_open = [i for i in still if bounds[i][1] >= floor]
        if len(still_open) == 1:
            return still_open[0]
        for i in still_open:
            contestants[i].uniform.more()
        still, precision = still_open, precision + STEP  # type: ignore[assignment]
