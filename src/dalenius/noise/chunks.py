"""Large draws are made a chunk at a time: the working set stays in the cache, whatever is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.noise.parameters import Size, shape_of

CHUNK = 1 << 15
"""Draws made at a time (256 KiB an array)."""

LARGEST = 1 << 62
"""Integers below this in size are returned as int64; an array with a larger one holds Python integers."""


def integers(size: Size, draw: Callable[[int], NDArray[Any]]) -> Any:
    """`draw(n)` repeated until `size` is filled: an array of int64 (or of Python integers), or one int."""
    return fill(size, draw, np.int64)


def fill(size: Size, draw: Callable[[int], NDArray[Any]], kind: type) -> Any:
    """`draw(n)` repeated until `size` is filled; for size None the one value as a plain Python one."""
    shape = shape_of(size)
    if size is None:
        return draw(1).item()
    total = math.prod(shape)
    if total <= CHUNK:
        return draw(total).reshape(shape)
    out: NDArray[Any] = np.empty(total, dtype=kind)
    for start in range(0, total, CHUNK):
        part = draw(min(CHUNK, total - start))
        if part.dtype == object and out.dtype != object:
            out = out.astype(object)
        out[start : start + len(part)] = part
    return out.reshape(shape)


def settled(
    values: NDArray[np.int64], undecided: NDArray[np.bool_], settle: Callable[[int], int]
) -> NDArray[Any]:
    """`values` with `settle(i)` at every undecided place i."""
    if not undecided.any():
        return values
    result: NDArray[Any] = values
    for i in np.flatnonzero(undecided):
        value = settle(int(i))
        if abs(value) >= LARGEST and result.dtype != object:
            result = result.astype(object)
        result[i] = value
    return result
