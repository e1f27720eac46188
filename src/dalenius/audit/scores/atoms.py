"""Whole outputs that repeat, each with its own odds."""

from __future__ import annotations

import numpy as np

from dalenius.audit.rows import NUMBER, Rows
from dalenius.audit.scores.score import Lesson, Score, odds
from dalenius.core.arrays import Ints, Words


def atoms(lesson: Lesson) -> list[Score]:
    """Odds of every output seen at least twice; the others share one cell.

    Two outputs with the same hash are taken for one: a coarser set, never a wrong bound.
    """
    known, counts = np.unique(
        np.concatenate([hashes(lesson.first), hashes(lesson.second)]), return_counts=True
    )
    known = known[counts > 1]
    if not known.size:
        return []

    def place(rows: Rows) -> Ints:
        """Among the known outputs, the last place for any other."""
        seen = hashes(rows)
        near = np.minimum(np.searchsorted(known, seen), len(known) - 1)
        return np.where(known[near] == seen, near, len(known)).astype(np.int64)

    return [odds("the odds of that very output", place, known.size + 1, lesson)]


def hashes(rows: Rows) -> Words:
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
