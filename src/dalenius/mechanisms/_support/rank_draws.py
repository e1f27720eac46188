"""A place in a line of records, drawn by how far its rank is from the one looked for.

Records sit at whole-numbered places first..last, sorted. With l of them before place t and m up to and
including it, t has the score minus the distance of the target from [l, m]: 0 where t is the quantile looked
for. Ranks are counted in 2^-30 parts, in integers, so that scores are doubles exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.mechanisms._support.piecewise_draws import PiecewiseScores
from dalenius.noise import bernoulli_exp

UNITS_PER_RANK = 1 << 30
"""Ranks are counted in this fraction of 1, and a level is rounded to it."""
MAX_DISTANCE = 1 << 53
"""Ranks further from the target than 2^23 count as that far: 1-Lipschitz, and doubles hold it exactly."""
WINDOW = 60.0
"""Records within this many scales of the target are treated one by one, the others only if they are drawn."""


@dataclass(frozen=True)
class RankScores:
    """Sorted records, the rank looked for in parts, and the scale of the exponent in parts."""

    places: Ints
    first: int
    last: int
    target: int
    scale: float

    def draw(self) -> int:
        """A place with probability proportional to exp(score / scale), exactly.

        Places far from the target are lumped together on either side, with the score of the nearest of them.
        When such a lump wins, one of its places is proposed and kept with probability
        exp((its score - the lump's) / scale); otherwise everything is drawn anew. That is rejection sampling:
        the law does not depend on what was lumped.
        """
        while True:
            place = self._pieces.draw(self.scale)
            if self._kept(place):
                return place

    def draws(self, times: int) -> Ints:
        """`times` independent places."""
        places = self._pieces.draws(self.scale, times)
        low, high = self._near
        for i in np.flatnonzero((places < low) | (places > high)):
            if not self._kept(int(places[i])):
                places[i] = self.draw()
        return places

    @cached_property
    def _window(self) -> tuple[int, int]:
        """The records looked at one by one, whole groups of equals: from the one, up to before the other."""
        n = len(self.places)
        reach = 2 + math.ceil(WINDOW * self.scale / UNITS_PER_RANK)
        start, stop = (
            max(0, self.target // UNITS_PER_RANK - reach),
            min(n, self.target // UNITS_PER_RANK + reach),
        )
        if start > 0:
            start = int(np.searchsorted(self.places, self.places[start], side="left"))
        if stop < n:
            stop = int(np.searchsorted(self.places, self.places[stop - 1], side="right"))
        return start, stop

    @cached_property
    def _near(self) -> tuple[int, int]:
        """The places between the lumps."""
        start, stop = self._window
        low = int(self.places[start]) if start > 0 else self.first
        return low, int(self.places[stop - 1]) if stop < len(self.places) else self.last

    @cached_property
    def _pieces(self) -> PiecewiseScores:
        start, stop = self._window
        near = self.places[start:stop]
        ends = np.flatnonzero(np.concatenate((near[1:] != near[:-1], [True]))[: len(near)])
        taken, upto = near[ends], np.concatenate(([start], start + ends + 1)).astype(np.int64)
        edges = np.concatenate(([self.first - 1], taken, [self.last + 1])).astype(np.int64)
        return PiecewiseScores(
            np.concatenate((taken, edges[:-1] + 1)),
            np.concatenate((np.ones_like(taken), np.diff(edges) - 1)),
            np.concatenate((self._scores(upto[:-1], upto[1:]), self._scores(upto, upto))),
        )

    def _kept(self, place: int) -> bool:
        low, high = self._near
        if low <= place <= high:
            return True
        edge = self._window[0] if place < low else self._window[1]
        below, upto = (int(np.searchsorted(self.places, place, side=side)) for side in ("left", "right"))
        here, there = self._scores(np.array([edge, below]), np.array([edge, upto])).tolist()
        return bool(bernoulli_exp(Fraction(here - there) / Fraction(self.scale)))

    def _scores(self, below: Ints, upto: Ints) -> Reals:
        distance = np.maximum(
            np.maximum(below * UNITS_PER_RANK - self.target, self.target - upto * UNITS_PER_RANK), 0
        )
        return -np.minimum(distance, MAX_DISTANCE).astype(np.float64)
