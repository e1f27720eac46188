"""When an answer may leave: at moments that the public plan fixes, and at no others.

Work on a question that begins at `start` ends at a moment that depends on the data. Its outcome is handed over at the
first boundary that is not before that moment,

    start + first,  start + 2 first,  start + 4 first,  ...

where `first` is a function of the public plan and the settings. Whoever waits sees the number k of the boundary and
nothing else of the duration.

The charge shows as well, in what is left of the budget. It comes before a row is read, but after the data were opened,
which takes longer the more there is of them. So it is made at moments of its own, a quarter of the way from each
boundary (at first the start) to the next, the first by which the data are open; whoever watches sees its number j <= k.

What j and k may tell. Work is given up after `limit` seconds, at or before boundary K = ceil(log2(limit / first)), and
what became of it is found out by the one after. So k is one of n = K + 2 numbers 0, ..., K + 1. What was charged has
an answer or none, n (n + 1) things with j; what was refused was not charged, n things: m = n (n + 2) in all. A channel
with m outputs multiplies the chance of guessing anything right, in one try, by m at most: for every prior p and
channel C, the sum over outputs y of max over secrets x of p(x) C(y | x) is at most m max p(x). That is log2(m) bits,
for each question. It is no differential privacy: the budget does not cover it. Where `first` is longer than the work
takes on every table that may be there, and its quarter longer than the data take to be opened, j and k are 0 always
and nothing is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalenius.core import checks
from dalenius.errors import InvalidParameter

GROWTH = 2
"""Each boundary is so many times as far from the start as the one before."""
CHARGED = 0.25
"""The part of the way to the next boundary after which a charge is made."""


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
    (2.0, 16.0, 1, 6, 63)
    >>> slots.charge(0.1), slots.charge(0.6)
    (0.5, 2.5)
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
        """The k-th boundary. After the last they come evenly: only a clock that was set (by a year?) is so late."""
        return self.first * float(GROWTH ** min(k, self.last)) * max(1, k - self.last + 1)

    def index(self, after: float) -> int:
        """The first boundary that is not before this moment."""
        k = self._doublings(after)
        if k > self.last:
            k = max(self.last, self.last + math.ceil(after / self.boundary(self.last)) - 2)
        while self.boundary(k) < after:  # what is above is rounded, the comparison is not
            k += 1
        return k

    def _doublings(self, after: float) -> int:
        return max(0, math.ceil(math.log(max(after, self.first) / self.first, GROWTH)) - 1)

    def charge(self, after: float) -> float:
        """The first moment for a charge that is not before this one."""
        k = self.index(after)
        while self._charge(k) < after:
            k += 1
        return self._charge(k)

    def _charge(self, k: int) -> float:
        before = self.boundary(k - 1) if k else 0.0
        return before + CHARGED * (self.boundary(k) - before)

    @property
    def last(self) -> int:
        """The last boundary: the one after that which is not before the limit."""
        k = self._doublings(self.limit)
        while self.first * float(GROWTH**k) < self.limit:
            k += 1
        return k + 1

    @property
    def outcomes(self) -> int:
        """How many things can be seen of one question: at which boundary it left; and that it was refused, or when it
        was charged and whether it has an answer."""
        boundaries = self.last + 1
        return boundaries * (boundaries + 2)


def on_the_tick(moment: float, tick: float) -> float:
    """The moment, moved up to the next multiple of a tick: how busy the machine was shows in ticks only."""
    return math.ceil(moment / tick) * tick
