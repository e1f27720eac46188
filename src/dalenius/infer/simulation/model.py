"""A model of the data, as a simulator whose randomness can be held fixed while the parameter moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

Space = tuple[tuple[float, float], ...]


class Model(ABC):
    """What simulation needs to know of the data: which statistics they would give, for every parameter.

    A subclass has `names`, `space` and `sample`; and `seeds`, if uniform numbers, one for each row, are not what it
    wants. `dalenius.infer.SimulationModel` makes one of a function.

    Examples
    --------
    >>> from dalenius.infer import Model, models
    >>> isinstance(models.Bernoulli(), Model)
    True
    """

    names: tuple[str, ...]
    """Of the parameters."""
    space: Space
    """The lowest and highest value of each parameter; finite, and public."""

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> Any:
        """The randomness of `size` data sets of n rows, of a law that does not depend on the parameter.

        Parameters
        ----------
        rng
            Where it comes from.
        n
            The number of rows.
        size
            The number of data sets.

        Returns
        -------
        Any
            What `sample` takes; uniform numbers (size x n) unless a model says otherwise.
        """
        return rng.random((size, n))

    @abstractmethod
    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        """The statistics, before noise, of the data sets that a parameter makes of these seeds.

        Parameters
        ----------
        theta
            The parameter.
        n
            The number of rows.
        seeds
            What `seeds` returned.

        Returns
        -------
        ndarray
            One row for each data set, one column for each released number.
        """


class SimulationModel(Model):
    """A model of your own, from a function that simulates.

    Parameters
    ----------
    names
        Of the parameters.
    space
        The lowest and highest value of each parameter.
    sample
        From (theta, n, seeds) to the statistics as they were before noise: one row for each data set, one column for
        each released number. All randomness comes from `seeds`.
    seeds
        From (rng, n, size) to the seeds of that many data sets; uniform numbers of shape (size, n) if left out.

    Raises
    ------
    InvalidParameter
        If names and space do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> def clipped_sum(theta, n, seeds):
    ...     waiting_times = -theta[0] * np.log(seeds)
    ...     return np.minimum(waiting_times, 10.0).sum(axis=1, keepdims=True)
    >>> model = dp.infer.SimulationModel(["mean"], [(0.1, 20.0)], clipped_sum)
    >>> rng = np.random.default_rng(1)
    >>> model.sample(np.array([3.0]), 100, model.seeds(rng, 100, 2)).shape
    (2, 1)
    """

    def __init__(
        self,
        names: Sequence[str],
        space: Sequence[tuple[float, float]],
        sample: Callable[[Reals, int, Any], Any],
        seeds: Callable[[np.random.Generator, int, int], Any] | None = None,
    ) -> None:
        if not _listed(names) or not names:
            raise InvalidParameter.of(
                "names", f"names is {checks.shown(names)}; it must list the parameters' names."
            )
        if not _listed(space) or len(space) != len(names):
            raise InvalidParameter.of(
                "space", "space must have one pair (lowest, highest) for each parameter."
            )
        if not all(callable(function) for function in (sample, seeds or sample)):
            raise InvalidParameter.of("sample", "sample and seeds must be functions.")
        self.names = tuple(str(name) for name in names)
        self.space = tuple(checks.interval("space", pair) for pair in space)
        self._sample, self._seeds = sample, seeds

    def seeds(self, rng: np.random.Generator, n: int, size: int) -> Any:
        """The randomness of `size` data sets of n rows.

        Parameters
        ----------
        rng
            Where it comes from.
        n
            The number of rows.
        size
            The number of data sets.

        Returns
        -------
        Any
            What `sample` takes.
        """
        return super().seeds(rng, n, size) if self._seeds is None else self._seeds(rng, n, size)

    def sample(self, theta: Reals, n: int, seeds: Any) -> Reals:
        """The statistics, before noise, of the data sets that a parameter makes of these seeds.

        Parameters
        ----------
        theta
            The parameter.
        n
            The number of rows.
        seeds
            What `seeds` returned.

        Returns
        -------
        ndarray
            One row for each data set, one column for each released number.

        Raises
        ------
        InvalidParameter
            If the function returns anything else.
        """
        found = np.asarray(self._sample(theta, n, seeds), dtype=float)
        if found.ndim == 1:
            found = found[:, None]
        if found.ndim != 2 or not np.isfinite(found).all():
            raise InvalidParameter.of(
                "sample",
                "sample must return finite numbers: one row for each data set, a column for each statistic.",
            )
        return found


def _listed(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str)
