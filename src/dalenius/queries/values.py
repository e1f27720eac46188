"""Synthetic codes as values of a domain's columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Ints
from dalenius.queries.domain import Bins, Categories, Column

PLAIN = (str, int, float, np.generic)


def values(column: Column, codes: Ints, draw: np.random.Generator) -> Array:
    """Listed values as they were listed, whole numbers, and numbers drawn evenly from their bins."""
    if isinstance(column, Bins):
        low, high = column.edges[codes], column.edges[codes + 1]
        return np.minimum(low + (high - low) * draw.random(len(codes)), np.nextafter(high, -math.inf))
    if isinstance(column, Categories):
        listed: Any = np.fromiter(column.values, dtype=object, count=len(column.values))
        if len({type(value) for value in column.values}) == 1 and isinstance(column.values[0], PLAIN):
            listed = np.array(column.values)  # else NumPy would make different kinds alike
        return np.asarray(listed[codes])
    return codes
