"""One column cut into bins, each with its own odds."""

from __future__ import annotations

import numpy as np

from dalenius.audit.rows import FIRST_LABEL, NUMBER, Rows
from dalenius.audit.scores.score import Cells, Lesson, Score, odds
from dalenius.core.arrays import Ints

PER_BIN = 200
MAX_BINS = 256
MAX_CELLS = 1_000_000


def bins(lesson: Lesson, column: int, most: int = MAX_BINS) -> tuple[Cells, int]:
    """The bin of a number, or the label that stands in its place; and how many bins and labels there are.

    Edges at quantiles of all draws, finer towards both ends, and at numbers that occur in the inputs.
    """
    rows = (lesson.first, lesson.second)
    edges = np.sort(np.concatenate([r.numbers[r.codes[:, column] == NUMBER, column] for r in rows]))
    labels = FIRST_LABEL + len(lesson.layout.labels) - 1
    if n := edges.size:
        wanted = int(np.clip(n // PER_BIN, 4, most))
        ends = 2 ** np.arange(3, 30)
        ends = ends[ends < n // wanted]
        ranks = np.concatenate([np.linspace(0, n - 1, wanted + 1).astype(np.int64)[1:-1], ends, n - ends])
        inside = lesson.landmarks[(lesson.landmarks > edges[0]) & (lesson.landmarks <= edges[-1])]
        # A number that occurs in an input is often an output of its own: an edge below it and one above.
        edges = np.unique(np.concatenate([edges[ranks], inside, np.nextafter(inside, np.inf)]))

    def cell(rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, column], rows.codes[:, column]
        place = np.searchsorted(edges, numbers, side="right")
        # Code -1 (unseen) goes into the last place, labels before it.
        label = len(edges) + np.where(codes > NUMBER, codes, labels + 1)
        return np.where(codes == NUMBER, place, label).astype(np.int64)

    return cell, len(edges) + 1 + labels + 1


def binned(lesson: Lesson, column: int) -> Score:
    return odds(f"the odds by bins of {lesson.layout.name(column)}", *bins(lesson, column), lesson)


def crossed(lesson: Lesson, one: int, other: int) -> list[Score]:
    """The odds by the bins of two columns at once, unless labels make them too many."""
    side = int(np.sqrt(len(lesson.first) / PER_BIN))
    (first, height), (second, width) = (bins(lesson, column, max(side, 4)) for column in (one, other))
    name = f"the odds by bins of {lesson.layout.name(one)} and {lesson.layout.name(other)}"
    if height * width > MAX_CELLS:
        return []
    return [odds(name, lambda rows: first(rows) * width + second(rows), height * width, lesson)]
