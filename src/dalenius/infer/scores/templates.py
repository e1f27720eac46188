"""Location and scale from noisy counts: the bump that fits them best.

A noisy distribution function adds up the noise of all bins; a noisy maximum sees one. Least squares against the counts
that a law of known shape would give weighs every bin by what it can say, and empty ones by next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dalenius.core.arrays import Reals

FREEDOM = 4.0
"""The shape is Student's: between the normal law and heavy tails."""
RATIO = float(stats.t.ppf(0.75, FREEDOM) / stats.norm.ppf(0.75))
"""So that a scale is 1.4826 times the median absolute deviation, the standard deviation of normal values."""


def student(values: Reals) -> Reals:
    """The distribution function, for a scale of 1."""
    return np.asarray(stats.t.cdf(values * RATIO, FREEDOM))


@dataclass(frozen=True)
class Templates:
    """Shares of bins under laws that are tried, and how much each is held back, in standard deviations of noise."""

    shares: Reals
    reluctance: Reals

    @classmethod
    def of(cls, cumulated: Reals, reluctance: Reals) -> Templates:
        """From distribution functions at the edges, one law a row."""
        ends = np.column_stack([np.zeros(len(cumulated)), cumulated, np.ones(len(cumulated))])
        shares = np.diff(ends, axis=1)
        shares /= np.sqrt(np.einsum("ij,ij->i", shares, shares))[:, None]
        return cls(shares, reluctance)

    def best(self, counts: Reals, sd: float) -> int:
        """The law nearest to the counts in squared error, for any number of rows.

        The correlation of counts with a law has noise of standard deviation `sd`, for every law.
        """
        return int(np.argmax(self.shares @ counts - sd * self.reluctance))
