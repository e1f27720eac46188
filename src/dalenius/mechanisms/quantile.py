"""A median, or any other quantile, of values in a public interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support import selection_error
from dalenius.mechanisms._support.epsilon_calibration import scale_for
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.interval_mechanism import IntervalMechanism
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK, RankScores
from dalenius.mechanisms.mechanism import Neighbours

MAX_RECORDS = 1 << 31


@dataclass(frozen=True, kw_only=True)
class Quantile(IntervalMechanism):
    """The `level`-quantile of a column of numbers by the exponential mechanism (Smith 2011).

    `release(data)` takes one number per record, clamps it to the public `bounds` and rounds it to the nearest
    multiple of the public `granularity`; no records at all is a legal input. With n records, of which l are
    below the candidate t and m are at t or below, t has the score

        u(t) = - the distance of level * n from [l, m],

    0 where t is a level-quantile of the rounded data. (With m in place of [l, m], as it is usually printed, a
    hundred records with the same value would leave nothing to choose: [l, m] gives that value the score 0.)
    Released: a multiple of the granularity with probability proportional to exp(epsilon u(t) / (2 Delta)).

    Delta. Replacing a record moves l and m by at most 1: Delta = 1. Adding one moves l - level n, and m -
    level n, by 1 - level where it is counted and by -level where it is not: Delta = max(level, 1 - level),
    1/2 for a median, which is half the noise usually spent.

    Loss: `bounded_range(epsilon)`. The law is exact: scores are whole numbers of 2^-30 ranks (the level is
    taken to the nearest such part, distances beyond 2^23 ranks count as 2^23), the rest is as in
    `IntervalExponential`.

    Parameters
    ----------
    level
        Between 0 and 1, both excluded; 0.5 for a median.
    bounds
        (lowest, highest): what is public about the values.
    epsilon
        The privacy parameter; the release is epsilon-DP.
    granularity
        The spacing of the candidates; by default between 2^24 and 2^25 of them fill the interval.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> from dalenius.mechanisms import Quantile
    >>> median = Quantile(level=0.5, bounds=(0, 150), epsilon=1.0)
    >>> ages = [20, 30, 30, 30, 40] * 400
    >>> median.release(ages)
    30.0
    >>> round(median.accuracy(confidence=0.95), 1)  # ranks, whatever the data
    19.7
    """

    level: float = 0.5
    bounds: tuple[float, float]
    epsilon: float
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE
    _accuracy_options = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checked_level("level", self.level))
        super().__post_init__()
        _ = self.scale

    @property
    def sensitivity(self) -> float:
        """How far one record moves the score of a candidate, in ranks."""
        return _parts(self.level, self.adjacency) / UNITS_PER_RANK

    @property
    def scale(self) -> float:
        """What distances in ranks are divided by in the exponent."""
        return self._scale / UNITS_PER_RANK

    @cached_property
    def _scale(self) -> float:
        return scale_for(2.0 * _parts(self.level, self.adjacency), self.epsilon)

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
        return self.points.value(self._line(value).draw())

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
        return self.points.values(self._line(value).draws(checks.count("times", times)))

    def _line(self, value: Any) -> RankScores:
        places = np.sort(self.points.nearest(records(value)))
        target = len(places) * round(self.level * UNITS_PER_RANK)
        return RankScores(places, self.points.lowest, self.points.highest, target, self._scale)

    def accuracy(self, confidence: float = 0.95) -> float:
        """With this probability the answer is a quantile of the data at a rank off by at most this much.

        Whatever the data, which must be lying on the grid (elsewhere the rank is that of the rounded data).
        Attained when all records coincide (Awan 2025, Theorem 7.6 in finite form, for any ties).

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.

        Returns
        -------
        float
            The error of the rank.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        confidence = checks.confidence(confidence)
        return self.scale * selection_error.sure_gap("gumbel", confidence, self.points.count)

    @property
    def worst_pair(self) -> Neighbours:
        """Records that leave both ends of the interval equally far from the quantile, and one that tips it.

        Some at the lowest point and the rest at a cut: below the cut the rank is too low, above it too high.
        One more record (or the one that moves) at the highest point makes what is above the cut gain and what
        is below it lose; the cut is so high that what is above is unlikely. Turned round for levels below
        1/2.
        """
        adds = self.adjacency is ADD_REMOVE
        a = max(self.level, 1 - self.level)
        n = math.ceil(1 / (1 - a)) + (1 if adds else 2)
        low = max(0 if adds else 1, min(n - 1, round(n * (2 * a - 1))))
        odds = math.exp(-min(self.epsilon, 20.0) + (2 * n * a - low - n) / -self.scale) / 10
        width = max(1, round(odds / (1 + odds) * self.points.count))
        before = [0] * low + [max(1, self.points.count - 1 - width)] * (n - low)
        after = [*before[0 if adds else 1 :], self.points.count - 1]
        return Neighbours(self._places(before), self._places(after))

    def _places(self, steps: list[int]) -> Reals:
        units = np.array(steps, dtype=np.int64)
        ends = self.points.lowest, self.points.highest
        return self.points.values(ends[0] + units if self.level >= 0.5 else ends[1] - units)


def checked_level(name: str, level: object) -> float:
    """A number between 0 and 1, taken to the nearest multiple of 2^-30."""
    allowed = "a number between 0 and 1, both excluded"
    part = round(min(max(checks.number(name, level, allowed), 0.0), 1.0) * UNITS_PER_RANK)
    if not 0 < part < UNITS_PER_RANK:
        raise InvalidParameter(f"{name} is {level}; it must be {allowed}.")
    return part / UNITS_PER_RANK


def records(value: Any) -> Reals:
    """One number per record; there may be none."""
    data = reals("data", value, least=0)
    if len(data) >= MAX_RECORDS:
        raise InvalidParameter("data has 2^31 records or more; split them up.")
    return data


def _parts(level: float, adjacency: Adjacency) -> int:
    part = round(level * UNITS_PER_RANK)
    return max(part, UNITS_PER_RANK - part) if adjacency is ADD_REMOVE else UNITS_PER_RANK
