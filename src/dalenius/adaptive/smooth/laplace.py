"""Laplace noise in proportion to the smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.smooth.noise import SmoothNoise
from dalenius.adaptive.smooth.profiles import Reals, largest_shift, profile_loss
from dalenius.adaptive.statistics import Statistic
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.noise.laws import LaplaceLaw


def first_epsilon(shift: float, beta: float) -> float:
    """From here on `laplace_delta` is the whole of delta."""
    return max(shift, beta + shift * math.exp(-beta))


def laplace_delta(epsilon: Reals, shift: float, beta: float) -> Reals:
    """delta of Laplace noise that is moved by `shift` and stretched by e^beta at most, epsilon >= first_epsilon.

    Where the narrower law stands in the denominator, the log ratio exceeds epsilon in both tails of the wider one, of
    scale e^beta at a distance of `shift`: with y = (epsilon + beta -+ shift)/(e^beta - 1) they give (1 - e^-beta)/2
    e^-y each. What is between the tails is an interval that holds the centre of the wider law and has its own centre
    on the far side of the other: a smaller shift or a smaller stretch makes the wider law fill it more, and delta less.
    The other way round the log ratio is at most t + shift e^-t, 0 <= t <= beta, and that is convex.
    """
    rate = math.expm1(beta)
    tails = np.exp(-(epsilon + beta - shift) / rate) + np.exp(-(epsilon + beta + shift) / rate)
    return np.asarray(-math.expm1(-beta) / 2 * tails * (1 + 1e-12))


@dataclass(frozen=True, kw_only=True)
class SmoothLaplace(SmoothNoise):
    """Releases a statistic plus `scale` times its smooth sensitivity times Laplace noise: approximate DP.

    The loss comes from the exact profile of Laplace laws moved by 1/scale and stretched by e^beta (`laplace_delta`).
    Nissim, Raskhodnikova and Smith (2007) prove (epsilon, delta)-DP for scale = 2/epsilon and beta =
    epsilon/(2 ln(2/delta)), which leaves room. No delta is small enough for pure DP or zCDP: where the noise of one
    of two neighbours is wider, its tails give it away.

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
    >>> m = dp.adaptive.SmoothLaplace.calibrated(dp.ApproxDP(1.0, 1e-6), statistic=median, beta=0.04)
    >>> m.loss.delta(1.0) <= 1e-6, round(m.scale, 1)
    (True, 1.6)
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
            lambda e: laplace_delta(e, shift, beta),
            first_epsilon(shift, beta),
            self.adjacency,
            "smooth_laplace",
            scale=self.scale,
            beta=self.beta,
        )

    @property
    def _law(self) -> LaplaceLaw:
        return LaplaceLaw()

    def _sizes(self) -> Reals:
        return -np.log1p(-(np.arange(400) + 0.5) / 400)

    @classmethod
    def _largest_shift(cls, guarantee: Guarantee, beta: float, **options: Any) -> float:
        return largest_shift(
            guarantee,
            lambda shift: first_epsilon(shift, beta),
            lambda e, shift: laplace_delta(e, shift, beta),
        )
