"""What is known of shares when people have reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.local.consistency import base_cut, norm_mul, simplex

if TYPE_CHECKING:
    from dalenius.local.frequency_oracle import FrequencyOracle

SHOWN = 10
"""Answers that a printout shows."""


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Shares of each answer, from reports that people made private alone: estimates, variances, intervals.

    All of it is post-processing of reports, and may be published. Estimates are unbiased and may lie outside [0, 1]:
    `consistent` makes them a distribution, which biases them. Intervals are always of the raw counts.

    Parameters
    ----------
    mechanism
        The randomizer that all people used.
    tally
        What it counts in reports, added up.
    people
        The number of people who reported.
    categories
        What the answers 0 .. k - 1 stand for; themselves if left out.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.RandomizedResponse(epsilon=2.0, k=3)
    >>> told = m.release(np.repeat([0, 1, 2], [6000, 3000, 1000]))
    >>> shares = m.frequencies(told)
    >>> shares.conf_int(0.95, simultaneous=True).shape
    (3, 2)
    >>> bool(abs(shares.consistent().sum() - 1) < 1e-9)
    True
    """

    mechanism: FrequencyOracle
    tally: Ints = field(repr=False)
    people: int
    categories: Sequence[Any] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        m, people = self.mechanism, checks.count("people", self.people, least=1)
        try:
            tally = np.asarray(self.tally, dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter.of("tally", "tally must hold whole numbers.") from None
        if tally.shape != (m.tally_size,) or tally.min() < 0 or tally.max() > people:
            raise InvalidParameter.of(
                "tally", f"tally must have {m.tally_size} counts from 0 to {people}, the number of people."
            )
        categories = tuple(self.categories) or tuple(range(m.k))
        if len(categories) != m.k:
            raise InvalidParameter.of(
                "categories", f"categories has {len(categories)} entries; the mechanism has {m.k} answers."
            )
        for name, value in (("tally", tally), ("people", people), ("categories", categories)):
            object.__setattr__(self, name, value)

    @cached_property
    def _shares(self) -> tuple[Reals, Reals]:
        return self.mechanism.shares(self.tally, self.people)

    @property
    def estimate(self) -> Reals:
        """Unbiased shares; some may be below 0 or above 1."""
        return self._shares[0]

    @property
    def variance(self) -> Reals:
        """Unbiased variances of the estimates, for people drawn from a population."""
        return self._shares[1]

    @property
    def counts(self) -> Reals:
        """How many people give each answer: shares times people."""
        return self.estimate * self.people

    @property
    def loss(self) -> Loss:
        """What one report costs the person who sends it."""
        return self.mechanism.loss

    def conf_int(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Reals:
        """Intervals for the shares in the population, and among the people asked.

        They are exact at any number of people, small ones included, and hold the randomness of reports and sampling.

        Parameters
        ----------
        confidence
            The probability with which an interval holds the share.
        simultaneous
            Whether all are to hold at once with that probability (Bonferroni; with two answers, one says both).

        Returns
        -------
        ndarray
            Lower and upper limits (k x 2), within [0, 1].

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        alpha = 1 - checks.confidence(confidence)
        tests = self.mechanism.k if checks.flag("simultaneous", simultaneous) and self.mechanism.k > 2 else 1
        return np.clip(self.mechanism.limits(self.tally, self.people, alpha / tests), 0.0, 1.0)

    def consistent(self, method: str = "simplex", *, failure: float = 0.05) -> Reals:
        """Shares that look like shares. They are biased: use `conf_int` for intervals, which knows nothing of them.

        "simplex" is the distribution nearest to the estimates, and the same as "norm-sub", which takes one number off
        all that stay above 0 (Wang et al. 2020). Its squared error is never larger than that of the estimates.
        "norm-mul" makes negative shares 0 and scales the others down. "base-cut" keeps estimates that stand out of the
        noise and makes all others 0; they need not add up to 1.

        Parameters
        ----------
        method
            "simplex", "norm-sub", "norm-mul" or "base-cut".
        failure
            For "base-cut": the probability that an answer which nobody gave stays, among all of them.

        Returns
        -------
        ndarray
            One share for each answer, none negative.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        method = checks.one_of("method", method, "simplex", "norm-sub", "norm-mul", "base-cut")
        if method == "base-cut":
            sd = self.mechanism.noise_variance(0.0, self.people) ** 0.5
            return base_cut(self.estimate, sd, checks.open_probability("failure", failure))
        return norm_mul(self.estimate) if method == "norm-mul" else simplex(self.estimate)

    def __str__(self) -> str:
        low, high = self.conf_int().T
        order = np.argsort(-self.estimate, kind="stable")[:SHOWN]
        width = max(len(str(self.categories[j])) for j in order)
        lines = [f"{self.people} people, epsilon {self.mechanism.epsilon:g} each"]
        lines += [
            f"{self.categories[j]!s:<{width}}  {self.estimate[j]:8.4f}  [{low[j]:.4f}, {high[j]:.4f}]"
            for j in order
        ]
        if self.mechanism.k > SHOWN:
            lines.append(f"... and {self.mechanism.k - SHOWN} less common ones")
        return "\n".join(lines)
