"""The exponential mechanism on a finite set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range
from dalenius.core.arrays import Reals
from dalenius.mechanisms._support.selection import Selection


@dataclass(frozen=True, kw_only=True)
class Exponential(Selection):
    """Chooses candidate i with probability proportional to exp(epsilon u_i / (2 sensitivity)).

    Released: one index (or one of the candidates given), never a score. `sensitivity` bounds how far one
    record moves any single score u_i; the number of candidates does not enter.

    `monotone=True`, for add/remove neighbours only: adding a record moves no two scores in opposite
    directions (counts, sums of nonnegative terms). The factor 2 drops.

    Loss: epsilon-DP (McSherry and Talwar 2007, Theorem 6) and more: log p_i/p'_i is (u_i - u'_i) epsilon / (2
    sensitivity) minus a constant, so over the outcomes it varies by at most epsilon, which is
    `bounded_range(epsilon)` (Dong, Durfee and Rogers 2020). With monotone scores all u_i - u'_i lie in [0,
    sensitivity], or all in [-sensitivity, 0]: with twice the exponent the range is again at most epsilon.

    Sampling: the largest of u_i plus Gumbel noise of scale 2 sensitivity/epsilon (the Gumbel-max trick),
    drawn with as many bits as it takes to be certain of the winner: the law is exact. The scale is rounded
    up.

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

    Examples
    --------
    >>> from dalenius.mechanisms import Exponential
    >>> price = Exponential(sensitivity=4.02, epsilon=1.0)
    >>> prices, revenues = (1.00, 1.01, 4.01, 4.02), (4.00, 1.01, 4.01, 0.00)
    >>> price.release(revenues, candidates=prices) in prices
    True
    >>> round(price.accuracy(confidence=0.95, size=4), 2)
    32.51
    >>> price.loss.epsilon(delta=0.0)
    1.0
    """

    _noise = "gumbel"

    def _loss_at(self, epsilon: float) -> Loss:
        return bounded_range(epsilon, self.adjacency)

    def _before(self) -> Reals:
        # Odds of exp(-epsilon)/10 turn into odds of 1/10: a log ratio of epsilon less log(1.1).
        return np.array([0.0, self.scale * (self.epsilon + math.log(10.0))])
