"""Large draws are made a chunk at a time: the working set stays in the cache, whatever is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Bools, Ints
from dalenius.noise.parameters import Size, shape_of

CHUNK = 1 << 15
"""Draws made at a time (256 KiB an array)."""

LARGEST = 1 << 62
"""Integers below this in size are returned as int64; an array with a larger one holds Python integers."""


def fill(size: Size, draw: Callable[[int], Array], kind: type = np.int64) -> Any:
    """`draw(n)` repeated until `size` is filled; for size None the one value as a plain Python one."""
    shape = shape_of(size)
    if size is None:
        return draw(1).item()
    total = math.prod(shape)
    if total <= CHUNK:
        return draw(total).reshape(shape)
    out: Array = np.empty(total, dtype=kind)
    for start in range(0, total, CHUNK):
        part = draw(min(CHUNK, total - start))
        if part.dtype == object and out.dtype != object:
            out = out.astype(object)
        out[start : start + len(part)] = part
    return out.reshape(shape)


def until_enough(n: int, attempt: Callable[[int], Array]) -> Array:
    """n draws from `attempt(m)`, which gives about m of them, independent of how many it gives."""
    drawn = attempt(n)
    while len(drawn) < n:
        drawn = np.concatenate([drawn, attempt(n - len(drawn))])
    return drawn[:n]


def settled(values: Ints, undecided: Bools, settle: Callable[[int], int]) -> Array:
    """`values` with `settle(i)` at every undecided place i."""
    if not undecided.any():
        return values
    result: Array = values
    for i in np.flatnonzero(undecided):
        value = settle(int(i))
        if abs(value) >= LARGEST and result.dtype != object:
            result = result.astype(object)
        result[i] = value
    return result
