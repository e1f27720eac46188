"""A statistic of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.adaptive.statistics.statistic import Statistic
from dalenius.adaptive.user_function import asked, checked_function
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms._support.float_arrays import Reals
from dalenius.mechanisms.quantile import records


@dataclass(frozen=True, kw_only=True)
class Custom(Statistic[Reals]):
    """A statistic given by a function, and its sensitivity at distance k by another.

    What is promised rests on `sensitivity`: sensitivity(x, k) must be at least the most that `function` changes
    between neighbours, one of which is at most k records away from x, and sensitivity(x, k) <= sensitivity(x', k + 1)
    for neighbours x, x'. The maximum over all data sets at distance k has both properties. Values of `function` are
    clamped to the bounds, which never drives two of them apart; what is not a number counts as the lower bound, and a
    sensitivity that is not a number as the width of the bounds. Neither function may fail on any data; one that does
    ends the release with `FunctionFailed`, which says nothing else.

    Parameters
    ----------
    function
        From the numbers, one for each record, to the statistic.
    sensitivity
        From the numbers and a distance k to the sensitivity there.
    bounds
        (least, largest): the range of the statistic.
    pair
        Two neighbouring lists of numbers that an audit starts from.
    granularity
        The spacing of the answers; by default between 2^24 and 2^25 points fill the interval.
    adjacency
        The neighbouring relation that the sensitivity is stated for.

    Examples
    --------
    >>> import dalenius as dp
    >>> def largest(x):
    ...     return max(x, default=0.0)
    >>> def gap(x, k):  # numbers in [0, 1]: one more at 1, or the largest k + 1 taken away
    ...     top = sorted([0.0] * (k + 2) + list(x))[::-1]
    ...     return max(1 - top[k], top[0] - top[k + 1])
    >>> top = dp.adaptive.statistics.Custom(function=largest, sensitivity=gap, bounds=(0, 1), pair=([], [1.0]))
    >>> round(top.smooth_sensitivity([0.5, 0.75, 1.0], beta=1.0), 3)
    0.25
    """

    function: Callable[[Reals], float]
    sensitivity: Callable[[Reals, int], float]
    bounds: tuple[float, float]
    pair: tuple[Sequence[float], Sequence[float]]
    granularity: Any = None
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("function", "sensitivity"):
            checked_function(name, getattr(self, name))
        pair: Any = self.pair
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidParameter.of(
                "pair", f"pair is {pair!r}; it must be two neighbouring lists of numbers."
            )
        object.__setattr__(self, "pair", tuple(tuple(records(side).tolist()) for side in self.pair))

    @property
    def global_steps(self) -> float:
        return float(self.points.highest - self.points.lowest)

    def prepared(self, values: Any) -> Reals:
        return records(values)

    def exactly(self, data: Reals) -> Fraction:
        value = asked(lambda: float(self.function(data.copy())))
        steps = Fraction(value if math.isfinite(value) else self.bounds[0]) / self.points.granularity
        return min(max(steps, Fraction(self.points.lowest)), Fraction(self.points.highest))

    def at_distance(self, data: Reals, k: int) -> float:
        size = asked(lambda: float(self.sensitivity(data.copy(), k)))
        steps = size / float(self.points.granularity) * (1 + 2.0**-50)
        return steps if 0 <= steps <= self.global_steps else self.global_steps

    @property
    def worst_pair(self) -> Neighbours:
        return Neighbours(np.array(self.pair[0]), np.array(self.pair[1]))
