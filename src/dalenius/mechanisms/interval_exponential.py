"""The exponential mechanism on an interval, for scores that are constant on pieces of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.epsilon_calibration import scale_for
from dalenius.mechanisms._support.float_arrays import reals
from dalenius.mechanisms._support.interval_mechanism import IntervalMechanism
from dalenius.mechanisms._support.piecewise_draws import PiecewiseScores
from dalenius.mechanisms._support.selection import checked_monotone
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class IntervalExponential(IntervalMechanism):
    """Draws t from a public interval with density proportional to exp(epsilon u(t) / (2 sensitivity)).

    u is constant on pieces: `release((breaks, scores))` with breaks b_1 <= ... <= b_m in the interval and m +
    1 scores, the first up to b_1, the last from b_m on. Breaks and scores may both depend on the data;
    `sensitivity` bounds the change of u at any t. `monotone=True`, for add/remove neighbours that move u at
    no two points in opposite directions, drops the factor 2.

    Released: one of the multiples of `granularity` within `bounds`, as the nearest double. On these the law
    is exact: u is taken at the candidate t plus half a step (breaks are rounded to the nearest candidate),
    the piece is chosen with Gumbel noise plus the log of its number of candidates and the draws refined until
    the winner is certain, and the candidate within the piece is a uniform integer. What is approximated is
    the interval, by its points: 2^24 or more of them unless you say otherwise. Never a density sampled in
    floating point.

    Loss: `bounded_range(epsilon)`, as for `Exponential` (McSherry and Talwar 2007, Theorem 6, with
    a uniform base measure).

    Parameters
    ----------
    bounds
        (lowest, highest): what is public about the values.
    sensitivity
        The most that one record changes u at any point.
    epsilon
        The privacy parameter; the release is epsilon-DP.
    granularity
        The spacing of the candidates; by default between 2^24 and 2^25 of them fill the interval.
    monotone
        Whether a record moves no two scores in opposite directions (ADD_REMOVE only).
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> from dalenius.mechanisms import IntervalExponential
    >>> m = IntervalExponential(bounds=(0, 10), sensitivity=1, epsilon=1.0)
    >>> 2 <= m.release(([2.0, 3.0], [0.0, 500.0, 0.0])) <= 3
    True
    """

    bounds: tuple[float, float]
    sensitivity: float
    epsilon: float
    granularity: Any = None
    monotone: bool = False
    adjacency: Adjacency = ADD_REMOVE
    _accuracy_options = ("width",)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        super().__post_init__()
        set_(self, "monotone", checked_monotone(self.monotone, self.adjacency))
        _ = self.scale

    @property
    def scale(self) -> float:
        """What scores are divided by in the exponent, rounded up."""
        return scale_for(self.sensitivity * (1 if self.monotone else 2), self.epsilon)

    def release(self, value: Any) -> float:
        """One point of the interval.

        Parameters
        ----------
        value
            The pair (breaks, scores): increasing numbers, and one score more than there are breaks.

        Returns
        -------
        float
            A point of the interval.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described.
        """
        return self.points.value(self._pieces(value).draw(self.scale))

    def releases(self, value: Any, times: int) -> Any:
        """`times` independent points: together they cost `loss * times`.

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
        return self.points.values(self._pieces(value).draws(self.scale, checks.count("times", times)))

    def _pieces(self, value: Any) -> PiecewiseScores:
        if not isinstance(value, tuple) or len(value) != 2:
            raise InvalidParameter("release takes one pair: (breaks, scores).")
        breaks, scores = reals("breaks", value[0], least=0), reals("scores", value[1])
        if len(scores) != len(breaks) + 1:
            raise InvalidParameter(
                f"there are {len(breaks)} breaks and {len(scores)} scores; give one score more than breaks."
            )
        if (np.diff(breaks) < 0).any():
            raise InvalidParameter("the breaks are not in increasing order; sort them, with their scores.")
        inside = self.points.starts(breaks)
        starts = np.concatenate(([self.points.lowest], inside)).astype(np.int64)
        stops = np.concatenate((inside, [self.points.highest + 1])).astype(np.int64)
        return PiecewiseScores(starts, stops - starts, scores)

    def accuracy(self, confidence: float = 0.95, width: float | None = None) -> float:
        """With this probability the score of the point drawn is within this much of the best one.

        Exact for the worst u (Awan 2025, Theorem 7.2, without the slack of its last step).

        Parameters
        ----------
        confidence
            The probability, strictly between 0 and 1.
        width
            How much of the interval has the best score, if something is known of that; by default one candidate.

        Returns
        -------
        float
            The gap between the best score and that of the point drawn.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        confidence = checks.confidence(confidence)
        best = 1 if width is None else self._best(width)
        odds = math.log(self.points.count / best - 1) if self.points.count > best else -math.inf
        gap = odds + math.log(confidence) - math.log1p(-confidence)
        return max(0.0, self.scale * (gap + 1e-14 * (1 + abs(gap)))) if gap > -math.inf else 0.0

    def _best(self, width: object) -> int:
        length = Fraction(checks.positive("width", width))
        return max(1, min(self.points.count, math.floor(length / self.points.granularity)))

    @property
    def worst_pair(self) -> Neighbours:
        """An unlikely half of the interval before and after one record speaks for it."""
        middle = [self.bounds[0] + (self.bounds[1] - self.bounds[0]) / 2]
        rival = self.scale * (self.epsilon + math.log(10.0))
        fall = 0.0 if self.monotone else self.sensitivity
        return Neighbours((middle, [0.0, rival]), (middle, [self.sensitivity, rival - fall]))
