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
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.intervals.laws import Combined, Law, Noisy

Columns = tuple[int, ...]
"""Some of the columns 0, ..., d - 1, in increasing order."""


@dataclass(frozen=True)
class Margins:
    """Which margins of a table with so many values in each column were released, one of them the table itself."""

    sizes: tuple[int, ...]
    sets: tuple[Columns, ...]

    def reconciled(self, noisy: Mapping[Columns, Noisy]) -> dict[Columns, Noisy]:
        """The same margins, of one table. Values have one axis of all cells of a margin, and perhaps one of bins."""
        shape = {s: tuple(self.sizes[i] for i in s) for s in self.sets}
        tables = {s: noisy[s].values.reshape(*shape[s], -1) for s in self.sets}
        shares = {t: self._shares(t, noisy) for t in subsets(tuple(range(len(self.sizes))))}
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
            made[u] = Noisy(np.array(values), self._law(u, noisy, shares))
        return made

    def _outside(self, s: Columns) -> int:
        return math.prod(n for i, n in enumerate(self.sizes) if i not in s)

    def _inside(self, s: Columns, t: Columns) -> int:
        return math.prod(self.sizes[i] for i in s if i not in t)

    def _shares(self, t: Columns, noisy: Mapping[Columns, Noisy]) -> dict[Columns, float]:
        """How much each margin says of a component."""
        weights = {
            s: self._inside(s, t) * self._outside(s) ** 2 / noisy[s].variance
            for s in self.sets
            if set(t) <= set(s)
        }
        everything = math.fsum(weights.values())
        return {s: weight / everything for s, weight in weights.items()}

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

    def _law(
        self, u: Columns, noisy: Mapping[Columns, Noisy], shares: Mapping[Columns, Mapping[Columns, float]]
    ) -> Law:
        variance = fourth = 0.0
        for s in self.sets:
            both = tuple(i for i in u if i in s)
            for agree in subsets(both):
                coefficient = math.fsum(
                    self._outside(u)
                    * shares[t][s]
                    / (self._outside(s) * self._inside(s, t))
                    * math.prod((i in agree) - 1 / self.sizes[i] for i in t)
                    for t in subsets(both)
                )
                times = math.prod(self.sizes[i] - 1 for i in both if i not in agree) * self._inside(s, both)
                variance += times * coefficient**2 * noisy[s].variance
                fourth += times * coefficient**4 * noisy[s].fourth
        return Combined(math.sqrt(variance), fourth / variance**2)


def subsets(columns: Columns) -> Iterator[Columns]:
    """All of them, the empty one first."""
    return itertools.chain.from_iterable(
        itertools.combinations(columns, size) for size in range(len(columns) + 1)
    )


def whole_cells(noisy: Noisy) -> Noisy:
    """Cells that are whole and not negative and have the sum they had, rounded (of each bin)."""
    return replace(noisy, values=whole(noisy.values))


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
