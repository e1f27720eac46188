"""One column cut into bins, each with its own odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.audit.rows import FIRST_LABEL, NUMBER, Ints, Reals, Rows
from dalenius.audit.scores.score import Lesson, Table

PER_BIN = 200
MAX_BINS = 256
MAX_CELLS = 1_000_000


@dataclass(frozen=True)
class Bins:
    """The bin of a number, or the label that stands in its place."""

    column: int
    edges: Reals
    labels: int

    @property
    def size(self) -> int:
        return len(self.edges) + 1 + self.labels + 1

    def __call__(self, rows: Rows) -> Ints:
        numbers, codes = rows.numbers[:, self.column], rows.codes[:, self.column]
        place = np.searchsorted(self.edges, numbers, side="right")
        # Code -1 (unseen) goes into the last place, labels before it.
        label = len(self.edges) + np.where(codes > NUMBER, codes, self.labels + 1)
        return np.where(codes == NUMBER, place, label).astype(np.int64)


def bins(lesson: Lesson, column: int, most: int = MAX_BINS) -> Bins:
    """Edges at quantiles of all draws, finer towards both ends, and at numbers that occur in the inputs."""
    rows = (lesson.first, lesson.second)
    values = np.sort(np.concatenate([r.numbers[r.codes[:, column] == NUMBER, column] for r in rows]))
    labels = max(FIRST_LABEL + len(lesson.layout.labels), FIRST_LABEL) - 1
    if not values.size:
        return Bins(column, values, labels)
    n = values.size
    wanted = int(np.clip(n // PER_BIN, 4, most))
    ends = 2 ** np.arange(3, 30)
    ends = ends[ends < n // wanted]
    ranks = np.concatenate([np.linspace(0, n - 1, wanted + 1).astype(np.int64)[1:-1], ends, n - ends])
    inside = lesson.landmarks[(lesson.landmarks > values[0]) & (lesson.landmarks <= values[-1])]
    # A number that occurs in an input is often an output of its own: an edge below it and one above.
    inside = np.concatenate([inside, np.nextafter(inside, np.inf)])
    return Bins(column, np.unique(np.concatenate([values[ranks], inside])), labels)


def binned(lesson: Lesson, column: int) -> Table:
    cut = bins(lesson, column)
    return Table.learn(f"the odds by bins of {lesson.layout.name(column)}", cut, cut.size, lesson)


@dataclass(frozen=True)
class Crossed:
    """The pair of bins of two columns."""

    one: Bins
    other: Bins

    def __call__(self, rows: Rows) -> Ints:
        return self.one(rows) * self.other.size + self.other(rows)


def crossed(lesson: Lesson, one: int, other: int) -> list[Table]:
    """The odds by the bins of two columns at once, unless labels make them too many."""
    side = int(np.sqrt(len(lesson.first) / PER_BIN))
    cut = Crossed(bins(lesson, one, max(side, 4)), bins(lesson, other, max(side, 4)))
    name = f"the odds by bins of {lesson.layout.name(one)} and {lesson.layout.name(other)}"
    size = cut.one.size * cut.other.size
    return [Table.learn(name, cut, size, lesson)] if size <= MAX_CELLS else []
