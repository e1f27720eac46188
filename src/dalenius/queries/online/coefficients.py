"""Single questions of a workload, and the width of their coefficients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import reduce, singledispatch
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Ints
from dalenius.errors import InvalidParameter
from dalenius.queries.online.linear_query import LinearQuery, Marginals
from dalenius.queries.workload.factors import Factor, Identity, Intervals, Matrix, Prefix, Ranges, Total
from dalenius.queries.workload.parts import Cells, Conjunctions, Product
from dalenius.queries.workload.workload import Workload

WIDEST = 1 << 20


def width(workload: Workload) -> int:
    """The most one row can change any answer, whatever the neighbours: from the least coefficient to the largest, 0
    among them (a row that is not there, or outside of the domain)."""
    if not all(part.whole for _, part in workload.parts):
        raise InvalidParameter(
            "some coefficients of the workload are not whole numbers, and scores must be exact: multiply and round "
            "them, as in Workload.matrix(domain, np.rint(1000 * matrix).astype(int))."
        )
    ends = [(0, 0), *(_extremes(part) for _, part in workload.parts)]
    wide = max(high for _, high in ends) - min(low for low, _ in ends)
    if wide > WIDEST:
        raise InvalidParameter(f"the coefficients of the workload reach over {wide}; at most 2^20 is taken.")
    if wide == 0:
        raise InvalidParameter("all coefficients of the workload are 0: there is nothing to ask.")
    return wide


def answers(workload: Workload, marginals: Marginals) -> Array:
    """All answers, in the workload's order; exact for whole-numbered counts."""
    return np.concatenate(
        [part.answers(marginals.of(part.positions).reshape(part.shape)) for _, part in workload.parts]
    )


def question(workload: Workload, index: int, wide: int) -> LinearQuery:
    """One question, divided by the width of all."""
    for _, part in workload.parts:
        if index < part.rows:
            return LinearQuery(part.positions, part.shape, _row(part, index).reshape(-1), wide)
        index -= part.rows
    raise IndexError(index)


@singledispatch
def _extremes(part: Any) -> tuple[int, int]:
    """The least and the largest coefficient, or bounds on them."""
    values = part.matrix()
    return int(values.min()), int(values.max())


@_extremes.register
def _(part: Matrix) -> tuple[int, int]:
    return int(part.values.min()), int(part.values.max())


@_extremes.register(Identity)
@_extremes.register(Prefix)
@_extremes.register(Ranges)
@_extremes.register(Intervals)
@_extremes.register(Total)
def _(part: Factor) -> tuple[int, int]:
    return 0, 1


@_extremes.register(Product)
@_extremes.register(Conjunctions)
def _(part: Product | Conjunctions) -> tuple[int, int]:
    corners = [math.prod(ends) for ends in itertools.product(*(_extremes(factor) for factor in part.factors))]
    return min(corners), max(corners)


@_extremes.register
def _(part: Cells) -> tuple[int, int]:
    return _extremes(part.factor)


@singledispatch
def _row(part: Any, index: int) -> Ints:
    """The coefficients of one question."""
    return np.asarray(part.matrix()[index])


@_row.register
def _(part: Matrix, index: int) -> Ints:
    return np.asarray(part.values[index])


@_row.register
def _(part: Identity, index: int) -> Ints:
    return _between(part.n, index, index + 1)


@_row.register
def _(part: Prefix, index: int) -> Ints:
    return _between(part.n, 0, index + 1)


@_row.register
def _(part: Ranges, index: int) -> Ints:
    low, high = part.ends
    return _between(part.n, low[index], high[index])


@_row.register
def _(part: Intervals, index: int) -> Ints:
    return _between(part.n, part.low[index], part.high[index])


@_row.register
def _(part: Cells, index: int) -> Ints:
    return _row(part.factor, index)


@_row.register
def _(part: Product, index: int) -> Ints:
    places = np.unravel_index(index, [factor.rows for factor in part.factors]) if part.factors else ()
    return _outer(_row(factor, int(place)) for factor, place in zip(part.factors, places, strict=True))


@_row.register
def _(part: Conjunctions, index: int) -> Ints:
    return _outer(_row(factor, index) for factor in part.factors)


def _outer(rows: Iterable[Ints]) -> Ints:
    return reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), rows, np.ones(1, dtype=np.int64))


def _between(n: int, low: Any, high: Any) -> Ints:
    row = np.zeros(n, dtype=np.int64)
    row[low:high] = 1
    return row
