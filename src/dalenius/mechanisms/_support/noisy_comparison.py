"""Is a value at or above a threshold? Both get noise, on a grid, and the noise is exact.

Values become whole multiples of a power of two g, rounded to the nearest, so that neighbours differ by at most
D = ceil(sensitivity/g) steps, between 2^20 and 2^21. A question is answered by  q + nu >= T + eta  in integers:
eta belongs to the threshold and stays, nu is fresh for every question. With discrete Laplace noise, P(k)
proportional to exp(-|k|/s), or one-sided geometric noise, exp(-k/s) for k >= 0, both

    P(eta = t + D) >= exp(-D/s) P(eta = t)   and   P(nu >= t + 2D) >= exp(-2D/s) P(nu >= t)

for all integers t. They pay for a shift of the threshold and for a shift of the one question that comes out
above. Equality of noisy values has positive probability here and needs no care: the two inequalities are all
that the proof uses.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.core.bisection import change_point
from dalenius.errors import InvalidParameter, TooMuchNoise
from dalenius.mechanisms._support.exact_arrays import array_of
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.selection_error import (
    QUADRATURE_ALLOWANCE,
    TAIL_SCALES,
    integral,
    log_below,
)
from dalenius.mechanisms.mechanism import Neighbours
from dalenius.noise import Grid, discrete_laplace, geometric

Noise = Literal["laplace", "exponential"]

SENSITIVITY_BITS = 20
"""The sensitivity is 2^20 to 2^21 grid steps, fewer where the noise is above 2^30 times the sensitivity."""
LARGEST_NOISE = 50
"""Scales stay below 2^51 steps and values are clamped to 2^60, so that sums fit 64 bits."""
MAX_UNITS = 1 << 60


def checked_share(share: object, moves: int) -> float:
    """The part of epsilon that goes to the threshold; the least sum of variances has it at 1 : moves^(2/3).

    `moves` is how many sensitivities all the answers "above" may move in total (Lyu, Su and Li 2017, section
    4.2).
    """
    if share is None:
        return 1 / (1 + math.pow(moves, 2 / 3))
    return checks.within("share", share, "a number between 0.001 and 0.999", lambda x: 0.001 <= x <= 0.999)


@dataclass(frozen=True)
class Comparison:
    """The noise on threshold and questions, in multiples of the sensitivity."""

    noise: Noise
    sensitivity: float
    threshold_noise: Fraction
    query_noise: Fraction

    @cached_property
    def steps(self) -> int:
        """How far neighbours can be apart, in grid steps."""
        return int(self.grid.steps(self.sensitivity))

    @cached_property
    def grid(self) -> Grid:
        """Of a power of two, so that every value is read in the same time."""
        largest = max(self.threshold_noise, self.query_noise)
        digits = math.ceil(largest).bit_length()
        spare = LARGEST_NOISE - digits
        if spare < 0:
            raise TooMuchNoise.of(
                "epsilon",
                f"epsilon asks for noise of about 2^{digits} times the sensitivity; exact noise goes up to 2^50 "
                "times. Use a larger epsilon.",
            )
        power = math.frexp(self.sensitivity)[1] - 1
        return Grid(Fraction(2) ** (power - min(SENSITIVITY_BITS, spare)))

    def units(self, values: Reals) -> Ints:
        """Values in grid steps, those beyond 2^60 steps clamped."""
        far = float(min(MAX_UNITS * self.grid.granularity, Fraction(sys.float_info.max)))
        units = self.grid.to_units(np.clip(values, -far, far))
        return np.asarray(np.clip(units, -MAX_UNITS, MAX_UNITS), dtype=np.int64)

    def above_by(self, values: object, threshold: object) -> Ints:
        """By how many steps each value is above the threshold: one number, or one for each value."""
        units = self.units(reals("values", values))
        if array_of(threshold, "threshold").ndim == 0:
            return units - self.units(reals("threshold", [threshold]))
        thresholds = reals("threshold", threshold)
        if len(thresholds) != len(units):
            raise InvalidParameter(
                f"there are {len(units)} values and {len(thresholds)} thresholds; give one for all, or one "
                "for each."
            )
        return units - self.units(thresholds)

    def noisy_thresholds(self, size: int | tuple[int, int]) -> Array:
        """What is added to the threshold, centred."""
        return self._draw(self.threshold_noise, size) + self._shift

    def noisy(self, size: int | tuple[int, int]) -> Array:
        """What is added to questions."""
        return self._draw(self.query_noise, size)

    def _draw(self, noise: Fraction, size: int | tuple[int, int]) -> Array:
        draw = discrete_laplace if self.noise == "laplace" else geometric
        return np.asarray(draw(noise * self.steps, size))

    @property
    def _shift(self) -> int:
        """One-sided noise has a mean; the difference of the two is added to the threshold."""
        return 0 if self.noise == "laplace" else round((self.query_noise - self.threshold_noise) * self.steps)

    def worst_values(self, monotone: bool, positives: int) -> Neighbours:
        """Values of which the early ones rise and the late ones fall, as one record can make them.

        "The late ones and no other are above" becomes less likely by almost exp(epsilon); with one-sided
        noise and one late value, by exactly that.
        """
        step, b = self.sensitivity, self.sensitivity * float(self.query_noise)
        if self.noise == "laplace":
            early, late = [0.0] * 5, [b] * positives
        else:
            early, late = [0.0 if monotone else b / 2], [0.0] * positives
        before = np.array(early + late)
        after = np.array([x + step for x in early] + [x - (0.0 if monotone else step) for x in late])
        return Neighbours(before, after)

    # -- how far off an answer can be ----------------------------------------------------------------

    def sure_gap(self, confidence: float, size: int, positives: int) -> float:
        """With this probability up to `size` answers are all right to within this much.

        An answer "above" to a value more than the gap below the threshold is wrong, and so is "below" to one
        more than the gap above it. The worst questions are some number h <= positives at just over the gap
        above, and the others at just over the gap below. Given eta the answers are independent: all are right
        with probability F(eta + gap)^(size - h) (1 - F(eta - gap))^h, F the distribution of nu. The grid
        moves any of these by less than two steps, rounding included, and noise on the grid is within one step
        of its continuous law: four steps are added.
        """

        def fails(gap: float) -> bool:
            return self._wrong(gap, size, positives) > 1.0 - confidence

        guess, relative = float(self.query_noise), QUADRATURE_ALLOWANCE / 4
        high = change_point(fails, guess, relative=relative)[1] if fails(0.0) else 0.0
        return self.sensitivity * (high * (1 + QUADRATURE_ALLOWANCE) + self.slack)

    @property
    def slack(self) -> float:
        """What the grid adds, in multiples of the sensitivity."""
        return 4.0 * float(self.grid.granularity / Fraction(self.sensitivity))

    def _wrong(self, gap: float, size: int, positives: int) -> float:
        """The largest probability of a wrong answer: concave in the number of values above."""

        def at(h: int) -> float:
            return self._wrong_with(gap, size - h, h)

        low, high = 0, min(size, positives)
        while high - low > 2:
            a = (low + high) // 2
            low, high = (a, high) if at(a + 1) > at(a) else (low, a + 1)
        return max(at(h) for h in range(low, high + 1))

    def _wrong_with(self, gap: float, below: int, above: int) -> float:
        b1, b2 = float(self.threshold_noise), float(self.query_noise)

        def integrand(x: Reals) -> Reals:
            log_right = np.zeros_like(x)
            if below:
                log_right += below * self._log_below((x * b1 + gap) / b2)
            if above:
                log_right += above * self._log_above((x * b1 - gap) / b2)
            return self._density(x) * -np.expm1(log_right)

        ends = (-TAIL_SCALES, TAIL_SCALES) if self.noise == "laplace" else (-1.0, TAIL_SCALES)
        centre = 0.0 if self.noise == "laplace" else -b2 / b1
        kinks = (0.0, centre - gap / b1, centre + gap / b1)
        corners = sorted({*ends, *(x for x in kinks if ends[0] < x < ends[1])})
        return integral(integrand, corners, longest=min(1.0, b2 / b1))

    def _density(self, x: Reals) -> Reals:
        return 0.5 * np.exp(-np.abs(x)) if self.noise == "laplace" else np.exp(-(x + 1.0))

    def _log_below(self, z: Reals) -> Reals:
        if self.noise == "laplace":
            return log_below(z)
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(-np.maximum(z + 1.0, 0.0)))

    def _log_above(self, z: Reals) -> Reals:
        return log_below(-z) if self.noise == "laplace" else -np.maximum(z + 1.0, 0.0)
