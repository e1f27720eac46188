"""Which of a few noisy scores is largest, with as many digits as it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dalenius.noise.enclosure import log_ratio_bounds, ratio_bounds
from dalenius.noise.interval import exponential
from dalenius.noise.lazy import STEP, LazyUniform

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
        size = exponential(self.uniform, precision)
        low, high = ratio_bounds(self.score, precision)
        if self.base is not None:
            base = log_ratio_bounds(self.base, precision)
            low, high = low + base[0], high + base[1]
        if self.noise == "gumbel":
            return low - _log(size.high, precision)[1], high - _log(size.low, precision)[0]
        return (low + size.low, high + size.high) if self.sign > 0 else (low - size.high, high - size.low)


def _log(e: int, precision: int) -> Open:
    """ln(e 2^-precision)."""
    return log_ratio_bounds(Fraction(e, 1 << precision), precision) if e else (-math.inf, -math.inf)


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
