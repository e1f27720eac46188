"""GNMax: the class with the most votes, after Gaussian noise on every count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import unmasked
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.noise import gaussian

Counts = NDArray[np.int64]
BITS = 40
"""Noise is rounded to 2^-40 of its deviation."""
LARGEST = 1 << 62


@dataclass(frozen=True, kw_only=True)
class GNMax(Mechanism):
    """For every query, the class with the most votes after N(0, sigma^2) was added to every count.

    (Papernot et al., "Scalable private learning with PATE", 2018.) `teachers` of them each cast one vote per query. A
    record reaches one teacher, who may then vote otherwise in every query: two counts of a query change by one, so
    that the counts move by sqrt 2 in l2 norm (not 1, as for histograms of records), and every query costs what Gaussian
    noise costs. That holds for records added, removed and replaced alike.

    1/sigma is rounded down to a multiple of 2^-40: then counts/sigma and the noise, rounded exactly, lie on one grid,
    and the winner is a function of the rounded sums. Equal sums, of probability about 2^-40, go to the first class.

    Parameters
    ----------
    sigma
        The standard deviation of the noise, in votes.
    teachers
        How many there are; each query's counts must add up to this.
    classes
        How many classes there are, 2 or more.
    queries
        How many queries are answered.
    adjacency
        The neighbouring relation of the teachers' records.

    Examples
    --------
    >>> import dalenius as dp
    >>> vote = dp.adaptive.GNMax(sigma=20.0, teachers=250, classes=3, queries=2)
    >>> vote.release([[240, 6, 4], [3, 2, 245]]).tolist()
    [0, 2]
    >>> round(vote.loss.gdp(), 6)  # sqrt(2 queries) / sigma
    0.1
    """

    sigma: float
    teachers: int
    classes: int
    queries: int
    adjacency: Adjacency = ADD_REMOVE

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        sigma = checks.positive("sigma", self.sigma)
        for name, least in (("teachers", 1), ("classes", 2), ("queries", 1)):
            set_(self, name, checks.count(name, getattr(self, name), least=least))
        if not (2.0**BITS / sigma >= 2 and self.teachers * 2.0**BITS / sigma < LARGEST):
            raise InvalidParameter(
                f"sigma is {sigma} for {self.teachers} teachers; it must be between 2^-22 of their number and 2^39."
            )
        set_(self, "sigma", 2.0**BITS / math.floor(2.0**BITS / sigma))

    @property
    def loss(self) -> Loss:
        one = losses.gaussian(self.sigma * (1 - 1e-15), sensitivity=math.sqrt(2), adjacency=self.adjacency)
        return one * self.queries

    @property
    def worst_pair(self) -> Neighbours:
        """All queries a tie of the first two classes, and one teacher on the other side."""
        even = np.zeros((self.queries, self.classes), dtype=np.int64)
        even[:, 0], even[:, 1] = self.teachers - self.teachers // 2, self.teachers // 2
        return Neighbours(
            even, even + np.eye(1, self.classes, 1, dtype=np.int64) - np.eye(1, self.classes, dtype=np.int64)
        )

    def release(self, value: Any) -> Counts:
        """The winner of every query.

        Parameters
        ----------
        value
            Counts, a row per query and a column per class; every row adds up to the number of teachers.

        Returns
        -------
        ndarray
            The index of a class for every query.

        Raises
        ------
        InvalidParameter
            If these are not the counts of so many teachers.
        """
        counts = self.counts(value)
        noise = np.asarray(gaussian(counts.shape, bits=BITS, as_units=True))
        return np.asarray(np.argmax(counts * round(2.0**BITS / self.sigma) + noise, axis=1))

    def counts(self, value: Any) -> Counts:
        """Votes as whole numbers, once their shape and their sums are checked."""
        counts = np.asarray(unmasked(value))
        if counts.dtype.kind not in "iu" or counts.shape != (self.queries, self.classes):
            raise InvalidParameter(
                f"votes must be whole numbers, {self.queries} rows of {self.classes} classes; a row per query."
            )
        counts = counts.astype(np.int64)
        if (counts < 0).any() or (counts.sum(axis=1) != self.teachers).any():
            raise InvalidParameter(f"every query needs {self.teachers} votes, one of each teacher.")
        return counts
