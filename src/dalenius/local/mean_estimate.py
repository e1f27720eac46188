"""What is known of a mean when people have reported."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.local.mean_randomizer import MeanRandomizer


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """A mean from reports that people made private alone: unbiased, with intervals. All of it may be published.

    Parameters
    ----------
    mechanism
        The randomizer that all people used.
    decoded
        An unbiased estimate of each person's number.
    paid
        What one report cost, where that is not the mechanism's loss.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.Piecewise(epsilon=2.0, bounds=(0, 10))
    >>> mean = m.mean(m.release(np.full(10_000, 3.0)))
    >>> bool(abs(mean.estimate - 3.0) < 6 * mean.standard_error)
    True
    """

    mechanism: MeanRandomizer
    decoded: Reals = field(repr=False)
    paid: Loss | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.decoded) < 2:
            raise InvalidParameter.of("reports", "there is 1 report; a standard error needs at least 2.")

    @property
    def people(self) -> int:
        """The number of people who reported."""
        return len(self.decoded)

    @property
    def estimate(self) -> float:
        """The mean; it may lie outside the bounds."""
        return float(self.decoded.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean, with the noise of reports and the sampling of people."""
        return float(self.decoded.std(ddof=1)) / math.sqrt(self.people)

    @property
    def loss(self) -> Loss:
        """What one report costs the person who sends it."""
        return self.mechanism.loss if self.paid is None else self.paid

    def conf_int(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the mean of the population, within the bounds.

        Exact at any number of people for reports of one bit; Student's for others.

        Parameters
        ----------
        confidence
            The probability with which it holds the mean.

        Returns
        -------
        (float, float)
            The limits.

        Raises
        ------
        InvalidParameter
            If the confidence is not strictly between 0 and 1.
        """
        alpha = 1 - checks.confidence(confidence)
        limits = self.mechanism.limits(self.decoded, alpha)
        if limits is None:
            away = float(stdtrit(self.people - 1, 1 - alpha / 2)) * self.standard_error
            limits = self.estimate - away, self.estimate + away
        low, high = self.mechanism.bounds
        return min(max(limits[0], low), high), max(min(limits[1], high), low)
