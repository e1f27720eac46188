"""A column cut into blocks, these into smaller ones, and so on down to single values.

A vector over the values of the column is the sum of its mean and, for every level, of what blocks of that level
differ by from the mean of the blocks beside them. These parts are orthogonal, and everything that the matrix mechanism
needs (Gram matrices of strategies, their inverses, traces) is a number for each level, whatever the size of the column.
A column whose values have no order has one level below the whole: its values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Array


@dataclass(frozen=True)
class Tree:
    """A column of `n` values; `radices` says into how many blocks a block is cut, from the whole downwards."""

    n: int
    radices: tuple[int, ...]

    @cached_property
    def padded(self) -> int:
        """The values, and places that stay empty."""
        return math.prod(self.radices) if self.radices else self.n

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """How many values a block has, at each level from the whole to single values."""
        sizes = [self.padded]
        for radix in self.radices:
            sizes.append(sizes[-1] // radix)
        return tuple(sizes)

    def nodes(self, level: int) -> int:
        """How many blocks there are."""
        return self.padded // self.blocks[level]

    def dimension(self, level: int) -> int:
        """How many numbers say what the blocks of a level differ by."""
        return 1 if level == 0 else self.nodes(level) - self.nodes(level - 1)


def padded(values: Array, axis: int, size: int) -> Array:
    """Zeros at the end of an axis."""
    missing = size - values.shape[axis]
    if not missing:
        return values
    width = [(0, missing) if i == axis else (0, 0) for i in range(values.ndim)]
    return np.pad(values, width)


def summed(values: Array, axis: int, radix: int) -> Array:
    """Blocks of `radix` neighbours along an axis, added up."""
    return np.asarray(_cut(values, axis, radix).sum(axis=axis + 1))


def repeated(values: Array, axis: int, radix: int) -> Array:
    """Every number `radix` times along an axis."""
    return np.repeat(values, radix, axis=axis)


def residuals(values: Array, axis: int, radix: int) -> Array:
    """What numbers differ by from the mean of the `radix` that they belong to."""
    cut = _cut(values, axis, radix)
    return np.asarray(cut - cut.mean(axis=axis + 1, keepdims=True)).reshape(values.shape)


def contrasts(values: Array, axis: int, radix: int) -> Array:
    """The same in whole numbers: first less second for pairs, else `radix` times the number less the sum."""
    cut = _cut(values, axis, radix)
    if radix == 2:
        first, second = np.moveaxis(cut, axis + 1, 0)
        return np.asarray(first - second)
    return np.asarray(radix * cut - cut.sum(axis=axis + 1, keepdims=True)).reshape(values.shape)


def from_contrasts(values: Array, axis: int, radix: int) -> Array:
    """Residuals from (noisy) contrasts."""
    if radix == 2:
        both = np.stack([values, -values], axis=axis + 1) / 2
        shape = list(values.shape)
        shape[axis] *= 2
        return both.reshape(shape)
    return residuals(values / radix, axis, radix)


def _cut(values: Array, axis: int, radix: int) -> Array:
    shape = values.shape
    return values.reshape(*shape[:axis], shape[axis] // radix, radix, *shape[axis + 1 :])
