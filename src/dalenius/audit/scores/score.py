"""What a score is, and what scores may be learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalenius.audit.rows import Layout, Rows
from dalenius.core.arrays import Ints, Reals

Cells = Callable[[Rows], Ints]
"""The cell that each output falls in."""


@dataclass(frozen=True, eq=False)
class Score:
    """A number per output. Any function will do; a good one orders outputs by their likelihood ratio."""

    name: str
    """What it measures, in words."""
    formula: Callable[[Rows], Reals]

    def __call__(self, rows: Rows) -> Reals:
        return self.formula(rows)


@dataclass(frozen=True)
class Lesson:
    """The draws scores are learned from, and what is known about the inputs."""

    first: Rows
    second: Rows
    layout: Layout
    centres: tuple[Reals, Reals] | None
    """Both inputs as rows, when they look like outputs."""
    landmarks: Reals
    """Numbers that occur in the inputs: where the density of the output may jump."""


def odds(name: str, cells: Cells, size: int, lesson: Lesson) -> Score:
    """The log-odds of the cell an output falls in, one of `size`, from smoothed counts."""
    seen = [np.bincount(cells(part), minlength=size) for part in (lesson.first, lesson.second)]
    log_odds = np.log(seen[0] + 0.5) - np.log(seen[1] + 0.5)
    return Score(name, lambda rows: log_odds[cells(rows)])
