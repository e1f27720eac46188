"""What the mechanisms share that add noise to linear measurements: their parameters, their promise and their errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Array, Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.queries.domain import Codes
from dalenius.queries.noise_plan import Law, NoisePlan, law_for
from dalenius.queries.release import Release
from dalenius.queries.rows import Rows
from dalenius.queries.workload.workload import Workload


@dataclass(frozen=True)
class LinearMechanism(Mechanism):
    """Whole-numbered linear measurements of a table, with noise; answers are linear in what was measured."""

    workload: Workload
    guarantee: Guarantee
    adjacency: Adjacency = ADD_REMOVE
    rows_per_unit: int = 1
    noise: Law | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.workload, Workload):
            raise InvalidParameter.of(
                "workload", f"workload is {checks.shown(self.workload)}; it must be a dp.queries.Workload."
            )
        checked_adjacency(self.adjacency)
        object.__setattr__(self, "rows_per_unit", checks.count("rows_per_unit", self.rows_per_unit, least=1))
        object.__setattr__(self, "noise", law_for(self.guarantee, self.noise))
        _ = self.loss

    @property
    @abstractmethod
    def _plan(self) -> NoisePlan:
        """The noise of every group of measurements."""

    @abstractmethod
    def _measured(self, rows: Rows) -> list[Array]:
        """The measurements without noise, one array for each group."""

    @abstractmethod
    def _released(self, measured: list[Array]) -> Release:
        """What is made of noisy measurements."""

    @abstractmethod
    def _total_squared_error(self) -> float:
        """The sum over the questions of weight^2 times the variance of the answer."""

    @property
    def loss(self) -> Loss:
        """The worst-case privacy loss of one release."""
        return self._plan.loss

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self._plan.law

    def release(self, value: Any) -> Release:
        """Private answers about a table.

        Parameters
        ----------
        value
            A mapping of columns, a DataFrame, what `Domain.codes` gave, or a histogram of the domain's shape. Rows
            with a value outside the domain are left out.

        Returns
        -------
        Release
            The answers, with what they cost.

        Raises
        ------
        InvalidParameter
            If the data are of another kind.
        """
        return self._released(self.measurements(value))

    def measurements(self, value: Any) -> list[Array]:
        """The noisy measurements themselves, which all answers are made of.

        Parameters
        ----------
        value
            As for `release`.

        Returns
        -------
        list of ndarray
            Whole numbers, one array for each group of measurements.

        Raises
        ------
        InvalidParameter
            If the data are of another kind.
        """
        exact = self._measured(Rows.of(self.workload.domain, value))
        return [self._plan.noisy(i, values) for i, values in enumerate(exact)]

    def releases(self, value: Any, times: int) -> list[Array]:
        """The noisy measurements of independent releases, each as one vector.

        Parameters
        ----------
        value
            As for `release`.
        times
            The number of releases.

        Returns
        -------
        list of ndarray
            One vector of whole numbers for each release.

        Raises
        ------
        InvalidParameter
            If the data are of another kind.
        """
        exact = self._measured(Rows.of(self.workload.domain, value))
        times = checks.count("times", times)
        many = [
            self._plan.noisy(i, np.broadcast_to(values.reshape(1, -1), (times, values.size)))
            for i, values in enumerate(exact)
        ]
        return list(np.concatenate(many, axis=1))

    @property
    def ways(self) -> dict[str, Any]:
        """Every way to get one private answer about a value, as numbers; an audit runs each of them."""
        return {
            "release": lambda value: self.release(value).answers(),
            "measurements": lambda value: [x.tolist() for x in self.measurements(value)],
        }

    def predicted_error(self, n: int | None = None) -> float:
        """The root mean square error of an answer, in rows: exact, from the law of the noise.

        Parameters
        ----------
        n
            The number of rows, which makes no difference here.

        Returns
        -------
        float
            The root of the mean, over the questions, of the variance of the answer; weighted by the squares of the
            questions' weights.
        """
        weights = sum(weight**2 * part.rows for weight, part in self.workload.parts)
        return math.sqrt(self._total_squared_error() / weights)

    @property
    def worst_pair(self) -> Neighbours:
        """No rows at all, and the rows of one person in the first cell; replaced: in the first or the last."""
        return self._pair(0, -1)

    @property
    def pairs(self) -> tuple[Neighbours, ...]:
        return self.worst_pair, self._pair(-1, 0)

    def _pair(self, cell: int, other: int) -> Neighbours:
        domain = self.workload.domain
        ends = {0: [0] * len(domain), -1: [size - 1 for size in domain.shape]}
        first = np.array([ends[other]] * self.rows_per_unit, dtype=np.int64).view(Codes)
        second = np.array([ends[cell]] * self.rows_per_unit, dtype=np.int64).view(Codes)
        return Neighbours(first if self.adjacency is REPLACE_ONE else first[:0], second)


class LinearRelease(Release):
    """Answers that are linear in noisy measurements, and so unbiased, with variances that are known exactly."""

    def __init__(self, mechanism: LinearMechanism) -> None:
        super().__init__(mechanism.workload, mechanism.loss)
        self.mechanism = mechanism

    @abstractmethod
    def variances(self) -> Reals:
        """The variance of the noise in every answer."""

    @cached_property
    def _deviations(self) -> Reals:
        return np.sqrt(self.variances())

    def conf_int(self, confidence: float = 0.95) -> Array:
        """Intervals for the exact answers of this table, from the noise alone.

        An answer plus and minus z standard deviations of its noise. For Gaussian noise z is the normal quantile. For
        Laplace noise it is the larger of the quantiles of one Laplace and of one normal variable: a sum of several
        Laplace variables lies between the two (tests/queries has the numbers). Where noise is so small that whole
        numbers show, half a unit of it is added.

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
            If the confidence is not strictly between 0 and 1.
        """
        z = quantile(checks.confidence(confidence), self.mechanism.law)
        answers = np.asarray(self.answers(), dtype=np.float64)
        half = z * self._deviations + self._grain()
        return np.stack([answers - half, answers + half], axis=1)

    def _grain(self) -> float:
        """Below a scale of 4 the steps of discrete noise are seen in an answer that is one measurement."""
        return 0.5 if min(self.mechanism._plan.scales) < 4 else 0.0

    def nonnegative(self) -> Array:
        """The answers with everything below 0 set to 0: closer to the truth for counts, and biased upwards.

        Returns
        -------
        ndarray
            The answers. No interval is known for them; use those of `conf_int`, cut at 0.
        """
        return np.maximum(self.answers(), 0)


def better_law(kind: type[LinearMechanism]) -> Callable[..., LinearMechanism]:
    """A way to make a mechanism with the law of noise that has the smaller error: few answers suit Laplace's."""

    def build(workload: Workload, guarantee: Guarantee, **options: Any) -> LinearMechanism:
        laws: tuple[Law | None, ...] = (None, "laplace") if isinstance(guarantee, ApproxDP) else (None,)
        made = [kind(workload, guarantee, noise=law, **options) for law in laws]
        return min(made, key=lambda mechanism: mechanism.predicted_error())

    return build


def quantile(confidence: float, law: Law) -> float:
    """How many standard deviations a combination of noises stays within."""
    normal = float(-ndtri((1 - confidence) / 2))
    return normal if law == "gaussian" else max(normal, -math.log(1 - confidence) / math.sqrt(2))
