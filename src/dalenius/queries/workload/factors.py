"""Questions about one column: rows of a matrix that is never written out.

A factor knows how many questions it has, how to answer them along one axis of a histogram, how much one record can
change them, and how their energy is spread over a tree of blocks: sum over the blocks B of a size s of
(sum of q over B)^2 / s, the squared length of q after it is made constant on blocks. Blocks of size s start at 0, s,
2s, ...; the last one may reach beyond the column, where every question is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Factor(ABC):
    """Questions about a column of `n` values."""

    n: int

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of questions."""

    @abstractmethod
    def apply(self, values: Array, axis: int) -> Array:
        """The answers, in place of the cells along one axis."""

    @abstractmethod
    def energies(self, block: int) -> Reals:
        """For every question the sum over blocks of (sum of q over the block)^2 / block."""

    def energy(self, block: int) -> float:
        """The sum of the energies over all questions."""
        return float(self.energies(block).sum())

    @abstractmethod
    def column_norms(self, power: int) -> Array:
        """For every value of the column, the sum over the questions of |coefficient|^power."""

    @abstractmethod
    def farthest(self, power: int) -> float:
        """The largest, over two values, of the sum over the questions of |difference of coefficients|^power."""

    def sensitivity(self, power: int, adjacency: Adjacency) -> float:
        """The most one record changes the answers: the l1 norm, or the square of the l2 norm for power 2.

        A record that is replaced may leave the domain, or come into it, so that replacing is no less than removing.
        """
        one = _plain(self.column_norms(power).max())
        return one if adjacency is ADD_REMOVE else max(one, self.farthest(power))

    @property
    def disjoint(self) -> bool:
        """Whether two values exist that share no question and are each in as many as any."""
        return False

    @property
    def signed(self) -> bool:
        """Whether some coefficient is negative."""
        return False

    @property
    def whole(self) -> bool:
        """Whether all coefficients are whole numbers."""
        return True

    @abstractmethod
    def matrix(self) -> Array:
        """The questions written out, for tests and small columns."""

    def _key(self) -> tuple[Any, ...]:
        return (self.n,)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))


class Identity(Factor):
    """How many rows have each value."""

    @property
    def rows(self) -> int:
        return self.n

    def apply(self, values: Array, axis: int) -> Array:
        return values

    def energies(self, block: int) -> Reals:
        return np.full(self.n, 1.0 / block)

    def energy(self, block: int) -> float:
        return self.n / block

    def column_norms(self, power: int) -> Array:
        return np.ones(self.n, dtype=np.int64)

    def farthest(self, power: int) -> float:
        return 2 if self.n > 1 else 0

    @property
    def disjoint(self) -> bool:
        return self.n > 1

    def matrix(self) -> Array:
        return np.eye(self.n, dtype=np.int64)


class Total(Factor):
    """How many rows there are, whatever they hold in this column."""

    @property
    def rows(self) -> int:
        return 1

    def apply(self, values: Array, axis: int) -> Array:
        return np.asarray(values.sum(axis=axis, keepdims=True))

    def energies(self, block: int) -> Reals:
        full, rest = divmod(self.n, block)
        return np.array([full * block + rest * rest / block])

    def column_norms(self, power: int) -> Array:
        return np.ones(self.n, dtype=np.int64)

    def farthest(self, power: int) -> float:
        return 0

    def matrix(self) -> Array:
        return np.ones((1, self.n), dtype=np.int64)


class Prefix(Factor):
    """How many rows have at most each value."""

    @property
    def rows(self) -> int:
        return self.n

    def apply(self, values: Array, axis: int) -> Array:
        return np.cumsum(values, axis=axis)

    def energies(self, block: int) -> Reals:
        return _interval_energies(np.zeros(self.n, dtype=np.int64), np.arange(1, self.n + 1), block)

    def column_norms(self, power: int) -> Array:
        return np.arange(self.n, 0, -1)

    def farthest(self, power: int) -> float:
        return self.n - 1

    def matrix(self) -> Array:
        return np.tri(self.n, dtype=np.int64)


class Ranges(Factor):
    """How many rows are in each range of values: all n (n + 1) / 2 of them, by first and then by last value."""

    @property
    def rows(self) -> int:
        return self.n * (self.n + 1) // 2

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """Where each range begins, and where it has ended."""
        low, high = np.triu_indices(self.n)
        return low.astype(np.int64), high.astype(np.int64) + 1

    def apply(self, values: Array, axis: int) -> Array:
        return _differences(values, axis, *self.ends)

    def energies(self, block: int) -> Reals:
        return _interval_energies(*self.ends, block)

    def energy(self, block: int) -> float:
        n, s = self.n, block
        first = np.arange(0, n, s, dtype=np.float64)
        last = np.minimum(first + s, n)
        size, left, right = last - first, first + 1, n - last + 1
        inner = size - 1  # lengths 1 .. size - 1 of ranges that end inside, and of those within
        squares = inner * (inner + 1) * (2 * inner + 1) / 6
        within = inner * squares - (inner * (inner + 1) / 2) ** 2  # sum over j of (size - 1 - j) j^2
        return float((left * right * size**2 + (left + right) * squares + within).sum() / s)

    def column_norms(self, power: int) -> Array:
        place = np.arange(self.n)
        return (place + 1) * (self.n - place)

    def farthest(self, power: int) -> float:
        # For j < k the ranges that hold one of the two alone are (j+1)(n-j) + (k+1)(n-k) - 2 (j+1)(n-k), a parabola
        # in k with its top at (n - 1)/2 + j + 1.
        j = np.arange(self.n - 1)
        found = 0
        for k in (self.n // 2 + j, self.n // 2 + j + 1, np.full_like(j, self.n - 1)):
            k = np.clip(k, j + 1, self.n - 1)
            here = (j + 1) * (self.n - j) + (k + 1) * (self.n - k) - 2 * (j + 1) * (self.n - k)
            found = max(found, int(here.max(initial=0)))
        return found

    def matrix(self) -> Array:
        low, high = self.ends
        place = np.arange(self.n)
        return ((place >= low[:, None]) & (place < high[:, None])).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Intervals(Factor):
    """How many rows are in some ranges of values: from `low` up to, and not including, `high`."""

    low: Ints
    high: Ints

    @property
    def rows(self) -> int:
        return len(self.low)

    def apply(self, values: Array, axis: int) -> Array:
        return _differences(values, axis, self.low, self.high)

    def energies(self, block: int) -> Reals:
        return _interval_energies(self.low, self.high, block)

    def column_norms(self, power: int) -> Array:
        change = np.bincount(self.low, minlength=self.n + 1) - np.bincount(self.high, minlength=self.n + 1)
        return np.cumsum(change)[: self.n]

    def farthest(self, power: int) -> float:
        """Exact for up to 4096 values; beyond, the sum of the two largest, which is no less."""
        norms = self.column_norms(power)
        if self.n > 4096 or self.rows * self.n > 2**26:
            return float(2 * norms.max())
        questions = self.matrix().astype(np.float64)
        together = questions.T @ questions
        return _plain(np.rint(norms[:, None] + norms[None, :] - 2 * together).max())

    def matrix(self) -> Array:
        place = np.arange(self.n)
        return ((place >= self.low[:, None]) & (place < self.high[:, None])).astype(np.int64)

    def _key(self) -> tuple[Any, ...]:
        return (self.n, self.low.tobytes(), self.high.tobytes())


@dataclass(frozen=True, eq=False)
class Matrix(Factor):
    """Questions given by their coefficients, one row each."""

    values: Array

    @property
    def rows(self) -> int:
        return len(self.values)

    def apply(self, values: Array, axis: int) -> Array:
        moved = np.tensordot(self.values, values, axes=(1, axis))
        return np.moveaxis(moved, 0, axis)

    def energies(self, block: int) -> Reals:
        sums = np.add.reduceat(self.values.astype(np.float64), np.arange(0, self.n, block), axis=1)
        return np.asarray((sums**2).sum(axis=1) / block)

    def column_norms(self, power: int) -> Array:
        return np.asarray((np.abs(self._roomy(power)) ** power).sum(axis=0))

    def farthest(self, power: int) -> float:
        found: Any = 0
        values = self._roomy(power)
        for column in values.T:
            found = max(found, (np.abs(values - column[:, None]) ** power).sum(axis=0).max())
        return _plain(found)

    def _roomy(self, power: int) -> Array:
        """The coefficients, as Python's integers where sums of powers of differences would not fit 64 bits."""
        if not self.whole or self.rows * (2 * int(np.abs(self.values).max())) ** power < 2**63:
            return self.values
        return self.values.astype(object)

    @cached_property
    def signed(self) -> bool:
        return bool((self.values < 0).any())

    @cached_property
    def whole(self) -> bool:
        return self.values.dtype.kind in "iu"

    def matrix(self) -> Array:
        return self.values

    def _key(self) -> tuple[Any, ...]:
        return (self.n, self.values.dtype.str, self.values.shape, self.values.tobytes())


def coefficient_matrix(given: Any, n: int, what: str) -> Array:
    """A matrix with n columns as int64, where it is whole, or as doubles; an error for anything else."""
    try:
        array = np.asarray(given)
    except Exception:
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != n or not len(array) or array.dtype.kind not in "iufb":
        raise InvalidParameter(f"{what} must be a matrix of numbers with {n} columns and one row or more.")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all() or np.abs(array).max() > 1e12:
            raise InvalidParameter(f"{what} must hold finite numbers between -1e12 and 1e12.")
        if 0 < np.abs(array).max() < 1e-30:
            raise InvalidParameter(f"{what} holds nothing above 1e-30: multiply it.")
        whole = np.rint(array)
        return whole.astype(np.int64) if (whole == array).all() else array
    if array.dtype.kind != "b" and (array.max() > 10**12 or array.min() < -(10**12)):
        raise InvalidParameter(f"{what} must hold numbers between -1e12 and 1e12.")
    return array.astype(np.int64)


def _plain(value: Any) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _differences(values: Array, axis: int, low: Ints, high: Ints) -> Array:
    """Sums over ranges, as differences of sums from the start."""
    sums = np.cumsum(values, axis=axis)
    start = np.zeros_like(np.take(sums, [0], axis=axis))
    sums = np.concatenate([start, sums], axis=axis)
    return np.asarray(np.take(sums, high, axis=axis) - np.take(sums, low, axis=axis))


def _interval_energies(low: Ints, high: Ints, block: int) -> Reals:
    """Whole blocks count their size; the two that are cut, the square of what is left of them over the size."""
    first, last = low // block, (high - 1) // block
    head = np.minimum((first + 1) * block, high) - low
    tail = high - last * block
    inside = np.maximum(last - first - 1, 0) * block
    found = head**2 / block + np.where(last > first, tail**2 / block + inside, 0.0)
    return np.where(high > low, found, 0.0)
