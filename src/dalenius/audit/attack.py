"""An attack that was measured: when it accuses, and how often it is right and wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from scipy.special import ndtri

from dalenius.audit.clopper_pearson import upper

LOG_SLACK = 1e-12
"""Taken off every logarithm of bounds, for the rounding of a few operations."""


@dataclass(frozen=True)
class Attack:
    """A test between two inputs: it accuses one of them whenever the output lies in its rejection set.

    Its type I error is the probability to accuse when the output is a release of the other input, its type II
    error the probability not to accuse when it should.

    Parameters
    ----------
    accuses
        Which input is accused, "first" or "second".
    when
        The rejection set, in words.
    alarms
        Accusations among `trials` releases of the other input.
    misses
        Releases of the accused input, out of `trials`, that were not accused.
    trials
        The number of releases of each input.
    failure
        The probability with which one of the two bounds may be wrong; half of it each.

    Examples
    --------
    >>> from dalenius.audit import Attack
    >>> attack = Attack('first', 'output >= 0', alarms=10, misses=20, trials=1000, failure=0.05)
    >>> 3.9 < attack.epsilon() < 4.0
    True
    """

    accuses: Literal["first", "second"]
    when: str
    alarms: int
    misses: int
    trials: int
    failure: float

    @cached_property
    def type_one(self) -> float:
        """Certified upper bound on the type I error."""
        return upper(self.alarms, self.trials, self.failure / 2)

    @cached_property
    def type_two(self) -> float:
        """Certified upper bound on the type II error."""
        return upper(self.misses, self.trials, self.failure / 2)

    def epsilon(self, delta: float = 0.0) -> float:
        """No (epsilon, delta)-DP release has errors this small unless epsilon is at least this.

        Power is at most e^epsilon (type I) + delta, and 1 - type I at most e^epsilon (type II) + delta: the
        definition for the rejection set and for its complement (Wasserman and Zhou 2010, Theorem 2.4; Kairouz, Oh
        and Viswanath 2015, Theorem 2.1). Both get weaker as the errors grow, so upper bounds on the errors do.

        Parameters
        ----------
        delta
            The delta.

        Returns
        -------
        float
            A certified lower bound.
        """
        return max(
            _log_odds(self.type_one, self.type_two, delta), _log_odds(self.type_two, self.type_one, delta)
        )

    def delta(self, epsilon: float) -> float:
        """No (epsilon, delta)-DP release has errors this small unless delta is at least this.

        Parameters
        ----------
        epsilon
            The epsilon.

        Returns
        -------
        float
            A certified lower bound.
        """
        factor = math.exp(min(epsilon, 700.0)) * (1 + LOG_SLACK)
        one, two = self.type_one, self.type_two
        return max(0.0, 1.0 - one - factor * two - 1e-15, 1.0 - two - factor * one - 1e-15)

    def gdp(self) -> float:
        """No mu-GDP release has errors this small unless mu is at least this.

        Returns
        -------
        float
            A certified lower bound.
        """
        return max(0.0, -float(ndtri(self.type_one)) - float(ndtri(self.type_two)) - LOG_SLACK)

    def __str__(self) -> str:
        return (
            f"accuse the {self.accuses} input when {self.when}: type I error at most {self.type_one:.3g}, "
            f"type II error at most {self.type_two:.3g}"
        )


def _log_odds(one: float, two: float, delta: float) -> float:
    power = 1.0 - two - delta
    return max(0.0, math.log(power) - math.log(one) - LOG_SLACK) if power > one else 0.0
