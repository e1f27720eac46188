"""One table from several noisy ones that should add up: cells and their margins, by least squares.

Noisy margins S of a table of cells x over the product of d columns with n_1, ..., n_d values: M_S is the sum of x
over the columns not in S, plus independent noise of one law in each of its cells. x is in one way a sum of
components x_T, one for each set T of columns, which depend on the columns of T alone and sum to zero along each of
them (as in the analysis of variance).

The component T of M_S, divided by the number N(S) = product of n_i over i not in S, estimates x_T if T is part of
S, and nothing else in M_S depends on x_T. Components of white noise are uncorrelated, and that of T has a variance
in proportion to

    sigma_S^2 / (N(S)^2 * product of n_i over i in S but not in T),

so the best linear unbiased estimate of x_T (Gauss and Markov) is the mean of what the margins S containing T say,
weighted by the inverses. Margins of the estimate add up exactly: they are margins of one table. The noise in a cell
u of margin U is a sum over all noisy cells s of every S with the coefficients

    sum over T in U and S of  N(U) share_S(T) / (N(S) * product of n_i, i in S - T)
                              * product over i in T of ([u_i = s_i] - 1 / n_i),

which depend only on where u and s agree: so its variance and its fourth cumulant are short sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import Combined, Law, Noisy
from dalenius.tables.ask.cube import CubeQuery

Columns = tuple[int, ...]
"""Some of the columns 0, ..., d - 1, in increasing order."""


@dataclass(frozen=True)
class Margins:
    """Which margins of a table with so many values in each column were released, one of them the table itself."""

    sizes: tuple[int, ...]
    sets: tuple[Columns, ...]

    @classmethod
    def of(cls, asked: CubeQuery) -> Margins:
        """Those that a cube or rollup asks for, in its order."""
        place = {name: i for i, name in enumerate(asked.columns)}
        sets = tuple(tuple(sorted(place[name] for name in kept)) for kept in asked.sets)
        return cls(tuple(map(len, asked.lists)), sets)

    def laws(self, given: Mapping[Columns, Law]) -> dict[Columns, Law]:
        """The law of the noise in each margin after all were made to agree, from what each had."""
        first = given[self.sets[0]].variance
        # To twelve digits, in which laws of one kind that differ by a factor alone are equal: a price tries many.
        ratios = tuple(float(f"{given[s].variance / first:.12g}") for s in self.sets)
        made: dict[Columns, Law] = {}
        for u, sums in zip(self.sets, _sums(self, ratios), strict=True):
            variance = math.fsum(
                square * given[s].variance for s, (square, _) in zip(self.sets, sums, strict=True)
            )
            fourth = math.fsum(
                fourth * given[s].fourth for s, (_, fourth) in zip(self.sets, sums, strict=True)
            )
            made[u] = Combined(math.sqrt(variance), fourth / variance**2)
        return made

    def reconciled(self, noisy: Mapping[Columns, Noisy]) -> dict[Columns, Noisy]:
        """The same margins, of one table. Values have one axis of all cells of a margin, and perhaps one of bins."""
        shape = {s: tuple(self.sizes[i] for i in s) for s in self.sets}
        tables = {s: noisy[s].values.reshape(*shape[s], -1) for s in self.sets}
        shares = self._shares({s: noisy[s].variance for s in self.sets})
        laws = self.laws({s: noisy[s].law for s in self.sets})
        components = {
            t: sum(
                (
                    share * self._component(tables[s], s, t) / self._outside(s)
                    for s, share in shares[t].items()
                ),
                np.zeros(()),
            )
            for t in shares
        }
        made = {}
        for u in self.sets:
            values = sum((self._spread(components[t], t, u) for t in subsets(u)), np.zeros(()))
            values = np.broadcast_to(values * self._outside(u), tables[u].shape).reshape(
                noisy[u].values.shape
            )
            made[u] = Noisy(np.array(values), laws[u])
        return made

    def _outside(self, s: Columns) -> int:
        return math.prod(n for i, n in enumerate(self.sizes) if i not in s)

    def _inside(self, s: Columns, t: Columns) -> int:
        return math.prod(self.sizes[i] for i in s if i not in t)

    def _shares(self, variances: Mapping[Columns, float]) -> dict[Columns, dict[Columns, float]]:
        """How much each margin says of each component."""
        shares = {}
        for t in subsets(tuple(range(len(self.sizes)))):
            weights = {
                s: self._inside(s, t) * self._outside(s) ** 2 / variances[s]
                for s in self.sets
                if set(t) <= set(s)
            }
            everything = math.fsum(weights.values())
            shares[t] = {s: weight / everything for s, weight in weights.items()}
        return shares

    @staticmethod
    def _component(table: Reals, s: Columns, t: Columns) -> Reals:
        """With an axis for each column of t, and that of bins."""
        table = table.mean(axis=tuple(k for k, i in enumerate(s) if i not in t))
        for axis in range(len(t)):
            table = table - table.mean(axis=axis, keepdims=True)
        return np.asarray(table)

    @staticmethod
    def _spread(component: Reals, t: Columns, u: Columns) -> Reals:
        """With an axis for each column of u, and that of bins."""
        return np.expand_dims(component, tuple(k for k, i in enumerate(u) if i not in t))

    def _coefficients(
        self, u: Columns, s: Columns, shares: Mapping[Columns, Mapping[Columns, float]]
    ) -> Iterator[tuple[float, int]]:
        """Those of the noisy cells of s in a cell of u, and how many cells have each."""
        both = tuple(i for i in u if i in s)
        for agree in subsets(both):
            coefficient = math.fsum(
                self._outside(u)
                * shares[t][s]
                / (self._outside(s) * self._inside(s, t))
                * math.prod((i in agree) - 1 / self.sizes[i] for i in t)
                for t in subsets(both)
            )
            yield (
                coefficient,
                math.prod(self.sizes[i] - 1 for i in both if i not in agree) * self._inside(s, both),
            )


@lru_cache(maxsize=64)
def _sums(margins: Margins, variances: tuple[float, ...]) -> list[list[tuple[float, float]]]:
    """For each margin, the squares and the fourth powers of the coefficients of each noisy margin, summed."""
    shares = margins._shares(dict(zip(margins.sets, variances, strict=True)))
    return [
        [
            (math.fsum(n * c**2 for c, n in found), math.fsum(n * c**4 for c, n in found))
            for found in (list(margins._coefficients(u, s, shares)) for s in margins.sets)
        ]
        for u in margins.sets
    ]


def subsets(columns: Columns) -> Iterator[Columns]:
    """All of them, the empty one first."""
    return itertools.chain.from_iterable(
        itertools.combinations(columns, size) for size in range(len(columns) + 1)
    )


def whole(values: Reals) -> Reals:
    """The nearest values that are not negative and have the same sum (of each column), then whole ones that do."""
    table = values.reshape(len(values), -1)
    made = np.empty_like(table)
    for k, column in enumerate(table.T):
        sum_of_all = max(0.0, float(np.rint(column.sum())))
        if sum_of_all == 0:
            made[:, k] = 0.0
            continue
        high = np.sort(column)[::-1]
        excess = (np.cumsum(high) - sum_of_all) / np.arange(1, len(high) + 1)
        column = np.maximum(column - excess[np.flatnonzero(high > excess)[-1]], 0.0)
        down = np.floor(column)
        missing = int(sum_of_all - down.sum())
        down[np.argsort(down - column, kind="stable")[:missing]] += 1
        made[:, k] = down
    return made.reshape(values.shape)
