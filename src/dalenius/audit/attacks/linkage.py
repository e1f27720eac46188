"""Whose "anonymous" record is this? (Narayanan and Shmatikov 2008)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from dalenius.audit.attacks.membership import Membership
from dalenius.audit.clopper_pearson import interval
from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals
from dalenius.errors import InvalidParameter

NO_MATCH = -1


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """For each piece of outside knowledge the record that fits best, and by how much.

    Parameters
    ----------
    best
        The record that fits best, by its line.
    eccentricity
        The score of the best less that of the second, in standard deviations of all scores.
    threshold
        The eccentricity above which a match is claimed.
    truth
        The right record, -1 where it is not among those released; None where nobody knows.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import Linkage
    >>> Linkage(np.array([4, 7]), np.array([2.5, 0.3]), 1.5, np.array([4, 7])).success
    0.5
    """

    best: Ints
    eccentricity: Reals
    threshold: float
    truth: Any = None

    @property
    def match(self) -> Ints:
        """The record that is claimed, -1 for none."""
        return np.where(self.eccentricity > self.threshold, self.best, NO_MATCH)

    def _known(self) -> Ints:
        if self.truth is None:
            raise InvalidParameter("the truth is not known here; give `truth` to say how good an attack is.")
        return np.asarray(self.truth, dtype=np.int64)

    @property
    def success(self) -> float:
        """The share of those whose record was released that are matched to it."""
        truth = self._known()
        return float((self.match == truth)[truth != NO_MATCH].mean())

    @property
    def false_matches(self) -> float:
        """The share of claimed matches that are wrong; 0 where none is claimed."""
        claimed = self.match != NO_MATCH
        return float((self.match != self._known())[claimed].mean()) if claimed.any() else 0.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for `success` (Clopper and Pearson 1934).

        Parameters
        ----------
        confidence
            The probability with which it holds.

        Returns
        -------
        tuple of float
            Its ends.
        """
        truth = self._known()
        released = truth != NO_MATCH
        return interval(int((self.match == truth)[released].sum()), int(released.sum()), confidence)

    def membership(self, independent: bool = False) -> Membership:
        """The same as an attack on who was released at all: who has an eccentric best record.

        Parameters
        ----------
        independent
            Whether every person was looked for in a release of its own.

        Returns
        -------
        Membership
            The eccentricities as scores.
        """
        inside = None if self.truth is None else self._known() != NO_MATCH
        return Membership(self.eccentricity, inside, "linkage", independent)

    def __repr__(self) -> str:
        claimed = int((self.match != NO_MATCH).sum())
        return f"Linkage({claimed} of {len(self.best)} matched)"


def linkage(
    released: Any,
    auxiliary: Any,
    truth: Any = None,
    *,
    days: tuple[Any, Any] | None = None,
    rating_scale: float = 1.5,
    day_scale: float = 30.0,
    threshold: float = 1.5,
) -> Linkage:
    """Find the records of people of whom a few ratings are known from elsewhere.

    The score of a record is the sum over the known items of exp(-|rating difference|/rating_scale), and
    exp(-|difference in days|/day_scale) where there are days, each weighted by 1/log(max(2, number who rated it)): a
    rare film says more than a famous one. The record with the best score is the match if its lead over the second
    exceeds `threshold` standard deviations of all scores.

    Not to be used as printed: in lecture slides (Avella Medina 2025) the match is the record with the largest sum of
    *distances*, and an item that one person rated has the weight 1/log 1.

    Parameters
    ----------
    released
        Ratings, a line for each record and a column for each item, 0 for none; an array or a sparse matrix.
    auxiliary
        What is known from elsewhere, in the same columns: a line for each person sought.
    truth
        The right record of each person sought, -1 for those not released, to say how good the attack is.
    days
        When each rating was given, for both, in the same shapes.
    rating_scale
        How far apart ratings may be.
    day_scale
        How far apart days may be.
    threshold
        The eccentricity above which a match is claimed. Set it on people who are known not to be in the data.

    Returns
    -------
    Linkage
        The matches.

    Raises
    ------
    InvalidParameter
        If the columns differ, or there are fewer than two records.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import linkage
    >>> random = np.random.default_rng(0)
    >>> ratings = random.integers(1, 6, (50, 200)) * (random.random((50, 200)) < 0.1)
    >>> known = ratings[:5] * (np.arange(200) % 2)
    >>> linkage(ratings, known, truth=np.arange(5)).best.tolist()
    [0, 1, 2, 3, 4]
    """
    rating_scale, day_scale = (
        checks.positive("rating_scale", rating_scale),
        checks.positive("day_scale", day_scale),
    )
    threshold = checks.nonnegative("threshold", threshold)
    table, sought = _ratings("released", released, csc_matrix), _ratings("auxiliary", auxiliary, csr_matrix)
    if table.shape[1] != sought.shape[1] or table.shape[0] < 2:
        raise InvalidParameter(
            f"the released ratings have the shape {table.shape}, what is known {sought.shape}; their columns must be "
            "the same items, and there must be two records or more."
        )
    weight = 1.0 / np.log(np.maximum(2, np.diff(table.indptr)))
    when = None
    if days is not None:
        pair: Any = days
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidParameter.of(
                "days", "days must be a pair: of the released ratings, and of the known."
            )
        when = _ratings("days", days[0], csc_matrix), _ratings("days", days[1], csr_matrix)
        if when[0].shape != table.shape or when[1].shape != sought.shape:
            raise InvalidParameter.of("days", "days must have the shapes of the ratings, released and known.")
    best, eccentricity = np.zeros(sought.shape[0], dtype=np.int64), np.zeros(sought.shape[0])
    for k in range(sought.shape[0]):
        scores = np.zeros(table.shape[0])
        for j, rating in zip(*_entries(sought, k), strict=True):
            people, ratings = _entries(table, j)
            alike = np.exp(-np.abs(ratings - rating) / rating_scale)
            if when is not None:
                gap = np.asarray(when[0][people, j].todense()).ravel() - when[1][k, j]
                alike = (alike + np.exp(-np.abs(gap) / day_scale)) / 2
            scores[people] += weight[j] * alike
        second, first = np.partition(scores, -2)[-2:]
        best[k], spread = int(np.argmax(scores)), float(scores.std())
        eccentricity[k] = (first - second) / spread if spread > 0 else 0.0
    return Linkage(best, eccentricity, threshold, truth)


def _ratings(name: str, value: Any, kind: Any) -> Any:
    """A sparse matrix of finite numbers."""
    try:
        matrix = kind(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = None
    if matrix is None or matrix.ndim != 2 or not np.isfinite(matrix.data).all():
        raise InvalidParameter.of(name, f"{name} must be a matrix of finite numbers, 0 where there is none.")
    matrix.eliminate_zeros()
    return matrix


def _entries(matrix: Any, k: int) -> tuple[Ints, Reals]:
    """Places and values of the k-th line (of columns for one kind of matrix, of rows for the other)."""
    part = slice(matrix.indptr[k], matrix.indptr[k + 1])
    return matrix.indices[part], matrix.data[part]
