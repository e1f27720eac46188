"""The mean of a population, bounded or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.bounded_mean import BoundedMean, Column
from dalenius.infer.estimates.clipped_mean import ClippedMean, Moment
from dalenius.infer.estimates.found_bounds import FoundBounds
from dalenius.infer.estimates.single import single
from dalenius.infer.estimates.stream import half_step
from dalenius.infer.inputs import column
from dalenius.infer.promise import checked_guarantee, part
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated

FINDING = 0.2
"""The share of the budget that finds bounds."""


@dataclass(frozen=True)
class UnboundedMean:
    """Finds bounds, then a mean between them: it is the mean of clamped values that is estimated, and called so."""

    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE

    @property
    def _finder(self) -> FoundBounds:
        return FoundBounds(part(self.guarantee, FINDING), self.adjacency)

    def _mean(self, bounds: Bounded) -> BoundedMean:
        return BoundedMean(part(self.guarantee, 1 - FINDING), bounds, self.adjacency)

    @property
    def loss(self) -> Loss:
        """What the release costs, whatever the bounds."""
        return self._finder.loss + self._mean(Bounded(-1.0, 1.0)).loss

    def release(self, x: object) -> Result:
        """One mean, with its interval."""
        return self.result(*column(x))

    def result(self, values: Column, name: str) -> Result:
        """The same, of rows in memory or in blocks."""
        bounds = self._finder.release(values)
        method = "mean between bounds that were found privately"
        if bounds is None:
            why = "noise hides the magnitude of all values; declare bounds=(low, high), or spend more."
            return Result([name], [np.nan], loss=self.loss, method=method, reason=why)
        mean = self._mean(bounds)
        notes = [
            f"The estimand is the mean of values clamped to [{bounds.low:g}, {bounds.high:g}]. No interval for the "
            "mean itself exists without a public fact: declare bounds, or a location and a bound on a moment.",
        ]
        clamped = f"{name}, clamped to [{bounds.low:g}, {bounds.high:g}]"
        noisy, moved = mean.noisy([values]), half_step(values)

        def estimate(alpha: float) -> Estimated:
            best, error, low, high = mean.estimate(noisy, alpha)
            return best, error, low - moved, high + moved

        return single(estimate, clamped, self.loss, method, noisy.rows, notes)


def chosen(
    guarantee: object,
    bounds: object,
    location: object,
    moment: object,
    sd_at_most: object,
    adjacency: object,
) -> BoundedMean | ClippedMean | UnboundedMean:
    """The estimator that public facts allow."""
    promise, relation = checked_guarantee(guarantee), checked_adjacency(adjacency)
    if bounds is not None:
        if location is not None or moment is not None or sd_at_most is not None:
            raise InvalidParameter(
                "bounds say it all: leave location, moment and sd_at_most out, or the bounds."
            )
        return BoundedMean(promise, Bounded.of(bounds), relation)
    if moment is None and sd_at_most is None and location is None:
        return UnboundedMean(promise, relation)
    if location is None:
        raise InvalidParameter.of(
            "location",
            "give location=(low, high), where the mean can be at all, along with the bound on a moment.",
        )
    known, (low, high) = Moment.of(moment, sd_at_most), checks.interval("location", location)
    if not known.scale > 1e-6 * max(abs(low), abs(high), 1e-100):
        raise InvalidParameter.of(
            "location", "location is a million times the spread of the values: narrow it."
        )
    return ClippedMean(promise, (low, high), known, relation)


def mean(
    x: object,
    guarantee: Guarantee,
    *,
    bounds: Sequence[float] | None = None,
    location: Sequence[float] | None = None,
    moment: Sequence[float] | None = None,
    sd_at_most: float | None = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Result:
    """The mean of the population that rows were drawn from, with an interval for sampling and noise.

    What is public decides how. With `bounds` a count, a sum and a sum of squares are released, with Gaussian noise
    (Laplace noise for PureDP) for what one row moves all three by; under REPLACE_ONE the count is public. With a bound
    on a central moment and a `location` values are clipped where noise and bias are least, and the interval holds the
    bias, too. With nothing, bounds are found privately and the estimand is the mean of values clamped to them: for the
    mean itself no honest interval exists.

    Parameters
    ----------
    x : array, series or frame of one column
        One number a row. Missing and infinite values are left out under ADD_REMOVE, and count as the middle of the
        bounds under REPLACE_ONE.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    bounds : pair of float, optional
        (low, high), from public knowledge. Values beyond are clamped.
    location : pair of float, optional
        (low, high): where the mean can be at all.
    moment : pair of float, optional
        (k, M): E|X - mean|^k is at most M; k at least 2.
    sd_at_most : float, optional
        A bound on the standard deviation: moment=(2, sd_at_most**2).
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or public facts contradict one another.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> ages = np.linspace(20, 60, 5000)
    >>> fit = dp.infer.mean(ages, dp.GDP(1.0), bounds=(0, 120))
    >>> bool(abs(fit.params[0] - 40) < 2), fit.interval_available
    (True, True)
    """
    return chosen(guarantee, bounds, location, moment, sd_at_most, adjacency).release(x)
