"""Rows as whole numbers and public levels, one by one: no row can change what becomes of another, or fail."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter
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


def levels(name: str, value: object) -> tuple[Hashable, ...]:
    """Public levels: at least two, each once."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidParameter.of(
            name,
            f"{name} is {checks.shown(value)}; it must list all the values there can be, which is public.",
        )
    found = tuple(x.item() if isinstance(x, np.generic) else x for x in value)
    if not all(isinstance(x, Hashable) for x in found) or len(set(found)) != len(found) or len(found) < 2:
        raise InvalidParameter.of(
            name, f"{name} is {checks.shown(value)}; it must list two values or more, each once."
        )
    return found


def codes(values: Any, known: Sequence[Hashable], what: str) -> Ints:
    """The place of each value among the levels; -1 where it is none of them."""
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
        raise InvalidParameter.of(what, f"{what} must be one value a row: a list, an array or a series.")
    if getattr(values, "ndim", 1) != 1:
        raise InvalidParameter.of(what, f"{what} has shape {values.shape}; it must be one value a row.")
    places = {level: place for place, level in enumerate(known)}
    listed = (
        values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    )  # pyarrow's, of Python's values
    return np.fromiter((_place(places, value) for value in listed), dtype=np.int64, count=len(listed))


def _place(places: dict[Hashable, int], value: Any) -> int:
    try:
        return places.get(value.item() if isinstance(value, np.generic) else value, -1)
    except Exception:  # whatever a value raises, it is no level
        return -1


def same_length(first: Sized, second: Sized, what: str) -> None:
    """Raise where two columns of the same rows are not."""
    if len(first) != len(second):
        raise InvalidParameter(
            f"{what} have {len(first)} and {len(second)} rows; they must be of the same rows."
        )
