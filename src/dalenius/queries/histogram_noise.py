"""Noise on every cell of the table's histogram, once, for all questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.arrays import Array, Reals
from dalenius.queries.domain import too_large
from dalenius.queries.linear_mechanism import LinearMechanism, LinearRelease, better_law
from dalenius.queries.noise_plan import Group, NoisePlan
from dalenius.queries.rows import Rows
from dalenius.queries.workload.choice import candidate


@dataclass(frozen=True)
class HistogramNoise(LinearMechanism):
    """Releases the count of every cell with noise of its own, and adds these up for each question.

    One record changes one cell, whatever the number of questions; but a question about c cells has the noise of c
    cells. (Dwork, McSherry, Nissim and Smith 2006, section 3.)

    Parameters
    ----------
    workload
        The questions.
    guarantee
        What one release must keep.
    adjacency
        The neighbouring relation: ADD_REMOVE or REPLACE_ONE. A replaced record may leave the domain.
    rows_per_unit
        The most rows of one person.
    noise
        "laplace" or "gaussian"; by default Laplace noise for a pure promise and Gaussian noise for any other.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "age": 10})
    >>> m = dp.queries.HistogramNoise(dp.queries.Workload.marginals(domain, 1), dp.PureDP(1.0))
    >>> m.release({"sex": ["F", "M"], "age": [3, 9]}).marginal(["sex", "age"]).shape
    (2, 10)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        too_large(self.workload.domain.cells, "the histogram of all columns")

    @cached_property
    def _plan(self) -> NoisePlan:
        assert self.noise is not None
        moved = 1 if self.adjacency is ADD_REMOVE else 2
        group = Group(moved, moved).times(self.rows_per_unit)
        return NoisePlan.calibrated(self.guarantee, self.noise, [group], [1.0], self.adjacency)

    def _total_squared_error(self) -> float:
        return float(
            sum(
                weight**2 * self._cells_outside(part.positions) * part.energy([1] * len(part.positions))
                for weight, part in self.workload.parts
            )
            * self._plan.variances[0]
        )

    def _cells_outside(self, positions: Iterable[int]) -> int:
        inside = set(positions)
        sizes = [size for i, size in enumerate(self.workload.domain.shape) if i not in inside]
        return int(np.prod(sizes, dtype=np.int64)) if sizes else 1

    def _measured(self, rows: Rows) -> list[Array]:
        return [rows.counts(range(len(self.workload.domain)))]

    def _released(self, measured: list[Array]) -> NoisyHistogram:
        return NoisyHistogram(self, measured[0])


class NoisyHistogram(LinearRelease):
    """The noisy count of every cell."""

    mechanism: HistogramNoise

    def __init__(self, mechanism: HistogramNoise, histogram: Array) -> None:
        super().__init__(mechanism)
        self.histogram = histogram

    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows.

        Returns
        -------
        ndarray
            One number for each question.
        """
        return self.workload.answers(self.histogram.reshape(-1))

    def marginal(self, names: Iterable[str]) -> Array:
        """The counts over some columns.

        Parameters
        ----------
        names
            The names of the columns.

        Returns
        -------
        ndarray
            Counts, of the shape `domain.project(names).shape`; some may be negative.

        Raises
        ------
        InvalidParameter
            If a name is unknown.
        """
        places = [self.domain.position(name) for name in self.domain.checked(names)]
        return Rows(self.domain, None, self.histogram).counts(places)

    def variances(self) -> Reals:
        """The variance of the noise in every answer: exact.

        Returns
        -------
        ndarray
            One number for each question.
        """
        one = float(self.mechanism._plan.variances[0])
        return np.concatenate(
            [
                part.energies([1] * len(part.positions))
                * (self.mechanism._cells_outside(part.positions) * one)
                for _, part in self.workload.parts
            ]
        )


candidate(
    "noisy histogram", "noise on every cell once, added up for each question", better_law(HistogramNoise)
)
