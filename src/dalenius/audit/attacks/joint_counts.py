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
from scipy.sparse import block_array, csr_matrix
from scipy.sparse.csgraph import connected_components

from dalenius.audit.attacks.published_table import PublishedTable
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter

MOST_CELLS = 200_000
PASSES = 200
MOST_ROWS = 10**9
SOLVE_SECONDS = 2.0
"""For one integer program; what is known by then is used."""
NEAR = 1e-5
"""What a bound of the solver may be off, which is far below the distance of whole numbers."""


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
        if max(map(max, (table.low for table in tables))) > MOST_ROWS:
            raise InvalidParameter(
                f"a count is above {MOST_ROWS:,}; that is beyond what is solved exactly here."
            )
        groups, least, most = _groups(tables, columns, values)
        return cls(columns, values, groups, least, most, _total(tables, values, columns))

    def tighten(self, seconds: float) -> None:
        """Bring low and high as near together as the published counts allow, in so much time."""
        end = time.monotonic() + seconds
        self._propagate()
        free = np.flatnonzero(self.low < self.high)
        fixed = self.low.copy()
        fixed[free] = 0.0
        shift = self.groups @ fixed
        least, most = self.least - shift, self.most - shift
        for lines, places in _components(self.groups[:, free]):
            cells = free[places]
            if not self._settle(cells, self.groups[lines][:, cells], least[lines], most[lines], end):
                self.settled = False

    def _settle(self, cells: Ints, part: csr_matrix, least: Reals, most: Reals, end: float) -> bool:
        """Tighten combinations that share groups with each other and with no other; False where time ran out."""
        below, above, settled = np.full(len(cells), np.inf), np.full(len(cells), -np.inf), True
        for k, cell in enumerate(cells):
            for sign in (1.0, -1.0) if self.high[cell] < math.inf else (1.0,):
                if (below[k] <= self.low[cell]) if sign > 0 else (above[k] >= self.high[cell]):
                    continue
                if time.monotonic() > end:
                    return False
                cost = np.zeros(len(cells))
                cost[k] = sign
                bound, found = _solved(cost, Bounds(self.low[cells], self.high[cells]), part, least, most)
                if sign > 0:
                    self.low[cell] = max(self.low[cell], bound)
                else:
                    self.high[cell] = min(self.high[cell], -bound)
                if found is None:
                    settled = False
                else:
                    below, above = np.minimum(below, found), np.maximum(above, found)
        return settled

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
                _contradictory()
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
                _contradictory()
            if np.array_equal(low, self.low) and np.array_equal(high, self.high):
                return


def _groups(
    tables: Sequence[PublishedTable], columns: tuple[str, ...], values: tuple[tuple[str, ...], ...]
) -> tuple[csr_matrix, Reals, Reals]:
    """A line for each published count, with its least and its most."""
    sizes = [len(choices) for choices in values]
    grid = np.indices(sizes).reshape(len(columns), -1)
    number = [{value: k for k, value in enumerate(choices)} for choices in values]
    lines: list[Ints] = []
    least: list[float] = []
    most: list[float] = []
    for table in tables:
        places = [columns.index(column) for column in table.columns]
        bounds = dict(zip(table.keys, zip(table.low, table.high, strict=True), strict=True))
        if table.absent:
            for finest in itertools.product(*(values[place] for place in places)):
                bounds.setdefault(finest, (0, 0.0))
        members: dict[
            tuple[int, ...], list[Ints]
        ] = {}  # by the columns that are not totals: who is in each group
        for key, (low, high) in bounds.items():
            kept = tuple(place for place, value in zip(places, key, strict=True) if value is not None)
            if kept not in members:
                group = np.zeros(grid.shape[1], dtype=np.int64)
                for place in kept:
                    group = group * sizes[place] + grid[place]
                order = np.argsort(group, kind="stable")
                members[kept] = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
            own = 0
            for place, value in zip(places, key, strict=True):
                own = own * sizes[place] + number[place][value] if value is not None else own
            lines.append(members[kept][own])
            least.append(float(low))
            most.append(float(high))
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    inside = np.concatenate(lines)
    groups = csr_matrix((np.ones(len(inside)), inside, starts), shape=(len(lines), grid.shape[1]))
    return groups, np.array(least), np.array(most)


def _components(part: csr_matrix) -> list[tuple[Ints, Ints]]:
    """Lines and columns that hang together, the smallest parts first."""
    m, n = part.shape
    if n == 0:
        return []
    both: Any = [[None, part], [part.T, None]]
    count, label = connected_components(block_array(both), directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    found = [(nodes[nodes < m], nodes[nodes >= m] - m) for nodes in parts]
    return sorted((pair for pair in found if len(pair[1])), key=lambda pair: len(pair[1]))


def _solved(
    cost: Reals, bounds: Bounds, part: csr_matrix, least: Reals, most: Reals
) -> tuple[float, Array | None]:
    """A whole number below which no solution's cost is, and a solution where one was found in time."""
    limits: list[Any] = [LinearConstraint(part, least, most)] if part.shape[0] else []
    solved = milp(
        cost,
        integrality=np.ones(len(cost), dtype=np.int64),
        bounds=bounds,
        constraints=limits,
        options={"time_limit": SOLVE_SECONDS, "mip_rel_gap": 0.0},
    )
    if solved.status == 2:
        _contradictory()
    bound = getattr(solved, "mip_dual_bound", None)
    known = math.ceil(bound - NEAR) if bound is not None and math.isfinite(bound) else -math.inf
    found = None if solved.x is None or solved.status != 0 else np.asarray(np.rint(solved.x))
    if found is not None:
        sums = part @ found
        inside = (bounds.lb <= found).all() and (found <= bounds.ub).all()
        if not (inside and (least <= sums).all() and (sums <= most).all()):
            found = None  # whole numbers that do not fit after all
    return known, found


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
