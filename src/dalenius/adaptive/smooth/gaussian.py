"""Gaussian noise in proportion to the smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import norm

from dalenius.adaptive.smooth.noise import BETAS, LARGEST_SCALE, SmoothNoise, even_gaps
from dalenius.adaptive.smooth.profiles import Reals, largest_shift, profile_loss
from dalenius.adaptive.statistics import Statistic
from dalenius.adaptive.statistics.statistic import SMALLEST_BETA, certain_beta
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.shifted import Polygon
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import CannotMeet
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


def gaussian_distance(shift: float, beta: float) -> float:
    """A bound on delta(0), the total variation, by way of the law that is stretched and not moved: rounded up.

    Normal laws of standard deviations 1 and e^beta cross at z with z^2 (1 - e^(-2 beta)) = 2 beta.
    """
    z = math.sqrt(2 * beta / -math.expm1(-2 * beta))
    stretched = 2 * (ndtr(z) - ndtr(z * math.exp(-beta)))
    moved = 2 * ndtr(shift / 2) - 1
    return float((stretched + moved) * (1 + ERROR) + ERROR)


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
            at_zero=gaussian_distance(shift, beta),
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

    def mu(self, delta: float) -> float:
        """A mu with which the release is mu-GDP but for an event of probability delta; inf where there is none.

        Its profile is then at most that of `losses.gaussian(1/mu) + losses.approx(0, delta)`: what a session with an
        ApproxDP budget charges for it.

        Parameters
        ----------
        delta
            The probability, above 0.

        Returns
        -------
        float
            A certified mu.

        Raises
        ------
        InvalidParameter
            If delta is not between 0 and 1.
        """
        polygon = Polygon.above(self.loss, checks.open_probability("delta", delta))
        square = None if polygon is None else polygon.square(Fraction(0))
        return math.inf if square is None else math.sqrt(square) * (1 + 1e-15)

    @classmethod
    def within(cls, mu: float, delta: float, *, statistic: Statistic[Any]) -> SmoothGaussian:
        """The noise that errs least, for numbers that lie evenly around the statistic, of all with mu(delta) <= mu.

        Parameters
        ----------
        mu
            What one release may cost in GDP.
        delta
            And with which probability it may do worse.
        statistic
            What is released.

        Returns
        -------
        SmoothGaussian
            The mechanism.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        CannotMeet
            If there is none.

        Examples
        --------
        >>> import dalenius as dp
        >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
        >>> dp.adaptive.SmoothGaussian.within(0.3, 1e-8, statistic=median).mu(1e-8) <= 0.3
        True
        """
        mu = checks.moderate("mu", checks.positive("mu", mu))
        beta, shift = _best_within(mu, checks.open_probability("delta", delta))
        while shift > 1 / LARGEST_SCALE:
            mechanism = cls(statistic=statistic, beta=beta, scale=1 / shift)
            if mechanism.mu(delta) <= mu:
                return mechanism
            shift *= 0.998
        raise CannotMeet(f"no normal noise is {mu:g}-GDP but for a chance of {delta:g}; use a larger budget.")


@lru_cache(maxsize=64)
def _best_within(mu: float, delta: float) -> tuple[float, float]:
    """The smoothness, and about the largest shift; whether it keeps to mu and delta is for `SmoothGaussian.mu`."""
    levels = np.geomspace(1.0, delta, 60)
    # Where the normal profile of mu is about each level: the log ratio at the quantile of the level.
    epsilon = np.maximum(mu * (-ndtri(levels / 2) + mu / 2), mu * mu / 2)
    allowed = delta + (1 - delta) * np.maximum(
        ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)), 0.0
    )

    def kept(shift: float, beta: float) -> bool:
        return bool((gaussian_delta(epsilon, shift, certain_beta(beta)) <= allowed).all())

    def largest(beta: float) -> float:
        return last_true(lambda x: kept(x, beta), 0.0, mu, steps=20)[0]

    shifts = {beta: largest(beta) for beta in BETAS[::3].tolist() if beta < mu and kept(0.0, beta)}
    best = min(shifts, key=lambda beta: even_gaps(beta) / max(shifts[beta], 1e-300), default=SMALLEST_BETA)
    return best, shifts.get(best, 0.0)
