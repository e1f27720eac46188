"""What a score is, and what scores may be learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalenius.audit.rows import Ints, Layout, Reals, Rows


class Score(Protocol):
    """A number per output. Any function will do; a good one orders outputs by their likelihood ratio."""

    @property
    def name(self) -> str:
        """What it measures, in words."""

    def __call__(self, rows: Rows) -> Reals: ...


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


@dataclass(frozen=True)
class Formula:
    """A score that is a plain formula."""

    name: str
    formula: Callable[[Rows], Reals]

    def __call__(self, rows: Rows) -> Reals:
        return self.formula(rows)


@dataclass(frozen=True, eq=False)
class Table:
    """The log-odds of the cell an output falls in, from smoothed counts."""

    name: str
    cells: Callable[[Rows], Ints]
    log_odds: Reals

    def __call__(self, rows: Rows) -> Reals:
        return self.log_odds[self.cells(rows)]

    @classmethod
    def learn(cls, name: str, cells: Callable[[Rows], Ints], size: int, lesson: Lesson) -> Table:
        seen = [np.bincount(cells(part), minlength=size) for part in (lesson.first, lesson.second)]
        return cls(name, cells, np.log(seen[0] + 0.5) - np.log(seen[1] + 0.5))
