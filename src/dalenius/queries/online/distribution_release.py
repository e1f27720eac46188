"""A release that holds a distribution over all cells: whatever is asked of it is post-processing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Array, Reals
from dalenius.noise import categorical
from dalenius.noise.source import word
from dalenius.queries.online.coefficients import answers
from dalenius.queries.online.linear_query import Marginals
from dalenius.queries.release import Release
from dalenius.queries.values import values
from dalenius.queries.workload.workload import Workload

FINEST = 1 << 44
"""Rows are drawn from probabilities in multiples of 1 / FINEST."""


class DistributionRelease(Release):
    """Probabilities of all cells of the domain and a number of rows, from MWEM or SmallDB.

    It was fitted to its workload; other statistics of it carry no promise.

    Parameters
    ----------
    workload
        The questions it was fitted to.
    loss
        What the release cost.
    probabilities
        The probability of every cell, in the domain's shape.
    total
        The number of rows.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"age": 8})
    >>> w = dp.queries.Workload.ranges(domain)
    >>> r = dp.queries.MWEM(w, dp.PureDP(1.0), n=1000).release({"age": [0, 3, 3, 7] * 250})
    >>> r.answers().shape, r.marginal(["age"]).shape, len(r.synthesize(5)["age"])
    ((36,), (8,), 5)
    """

    def __init__(self, workload: Workload, loss: Loss, probabilities: Reals, total: int) -> None:
        super().__init__(workload, loss)
        self.probabilities, self.total = probabilities, total

    def histogram(self) -> Reals:
        """The count of every cell.

        Returns
        -------
        ndarray
            Counts in the domain's shape, not rounded.
        """
        return self.probabilities * self.total

    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows.

        Returns
        -------
        ndarray
            One number for each question.
        """
        return answers(self.workload, Marginals(self.histogram()))

    def marginal(self, names: Iterable[str]) -> Array:
        """The counts over some columns.

        Parameters
        ----------
        names
            The names of the columns.

        Returns
        -------
        ndarray
            Counts, of the shape `domain.project(names).shape`.

        Raises
        ------
        InvalidParameter
            If a name is unknown or given twice.
        """
        places = [self.domain.position(name) for name in self.domain.checked(names)]
        ordered = tuple(sorted(places))
        kept = (
            Marginals(self.histogram()).of(ordered).reshape([self.domain.shape[place] for place in ordered])
        )
        return np.transpose(kept, [ordered.index(place) for place in places])

    def synthesize(self, n: int) -> dict[str, Array]:
        """Rows drawn independently from the distribution.

        Parameters
        ----------
        n
            How many rows.

        Returns
        -------
        dict
            The columns by name: listed values as they were listed, whole numbers, and numbers drawn evenly from their
            bins.

        Raises
        ------
        InvalidParameter
            If n is not a whole number.
        """
        rows = checks.count("n", n)
        weights = np.rint(self.probabilities.reshape(-1) * FINEST).astype(np.int64)
        codes = np.unravel_index(np.asarray(categorical(weights, rows)), self.domain.shape)
        draw = np.random.default_rng(word())
        columns = self.domain.columns.items()
        return {name: values(column, code, draw) for (name, column), code in zip(columns, codes, strict=True)}
