"""What comes out of a release of many answers, whatever the method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.core.arrays import Array
from dalenius.errors import InvalidParameter
from dalenius.queries.domain import Domain
from dalenius.queries.workload.workload import Workload


class Release(ABC):
    """Private answers to a workload. All it does is post-processing: it may be asked again and again.

    Parameters
    ----------
    workload
        The questions.
    loss
        What the release cost.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"age": 8})
    >>> w = dp.queries.Workload.ranges(domain)
    >>> r = dp.queries.MatrixMechanism(w, dp.PureDP(1.0)).release({"age": [0, 3, 3, 7]})
    >>> r.answers().shape, r.marginal(["age"]).shape, isinstance(r, dp.queries.Release)
    ((36,), (8,), True)
    """

    def __init__(self, workload: Workload, loss: Loss) -> None:
        self.workload, self.loss = workload, loss

    def __repr__(self) -> str:
        about = ", ".join(self.domain.names)
        return f"<{type(self).__name__}: answers to {self.workload.size} questions about {about}>"

    @property
    def domain(self) -> Domain:
        """The domain of the table."""
        return self.workload.domain

    @abstractmethod
    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows."""

    def marginal(self, names: Iterable[str]) -> Array:
        """The counts over some columns, where the method can tell them.

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
            If the release says nothing about these columns together.
        """
        raise InvalidParameter(
            f"this release knows the answers to its workload alone, not the counts of {names}."
        )

    def conf_int(self, confidence: float = 0.95) -> Array:
        """Intervals for the exact answers of this table, from the noise alone.

        Parameters
        ----------
        confidence
            The probability with which each interval holds the answer without noise.

        Returns
        -------
        ndarray
            The lower and the upper end for each answer, of the shape (questions, 2).

        Raises
        ------
        InvalidParameter
            If the method is biased, so that its noise does not tell how far off it is.
        """
        raise InvalidParameter("this method is biased: its noise does not tell how far off an answer is.")

    def synthesize(self, n: int) -> Any:
        """Rows drawn from a distribution that the method holds.

        Parameters
        ----------
        n
            How many rows.

        Returns
        -------
        dict
            The columns by name.

        Raises
        ------
        InvalidParameter
            If the method holds no distribution.
        """
        raise InvalidParameter(
            "this method holds no distribution to draw rows from: use AdaptiveMarginals, MWEM or SmallDB."
        )
