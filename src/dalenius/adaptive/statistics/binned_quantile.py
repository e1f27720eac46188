"""A quantile of rows that were counted into bins, where one unit may have several rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.statistics.statistic import Statistic
from dalenius.adaptive.statistics.windows import last_distance
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import unmasked
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Neighbours
from dalenius.mechanisms.quantile import checked_level

PARTS = 2**30
"""Levels are whole numbers of such parts of 1."""
FURTHEST = 2**50
"""Ranks further away than that are beyond any data."""
LEAST = 2.0**-10
"""The smooth sensitivity is never below this share of a step: the noise may be narrower than a bin."""

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class Counted:
    """Rows in bins, by rank: x_1 <= ... <= x_n are the bins of the rows, bin 0 before them and the last one behind."""

    def __init__(self, counts: Ints) -> None:
        self.upto = np.cumsum(counts)
        self.size = int(self.upto[-1])

    def at(self, ranks: Ints) -> Ints:
        """x_i for ranks i, of which any whole number is one."""
        return np.minimum(np.searchsorted(self.upto, ranks), len(self.upto) - 1)


class Places:
    """Real ranks, exactly: `whole` + `parts` / PARTS."""

    def __init__(self, parts: list[int]) -> None:
        self.whole = np.array([min(max(p // PARTS, -FURTHEST), FURTHEST) for p in parts], dtype=np.int64)
        self.parts = np.array([p % PARTS for p in parts], dtype=np.int64)

    def shifted(self, by: int) -> tuple[Ints, Ints]:
        """The floor and the ceiling of each, moved by so many parts."""
        parts = self.parts + by % PARTS
        whole = self.whole + by // PARTS + parts // PARTS
        return whole, whole + (parts % PARTS > 0)


class Moves(NamedTuple):
    """k r and - k r for distances k."""

    there: Places
    back: Places
    distances: Ints

    @classmethod
    def of(cls, reach: int, distances: list[int]) -> Moves:
        """r is given in parts."""
        there, back = (Places([sign * k * reach for k in distances]) for sign in (1, -1))
        return cls(there, back, np.array(distances, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class BinnedQuantile(Statistic[Counted]):
    """The `level`-quantile of rows counted into `size` bins, of which one unit has up to `max_rows`.

    The data are the counts of the bins. With n rows, in the bins x_1 <= ... <= x_n, padded with bin 0 for ranks below
    1 and the last bin for ranks above n, write Q(s) = (x_ceil(s) + x_(floor(s)+1)) / 2 for real ranks s. The statistic
    is Q(level n): the quantile, the mean of both neighbours where level n is whole (for a median, the usual one), and
    the middle of all bins for no rows. It is stated in half bins, from 0 to 2 (size - 1).

    Between neighbours up to `max_rows` rows come or go (ADD_REMOVE), or as many go and as many come, wherever they
    are (REPLACE_ONE). With r = max_rows max(level, 1 - level), or r = max_rows for REPLACE_ONE, at distance k

        A_k = max(Q(s + r + k r) - Q(s - k r), Q(s + k r) - Q(s - r - k r)),    s = level n;

    where r = 1/2, the median of units with one row, the sharper half of x_(a+k+1) - x_a, a the floor and the ceiling
    of (n - k)/2. docs/proofs/adaptive-quantiles.md has the proof. All are computed from the counts, in time
    O(size + distances log size), which does not depend on them.

    Parameters
    ----------
    level
        Between 0 and 1, both excluded; taken to the nearest 2^-30.
    size
        The number of bins.
    max_rows
        How many rows one unit has at most.
    adjacency
        The neighbouring relation, between units: ADD_REMOVE or REPLACE_ONE.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.BinnedQuantile(level=0.5, size=4, max_rows=2)
    >>> median.value([0, 5, 5, 0]), median.local_sensitivity([0, 5, 5, 0])  # in half bins
    (3.0, 1.0)
    """

    level: float
    size: int
    max_rows: int = 1
    adjacency: Adjacency = ADD_REMOVE
    bounds: tuple[float, float] = field(init=False)
    granularity: Any = field(init=False, default=Fraction(1))

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "level", checked_level("level", self.level))
        set_(self, "size", checks.count("size", self.size, least=1))
        set_(self, "max_rows", checks.count("max_rows", self.max_rows, least=1))
        set_(self, "bounds", (0.0, max(2.0 * (self.size - 1), 1.0)))
        super().__post_init__()

    @property
    def part(self) -> int:
        """The level, in parts."""
        return min(max(round(self.level * PARTS), 1), PARTS - 1)

    @property
    def reach(self) -> int:
        """r, in parts: how far one unit moves the real rank of the quantile among the other rows."""
        widest = max(self.part, PARTS - self.part) if self.adjacency is ADD_REMOVE else PARTS
        return widest * self.max_rows

    @property
    def by_halves(self) -> bool:
        """Whether a unit moves the quantile by half a gap at most."""
        return self.reach * 2 == PARTS

    @property
    def global_steps(self) -> float:
        return float(self.size - 1) * (1 if self.by_halves else 2)

    def prepared(self, values: Any) -> Counted:
        counts = np.asarray(unmasked(values))
        if counts.shape != (self.size,) or counts.dtype.kind not in "iu":
            raise InvalidParameter.of(
                "value", f"the value must be {self.size} whole numbers: how many rows are in each bin."
            )
        return Counted(counts.astype(np.int64))

    def exactly(self, data: Counted) -> Fraction:
        return Fraction(int(self._quantile(data, Places([0]), self._place(data))[0]))

    def at_distance(self, data: Counted, k: int) -> float:
        return float(self._windows(data, Moves.of(self.reach, [k]))[0])

    def at_distances(self, data: Counted, count: int) -> Reals:
        """A_0, ..., A_(count - 1)."""
        return self._windows(data, _moves(self, count))

    def smooth_steps(self, data: Counted, beta: float) -> float:
        last = last_distance(beta, self.global_steps / LEAST)
        fade = np.exp(-beta * np.arange(last + 1))
        return max(LEAST, float(np.max(fade * self.at_distances(data, last + 1))))

    @property
    def worst_pair(self) -> Neighbours:
        """Rows at both ends, as many as decide which end it is."""
        return self.deciding(2 * self.max_rows, self.size - 1)

    def deciding(self, rows: int, other: int) -> Neighbours:
        """So many rows in bin 0 and as many in the other as leave the quantile there; a unit more or less does not."""
        counts = np.zeros((2, self.size), dtype=np.int64)
        counts[:, 0] = rows
        counts[:, other] = (rows * PARTS - 1) // self.part - rows
        counts[1, other] += self.max_rows
        counts[1, 0] -= self.max_rows if self.adjacency is not ADD_REMOVE else 0
        return Neighbours(counts[0], counts[1])

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The worst pair, and one where all rows are in the middle and the noise is stretched but not moved."""
        middle = np.zeros(self.size, dtype=np.int64)
        middle[self.size // 2] = 3 * self.max_rows
        other = middle.copy()
        if self.adjacency is ADD_REMOVE:
            other[self.size // 2] += self.max_rows
        else:
            other[self.size // 2] -= self.max_rows
            other[-1] += self.max_rows
        return self.worst_pair, Neighbours(middle, other)

    def _place(self, data: Counted) -> int:
        """level n, in parts."""
        return self.part * data.size

    def _quantile(self, data: Counted, moves: Places, by: int) -> Ints:
        """2 Q at the moves from a place."""
        down, up = moves.shifted(by)
        return data.at(up) + data.at(down + 1)

    def _windows(self, data: Counted, moves: Moves) -> Reals:
        there, back, k = moves
        if self.by_halves:
            starts = ((data.size - k) // 2, -((k - data.size) // 2))
            widths = [data.at(a + k + 1) - data.at(a) for a in starts]
        else:
            place = self._place(data)
            widths = [
                self._quantile(data, there, place + ahead) - self._quantile(data, back, place - behind)
                for ahead, behind in ((self.reach, 0), (0, self.reach))
            ]
        return np.asarray(np.maximum(*widths), dtype=np.float64)


@lru_cache(maxsize=8)
def _moves(statistic: BinnedQuantile, count: int) -> Moves:
    """Those of the first `count` distances: the same for every group."""
    return Moves.of(statistic.reach, list(range(count)))
