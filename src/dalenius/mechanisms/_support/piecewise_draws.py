"""A draw among very many candidates whose scores are constant on runs of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.mechanisms._support.float_arrays import Reals
from dalenius.mechanisms._support.interval_grid import EXACT, Ints
from dalenius.noise import noisy_argmax, uniform_integers

AT_ONCE = 1 << 20
"""Noisy scores held in memory together."""


@dataclass(frozen=True)
class PiecewiseScores:
    """Runs of candidates that share a score: where each starts, how many it has, and the score."""

    starts: Ints
    lengths: Ints
    scores: Reals

    def __post_init__(self) -> None:
        keep = self.lengths > 0
        starts, lengths, scores = self.starts[keep], self.lengths[keep], self.scores[keep]
        long = lengths > EXACT
        if long.any():
            # The last 20 binary digits apart: both parts of a length below 2^63 are doubles then.
            rest = lengths[long] & ((1 << 20) - 1)
            lengths = np.where(long, lengths & ~np.int64((1 << 20) - 1), lengths)
            starts = np.concatenate((starts, starts[long] + lengths[long]))
            lengths, scores = np.concatenate((lengths, rest)), np.concatenate((scores, scores[long]))
            keep = lengths > 0
            starts, lengths, scores = starts[keep], lengths[keep], scores[keep]
        for name, value in (("starts", starts), ("lengths", lengths), ("scores", scores)):
            object.__setattr__(self, name, value)

    def draw(self, scale: float) -> int:
        """A candidate with probability proportional to exp(score / scale), exactly.

        A piece with probability proportional to its length times exp(score / scale), then one of its
        candidates, all alike.
        """
        piece = int(noisy_argmax(self.scores, scale, noise="gumbel", base=self._base))
        return int(self.starts[piece]) + int(uniform_integers(0, int(self.lengths[piece])))

    def draws(self, scale: float, times: int) -> Ints:
        """`times` independent candidates."""
        rows = max(1, AT_ONCE // len(self.scores))
        return np.concatenate(
            [np.empty(0, dtype=np.int64)]
            + [self._rows(scale, min(rows, times - done)) for done in range(0, times, rows)]
        )

    def _rows(self, scale: float, times: int) -> Ints:
        shape = (times, len(self.scores))
        drawn = noisy_argmax(np.broadcast_to(self.scores, shape), scale, noise="gumbel", base=self._base)
        pieces = np.asarray(drawn, dtype=np.int64)
        units = self.starts[pieces]
        for piece in np.unique(pieces):
            here = pieces == piece
            units[here] += uniform_integers(0, int(self.lengths[piece]), int(here.sum()))
        return units

    @property
    def _base(self) -> Reals:
        return self.lengths.astype(np.float64)
