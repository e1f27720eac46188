"""One linear query: a weight between 0 and 1 for every cell of some columns, on a grid.

Weights are whole multiples of 1/1024 (of 1 for a mask), so the answer on whole-numbered counts is a whole number of
1/1024 rows and one row moves it by at most 1, whatever the neighbours: from q(x) to 0 where a row is added or
removed, from q(x) to q(y) where it is replaced. The weights are public: rounding them asks a slightly different
question, and nothing of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Array, Bools, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.queries.domain import Bins, Domain, Whole

RESOLUTION = 1 << 10
"""Weights and answers are multiples of 1 / RESOLUTION."""


@dataclass(frozen=True, eq=False)
class LinearQuery:
    """The weights of the cells of some columns, in steps; all other columns are summed over."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    weights: Array
    steps: int
    """How many steps make a weight of 1: 1 for a mask, else RESOLUTION."""

    def exact(self, marginal: Ints) -> int:
        """The answer on counts over these columns, in 1 / RESOLUTION rows."""
        return int(np.dot(self.weights, marginal)) * (RESOLUTION // self.steps)

    def share(self, marginal: Reals) -> float:
        """The answer on probabilities over these columns."""
        return float(np.einsum("i,i", self.weights, marginal)) / self.steps

    def over(self, dimensions: int) -> Reals:
        """The weights as an array that broadcasts to all columns."""
        shape = [1] * dimensions
        for axis, size in zip(self.axes, self.shape, strict=True):
            shape[axis] = size
        weights: Reals = self.weights.reshape(shape) / self.steps
        return weights


def linear_query(domain: Domain, query: object) -> LinearQuery:
    """A conjunction `{"sex": "F", "age": [3, 4]}`, or weights in [0, 1] for every cell of the domain."""
    if isinstance(query, Mapping):
        return _conjunction(domain, query)
    try:
        weights = np.array(query)  # a copy: what is checked is what is used
    except (ValueError, TypeError):
        weights = np.array(None)
    if weights.dtype.kind not in "biuf" or weights.shape not in (domain.shape, (domain.cells,)):
        raise InvalidParameter(
            f"the query is {checks.shown(query)}; it must be a mapping from columns to values, such as "
            f'{{"{domain.names[0]}": ...}}, or an array of shape {domain.shape} with weights from 0 to 1.'
        )
    axes = tuple(range(len(domain.shape)))
    return LinearQuery(axes, domain.shape, *_on_grid(weights.reshape(-1)))


def _on_grid(weights: Array) -> tuple[Array, int]:
    if weights.dtype.kind == "b":
        return weights.view(np.uint8) != 0, 1  # whatever bytes stand for True
    if not bool(((weights >= 0) & (weights <= 1)).all()):
        raise InvalidParameter("the query has weights outside of [0, 1]; divide it by its largest weight.")
    return np.rint(weights.astype(np.float64) * RESOLUTION).astype(np.int64), RESOLUTION


def _conjunction(domain: Domain, query: Mapping[Any, Any]) -> LinearQuery:
    axes = tuple(sorted(domain.position(name) for name in query))
    mask = np.ones((), dtype=bool)
    for axis in axes:
        mask = mask[..., None] & _wanted(domain, domain.names[axis], query[domain.names[axis]])
    return LinearQuery(axes, mask.shape, mask.reshape(-1), 1)


def _wanted(domain: Domain, name: str, wanted: Any) -> Bools:
    """Which codes of a column are asked for: those of one value, of any of several, or of an interval of bins."""
    column = domain.columns[name]
    mask = np.zeros(len(column), dtype=bool)
    if isinstance(column, Bins) and isinstance(wanted, tuple) and len(wanted) == 2:
        mask[column.between(*wanted)] = True
        return mask
    if isinstance(column, Whole) and isinstance(wanted, range) and wanted:
        # The codes themselves, without an object for each; the two ends tell whether all are inside.
        codes = column.codes(np.array([wanted[0], wanted[-1]], dtype=object))
        inside = bool((codes >= 0).all())
        if inside:
            mask[np.arange(wanted.start, wanted.stop, wanted.step)] = True
    else:
        several = isinstance(wanted, list | tuple | range | set | frozenset | np.ndarray)
        codes = column.codes(np.fromiter(wanted if several else [wanted], dtype=object))
        inside = bool((codes >= 0).all()) and np.ndim(wanted) <= 1
        if inside:
            mask[codes] = True
    if not inside:
        raise InvalidParameter(
            f"the query asks for {checks.shown(wanted)} of the column {name}; not all of that is in the domain."
        )
    return mask


class Marginals:
    """Sums of an array over columns that were asked for before, kept as long as they are small."""

    MOST = 1 << 22

    def __init__(self, cells: Array) -> None:
        self._cells = cells
        self._kept: dict[tuple[int, ...], Array] = {}
        self._size = 0

    def of(self, axes: tuple[int, ...]) -> Array:
        kept = self._kept.get(axes)
        if kept is not None:
            return kept
        marginal = self._summed(axes)
        if self._size + marginal.size > self.MOST:
            self._kept.clear()
            self._size = 0
        self._kept[axes] = marginal
        self._size += marginal.size
        return marginal

    def _summed(self, axes: tuple[int, ...]) -> Array:
        """One axis after the other, the slowest first: each sum runs along memory, over ever fewer numbers."""
        shape, before, left = self._cells.shape, 1, self._cells.reshape(-1)
        for axis, size in enumerate(shape):
            if axis in axes:
                before *= size
            else:
                left = left.reshape(before, size, -1).sum(axis=1).reshape(-1)
        return left
