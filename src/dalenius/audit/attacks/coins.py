"""How many fair coins, hidden by private releases, can be guessed right, and with what probability.

A release looks at bits x_1 .. x_n, thrown by fair coins, and covers the change of any one of them by a loss. An attack
reads its output and guesses some of the bits.

*Theorem.* Let a release be (epsilon, delta)-DP for the change of one bit, p = e^epsilon/(1 + e^epsilon), and let the
number r of guesses be fixed. Then for all whole v and k >= 1

    P(at least v guesses are right) <= P(Binomial(r, p) >= v - k + 1) + n delta / (k (1 + e^epsilon)).

*Proof* (after Steinke, Nasr and Jagielski 2023). Fix the bits before x_i, and
let P and Q be the laws of the output given x_i = 1 and x_i = 0, the later bits averaged out: mixtures of neighbours
with the same weights, so (epsilon, delta)-close as well. Given the output t, x_i = 1 has the probability P(t)/(P(t) +
Q(t)) <= p + a(t) with a = (P - e^epsilon Q)_+ / ((1 + e^epsilon)(P + Q)), and the same for x_i = 0 with P and Q
exchanged. The output has the law (P + Q)/2, so the mean of a is at most delta/(2 (1 + e^epsilon)), and of both
together at most delta/(1 + e^epsilon). Given the output, reveal the bits one after the other, by uniform numbers U_i
that are independent of it: guess i is right only if U_i <= p or p < U_i <= p + a_i. The guesses of the first kind are
at most a Binomial(r, p), those of the second kind have a mean of at most n delta/(1 + e^epsilon). If v are right,
either k or more are of the second kind (Markov's inequality), or v - k + 1 of the first. Several independent releases
go through in the same way, one after the other. QED.

A release has many (epsilon, delta): the best of them is taken. For each, the bound falls as v grows, so the least of
them is an honest p-value. It cannot be sharp for Gaussian losses: a release that gives everything away once in a
thousand times has a delta of 1/1000. Several independent releases are sharper, by Hoeffding's inequality (1963,
Theorem 1): the share of right guesses has a mean of at most (1 + total variation)/2 in each.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import bdtrc, expit

from dalenius.calculus.loss import Loss
from dalenius.core.arrays import Reals

DELTAS = (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)
SLACK = 1e-9
"""Relative error granted to a binomial tail, taken outward."""


@lru_cache(maxsize=64)
def _profile(loss: Loss) -> tuple[tuple[float, float], ...]:
    """Some (epsilon, delta) that hold, pure DP first where there is one."""
    pairs = [(loss.epsilon(delta), delta) for delta in (0.0, *DELTAS)]
    return tuple((epsilon, delta) for epsilon, delta in pairs if math.isfinite(epsilon))


def _tail(trials: int, p: float, least: Reals) -> Reals:
    """P(Binomial(trials, p) >= least)."""
    inside = (least > 0) & (least <= trials)
    tail: Reals = np.where(inside, bdtrc(np.where(inside, least, 1) - 1, trials, p) * (1 + SLACK), least <= 0)
    return tail


def chance_by_coins(loss: Loss, coins: int, made: int, right: int) -> float:
    """The theorem's bound on the probability of `right` or more right guesses out of `made`, of `coins` bits."""
    if right == 0:
        return 1.0
    k = np.unique(np.geomspace(1, right, 40).astype(np.int64)).astype(np.float64)
    best = 1.0
    for epsilon, delta in _profile(loss):
        binomial = _tail(made, min(1.0, float(expit(epsilon)) * (1 + 1e-15)), right - k + 1)
        best = min(best, float(np.min(binomial + coins * delta * float(expit(-epsilon)) / k)))
    return best


def chance_by_runs(loss: Loss, runs: int, share: float, whole: bool = False) -> float:
    """Of a mean as large as `share`, over independent releases, of numbers in [0, 1] that any attack expects.

    `whole`: the numbers are 0 or 1, right or wrong, and their sum is below a binomial one.
    """
    p = min(1.0, (1.0 + loss.total_variation()) / 2)
    if whole:
        return float(_tail(runs, p, np.array(round(share * runs), dtype=np.float64)))
    if share <= p or p >= 1.0:
        return 1.0
    rest = 0.0 if share >= 1.0 else (1.0 - share) * math.log((1.0 - share) / (1.0 - p))
    return min(1.0, math.exp(-runs * (share * math.log(share / p) + rest)) * (1 + SLACK))
