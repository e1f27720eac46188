"""Noise on the answer to every question."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.queries.linear_mechanism import LinearMechanism, LinearRelease, better_law
from dalenius.queries.noise_plan import Group, NoisePlan
from dalenius.queries.rows import Rows
from dalenius.queries.workload.choice import candidate
from dalenius.queries.workload.factors import Identity, Matrix
from dalenius.queries.workload.parts import Cells, Conjunctions, Part, Product

STEPS = 2**30
"""Coefficients that are not whole are rounded to this part of the largest one."""

MOST_WRITTEN = 2**24
"""So many products of coefficients are written out and rounded."""


@dataclass(frozen=True)
class PerQuery(LinearMechanism):
    """Releases the answer to every question with noise of its own.

    The noise of a part of the workload (one marginal, say) is in proportion to how much one record changes its answers,
    and the promise is divided between the parts so that the total squared error is least. Coefficients that are not
    whole numbers are rounded to nine digits first. (Dwork, McSherry, Nissim and Smith 2006.)

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
    >>> m = dp.queries.PerQuery(dp.queries.Workload.marginals(domain, 1), dp.ZCDP(0.5))
    >>> m.release({"sex": ["F", "M"], "age": [3, 9]}).answers().shape, round(m.predicted_error(), 2)
    ((12,), 1.32)
    """

    @cached_property
    def _whole(self) -> list[tuple[float, Part]]:
        """The parts with whole coefficients, and what one of them is worth."""
        return [_whole(part) for _, part in self.workload.parts]

    @cached_property
    def _plan(self) -> NoisePlan:
        assert self.noise is not None
        groups, relative = [], []
        for (weight, part), (step, whole) in zip(self.workload.parts, self._whole, strict=True):
            l1, squared = (
                max(1, math.ceil(Fraction(whole.sensitivity(power, self.adjacency)))) for power in (1, 2)
            )
            groups.append(Group(l1, squared).times(self.rows_per_unit))
            # Lagrange's rule for the error (weight step b)^2 rows at the cost l1/b, or squared/b^2.
            error = (weight * step) ** 2 * part.rows
            relative.append((l1 / error) ** (1 / 3) if self.noise == "laplace" else (squared / error) ** 0.25)
        return NoisePlan.calibrated(self.guarantee, self.noise, groups, relative, self.adjacency)

    def _total_squared_error(self) -> float:
        return float(
            sum(
                (weight * step) ** 2 * part.rows * variance
                for (weight, part), (step, _), variance in zip(
                    self.workload.parts, self._whole, self._plan.variances, strict=True
                )
            )
        )

    def _measured(self, rows: Rows) -> list[Array]:
        return [part.answers(rows.counts(part.positions)) for _, part in self._whole]

    def _released(self, measured: list[Array]) -> NoisyAnswers:
        return NoisyAnswers(self, measured)


class NoisyAnswers(LinearRelease):
    """The noisy answer to every question."""

    mechanism: PerQuery

    def __init__(self, mechanism: PerQuery, measured: list[Array]) -> None:
        super().__init__(mechanism)
        self.measured = measured

    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows.

        Returns
        -------
        ndarray
            One number for each question.
        """
        steps = [step for step, _ in self.mechanism._whole]
        return np.concatenate(
            [x if step == 1 else x * step for step, x in zip(steps, self.measured, strict=True)]
        )

    def marginal(self, names: Iterable[str]) -> Array:
        """The counts over some columns, where the workload asks for all of them.

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
            If a name is unknown, or the workload does not ask for these counts.
        """
        wanted = self.domain.checked(names)
        places = [self.domain.position(name) for name in wanted]
        for (_, part), noisy in zip(self.workload.parts, self.measured, strict=True):
            counts = isinstance(part, Product) and all(isinstance(one, Identity) for one in part.factors)
            if counts and sorted(part.positions) == sorted(places):
                return np.transpose(
                    noisy.reshape(part.shape), [part.positions.index(place) for place in places]
                )
        return super().marginal(wanted)

    def variances(self) -> Reals:
        """The variance of the noise in every answer: exact.

        Returns
        -------
        ndarray
            One number for each question.
        """
        whole, plan = self.mechanism._whole, self.mechanism._plan
        return np.concatenate(
            [
                np.full(part.rows, step**2 * variance)
                for (step, part), variance in zip(whole, plan.variances, strict=True)
            ]
        )


def _whole(part: Part) -> tuple[float, Part]:
    if part.whole:
        return 1.0, part
    if isinstance(part, Cells):
        step, factor = _rounded(part.factor)
        return step, Cells(part.positions, part.sizes, factor)
    assert isinstance(part, Product | Conjunctions)
    if sum(not one.whole for one in part.factors) > 1:
        # Each rounded by itself, their products would have too many digits: these are rounded instead.
        return _whole(Cells(part.positions, part.shape, Matrix(part.cells, _written_out(part))))
    step = 1.0
    factors: list[Any] = []
    for one in part.factors:
        if isinstance(one, Matrix) and not one.whole:
            here, rounded = _rounded(one)
            step *= here
            factors.append(rounded)
        else:
            factors.append(one)
    return step, type(part)(part.positions, tuple(factors))


def _written_out(part: Part) -> Array:
    if part.rows * part.cells > MOST_WRITTEN:
        raise InvalidParameter(
            f"several columns have coefficients that are not whole numbers, and the products of {part.rows} questions "
            f"about {part.cells} cells are too many to round one by one (2^24). Multiply and round the coefficients of "
            "each column, as in np.rint(100 * matrix).astype(int), or use the matrix mechanism or a noisy histogram."
        )
    return part.matrix()


def _rounded(factor: Matrix) -> tuple[float, Matrix]:
    step = 2.0 ** math.ceil(math.log2(np.abs(factor.values).max() / STEPS))
    return step, Matrix(factor.n, np.rint(factor.values / step).astype(np.int64))


candidate(
    "noise per question",
    "noise on each answer, in proportion to what one record changes",
    better_law(PerQuery),
)
