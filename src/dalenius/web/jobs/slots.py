"""When an answer may leave: at moments that the public plan fixes, and at no others.

Work on a question that begins at `start` ends at a moment that depends on the data. Its outcome is handed over at the
first boundary that is not before that moment,

    start + first,  start + 2 first,  start + 4 first,  ...

where `first` is a function of the public plan and the settings. Whoever waits sees the number k of the boundary and
nothing else of the duration.

What k may tell. Work is given up after `limit` seconds, at or before boundary K = ceil(log2(limit / first)), and what
became of it is found out by the one after. So k is one of 0, ..., K + 1, and with the outcome (an answer, or none)
there are at most m = 2 (K + 2) things to see. A channel with m outputs multiplies the chance of guessing anything
right, in one try, by m at most: for every prior p and channel C, the sum over outputs y of max over secrets x of
p(x) C(y | x) is at most m max p(x). That is log2(m) bits, for each question. It is no differential privacy: the budget
does not cover it. Where `first` is longer than the work takes on every table that may be there, k is 0 always and
nothing is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalenius.core import checks
from dalenius.errors import InvalidParameter

GROWTH = 2
"""Each boundary is so many times as far from the start as the one before."""


@dataclass(frozen=True)
class Slots:
    """The boundaries of one question, in seconds after its start.

    Parameters
    ----------
    first
        The first boundary: longer than the work takes, as far as can be known from public facts.
    limit
        When work is given up.

    Examples
    --------
    >>> slots = Slots(first=2.0, limit=60.0)
    >>> slots.boundary(0), slots.boundary(3), slots.index(2.5), slots.last, slots.outcomes
    (2.0, 16.0, 1, 6, 14)
    """

    first: float
    limit: float

    def __post_init__(self) -> None:
        checks.positive("first", self.first)
        checks.positive("limit", self.limit)
        if self.limit < self.first:
            raise InvalidParameter(
                f"work is given up after {self.limit:g} seconds, and its first slot is {self.first:g} seconds long; "
                "raise the limit."
            )

    def boundary(self, k: int) -> float:
        """The k-th boundary."""
        return self.first * float(GROWTH**k)

    def index(self, after: float) -> int:
        """The first boundary that is not before this moment."""
        k = max(0, math.ceil(math.log(max(after, self.first) / self.first, GROWTH)) - 1)
        while self.boundary(k) < after:  # the logarithm is rounded, the comparison is not
            k += 1
        return k

    @property
    def last(self) -> int:
        """The last boundary: the one after that which is not before the limit."""
        return self.index(self.limit) + 1

    @property
    def outcomes(self) -> int:
        """How many things can be seen of one question: an answer or none, at one of the boundaries."""
        return 2 * (self.last + 1)


def on_the_tick(moment: float, tick: float) -> float:
    """The moment, moved up to the next multiple of a tick: how busy the machine was shows in ticks only."""
    return math.ceil(moment / tick) * tick
