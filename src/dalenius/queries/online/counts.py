"""The data as counts that fit: what every method of this folder starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Ints
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import DiscreteGaussian, Geometric, Neighbours
from dalenius.queries.domain import Domain

MOST_CELLS = 1 << 24
"""Weights are kept for every cell of the domain, as doubles."""


def checked_domain(domain: object, method: str) -> Domain:
    """A domain small enough for a weight on every cell."""
    if not isinstance(domain, Domain):
        raise InvalidParameter("domain must be a dalenius.queries.Domain.")
    if domain.cells > MOST_CELLS:
        raise InvalidParameter(
            f"the domain has {domain.cells:.3g} cells; {method} keeps a weight for each and takes at most 2^24. Use "
            "fewer columns or wider bins, or marginals with a graphical model."
        )
    return domain


def counts(domain: Domain, data: Any, most: int) -> Ints:
    """How many rows each cell has, from 0 to a public limit: clamping drives no two data sets apart.

    No sum of counts is above `most`.
    """
    given = domain.histogram(data)
    found = domain.counts(data) if given is None else given
    return np.clip(found, 0, most // domain.cells).astype(np.int64)


def total(cells: Ints, counter: Geometric | DiscreteGaussian | None, n: int) -> int:
    """The number of rows that a hypothesis is scaled to: n, or a count with noise where there is a counter; above 0."""
    return max(1, n if counter is None else int(counter.release(int(cells.sum()))))


def neighbours(domain: Domain, rows_per_unit: int, adjacency: Adjacency) -> Neighbours:
    """All rows of a small table in the first cell; those of one unit more there, or moved to the last."""
    cells = np.zeros(domain.cells, dtype=np.int64)
    cells[0] = 10 * rows_per_unit
    other = cells.copy()
    if adjacency is ADD_REMOVE:
        other[0] += rows_per_unit
    else:
        other[0] -= rows_per_unit
        other[-1] += rows_per_unit
    return Neighbours(cells, other)
