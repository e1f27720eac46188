"""Whole outputs that repeat, each with its own odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.rows import NUMBER, Ints, Rows
from dalenius.audit.scores.score import Lesson, Table

Hashes = NDArray[np.uint64]


def atoms(lesson: Lesson) -> list[Table]:
    """Odds of every output seen at least twice; the others share one cell.

    Two outputs with the same hash are taken for one: a coarser set, never a wrong bound.
    """
    known, counts = np.unique(
        np.concatenate([hashes(lesson.first), hashes(lesson.second)]), return_counts=True
    )
    known = known[counts > 1]
    if not known.size:
        return []
    return [Table.learn("the odds of that very output", Known(known), known.size + 1, lesson)]


@dataclass(frozen=True)
class Known:
    """The place of an output among the known ones, the last place if it is not."""

    known: Hashes

    def __call__(self, rows: Rows) -> Ints:
        seen = hashes(rows)
        place = np.minimum(np.searchsorted(self.known, seen), len(self.known) - 1)
        return np.where(self.known[place] == seen, place, len(self.known)).astype(np.int64)


def hashes(rows: Rows) -> Hashes:
    """64 bits of every row: all its bits, mixed (the finaliser of SplitMix64 between columns)."""
    mixed = np.zeros(len(rows), dtype=np.uint64)
    bits = np.ascontiguousarray(rows.numbers).view(np.uint64)
    for j in range(rows.width):
        # NaN has many bit patterns; its code says all there is to say.
        codes = rows.codes[:, j]
        here = np.where(codes == NUMBER, bits[:, j], ~codes.astype(np.uint64))
        mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) ^ here
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
