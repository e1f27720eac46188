"""Margins of votes on a public scale of steps, so that what one teacher can do is a whole number of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.pate.consensus import flip, gnmax_renyi, least_margin, margin
from dalenius.adaptive.pate.gnmax import Counts, GNMax
from dalenius.calculus.pairs.pair import Reals

STEPS = 64
"""Of equal length, in a margin of 2 votes: as much as one teacher can change it."""
MOVE = STEPS + 1
"""Steps that one teacher can change the level of a query by; the last one is for rounding."""


@dataclass(frozen=True)
class Levels:
    """The level of a query is its margin above the least there is, in steps of 2/64 votes, rounded down.

    `renyi[i, k]` bounds the divergence, at the i-th order, of an answer to a query of level k or more, `flips[k]` the
    total variation. Both fall with k.
    """

    vote: GNMax
    orders: tuple[float, ...]

    def of(self, counts: Counts) -> NDArray[np.int64]:
        """The level of every query."""
        margins = np.minimum(margin(counts, self.vote.sigma), float(self.vote.teachers))
        return np.maximum(np.floor((margins - self._least) * (STEPS / 2)), 0.0).astype(np.int64)

    @cached_property
    def _least(self) -> float:
        return least_margin(self.vote.classes, self.vote.sigma)

    @cached_property
    def _margins(self) -> Reals:
        highest = max(0, int((self.vote.teachers - self._least) * (STEPS / 2))) + 1
        return np.asarray(self._least + np.arange(highest + 1) * (2 / STEPS))

    @cached_property
    def renyi(self) -> Reals:
        sigma, classes = self.vote.sigma, self.vote.classes
        table = [gnmax_renyi(self._margins, order, sigma, classes) for order in self.orders]
        return np.minimum.accumulate(np.array(table), axis=1)

    @cached_property
    def flips(self) -> Reals:
        return np.minimum.accumulate(flip(self._margins, self.vote.sigma, self.vote.classes))

    def divergences(self, levels: NDArray[np.int64], teachers: int = 0) -> Reals:
        """Of all answers together, at every order, after so many teachers changed their minds as they please."""
        return np.asarray(self.renyi[:, np.maximum(levels - teachers * MOVE, 0)].sum(axis=1))

    def variation(self, levels: NDArray[np.int64], teachers: int = 0) -> float:
        """Total variation of all answers together, likewise."""
        return float(self.flips[np.maximum(levels - teachers * MOVE, 0)].sum())
