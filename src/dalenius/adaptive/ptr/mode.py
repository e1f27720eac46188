"""The largest of several counts, released without noise where it is stable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.parts import Stable
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class StableMode(Stable):
    """Which of the counts of a histogram is the largest (the first, of equals), without noise.

    Data keep the budget, which is nothing at all, if all their neighbours have the same largest count. To be overtaken
    by a count c_j the largest count c must give up c - c_j records, one more if it comes first; adding or removing a
    record closes the gap by 1, moving one from c to c_j by 2. `distance` is one less than that for the nearest count.

    Parameters
    ----------
    adjacency
        The neighbouring relation: a record is one unit of one count.

    Examples
    --------
    >>> from dalenius.adaptive.ptr import ProposeTestRelease, StableMode
    >>> m = ProposeTestRelease.by_distance(StableMode(), epsilon=1.0, wrong_pass=1e-6)
    >>> m.release([10, 200, 30]), m.release([29, 28, 30])
    (1, Refusal())
    """

    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        checked_adjacency(self.adjacency)

    @property
    def budget(self) -> Loss:
        return Loss.zero(self.adjacency)

    def distance(self, data: Any) -> int:
        counts = _counts(data)
        winner = max(range(len(counts)), key=counts.__getitem__)  # the first of equals
        gaps = [counts[winner] - c + (winner < j) for j, c in enumerate(counts) if j != winner]
        moved = 1 if self.adjacency is ADD_REMOVE else 2
        return -(-min(gaps) // moved) - 1

    def release(self, data: Any) -> int:
        counts = _counts(data)
        return max(range(len(counts)), key=counts.__getitem__)

    @property
    def worst_pair(self) -> Neighbours:
        if self.adjacency is ADD_REMOVE:
            return Neighbours([20, 0], [21, 0])
        return Neighbours([20, 0], [19, 1])


def _counts(data: Any) -> list[int]:
    counts = whole_numbers(data)
    if counts.ndim != 1 or len(counts) < 2:
        raise InvalidParameter("value must be a list of at least two counts.")
    if (np.asarray(counts) < 0).any():
        raise InvalidParameter("value holds a negative count.")
    return [int(c) for c in counts.tolist()]
