"""Amplification by secrecy of the sample, for pure and approximate DP."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalenius.calculus.theorems.duality import f_epsilon_delta
from dalenius.calculus.theorems.numerics import ULP, down, up
from dalenius.core import checks

__all__ = ["Amplified", "amplify_approx", "amplify_pure"]


@dataclass(frozen=True)
class Amplified:
    """What is known of a subsampled (epsilon, delta)-DP release: its profile at 0 and at one epsilon.

    Parameters
    ----------
    epsilon, delta
        Its usual guarantee.
    total_variation
        Its delta at epsilon 0, which the pair (epsilon, delta) alone would not give.

    Examples
    --------
    >>> import dalenius as dp
    >>> found = dp.theorems.Amplified(epsilon=0.5, delta=1e-6, total_variation=0.1)
    >>> found.profile(0.0)
    0.1
    """

    epsilon: float
    delta: float
    total_variation: float

    def profile(self, epsilon: float) -> float:
        """Delta at any epsilon >= 0, rounded up: linear in e^epsilon between the two known points.

        >>> amplified = amplify_approx(1.0, 0.0, 0.1)
        >>> round(amplified.profile(0.0), 7), amplified.profile(1.0)
        (0.0462117, 0.0)
        """
        epsilon = checks.nonnegative("epsilon", epsilon)
        if epsilon >= self.epsilon:
            return self.delta
        # (e^x - 1)/(e^y - 1) without overflow, rounded down as it is subtracted.
        ratio = math.expm1(-epsilon) / math.expm1(-self.epsilon)
        share = max(0.0, down(math.exp(epsilon - self.epsilon) * ratio, 8 + 2 * self.epsilon))
        return min(self.total_variation, up(self.total_variation * (1 - share) + self.delta * share, 8))

    def tradeoff(self, alpha: float) -> float:
        """A lower bound on the type II error of every test at level alpha, rounded down.

        max{f_(epsilon, delta)(alpha), 1 - total_variation - alpha}.

        >>> round(amplify_approx(1.0, 0.05, 0.3).tradeoff(0.2), 6)
        0.681903
        """
        alpha = checks.probability("alpha", alpha)
        line = 1 - self.total_variation - alpha - 2 * ULP
        return max(f_epsilon_delta(self.epsilon, self.delta)(alpha), line)


def amplify_pure(epsilon: float, rate: float) -> float:
    """Epsilon of an epsilon-DP release run on a secret sample, rounded up.

    Theorem: log(1 + rate (e^epsilon - 1)). ADD_REMOVE adjacency with Poisson sampling at `rate` (Awan 2025,
    Prop 11.1, Li, Qardaji and Su 2012), or REPLACE_ONE adjacency with a uniform subset of rate n records
    (Awan 2025, Cor 13.2; Balle, Barthe and Gaboardi 2018). The sample must stay secret. Exact: attained by
    randomized response.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    rate
        The share of records in a sample, in [0, 1].

    Returns
    -------
    float
        epsilon of the release on a sample.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(amplify_pure(1.0, 0.1), 7)
    0.1585651
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    rate = checks.probability("rate", rate)
    return amplified(epsilon, rate)


def amplify_approx(epsilon: float, delta: float, rate: float) -> Amplified:
    """What an (epsilon, delta)-DP release guarantees when run on a secret sample, rounded up.

    Theorem (Balle, Barthe and Gaboardi 2018; Awan 2025, Cor 13.2 with its slope -1 line corrected), for the
    same two pairs of sampling and adjacency as :func:`amplify_pure`: with p the rate, the release has
    epsilon' = log(1 - p + p e^epsilon), delta' = p delta, and total variation
    p (e^epsilon - 1 + 2 delta)/(e^epsilon + 1), and C_p(f_(epsilon, delta)) is exactly the maximum of
    f_(epsilon', delta') and the line 1 - total variation - alpha. The printed line,
    1 - p delta - p (e^epsilon - 1)/(e^epsilon + 1) - alpha, is lower for delta > 0: valid but not exact.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    delta
        The probability of failure, in [0, 1).
    rate
        The share of records in a sample, in [0, 1].

    Returns
    -------
    Amplified
        epsilon, delta and total variation of the release on a sample.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> amplified = amplify_approx(1.0, 0.05, 0.3)
    >>> round(amplified.epsilon, 7), round(amplified.delta, 7), round(amplified.total_variation, 7)
    (0.4157352, 0.015, 0.1467034)
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    delta = checks.failure_probability("delta", delta)
    rate = checks.probability("rate", rate)
    small = math.exp(-epsilon)
    variation = rate * (-math.expm1(-epsilon) + 2 * delta * small) / (1 + small)
    failed = up(rate * delta, 1) if 0 < rate < 1 and delta > 0 else rate * delta
    distance = min(1.0, up(variation, 16)) if variation > 0 else 0.0
    return Amplified(amplified(epsilon, rate), failed, max(distance, failed))


def amplified(epsilon: float, rate: float) -> float:
    """log(1 + rate (exp(epsilon) - 1)), rounded up, for epsilon from 0 to inf."""
    if rate == 0 or epsilon == 0:
        return 0.0
    if epsilon > 700:
        rest = math.log(rate + (1 - rate) * math.exp(-epsilon))  # not above 0
        return min(epsilon, epsilon + rest + 2 * ULP * (epsilon - rest))
    return min(epsilon, up(math.log1p(rate * math.expm1(epsilon))))
