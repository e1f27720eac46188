"""Randomizers whose reports support some answers: the true one with one chance, any other with another."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.intervals.binomial import binomial_limits
from dalenius.local.frequency_oracle import FrequencyOracle


class PureOracle(FrequencyOracle):
    """A pure protocol (Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency
    estimation", 2017).

    A report supports a person's answer with probability p, and each other answer with probability q. The number of
    reports that support an answer is a sum of independent coins, from which its share is (count / n - q)/(p - q), of
    variance (theta p (1 - p) + (1 - theta) q (1 - q)) / (n (p - q)^2) if theta of the people have it. Coins of people
    drawn at random from a population have the bias q + (p - q) theta, so that limits for a binomial chance are limits
    for theta (Clopper and Pearson 1934), at any number of people; and for the share among the people asked, as coins
    of different bias spread less than as many of their mean bias (Hoeffding 1956).

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.OptimizedUnaryEncoding(epsilon=1.0, k=10)
    >>> isinstance(m, dp.local.PureOracle), float(m.p), round(float(m.q), 6)
    (True, 0.5, 0.268941)
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that a report supports the true answer, exactly."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that a report supports a certain other answer, exactly."""

    @cached_property
    def _rates(self) -> tuple[float, float]:
        """q and p - q."""
        return float(self.q), max(float(self.p - self.q), 5e-324)

    @property
    def tally_size(self) -> int:
        return self.k

    def shares(self, tally: Ints, people: int) -> tuple[Reals, Reals]:
        q, gain = self._rates
        supported = tally / people
        return (supported - q) / gain, supported * (1 - supported) / (max(people - 1, 1) * gain**2)

    def limits(self, tally: Ints, people: int, alpha: float) -> Reals:
        q, gain = self._rates
        return np.asarray((binomial_limits(tally, people, alpha) - q) / gain)

    def noise_variance(self, share: float, people: int) -> float:
        theta = Fraction(checks.probability("share", share))
        n = checks.count("people", people, least=1)
        spread = theta * self.p * (1 - self.p) + (1 - theta) * self.q * (1 - self.q)
        return float(spread / (n * (self.p - self.q) ** 2))
