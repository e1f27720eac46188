"""A draw among very many candidates whose scores are constant on runs of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Ints, Reals
from dalenius.mechanisms._support.batches import batched
from dalenius.mechanisms._support.interval_grid import EXACT
from dalenius.noise import noisy_argmax, uniform_integers
from dalenius.noise.uniform import below_each


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
        return batched(lambda n: self._rows(scale, n), times, len(self.scores))

    def _rows(self, scale: float, times: int) -> Ints:
        shape = (times, len(self.scores))
        pieces = noisy_argmax(np.broadcast_to(self.scores, shape), scale, noise="gumbel", base=self._base)
        return np.asarray(self.starts[pieces] + below_each(self.lengths[pieces]))

    @property
    def _base(self) -> Reals:
        return self.lengths.astype(np.float64)
