"""Exact confidence bounds on a probability, from a count (Clopper and Pearson 1934)."""

from __future__ import annotations

import math

from scipy.special import betainccinv

from dalenius.core import checks

SLACK = 1e-9
"""Relative error granted to the inverse beta function, whose own is below 1e-11; taken outward."""


def upper(hits: int, trials: int, failure: float) -> float:
    """A bound that lies below the probability of a hit with probability at most `failure`.

    It is the p at which Binomial(trials, p) gives `hits` or fewer with probability `failure`. Whatever the
    true p0 is, the bound falls below it only when the count is one of those k with
    P(Binomial(trials, p0) <= k) < failure, and all of them together have probability below `failure`.
    """
    if hits >= trials:
        return 1.0
    if hits == 0:
        bound = -math.expm1(math.log(failure) / trials)
    else:
        bound = float(betainccinv(hits + 1, trials - hits, failure))
    return min(1.0, bound * (1.0 + SLACK))


def interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Ends between which the probability of a hit lies, with probability at least `confidence`."""
    failure = (1.0 - checks.confidence(confidence)) / 2
    return 1.0 - upper(trials - hits, trials, failure), upper(hits, trials, failure)
