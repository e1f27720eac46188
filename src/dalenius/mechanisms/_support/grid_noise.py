"""Laplace and Gaussian noise on real numbers without floating-point noise: everything happens on a grid.

A value becomes a whole number of grid steps, the step chosen from public numbers alone; an exact discrete
sampler adds whole-numbered noise; going back to doubles is post-processing. The grid costs a little:
rounding can drive neighbours apart, and discrete noise tells a little more than its continuous counterpart.
Both are paid for here by extra noise, a relative 2^-38 or so, so that the loss of the *continuous*
mechanism with the scale the user named is an upper bound: for every epsilon and delta, and for vectors. The
lemmas named below are proved in docs/mechanisms-on-a-grid.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dalenius.core import checks
from dalenius.core.checks import float_up
from dalenius.errors import TooMuchNoise
from dalenius.noise import Grid

MAX_NOISE_RATIO = 1e12
"""The most noise for a sensitivity of 1: beyond it the units are almost certainly wrong."""


def check_noise_ratio(name: str, noise: float, sensitivity: float, most: float = MAX_NOISE_RATIO) -> None:
    """Refuse noise that is out of all proportion to the sensitivity."""
    if noise / sensitivity > most:
        raise TooMuchNoise(
            f"{name} is {noise:g}, {noise / sensitivity:.3g} times the sensitivity; it must be at most "
            f"{most:g} times that. Check the units of both."
        )


def discrete_laplace_scale(sensitivity: float, scale: float, size: int, grid: Grid) -> float:
    """Scale, in grid steps, of discrete Laplace noise that is no less private than Laplace(scale).

    Lemma 1: `size` rounded coordinates move by at most D = grid.steps(sensitivity, size, "l1") steps.
    Lemma 2: discrete noise of scale s is dominated by the Laplace pair of shift D/s + 1/(4 s^2), which for
    s = (D + 1) scale/sensitivity is at most sensitivity/scale whenever that is at most 4 (D + 1).
    """
    shift = Fraction(sensitivity) / Fraction(scale)
    steps = int(grid.steps(sensitivity, size, "l1"))
    if shift > 4 * (steps + 1):
        raise ArithmeticError("the grid is too coarse for this noise; this is a defect")
    return float_up((steps + 1) / shift)


def discrete_gaussian_sigma(sensitivity: float, sigma: float, size: int, grid: Grid) -> float:
    """Parameter, in grid steps, of discrete Gaussian noise that is no less private than N(0, sigma^2).

    Lemma 1: `size` rounded coordinates move by at most D = grid.steps(sensitivity, size, "l2") steps.
    Lemma 3 with t = 8: discrete noise of parameter s is (D/sqrt(s^2 - 64) + c)-GDP, c < size 10^-546; for
    s = (D + 1)/mu, mu = sensitivity/sigma, that is at most mu whenever s >= 128 mu.
    """
    mu = Fraction(sensitivity) / Fraction(sigma)
    s = (Fraction(grid.steps(sensitivity, size, "l2")) + 1) / mu
    if s < 128 * mu:
        raise ArithmeticError("the grid is too coarse for this noise; this is a defect")
    return float_up(s)


def coordinate_failure(confidence: float, size: int) -> float:
    """The failure probability t of each of `size` independent coordinates: (1 - t)^size = confidence."""
    each = math.log(checks.confidence(confidence)) / checks.count("size", size, least=1)
    return -math.expm1(each) * (1 - 1e-14)
