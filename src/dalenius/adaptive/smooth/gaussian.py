"""Gaussian noise in proportion to the smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from dalenius.adaptive.smooth.noise import SmoothNoise
from dalenius.adaptive.smooth.profiles import Reals, largest_shift, profile_loss
from dalenius.adaptive.statistics import Statistic
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.noise.laws import NormalLaw

CELLS = 8
ERROR = 1e-12
"""Relative error of ndtr and exp together, several times what is seen."""


def gaussian_delta(epsilon: Reals, shift: float, beta: float) -> Reals:
    """delta of normal noise that is moved by `shift` and stretched by e^beta at most, epsilon >= shift^2/2.

    The narrower law below: an interval I is left where the log ratio of the wider law, N(shift, e^(2 t)), to N(0, 1)
    is at most epsilon. It holds the centre of the wider law because epsilon >= shift^2/2, and its own centre is on the
    other side of 0, so that a smaller stretch or a smaller shift makes the wider law fill I more, and delta less: t =
    beta is the worst. The wider law below: a smaller shift is better for the same reason; t is cut into cells, and
    stretching by the length h of a cell more raises the log ratio by at most h.
    """
    cell = beta / CELLS
    behind = [_narrower(epsilon - cell, shift, i * cell) for i in range(CELLS)]
    return np.asarray(np.max([_wider(epsilon, shift, beta), *behind], axis=0))


def _wider(epsilon: Reals, shift: float, t: float) -> Reals:
    """H of N(shift, e^(2t)) against N(0, 1) at e^epsilon, rounded up: both tails beyond the roots of a quadratic."""
    v, spread = math.exp(-2 * t), -math.expm1(-2 * t)
    root = np.sqrt(shift * shift * v + 2 * spread * (epsilon + t))
    right = (shift * shift * v + 2 * (epsilon + t)) / (shift * v + root)
    left = -(shift * v + root) / spread
    above = ndtr(-(right - shift) * math.exp(-t)) + ndtr((left - shift) * math.exp(-t))
    below = np.exp(epsilon) * (ndtr(-right) + ndtr(left))
    return np.maximum(above * (1 + ERROR) - below * (1 - ERROR), 0.0)


def _narrower(epsilon: Reals, shift: float, t: float) -> Reals:
    """H of N(0, 1) against N(shift, e^(2t)) at e^epsilon, rounded up: an interval between the roots, if any."""
    v, spread = math.exp(-2 * t), -math.expm1(-2 * t)
    square = shift * shift * v + 2 * spread * (t - epsilon)
    root = np.sqrt(np.maximum(square, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        right = (shift * shift * v + 2 * (t - epsilon)) / (shift * v + root)
        left = -(shift * v + root) / spread if spread > 0 else np.full_like(right, -np.inf)
    above = ndtr(right) - ndtr(left)
    below = np.exp(epsilon) * (ndtr((right - shift) * math.exp(-t)) - ndtr((left - shift) * math.exp(-t)))
    return np.where(square > 0, np.maximum(above - below + ERROR * (ndtr(right) + below), 0.0), 0.0)


@dataclass(frozen=True, kw_only=True)
class SmoothGaussian(SmoothNoise):
    """Releases a statistic plus `scale` times its smooth sensitivity times a standard normal number: approximate DP.

    The loss comes from the exact profile of normal laws moved by 1/scale and stretched by e^beta (`gaussian_delta`).
    Nissim, Raskhodnikova and Smith (2007) prove (epsilon, delta)-DP for scale = 5 sqrt(2 ln(2/delta)) /
    epsilon and beta = epsilon/(4 (1 + ln(2/delta))), several times what is needed. With scale = 2/epsilon, as it is
    sometimes printed, it is not private at all (docs/smooth-sensitivity.md).

    The answer is the ideal real number rounded to the grid of the statistic and clamped to its bounds.

    Parameters
    ----------
    statistic
        What is released, with its bounds and its neighbouring relation.
    beta
        The smoothness of the sensitivity.
    scale
        What the smooth sensitivity is multiplied by.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
    >>> m = dp.adaptive.SmoothGaussian.calibrated(dp.ApproxDP(1.0, 1e-6), statistic=median, beta=0.0166)
    >>> m.loss.delta(1.0) <= 1e-6, round(m.scale, 1)
    (True, 6.0)
    """

    statistic: Statistic[Any]
    beta: float
    scale: float
    _precision = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.loss

    def _loss(self, shift: float, beta: float) -> Loss:
        return profile_loss(
            lambda e: gaussian_delta(e, shift, beta),
            shift * shift / 2 * (1 + 1e-12),
            self.adjacency,
            "smooth_gaussian",
            scale=self.scale,
            beta=self.beta,
        )

    @property
    def _law(self) -> NormalLaw:
        return NormalLaw()

    def _sizes(self) -> Reals:
        return np.asarray(norm.isf((np.arange(400) + 0.5) / 800))

    @classmethod
    def _largest_shift(cls, guarantee: Guarantee, beta: float, **options: Any) -> float:
        return largest_shift(
            guarantee, lambda shift: shift * shift / 2, lambda e, shift: gaussian_delta(e, shift, beta)
        )
