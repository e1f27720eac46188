"""The matrix mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.queries.domain import too_large
from dalenius.queries.linear_mechanism import LinearMechanism, LinearRelease, better_law
from dalenius.queries.matrix.plan import energies, in_all_columns, planned, summed_over
from dalenius.queries.matrix.strategy import Levels, Strategy, gains
from dalenius.queries.matrix.trees import repeated
from dalenius.queries.noise_plan import NoisePlan
from dalenius.queries.rows import Rows
from dalenius.queries.workload.choice import candidate
from dalenius.queries.workload.parts import Part


@dataclass(frozen=True)
class MatrixMechanism(LinearMechanism):
    """Measures counts of blocks of cells, chosen for the workload, with noise; answers by least squares.

    What is measured and with how much noise each is found from the workload and the promise alone, so that the total
    squared error is small: for Gaussian noise and marginals it is the least that any linear mechanism has. Columns that
    ranges or prefixes are asked of are cut into blocks, these into smaller ones, down to single values; other columns
    are measured by value. Answers are consistent with each other, unbiased, and have variances that are known exactly.
    Nothing is as large as the matrix of the workload; a histogram of a million cells takes a second.

    Noise is drawn exactly on whole numbers: discrete Laplace for a pure promise, else discrete Gaussian. (Li, Miklau,
    Hay, McGregor and Rastogi 2015; Hay, Rastogi, Miklau and Suciu 2010; Qardaji, Yang and Li 2013; McKenna, Miklau, Hay
    and Machanavajjhala 2018; Xiao, He, Zhang and Kifer 2023.)

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
    >>> domain = dp.queries.Domain({"age": 100})
    >>> m = dp.queries.MatrixMechanism(dp.queries.Workload.ranges(domain), dp.PureDP(1.0))
    >>> r = m.release({"age": [17, 30, 30, 99]})
    >>> r.answers().shape, r.loss.epsilon(delta=0.0) <= 1.0
    ((5050,), True)
    >>> round(m.predicted_error(), 1)
    6.8
    """

    @cached_property
    def strategy(self) -> Strategy:
        """What is measured."""
        assert self.noise is not None
        return planned(self.workload, self.noise, self.adjacency)

    @cached_property
    def _plan(self) -> NoisePlan:
        assert self.noise is not None
        strategy = self.strategy
        groups = [
            m.group(strategy.trees, self.adjacency).times(self.rows_per_unit) for m in strategy.measurements
        ]
        return NoisePlan.calibrated(self.guarantee, self.noise, groups, strategy.relative, self.adjacency)

    @cached_property
    def precision(self) -> dict[Levels, float]:
        """One over the variance of a unit vector of each space that the strategy measures."""
        return dict(zip(self._energy, self._weights.sum(axis=0).tolist(), strict=True))

    @cached_property
    def _energy(self) -> dict[Levels, float]:
        return energies(self.workload, self.strategy.trees)

    @cached_property
    def _weights(self) -> Array:
        """What every measurement adds to the precision of every space."""
        gain = gains(self.strategy.trees, self.strategy.measurements, list(self._energy))
        return gain / self._plan.variances[:, None]

    def _total_squared_error(self) -> float:
        return sum(amount / self.precision[part] for part, amount in self._energy.items())

    def _measured(self, rows: Rows) -> list[Array]:
        return [m.values(self.strategy.trees, rows) for m in self.strategy.measurements]

    def _released(self, measured: list[Array]) -> MatrixRelease:
        return MatrixRelease(self, self._least_squares(measured))

    def _least_squares(self, measured: Sequence[Array]) -> dict[Levels, Array]:
        """For every space the mean of its estimates, each counted by its precision: weighted least squares."""
        strategy, found = self.strategy, {}
        for weights, (part, precision) in zip(self._weights.T, self.precision.items(), strict=True):
            total: Array = np.zeros(())
            for i in np.flatnonzero(weights).tolist():
                estimate = strategy.measurements[i].residuals(strategy.trees, measured[i], part)
                total = total + weights[i] / precision * estimate
            found[part] = total
        return found


class MatrixRelease(LinearRelease):
    """Least-squares answers: estimates of what the blocks of every level differ by."""

    mechanism: MatrixMechanism

    def __init__(self, mechanism: MatrixMechanism, residuals: dict[Levels, Array]) -> None:
        super().__init__(mechanism)
        self.residuals = residuals

    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows.

        Returns
        -------
        ndarray
            One number for each question.

        Raises
        ------
        InvalidParameter
            If there are more than 2^28 of them.
        """
        self.workload._listed()
        known: dict[tuple[int, ...], Array] = {}
        found = []
        for _, part in self.workload.parts:
            if part.positions not in known:
                # What is not measured of these columns no question needs.
                known = {part.positions: self._counts(part.positions)}
            found.append(part.answers(known[part.positions]))
        return np.concatenate(found)

    def marginal(self, names: Iterable[str]) -> Array:
        """The counts over some columns that the workload asks about together.

        Parameters
        ----------
        names
            The names of the columns.

        Returns
        -------
        ndarray
            Counts, of the shape `domain.project(names).shape`; not whole, and some may be negative.

        Raises
        ------
        InvalidParameter
            If the workload does not ask about these columns together.
        """
        wanted = self.domain.checked(names)
        places = sorted(self.domain.position(name) for name in wanted)
        if not self._measured_whole(places):
            raise InvalidParameter(
                f"the workload does not ask about {', '.join(wanted)} together, so not all of that was measured."
            )
        counts = self._counts(tuple(places))
        order = [places.index(self.domain.position(name)) for name in wanted]
        return np.transpose(counts, order)

    def variances(self) -> Reals:
        """The variance of the noise in every answer: exact.

        Returns
        -------
        ndarray
            One number for each question.

        Raises
        ------
        InvalidParameter
            If there are more than 2^28 of them.
        """
        self.workload._listed()
        return np.concatenate([self._variances(part) for _, part in self.workload.parts])

    def _variances(self, part: Part) -> Reals:
        trees, precision = self.mechanism.strategy.trees, self.mechanism.precision
        outside = summed_over(trees, part)
        found = np.zeros(part.rows)
        for place, each in part.spectra([trees[i].blocks for i in part.positions]):
            levels = in_all_columns(part, place, len(trees))
            if levels in precision:
                found += each * (outside / precision[levels])
        return found

    def _measured_whole(self, positions: Sequence[int]) -> bool:
        """Whether the strategy measures every space of these columns."""
        trees = self.mechanism.strategy.trees
        spaces = [[x for x in range(len(trees[i].blocks)) if trees[i].dimension(x)] for i in positions]
        if math.prod(map(len, spaces)) > len(self.residuals):
            return False
        levels = (dict(zip(positions, place, strict=True)) for place in itertools.product(*spaces))
        return all(tuple(one.get(i, 0) for i in range(len(trees))) in self.residuals for one in levels)

    def _counts(self, positions: tuple[int, ...]) -> Array:
        """The histogram over these columns, from the whole down to single values, one column after the other."""
        trees = self.mechanism.strategy.trees
        shape = tuple(self.domain.shape[i] for i in positions)
        too_large(math.prod(trees[i].padded for i in positions), "the histogram of these columns")
        inside = {
            part: values
            for part, values in self.residuals.items()
            if all(level == 0 or i in positions for i, level in enumerate(part))
        }
        left = {
            tuple(part[i] for i in positions): values.reshape([trees[i].nodes(part[i]) for i in positions])
            for part, values in inside.items()
        }
        for axis, i in enumerate(positions):
            left = _down(left, axis, trees[i].radices)
        counts = left[()]
        return counts[tuple(slice(0, n) for n in shape)]


def _down(left: dict[Levels, Array], axis: int, radices: tuple[int, ...]) -> dict[Levels, Array]:
    """Put the levels of the first column that is left together."""
    found: dict[Levels, Array] = {}
    for rest in {key[1:] for key in left}:
        some = next(values for key, values in left.items() if key[1:] == rest)
        shape = [1 if i == axis else size for i, size in enumerate(some.shape)]
        total = left.get((0, *rest), np.zeros(shape))
        for level, radix in enumerate(radices, start=1):
            total = repeated(total, axis, radix) / radix
            if (level, *rest) in left:
                total = total + left[(level, *rest)]
        found[rest] = total
    return found


candidate(
    "matrix mechanism",
    "measures blocks chosen for these questions, and answers by least squares",
    better_law(MatrixMechanism),
)
