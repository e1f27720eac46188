"""Smooth sensitivity of what a vote costs, and a private upper bound on it (GNSS)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import ndtri

from dalenius.adaptive.pate.gnmax import Counts, GNMax
from dalenius.adaptive.pate.levels import MOVE, Levels
from dalenius.adaptive.ptr.parts import PrivateBound, checked_part
from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Gaussian
from dalenius.noise.affine import rounded_affine
from dalenius.noise.laws import NormalLaw

BITS = 30
"""What is released is a multiple of 2^-30."""
MOST = 1 << 62
"""Of these multiples; numbers beyond are moved there."""
ROUNDING = 1e-12
"""What log S, a sum of doubles, may move by beyond `smoothness`."""


@dataclass(frozen=True)
class VoteBound(PrivateBound):
    """A private upper bound on the Renyi divergence, at `order`, of the answers to a vote.

    (Papernot et al. 2018, "GNSS"; Redberg 2023, Lemma 3.6.5.) Let R be the sum over queries of the bound on the
    divergence, and S its smooth sensitivity: at least what one teacher can change R by, log S moving by `smoothness`
    at most. Released is

        R + S noise Z + noise z exp(log S + smoothness log_noise (Z' + z)),    Z, Z' standard normal,

    z being the quantile that Z exceeds with probability `failure`/2: with probability 1 - `failure` that is no less
    than R. Both normal numbers are exact: log S + smoothness log_noise Z' is released by `Gaussian`, and R + S noise Z,
    whose scale nobody may know, is the ideal number rounded to a multiple of 2^-30.

    Parameters
    ----------
    vote
        The vote.
    order
        Of the Renyi divergence, above 1.
    smoothness
        How far one teacher may move log S.
    noise
        The deviation of the noise on R, in units of S.
    log_noise
        The deviation of the noise on log S, in units of `smoothness`.
    failure
        How likely the bound may be to be false.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> vote = dp.adaptive.GNMax(sigma=20.0, teachers=400, classes=3, queries=2)
    >>> bound = dp.adaptive.VoteBound(vote, order=8.0, smoothness=0.05, noise=2.0, log_noise=2.0, failure=1e-6)
    >>> votes = np.array([[390, 10, 0], [0, 5, 395]])
    >>> bound.divergence(votes) < 1e-20, bool(bound.release(votes) > 0)
    (True, True)
    """

    vote: GNMax
    order: float
    smoothness: float
    noise: float
    log_noise: float
    failure: float

    def __post_init__(self) -> None:
        checked_part("vote", self.vote, GNMax, "dp.adaptive.GNMax(...)")
        checks.order("order", self.order)
        for name in ("smoothness", "noise", "log_noise", "failure"):
            checks.positive(name, getattr(self, name))
        if self.failure >= 1:
            raise InvalidParameter(f"failure is {self.failure}; it must be below 1.")

    @property
    def loss(self) -> Loss:
        """Normal laws as `smooth_gaussian_renyi` has them, and the release of log S."""

        def curve(order: float) -> float:
            return smooth_gaussian_renyi(order, self.smoothness + ROUNDING, self.noise)

        return losses.rdp(curve, self.vote.adjacency) + self._log_release.loss

    @cached_property
    def _log_release(self) -> Gaussian:
        return Gaussian(
            sensitivity=self.smoothness + ROUNDING,
            sigma=self.smoothness * self.log_noise,
            adjacency=self.vote.adjacency,
        )

    @cached_property
    def _levels(self) -> Levels:
        return Levels(self.vote, (self.order,))

    def divergence(self, votes: Counts) -> float:
        """R."""
        return float(self._levels.divergences(self._levels.of(votes))[0])

    def smooth_sensitivity(self, votes: Counts) -> float:
        """The largest, over d, of exp(-smoothness d) times what one teacher can change after d others did."""
        levels, table = self._levels.of(votes), self._levels.renyi[0]
        change = _changes(table)
        best, d = 0.0, 0
        while math.exp(-self.smoothness * d) * len(levels) * change.max() > best:
            widest = maximum_filter1d(change, 2 * d * MOVE + 1, mode="nearest")
            best = max(best, math.exp(-self.smoothness * d) * float(widest[levels].sum()))
            if d * MOVE > len(table):
                break
            d += 1
        return max(best, 1e-12) * (1 + 1e-9)

    def release(self, data: Any) -> float:
        """A number that is R or more, but for a chance of `failure`."""
        votes = self.vote.counts(data)
        value, spread = self.divergence(votes), self.smooth_sensitivity(votes)
        z = -float(ndtri(self.failure / 2)) * (1 + 1e-9)
        log_spread = float(self._log_release.release(math.log(spread))) + z * self.smoothness * self.log_noise
        centre, scale = (Fraction(x) * 2**BITS for x in (value, spread * self.noise))
        noisy = float(rounded_affine(NormalLaw(), centre, scale, 1, -MOST, MOST)[0]) * 2.0**-BITS
        return noisy + self.noise * z * math.exp(min(600.0, log_spread)) + 2.0**-BITS


def _changes(table: Reals) -> Reals:
    """For every level, how much one teacher can change a query's bound."""
    last = len(table) - 1
    at = np.arange(last + 1)
    below, above = table[np.maximum(at - MOVE, 0)], table[np.minimum(at + MOVE, last)]
    return np.asarray(np.maximum(below - table, table - above))


def smooth_gaussian_renyi(order: float, smoothness: float, noise: float) -> float:
    """The most that N(m, (S noise)^2) can diverge from N(m', (S' noise)^2), with the smooth sensitivities S and S'.

    They bound |m - m'|, and |log S/S'| <= smoothness. With v = (S/S')^2 and c = order - (order - 1) v it is order
    (m - m')^2/(2 c (S' noise)^2) - log(c)/(2 (order - 1)) - log(v)/2. The first term grows with v; the rest is
    convex in v and 0 at v = 1, so that it is largest at an end.
    Infinite where c is not above 0 at v = e^(2 smoothness). Papernot et al. 2018 have (order + 1)/noise^2 for all
    orders up to 1/(2 smoothness) (Theorem 23; Redberg 2023, Lemma 3.6.5), which is exceeded near that end.

    Examples
    --------
    >>> from dalenius.adaptive.pate.smooth_sensitivity import smooth_gaussian_renyi
    >>> round(smooth_gaussian_renyi(2.0, smoothness=1e-9, noise=10.0), 6)  # as for one scale: order/(2 noise^2)
    0.01
    """
    left = 1 - (order - 1) * math.expm1(2 * smoothness)
    if left <= 0:
        return math.inf
    right = 1 - (order - 1) * math.expm1(-2 * smoothness)
    spread = max(
        -math.log(left) / (2 * (order - 1)) - smoothness,
        -math.log(right) / (2 * (order - 1)) + smoothness,
    )
    return (order / (2 * left * noise**2) + spread) * (1 + 1e-12)
