"""A table of counts: the shares of its cells and, for two by two, risks and odds compared.

Each row is in one cell, and every cell gets the same noise. A share p of cells is where (cells) - p (all) is within
binomial variation and noise (Wilson's interval, with noise as Fieller has it); what compares two shares is put together
from their intervals, on the scale of their logarithms or log odds (Zou and Donner 2008; see `difference`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Ints, Reals
from dalenius.infer import inputs
from dalenius.infer.estimates.stream import Stream, parts
from dalenius.infer.estimates.sums import Sums
from dalenius.infer.promise import checked_guarantee
from dalenius.infer.result import Result
from dalenius.intervals.differences import Estimated, subtracted
from dalenius.intervals.laws import Noisy
from dalenius.intervals.ratios import interval

Codes = tuple[Ints, Ints] | Stream[tuple[Ints, Ints]]
"""The places of values among the levels of two columns, in memory or in blocks."""


@dataclass(frozen=True)
class Contingency:
    """The release of rows x columns counts; `first`: the cell of rows that are in none, under replace-one."""

    guarantee: Guarantee
    shape: tuple[int, int]
    adjacency: Adjacency = ADD_REMOVE

    @cached_property
    def sums(self) -> Sums:
        return Sums.of_cells(self.guarantee, self.adjacency, self.shape[0] * self.shape[1])

    @property
    def loss(self) -> Loss:
        """What the release costs."""
        return self.sums.loss

    def noisy(self, samples: Sequence[tuple[Ints, Ints]]) -> list[Noisy]:
        """Noisy counts of cells, row by row of the table, each of all data sets. Codes of -1 are in no cell."""
        return self._released([self._counts(*sample) for sample in samples])

    def _released(self, counts: Sequence[Ints]) -> list[Noisy]:
        return self.sums.release(np.array(counts).T.tolist())

    def _counts(self, x: Ints, y: Ints) -> Ints:
        inside = (x >= 0) & (y >= 0)
        places = np.where(inside, x * self.shape[1] + y, 0)
        if self.adjacency is ADD_REMOVE:
            places = places[inside]
        return np.bincount(places, minlength=self.shape[0] * self.shape[1])

    def shares(self, noisy: list[Noisy], rows: Sequence[int] | None, alpha: float) -> list[Estimated]:
        """Of every cell, among all or (rows: public sizes) a known number of rows, for every data set."""
        counts, law = np.array([cell.values for cell in noisy]), noisy[0].law
        if rows is None:
            total, parts = counts.sum(axis=0), float(len(counts))
        else:
            total, parts = np.array(rows, dtype=float), 0.0
        return [share(cell, total, law.variance, law.fourth, parts, alpha) for cell in counts]

    def risks(self, noisy: list[Noisy], alpha: float) -> list[Estimated]:
        """Of two by two: P(second column | row) for the first and the second row."""
        found = []
        for row in (0, 1):
            out, into = noisy[2 * row], noisy[2 * row + 1]
            total = out.values + into.values
            found.append(share(into.values, total, into.law.variance, into.law.fourth, 2.0, alpha))
        return found

    def compared(self, noisy: list[Noisy], alpha: float) -> dict[str, Estimated]:
        """The second row's risk against the first's."""
        first, second = self.risks(noisy, alpha)
        return {
            "risk difference": subtracted(second, first),
            "log relative risk": subtracted(_log(second), _log(first)),
            "log odds ratio": subtracted(_log_odds(second), _log_odds(first)),
        }

    def release(self, x: object, y: object, rows: Sequence[Hashable], columns: Sequence[Hashable]) -> Result:
        """Shares of cells, and what compares rows of a table of two by two; rows, columns: the levels of x and y."""
        a, b = inputs.codes(x, rows, "x"), inputs.codes(y, columns, "y")
        inputs.same_length(a, b, "x and y")
        return self.result((a, b), inputs.name_of(x, "x"), inputs.name_of(y, "y"), rows, columns)

    def result(
        self, codes: Codes, one: str, two: str, rows: Sequence[Hashable], columns: Sequence[Hashable]
    ) -> Result:
        """The same, of rows in memory or in blocks."""
        counts = np.zeros(self.shape[0] * self.shape[1], dtype=np.int64)
        for block in parts(codes):
            counts += self._counts(*block)
        noisy = self._released([counts])
        known = None if self.adjacency is ADD_REMOVE else [int(counts.sum())]  # all rows are in some cell

        def everything(alpha: float) -> dict[str, Estimated]:
            names = [f"{one}={row}, {two}={column}" for row in rows for column in columns]
            found = dict(zip(names, self.shares(noisy, known, alpha), strict=True))
            return found | (self.compared(noisy, alpha) if self.shape == (2, 2) else {})

        def columns_of(alpha: float) -> list[Reals]:
            return [np.concatenate(part) for part in zip(*everything(alpha).values(), strict=True)]

        estimate, error, _, _ = columns_of(0.05)
        notes = ["Shares are of all rows whose values are among the levels."]
        if known is not None:
            notes = [
                f"Rows whose values are not among the levels count as {one}={rows[0]}, {two}={columns[0]}."
            ]
        if self.shape == (2, 2):
            notes.append(
                f"Compared is the share of {two}={columns[1]}: where {one}={rows[1]} against where {one}={rows[0]}."
            )
        total = float(sum(cell.values[0] for cell in noisy)) if known is None else float(known[0])
        return Result(
            list(everything(0.05)),
            estimate,
            loss=self.loss,
            method="contingency table with noisy counts",
            limits=lambda alpha: np.column_stack(columns_of(alpha)[2:]),
            bse=error,
            nobs=max(total, 0.0),
            nobs_noisy=known is None,
            notes=notes,
        )


def share(part: Reals, total: Reals, variance: float, fourth: float, parts: float, alpha: float) -> Estimated:
    """A population's share: one noisy count of several that add up to the total; parts: how many, 0 if it is public."""
    rows = np.maximum(total, 1.0)
    own = variance if parts else 0.0
    c = (np.full(len(part), variance), rows - 2 * own, parts * variance - rows)

    def peak(p: Reals) -> Reals:
        return np.asarray(((1 - p) ** 4 + max(parts - 1, 0.0) * p**4) * fourth if parts else fourth + 0.0 * p)

    low, high = interval(part, total, c, peak, alpha, (0.0, 1.0))
    estimate = np.clip((part + 0.5) / (rows + 1), 0.5 / (rows + 1), 1 - 0.5 / (rows + 1))
    spread = np.maximum(c[0] + c[1] * estimate + c[2] * estimate**2, 0.0)
    error = np.minimum(np.sqrt(spread) / rows, 1.0)
    return estimate, error, np.minimum(low, estimate), np.maximum(high, estimate)


def _log(p: Estimated) -> Estimated:
    with np.errstate(divide="ignore"):
        return np.log(p[0]), p[1] / p[0], np.log(p[2]), np.log(p[3])


def _log_odds(p: Estimated) -> Estimated:
    with np.errstate(divide="ignore"):
        odds = [np.log(x) - np.log1p(-x) for x in (p[0], p[2], p[3])]
    return odds[0], p[1] / (p[0] * (1 - p[0])), odds[1], odds[2]


def contingency(
    x: object,
    y: object,
    guarantee: Guarantee,
    *,
    x_levels: Sequence[object],
    y_levels: Sequence[object],
    adjacency: Adjacency = ADD_REMOVE,
) -> Result:
    """The shares of the cells of a table, and for two by two: risk difference, relative risk and odds ratio.

    Released is the count of every cell, with Gaussian noise (Laplace noise for PureDP) for one row in one cell or,
    under REPLACE_ONE, for one that goes from one cell to another.

    Parameters
    ----------
    x, y : arrays or series
        Two values a row: numbers, text or flags. Rows with a value that is not among the levels are left out under
        ADD_REMOVE, and counted in the first cell under REPLACE_ONE.
    guarantee : Guarantee
        The promise to keep: GDP, ZCDP, ApproxDP or RDP, with Gaussian noise, or PureDP, with Laplace noise.
    x_levels, y_levels : sequences
        The values there can be, from public knowledge. Of two by two tables the share of the second level of y is
        compared, where x has its second level against where it has its first.
    adjacency : Adjacency, optional
        ADD_REMOVE, or REPLACE_ONE, which makes the number of rows public.

    Returns
    -------
    Result
        One share for each cell; "risk difference", "log relative risk" and "log odds ratio" for two by two.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or x and y differ in length.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> treated, healed = np.arange(6000) % 2, np.arange(6000) % 3 == 0
    >>> fit = dp.infer.contingency(treated, healed, dp.GDP(1.0), x_levels=(0, 1), y_levels=(False, True))
    >>> fit.names[-1], bool(abs(fit.params[-1]) < 0.3)
    ('log odds ratio', True)
    """
    rows, columns = inputs.levels("x_levels", x_levels), inputs.levels("y_levels", y_levels)
    shape = len(rows), len(columns)
    made = Contingency(checked_guarantee(guarantee), shape, checked_adjacency(adjacency))
    return made.release(x, y, rows, columns)
