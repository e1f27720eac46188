"""The inverse sensitivity mechanism for a median or another quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms import Quantile as ExponentialQuantile
from dalenius.mechanisms._support import selection_error
from dalenius.mechanisms._support.epsilon_calibration import scale_for
from dalenius.mechanisms._support.interval_mechanism import IntervalMechanism
from dalenius.mechanisms._support.piecewise_draws import PiecewiseScores
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK
from dalenius.mechanisms.quantile import checked_level, records


@dataclass(frozen=True, kw_only=True)
class InverseSensitivity(IntervalMechanism):
    """The `level`-quantile by how many records would have to change for an answer to be right (Asi and Duchi 2020).

    `release(data)` takes one number per record, clamps it to the public `bounds` and rounds it to the nearest multiple
    of the public `granularity`; no records at all is a legal input. With l records below t, m at t or below and n in
    all, t is a level-quantile where l <= level n <= m. One step to a neighbour moves l - level n and level n - m by at
    most 1 under REPLACE_ONE and by at most g = max(level, 1 - level) under ADD_REMOVE, so that it takes

        len(t) = the distance of level n from [l, m] over 1, or over g, rounded up

    steps until t is a quantile (one more, at times, under ADD_REMOVE with level != 1/2, where a step may go past).
    Released: a multiple of the granularity with probability proportional to

        exp(-epsilon/2 min over |s - t| <= radius of len(s)).

    Between neighbours len changes by at most 1, so this is epsilon-DP, with the loss `bounded_range(epsilon)`. With
    radius 0 it differs from `dp.mechanisms.Quantile`, the exponential mechanism that is also the K-norm gradient
    mechanism, in the rounding up alone. A radius about as large as the error that does not matter helps where records
    are few and no two are alike.

    Parameters
    ----------
    level
        Between 0 and 1, both excluded; 0.5 for a median.
    bounds
        (lowest, highest): what is public about the values.
    epsilon
        The privacy parameter; the release is epsilon-DP.
    radius
        How far from a candidate a quantile may be to count as there.
    granularity
        The spacing of the candidates; by default between 2^24 and 2^25 of them fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.InverseSensitivity(bounds=(0, 150), epsilon=1.0)
    >>> ages = [20, 30, 30, 30, 40] * 400
    >>> median.release(ages)
    30.0
    """

    level: float = 0.5
    bounds: tuple[float, float]
    epsilon: float
    radius: float = 0.0
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE
    _accuracy_options = ()

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "level", checked_level("level", self.level))
        set_(self, "radius", checks.nonnegative("radius", self.radius))
        super().__post_init__()
        _ = self.scale

    @property
    def scale(self) -> float:
        """What numbers of records are divided by in the exponent."""
        return scale_for(2.0, self.epsilon)

    def release(self, value: Any) -> float:
        """One private quantile.

        Parameters
        ----------
        value
            One number for each record; there may be none.

        Returns
        -------
        float
            A multiple of the granularity.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return self.points.value(self.pieces(value).draw(self.scale))

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent ones: together they cost `loss * times`.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        ndarray
            The releases, along the first axis.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return self.points.values(self.pieces(value).draws(self.scale, checks.count("times", times)))

    def pieces(self, value: Any) -> PiecewiseScores:
        """The candidates in runs that share a score, the number of records with a minus sign."""
        places = np.sort(self.points.nearest(records(value)))
        n, part = len(places), round(self.level * UNITS_PER_RANK)
        target = n * part  # ranks are counted in parts, in whole numbers
        step = max(part, UNITS_PER_RANK - part) if self.adjacency is ADD_REMOVE else UNITS_PER_RANK
        # Quantiles are the candidates from the record of rank `below` to that of rank `above`.
        below, above = -(-target // UNITS_PER_RANK), target // UNITS_PER_RANK + 1
        radius = min(math.floor(Fraction(self.radius) / self.points.granularity), self.points.count)
        left = np.clip(places[:below] - radius, self.points.lowest, self.points.highest + 1)
        right = np.clip(places[above - 1 :] + radius + 1, self.points.lowest, self.points.highest + 1)
        starts = np.concatenate(([self.points.lowest], left, right)).astype(np.int64)
        stops = np.concatenate((starts[1:], [self.points.highest + 1])).astype(np.int64)
        fewer, more = (
            np.arange(below) * UNITS_PER_RANK - target,
            target - np.arange(above, n + 1) * UNITS_PER_RANK,
        )
        scores = np.concatenate((fewer // step, [0], more // step))
        return PiecewiseScores(starts, stops - starts, scores.astype(np.float64))

    def accuracy(self, confidence: float = 0.95) -> float:
        """With this probability the answer is right, or as near as `radius`, for data at most so many records away.

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.

        Returns
        -------
        float
            The number of records, whatever the data.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        return self.scale * selection_error.sure_gap(
            "gumbel", checks.confidence(confidence), self.points.count
        )

    @property
    def worst_pair(self) -> Neighbours:
        """That of the exponential mechanism."""
        return ExponentialQuantile(
            level=self.level,
            bounds=self.bounds,
            epsilon=self.epsilon,
            granularity=self.granularity,
            adjacency=self.adjacency,
        ).worst_pair
