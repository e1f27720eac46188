"""What the matrix mechanism measures: counts of blocks, or contrasts between them, over products of trees.

Write E(e), e = (e1, ..., ed), for the vectors over the cells that are, in column i, what the blocks of level ei differ
by (`trees.py`); these spaces are orthogonal and make up everything. The counts of all blocks of levels l have
a Gram matrix that is a number on each E(e): the cells of a block if e <= l in every column, and 0 elsewhere. The
contrasts at levels l have one that is not 0 on E(l) alone. So for independent noise the Gram matrix of all
measurements, each divided by its variance, is a number `precision` on each E(e), least squares is a division by it,
and a question q has the variance: sum over e of |q on E(e)|^2 / precision(e).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array
from dalenius.queries.matrix.trees import (
    Tree,
    contrasts,
    from_contrasts,
    padded,
    residuals,
    summed,
)
from dalenius.queries.noise_plan import Group
from dalenius.queries.rows import Rows

Levels = tuple[int, ...]
"""A level for every column."""


@dataclass(frozen=True)
class Measurement:
    """Counts of the blocks at some levels, or contrasts between blocks that are cut from the same one."""

    levels: Levels
    contrast: bool = False

    @property
    def columns(self) -> list[int]:
        """The columns that are not summed over."""
        return [i for i, level in enumerate(self.levels) if level]

    def values(self, trees: tuple[Tree, ...], rows: Rows) -> Array:
        """The measurement without noise: whole numbers, one axis for each of the columns."""
        found: Array = rows.counts(self.columns, [trees[i].blocks[self.levels[i]] for i in self.columns])
        for axis, i in enumerate(self.columns):
            found = padded(found, axis, trees[i].nodes(self.levels[i]))
            if self.contrast:
                found = contrasts(found, axis, _radix(trees[i], self.levels[i]))
        return found

    def group(self, trees: tuple[Tree, ...], adjacency: Adjacency) -> Group:
        """How much one record changes it.

        A count: 1 in one block; for a replaced record 1 in two. A contrast between two blocks: 1; between b > 2
        blocks: b - 1 in one place and 1 in b - 1 others, of l1 norm 2 (b - 1) and squared length b (b - 1). In several
        columns the norms multiply. Two records differ by most in squared length, 2 |u|^2 - 2 <u, v>, if they are in
        sibling blocks (<u, v> = -1, or -b, in that column) of the column where that is most, and alike elsewhere. A
        record that is replaced may also leave the domain.
        """
        radices = [_radix(trees[i], self.levels[i]) for i in self.columns] if self.contrast else []
        l1 = math.prod(1 if b == 2 else 2 * (b - 1) for b in radices)
        squared = math.prod(1 if b == 2 else b * (b - 1) for b in radices)
        one = math.prod(1 if b == 2 else b - 1 for b in radices)
        if adjacency is ADD_REMOVE or not self.columns:
            return Group(l1, squared, one)
        apart = max((squared // (1 if b == 2 else b - 1) for b in radices), default=0)
        return Group(2 * l1, 2 * squared + 2 * apart, one)

    def gain(self, trees: tuple[Tree, ...], part: Levels) -> float:
        """The Gram matrix of this measurement on E(part)."""
        if self.contrast:
            if part != self.levels:
                return 0.0
            squares = [_radix(trees[i], self.levels[i]) for i in self.columns]
            return self.cells(trees) * math.prod(2 if b == 2 else b * b for b in squares)
        below = all(e <= level for e, level in zip(part, self.levels, strict=True))
        return self.cells(trees) if below else 0.0

    def cells(self, trees: tuple[Tree, ...]) -> float:
        """How many cells a block has."""
        return float(math.prod(tree.blocks[level] for tree, level in zip(trees, self.levels, strict=True)))

    def residuals(self, trees: tuple[Tree, ...], measured: Array, part: Levels) -> Array:
        """An unbiased estimate, from this measurement, of what the blocks of levels `part` differ by."""
        found = measured.astype(np.float64)
        axis = 0
        for i in self.columns:
            tree, wanted = trees[i], part[i]
            if self.contrast:
                found = from_contrasts(found, axis, _radix(tree, wanted))
            elif wanted == 0:
                found = found.sum(axis=axis)
                continue
            else:
                found = summed(found, axis, tree.blocks[wanted] // tree.blocks[self.levels[i]])
                found = residuals(found, axis, _radix(tree, wanted))
            axis += 1
        return found


def gains(trees: tuple[Tree, ...], measurements: Sequence[Measurement], spaces: Sequence[Levels]) -> Array:
    """The Gram matrix of every measurement on every space E(e)."""
    levels = np.array([m.levels for m in measurements]).reshape(len(measurements), -1)
    wanted = np.array(spaces).reshape(len(spaces), -1)
    contrast = np.array([m.contrast for m in measurements])
    own = np.array([m.gain(trees, m.levels) for m in measurements])
    covered = np.ones((len(measurements), len(spaces)), dtype=np.bool_)
    for column in range(levels.shape[1]):
        here, there = levels[:, column, None], wanted[None, :, column]
        covered &= np.where(contrast[:, None], here == there, here >= there)
    return np.asarray(covered * own[:, None])


def _radix(tree: Tree, level: int) -> int:
    return tree.radices[level - 1]


@dataclass(frozen=True)
class Strategy:
    """Measurements over the trees of all columns, each with noise of a relative size."""

    trees: tuple[Tree, ...]
    measurements: tuple[Measurement, ...]
    relative: tuple[float, ...]
