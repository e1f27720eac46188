"""How often each combination of values can occur, given that every published count is right.

Whole numbers x >= 0, one for each combination of the values of all columns, whose sums over groups lie within what was
published. The least and the most of each is an integer program. Most are settled without solving one: by counting
what is left of a group when the others have their least or most, and by solutions already found, which show that a
bound is attained.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from dalenius.audit.attacks.published_table import PublishedTable
from dalenius.core.arrays import Array, Bools, Ints, Reals
from dalenius.errors import InvalidParameter

MOST_CELLS = 200_000
PASSES = 200
SOLVE_SECONDS = 2.0
"""For one integer program; what is known by then is used."""


@dataclass(eq=False)
class JointCounts:
    """The unknown counts of all combinations, and how close they are known."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    groups: csr_matrix
    """A line for each published count: the combinations it adds up."""
    least: Reals
    most: Reals
    total: tuple[float, float]
    """Of all rows, as the tables have it."""
    low: Reals = field(init=False)
    high: Reals = field(init=False)
    settled: bool = field(init=False, default=True)
    """Whether every bound is attained; False where time ran out."""

    def __post_init__(self) -> None:
        self.low = np.zeros(self.groups.shape[1])
        self.high = np.full(self.groups.shape[1], np.inf)

    @classmethod
    def of(cls, tables: Sequence[PublishedTable]) -> JointCounts:
        """From tables of the same rows."""
        columns = tuple(dict.fromkeys(column for table in tables for column in table.columns))
        values = tuple(tuple(sorted(_values(tables, column))) for column in columns)
        if any(not choices for choices in values):
            raise InvalidParameter("every column needs a value that is not a total.")
        cells = math.prod(map(len, values))
        if cells > MOST_CELLS:
            raise InvalidParameter(
                f"the columns {', '.join(columns)} have {cells} combinations of values, more than {MOST_CELLS}; give "
                "fewer columns or tables, or put values together."
            )
        grid = np.indices([len(choices) for choices in values]).reshape(len(columns), -1)
        lines: list[Ints] = []
        least: list[float] = []
        most: list[float] = []
        for table in tables:
            places = [columns.index(column) for column in table.columns]
            bounds = dict(zip(table.keys, zip(table.low, table.high, strict=True), strict=True))
            if table.absent:
                for finest in itertools.product(*(values[place] for place in places)):
                    bounds.setdefault(finest, (0, 0.0))
            for key, (low, high) in bounds.items():
                inside: Bools = np.ones(cells, dtype=np.bool_)
                for place, value in zip(places, key, strict=True):
                    if value is not None:
                        inside &= grid[place] == values[place].index(value)
                lines.append(np.flatnonzero(inside))
                least.append(float(low))
                most.append(float(high))
        starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
        places_of = np.concatenate(lines)
        groups = csr_matrix((np.ones(len(places_of)), places_of, starts), shape=(len(lines), cells))
        return cls(columns, values, groups, np.array(least), np.array(most), _total(tables, values, columns))

    def tighten(self, seconds: float) -> None:
        """Bring low and high as near together as the published counts allow, in so much time."""
        end = time.monotonic() + seconds
        self._propagate()
        free = np.flatnonzero(self.low < self.high)
        if not len(free):
            return
        below, above = np.full(len(free), np.inf), np.full(len(free), -np.inf)
        for k in range(len(free)):
            for sign in (1.0, -1.0) if self.high[free[k]] < math.inf else (1.0,):
                if (below[k] <= self.low[free[k]]) if sign > 0 else (above[k] >= self.high[free[k]]):
                    continue
                if time.monotonic() > end:
                    self.settled = False
                    return
                cost = np.zeros(len(free))
                cost[k] = sign
                found = self._solution(cost, free)
                if isinstance(found, float):  # no solution in time, but a bound
                    self.settled = False
                    self._bound(free[k], sign, found)
                    continue
                below, above = np.minimum(below, found), np.maximum(above, found)
                self._bound(free[k], sign, sign * float(found[k]))

    def rows(self) -> tuple[float, float]:
        """The least and the most rows that there can be."""
        low, high = self.total
        return max(low, float(self.low.sum())), min(high, float(self.high.sum()))

    def _propagate(self) -> None:
        """What is left of each group for one combination when the others have their least, or their most."""
        groups, matrix = self.groups, self.groups.tocsc()
        for _ in range(PASSES):
            low, high = self.low.copy(), self.high.copy()
            unbounded = np.isinf(self.high)
            finite = np.where(unbounded, 0.0, self.high)
            lows, highs, infinite = groups @ self.low, groups @ finite, groups @ unbounded.astype(np.float64)
            spare = self.most - lows  # what a group has left above the least of all
            if (spare < 0).any() or ((infinite == 0) & (highs < self.least)).any():
                self._contradictory()
            self.high = np.minimum(self.high, self.low + _least_by_column(matrix, spare))
            # What it lacks below the most of all: only one unbounded combination can be asked to fill it.
            lack = np.where(infinite == 0, self.least - highs, -np.inf)
            alone = np.where(infinite == 1, self.least - highs, -np.inf)
            self.low = np.maximum(
                self.low, np.where(unbounded, -np.inf, finite - _least_by_column(matrix, -lack))
            )
            self.low = np.maximum(self.low, np.where(unbounded, -_least_by_column(matrix, -alone), -np.inf))
            self.low = np.maximum(self.low, 0.0)
            if (self.low > self.high).any():
                self._contradictory()
            if np.array_equal(low, self.low) and np.array_equal(high, self.high):
                return

    def _bound(self, cell: int, sign: float, least: float) -> None:
        """What a minimum of sign * x tells; without a finite one, nothing."""
        if not math.isfinite(least):
            return
        if sign > 0:
            self.low[cell] = max(self.low[cell], math.ceil(least - 1e-6))
        else:
            self.high[cell] = min(self.high[cell], math.floor(-least + 1e-6))

    def _solution(self, cost: Reals, free: Ints) -> Array | float:
        """Whole numbers that fit and make the cost least; a lower bound on the cost where time is short."""
        fixed = self.low.copy()
        fixed[free] = 0.0
        shift = self.groups @ fixed
        part = self.groups[:, free]
        used = np.diff(part.indptr) > 0
        limits: list[Any] = []
        if used.any():
            limits = [LinearConstraint(part[used], (self.least - shift)[used], (self.most - shift)[used])]
        solved = milp(
            cost,
            integrality=np.ones(len(free), dtype=np.int64),
            bounds=Bounds(self.low[free], self.high[free]),
            constraints=limits,
            options={"time_limit": SOLVE_SECONDS},
        )
        if solved.x is not None and solved.status == 0:
            return np.asarray(np.rint(solved.x))
        if solved.status == 2:
            self._contradictory()
        bound = getattr(solved, "mip_dual_bound", None)
        return float(bound) if bound is not None and math.isfinite(bound) else -math.inf

    @staticmethod
    def _contradictory() -> NoReturn:
        raise InvalidParameter(
            "no rows at all give these counts: the tables contradict each other. Were they rounded, or some counts "
            "hidden? Are groups that a table leaves out empty? Do all tables count the same rows?"
        )


def _least_by_column(matrix: Any, by_line: Reals) -> Reals:
    """For each column of a sparse 0/1 matrix the least number among its lines; infinity where it has none."""
    least = np.full(matrix.shape[1], np.inf)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        least[filled] = np.minimum.reduceat(by_line[matrix.indices], matrix.indptr[filled])
    return least


def _total(
    tables: Sequence[PublishedTable], values: tuple[tuple[str, ...], ...], columns: tuple[str, ...]
) -> tuple[float, float]:
    """The rows that a table counts: its groups together where it has them all, and its total."""
    low, high = 0.0, math.inf
    for table in tables:
        groups = math.prod(len(values[columns.index(column)]) for column in table.columns)
        bounds = dict(zip(table.keys, zip(table.low, table.high, strict=True), strict=True))
        finest = [bounds[key] for key in table.keys if None not in key]
        if finest and (table.absent or len(finest) == groups):
            low, high = max(low, sum(b[0] for b in finest)), min(high, sum(b[1] for b in finest))
        total = bounds.get((None,) * len(table.columns))
        if total is not None:
            low, high = max(low, total[0]), min(high, total[1])
    return low, high


def _values(tables: Sequence[PublishedTable], column: str) -> set[str]:
    found: set[str] = set()
    for table in tables:
        if column in table.columns:
            place = table.columns.index(column)
            found |= {key[place] for key in table.keys if key[place] is not None}  # type: ignore[misc]
    return found
