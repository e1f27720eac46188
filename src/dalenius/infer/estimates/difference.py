"""The difference of two means, of samples with nothing in common.

One record is in one of the two samples, so both are released at the full promise. Under replace-one a record stays in
its sample, and both sizes are public. Variances may differ.

The interval is put together from those of the two means (Zou and Donner 2008, "Construction of confidence limits about
effect measures"): of a - b, with limits (l, u) of a and (l', u') of b at the same level, the lower limit is
a - b - sqrt((a - l)^2 + (u' - b)^2), and the upper one likewise: exact for normal laws, and skewness is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals
from dalenius.infer.estimates.bounded import Bounded
from dalenius.infer.estimates.bounded_mean import BoundedMean, Column
from dalenius.infer.estimates.powers import Released
from dalenius.infer.inputs import column
from dalenius.infer.promise import checked_guarantee
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated, subtracted


@dataclass(frozen=True)
class MeanDifference:
    """Two means, each from its own rows."""

    guarantee: Guarantee
    bounds: Bounded
    adjacency: Adjacency = ADD_REMOVE

    @property
    def mean(self) -> BoundedMean:
        """Of either sample."""
        return BoundedMean(self.guarantee, self.bounds, self.adjacency)

    @property
    def loss(self) -> Loss:
        """What the release costs: that of one mean, as a record is in one sample only."""
        return self.mean.loss

    def estimate(self, x: Released, y: Released, alpha: float) -> Estimated:
        """Of mean(x) - mean(y), for every pair of data sets."""
        return subtracted(self.mean.estimate(x, alpha), self.mean.estimate(y, alpha))

    def release(self, x: object, y: object) -> Result:
        """One difference and the two means, with their intervals."""
        (first, one), (second, two) = column(x, "x"), column(y, "y")
        if one == two:
            one, two = f"{one} (first)", f"{two} (second)"
        return self.result(first, second, one, two)

    def result(self, first: Column, second: Column, one: str, two: str) -> Result:
        """The same, of rows in memory or in blocks."""
        noisy = self.mean.noisy([first]), self.mean.noisy([second])

        def columns(alpha: float) -> list[Reals]:
            a, b = self.mean.estimate(noisy[0], alpha), self.mean.estimate(noisy[1], alpha)
            return [np.concatenate(parts) for parts in zip(subtracted(a, b), a, b, strict=True)]

        estimate, error, _, _ = columns(0.05)
        sizes = [float(part.rows.values[0]) for part in noisy]
        kind = "released with noise" if self.adjacency is ADD_REMOVE else "public"
        notes = [
            f"Rows: {sizes[0]:.0f} and {sizes[1]:.0f} ({kind}).",
            self.bounds.note(self.adjacency),
        ]
        return Result(
            [f"{one} - {two}", one, two],
            estimate,
            loss=self.loss,
            method="difference of two means, unequal variances",
            limits=lambda alpha: np.column_stack(columns(alpha)[2:]),
            bse=error,
            notes=notes,
        )


def difference_of_means(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    bounds: Sequence[float],
    adjacency: Adjacency = ADD_REMOVE,
) -> Result:
    """The difference of the means of two populations, from a sample of each.

    Released is of either sample what `mean` releases with `bounds`. A record is in one of the samples, so that both
    together cost what one mean does; under REPLACE_ONE it stays there, and both numbers of rows are public.

    Parameters
    ----------
    x, y : arrays, series or frames of one column
        Two samples with no person in common. Missing values as for `mean`.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    bounds : pair of float
        (low, high) of both, from public knowledge. Values beyond are clamped.
    adjacency : Adjacency, optional
        ADD_REMOVE, where both sizes are private, or REPLACE_ONE, where they are public.

    Returns
    -------
    Result
        The difference, and both means.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> fit = dp.infer.difference_of_means(
    ...     np.linspace(0.2, 1, 4000), np.linspace(0, 0.8, 3000), dp.GDP(1.0), bounds=(0, 1)
    ... )
    >>> fit.names, bool(abs(fit.params[0] - 0.2) < 0.05)
    (('x - y', 'x', 'y'), True)
    """
    made = MeanDifference(checked_guarantee(guarantee), Bounded.of(bounds), checked_adjacency(adjacency))
    return made.release(x, y)
