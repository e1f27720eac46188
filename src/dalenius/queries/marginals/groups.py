"""Values of a column put together in groups, so that a marginal has fewer cells and each stands out of the noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.arrays import Array, Ints, Reals

Groups = tuple[Ints, ...]
"""For every column of a marginal the group of each of its values, numbered from 0 on."""


def even_groups(counts: Reals, most: int) -> Ints:
    """Groups of neighbouring values with about equally many rows, at most so many.

    Of the row in the middle of each value, the group is the part of the table in which it stands. The counts are
    released ones: the groups are public once they are.
    """
    if counts.size <= most:
        return np.arange(counts.size)
    shares = np.maximum(counts, 0.0) + 1e-9 * (1 + np.abs(counts).max())
    middles = (np.cumsum(shares) - shares / 2) / shares.sum()
    found = np.minimum((middles * most).astype(np.int64), most - 1)
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(counts.shape), dtype=np.int64)


def merged(table: Array, groups: Groups) -> Array:
    """A table over all values, summed within groups: each row of the data stays in one cell, so that it moves the
    sums as it moves the counts."""
    for axis, group in enumerate(groups):
        if not np.array_equal(group, np.arange(group.size)):
            member = (group == np.arange(int(group.max()) + 1)[:, None]).astype(table.dtype)
            table = np.moveaxis(np.tensordot(member, table, axes=(1, axis)), 0, axis)
    return table


def spread(table: Reals, groups: Groups) -> Reals:
    """A table over groups as one over all values, each with the number of its group."""
    return np.asarray(table[np.ix_(*groups)])


def first_values(groups: Groups) -> Groups:
    """One value of every group: where a table that `spread` made is read back."""
    return tuple(np.unique(group, return_index=True)[1] for group in groups)


def sizes(groups: Sequence[Ints]) -> tuple[int, ...]:
    """How many groups each column has."""
    return tuple(int(group.max()) + 1 for group in groups)
