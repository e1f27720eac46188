"""Many lines of a few records each, all at once: what an audit runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.arrays import Ints
from dalenius.mechanisms._support.rank_draws import RankScores
from dalenius.noise import noisy_argmax
from dalenius.noise.uniform import below_each


@dataclass(frozen=True)
class RankScoreRows:
    """Rows of sorted records, equally many in each, and the candidates first..last of each row."""

    places: Ints
    first: Ints
    last: Ints
    target: int
    scale: float

    def draw(self) -> Ints:
        """One place for each row, independently, with the law of `RankScores.draw`; runs stay below 2^53."""
        rows, n = self.places.shape
        line = RankScores(self.places[0], 0, 0, self.target, self.scale)
        edges = np.column_stack((self.first - 1, self.places, self.last + 1))
        gaps = np.maximum(np.diff(edges, axis=1) - 1, 0)
        differs = self.places[:, 1:] != self.places[:, :-1]
        edge = np.ones((rows, min(n, 1)), dtype=np.bool_)
        ends, begins = np.hstack((differs, edge)), np.hstack((edge, differs))
        index, between = np.arange(n), np.arange(n + 1)
        below = np.maximum.accumulate(np.where(begins, index, 0), axis=1)
        lengths = np.hstack((ends.astype(np.int64), gaps))
        scores = np.hstack(
            (
                line._scores(below, np.broadcast_to(index + 1, below.shape)),
                np.broadcast_to(line._scores(between, between), gaps.shape),
            )
        )
        starts = np.hstack((self.places, edges[:, :-1] + 1))
        piece = np.asarray(noisy_argmax(scores, self.scale, noise="gumbel", base=lengths.astype(np.float64)))
        row = np.arange(rows)
        return np.asarray(starts[row, piece] + below_each(lengths[row, piece]))
