"""Questions about several columns at once, made of questions about single ones."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.queries.workload.factors import Factor, Intervals, Matrix, _plain

MOST_ENUMERATED = 2**22
"""Up to this many coefficients a matrix is written out where that makes a sensitivity exact."""


@dataclass(frozen=True)
class Part(ABC):
    """Questions about the columns at `positions` of a domain; the other columns are summed over."""

    positions: tuple[int, ...]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How many values each of the columns has."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of questions."""

    @abstractmethod
    def answers(self, counts: Array) -> Array:
        """The answers, flat, from the histogram of the columns."""

    @abstractmethod
    def energies(self, blocks: Sequence[int]) -> Reals:
        """For every question the sum over blocks of (sum over the block)^2 / cells of a block."""

    @abstractmethod
    def energy(self, blocks: Sequence[int]) -> float:
        """The sum of the energies over all questions."""

    def spectrum(self, ladders: Sequence[Sequence[int]]) -> Reals:
        """The energy between one size of blocks and the next coarser, for every combination of sizes.

        `ladders` has for each column its sizes of blocks, the coarsest first.
        """
        grid = [len(ladder) for ladder in ladders]
        table = np.empty(grid)
        for place in np.ndindex(*grid):
            table[place] = self.energy([ladder[i] for ladder, i in zip(ladders, place, strict=True)])
        return _steps(table, range(len(grid)))

    def spectra(self, ladders: Sequence[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], Reals]]:
        """The same for every question by itself: combinations of sizes, each with the questions' energies there."""
        grid = [len(ladder) for ladder in ladders]
        table = np.empty((*grid, self.rows))
        for place in np.ndindex(*grid):
            table[place] = self.energies([ladder[i] for ladder, i in zip(ladders, place, strict=True)])
        table = _steps(table, range(len(grid)))
        return ((place, table[place]) for place in np.ndindex(*grid))

    @abstractmethod
    def sensitivity(self, power: int, adjacency: Adjacency) -> float:
        """The most one record changes the answers: the l1 norm, or the square of the l2 norm for power 2."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether all coefficients are whole numbers."""

    @abstractmethod
    def matrix(self) -> Array:
        """The questions written out over the cells of the columns."""

    @property
    def cells(self) -> int:
        """The number of cells of the columns."""
        return math.prod(self.shape)

    def _replaced(self, power: int, bound: float) -> float:
        """For a replaced record: over pairs of cells where the matrix is small, else a bound."""
        if self.rows * self.cells**2 > 64 * MOST_ENUMERATED or self.rows * self.cells > MOST_ENUMERATED:
            return bound
        return Matrix(self.cells, self.matrix()).sensitivity(power, REPLACE_ONE)


@dataclass(frozen=True)
class Product(Part):
    """All combinations of questions about the columns: a Kronecker product, the last column changing fastest."""

    factors: tuple[Factor, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.n for factor in self.factors)

    @property
    def rows(self) -> int:
        return math.prod(factor.rows for factor in self.factors)

    def answers(self, counts: Array) -> Array:
        for axis, factor in enumerate(self.factors):
            counts = factor.apply(counts, axis)
        return counts.reshape(-1)

    def energies(self, blocks: Sequence[int]) -> Reals:
        each = [factor.energies(block) for factor, block in zip(self.factors, blocks, strict=True)]
        return reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), each, np.ones(1))

    def energy(self, blocks: Sequence[int]) -> float:
        return math.prod(factor.energy(block) for factor, block in zip(self.factors, blocks, strict=True))

    def spectrum(self, ladders: Sequence[Sequence[int]]) -> Reals:
        each = [
            _steps(np.array([factor.energy(block) for block in ladder]), [0])
            for factor, ladder in zip(self.factors, ladders, strict=True)
        ]
        return reduce(np.multiply.outer, each, np.ones(()))

    def spectra(self, ladders: Sequence[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], Reals]]:
        each = [
            _steps(np.array([factor.energies(block) for block in ladder]), [0])
            for factor, ladder in zip(self.factors, ladders, strict=True)
        ]
        for place in np.ndindex(*[len(ladder) for ladder in ladders]):
            rows = [found[i] for found, i in zip(each, place, strict=True)]
            yield place, reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), rows, np.ones(1))

    def sensitivity(self, power: int, adjacency: Adjacency) -> float:
        """Exact, but for replaced records where several columns have other questions than their values."""
        one = math.prod(factor.sensitivity(power, ADD_REMOVE) for factor in self.factors)
        if adjacency is ADD_REMOVE:
            return one
        if len(self.factors) < 2:
            return self.factors[0].sensitivity(power, adjacency) if self.factors else one
        if any(factor.signed for factor in self.factors):
            return self._replaced(power, 2**power * one)
        # Two records that differ in a column where no question holds both share none at all.
        return 2 * one if any(factor.disjoint for factor in self.factors) else self._replaced(power, 2 * one)

    @property
    def whole(self) -> bool:
        return all(factor.whole for factor in self.factors)

    def matrix(self) -> Array:
        each = [factor.matrix() for factor in self.factors]
        if self.whole and math.prod(int(np.abs(one).max()) for one in each) >= 2**63:
            each = [one.astype(object) for one in each]  # Python's integers: products would not fit 64 bits
        return reduce(np.kron, each, np.ones((1, 1), dtype=np.int64))


@dataclass(frozen=True)
class Conjunctions(Part):
    """Questions that each combine one question about every column: the rows of the factors side by side."""

    factors: tuple[Intervals | Matrix, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.n for factor in self.factors)

    @property
    def rows(self) -> int:
        return self.factors[0].rows

    def answers(self, counts: Array) -> Array:
        # The first column for all questions at once, the others question by question, on what is left.
        left = self.factors[0].apply(counts, 0).reshape(self.rows, *self.shape[1:])
        for factor in self.factors[1:]:
            if isinstance(factor, Intervals):
                sums = np.concatenate([np.zeros_like(left[:, :1]), np.cumsum(left, axis=1)], axis=1)
                row = np.arange(self.rows)
                left = sums[row, factor.high] - sums[row, factor.low]
            else:
                left = np.einsum("rn,rn...->r...", factor.values, left)
        return left

    def energies(self, blocks: Sequence[int]) -> Reals:
        each = [factor.energies(block) for factor, block in zip(self.factors, blocks, strict=True)]
        return reduce(np.multiply, each)

    def energy(self, blocks: Sequence[int]) -> float:
        return float(self.energies(blocks).sum())

    def sensitivity(self, power: int, adjacency: Adjacency) -> float:
        """Exact where the cells are few; else from the column with the fewest questions about one value."""
        if self.rows * self.cells <= MOST_ENUMERATED:
            return Matrix(self.cells, self.matrix()).sensitivity(power, adjacency)
        largest = [_largest(factor) ** power for factor in self.factors]
        one: float = min(
            factor.sensitivity(power, ADD_REMOVE) * math.prod(largest[:i] + largest[i + 1 :])
            for i, factor in enumerate(self.factors)
        )
        if adjacency is ADD_REMOVE:
            return one
        signed = any(factor.signed for factor in self.factors)
        return self._replaced(power, one * (2**power if signed else 2))

    @property
    def whole(self) -> bool:
        return all(factor.whole for factor in self.factors)

    def matrix(self) -> Array:
        each = [factor.matrix() for factor in self.factors]
        return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), each)


@dataclass(frozen=True)
class Cells(Part):
    """Questions given by their coefficients on every cell of the columns together."""

    sizes: tuple[int, ...]
    factor: Matrix

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def rows(self) -> int:
        return self.factor.rows

    def answers(self, counts: Array) -> Array:
        return np.asarray(self.factor.values @ counts.reshape(-1))

    def energies(self, blocks: Sequence[int]) -> Reals:
        sums = self.factor.values.reshape(self.rows, *self.sizes).astype(np.float64)
        for axis, (size, block) in enumerate(zip(self.sizes, blocks, strict=True), start=1):
            sums = np.add.reduceat(sums, np.arange(0, size, block), axis=axis)
        return np.asarray((sums.reshape(self.rows, -1) ** 2).sum(axis=1) / math.prod(blocks))

    def energy(self, blocks: Sequence[int]) -> float:
        return float(self.energies(blocks).sum())

    def sensitivity(self, power: int, adjacency: Adjacency) -> float:
        one = self.factor.sensitivity(power, ADD_REMOVE)
        return one if adjacency is ADD_REMOVE else self._replaced(power, 2**power * one)

    @cached_property
    def whole(self) -> bool:
        return self.factor.whole

    def matrix(self) -> Array:
        return self.factor.values


def _steps(table: Reals, axes: Iterable[int]) -> Reals:
    """Differences to the next coarser blocks; what rounding makes negative is 0."""
    for axis in axes:
        table = np.diff(table, axis=axis, prepend=0.0)
    return np.maximum(table, 0.0)


def _largest(factor: Intervals | Matrix) -> Any:
    return _plain(np.abs(factor.values).max()) if isinstance(factor, Matrix) else 1
