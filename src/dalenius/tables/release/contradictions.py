"""Whether noisy numbers that should add up can be about the same rows: a test that is hardly ever wrong if they are.

If a total and its parts are of the same rows, their gap is noise and nothing else: that of the total less that of all
parts, whose laws are public. So its chance to be as large as it is, or larger, is known: for Gaussian noise exactly,
for other noise by the bound of Chernoff ("A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the Sum
of Observations", 1952), which holds for any s > 0:

    P(|gap| >= g)  <=  2 exp(log E exp(s total noise) + parts * log E exp(s part noise) - s g).

Many gaps are looked at in two ways, each with half of the chance of a false alarm. The smallest chance of m is compared
with that chance over m (Bonferroni): one gap that is far too large. And the sum of -log chance over all of them, which
have noise of their own each, is compared with the sum of m standard exponential variables, which it is at most like
(Fisher, Statistical Methods for Research Workers, 4th edition, 1932): many gaps that are somewhat too large.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincc, log_ndtr

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import Law, Normal

FALSE_ALARM = 1e-9
"""The chance that numbers which are about the same rows are taken for a contradiction, at most."""

_TILTS = np.concatenate([np.geomspace(1e-6, 0.5, 150), 1 - np.geomspace(1e-6, 0.5, 50)])
"""Where Chernoff's bound is tried, in parts of the largest s: it holds wherever it is tried."""


def log_chances(gaps: Reals, parts: int, part: Law, total: Law) -> Reals:
    """For each gap between a total and so many parts: the logarithm of the chance of one as large, or a bound on it."""
    size = np.abs(np.asarray(gaps, dtype=float))
    if isinstance(part, Normal) and isinstance(total, Normal):
        spread = math.sqrt(parts * part.variance + total.variance)
        return np.asarray(np.minimum(math.log(2) + log_ndtr(-size / spread), 0.0))
    tilts = _TILTS * math.sqrt(2) / max(part.sigma, total.sigma)
    moments = parts * part.log_moment(tilts) + total.log_moment(tilts)
    least = np.zeros_like(size)
    for s, moment in zip(tilts, moments, strict=True):
        least = np.minimum(least, math.log(2) + moment - s * size)
    return np.asarray(least)


def contradict(chances: Reals, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether gaps with these (logarithms of) chances are more than noise; each has noise of its own."""
    many = np.size(chances)
    if not many:
        return False
    if float(np.min(chances)) < math.log(false_alarm / 2 / many):
        return True
    return bool(gammaincc(many, -float(np.sum(chances))) < false_alarm / 2)
