"""Rows as whole numbers, one by one: no row can change what becomes of another, or fail."""

from __future__ import annotations

import numpy as np

from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer import inputs

STEPS = 1 << 20
"""Values between -1 and 1 become whole numbers of this part."""


def present(values: Reals, adjacency: Adjacency, place: float = 0.0) -> Reals:
    """Rows that are numbers; others are absent, or at a public place where the number of rows is public."""
    good = np.isfinite(values)
    return np.where(good, values, place) if adjacency is REPLACE_ONE else values[good]


def column(values: object, what: str, adjacency: Adjacency, place: float = 0.0) -> Reals:
    """One number a row."""
    return present(inputs.column(values, what)[0], adjacency, place)


def steps(values: Reals, centre: float, reach: float) -> Ints:
    """Values as whole numbers of 1 / STEPS of `reach` on either side of a centre, cut off there."""
    with np.errstate(all="ignore"):
        u = np.clip((values - centre) / reach, -1.0, 1.0)
    return np.rint(np.nan_to_num(u) * STEPS).astype(np.int64)


def squares(u: Ints) -> Ints:
    """Squares of such numbers, in the same steps."""
    return (u * u + STEPS // 2) // STEPS


def two_samples(which: Reals, values: Reals) -> tuple[Reals, Reals]:
    """Values of rows with 1, and of those with 0; others are in neither."""
    return values[which == 1], values[which == 0]
