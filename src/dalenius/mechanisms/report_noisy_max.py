"""Report noisy max."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range, laplace
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.mechanisms._support import selection_error
from dalenius.mechanisms._support.selection import Selection

MAX_RIVALS = 300


@dataclass(frozen=True, kw_only=True)
class ReportNoisyMax(Selection):
    """Adds independent noise of scale 2 sensitivity / epsilon to every score and reports which is largest.

    Released: the index, NEVER the noisy maximum itself; its value is not covered by the guarantee.
    `sensitivity` bounds how far one record moves any single score (not their sum). `monotone=True`, for
    add/remove neighbours whose scores all move the same way, drops the factor 2. `noise` is one of

    - "laplace" (Dwork and Roth 2014, Claim 3.9): epsilon-DP;
    - "exponential": the same law as permute and flip;
    - "gumbel": the same law as the exponential mechanism (the Gumbel-max trick).

    Loss: `bounded_range(epsilon)` for Gumbel noise. For exponential and Laplace noise that would be wrong
    (three candidates with Laplace noise at epsilon 1 already reach a range of 1.1); what holds is
    `laplace(1/epsilon)`, by the argument given in `PermuteAndFlip`, which asks of the noise only that its
    density be at most its upper tail over the scale: an equality for exponential noise, so that two
    candidates attain it. With Laplace noise it is attained at delta 0 only.

    The winner is certain: draws are refined with further bits until no rounding could change it.

    Parameters
    ----------
    sensitivity
        The most that one record changes a single score.
    epsilon
        The privacy parameter; the release is epsilon-DP.
    monotone
        Whether a record moves no two scores in opposite directions (ADD_REMOVE only).
    adjacency
        The neighbouring relation that the sensitivity is stated for.
    noise
        "laplace", "exponential" or "gumbel".

    Examples
    --------
    >>> from dalenius.mechanisms import ReportNoisyMax
    >>> condition = ReportNoisyMax(sensitivity=1, epsilon=1.0, noise="laplace")
    >>> condition.release([100, 300, 90], candidates=["asthma", "diabetes", "gout"])
    'diabetes'
    >>> round(condition.expected_gap(size=10), 4)  # (2/epsilon)(1 + H_9) is 7.6579
    4.4716
    """

    noise: selection_error.Noise = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("noise", self.noise, "laplace", "exponential", "gumbel")

    @property
    def _noise(self) -> selection_error.Noise:
        return self.noise

    def _loss_at(self, epsilon: float) -> Loss:
        if self.noise == "gumbel":
            return bounded_range(epsilon, self.adjacency)
        return laplace(1.0, epsilon, self.adjacency)

    def _before(self) -> Reals:
        if self.noise == "exponential":
            return np.array([0.0, self.sensitivity * (1 if self.monotone else 2)])
        # Tied with enough rivals that it must win from the tail, where the noise is exponential.
        rivals = min(MAX_RIVALS, math.ceil(10 * math.exp(min(self.epsilon, 10.0))))
        return np.zeros(1 + rivals)
