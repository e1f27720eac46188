"""What a posterior needs of a model: rows to draw, what each row adds to a release, and a conjugate prior."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dalenius.core.arrays import Array, Reals


class Family(ABC):
    """An exponential family with a conjugate prior; many parameters at once, one for each chain.

    Arrays have one row for each chain. The released statistic is the sum of `contributions`, each of which depends on
    one row, with bounds; what the prior is updated by is the sum of `sufficient`, of the same rows without bounds.

    Examples
    --------
    >>> from dalenius.infer import models
    >>> isinstance(models.Poisson(upper=20), models.Family)
    True
    """

    names: tuple[str, ...]
    """Of the parameters."""

    @abstractmethod
    def prior(self, rng: np.random.Generator, chains: int) -> Reals:
        """Parameters (chains x p) drawn from the prior."""

    @abstractmethod
    def rows(self, theta: Reals, size: int, rng: np.random.Generator) -> Array:
        """`size` rows for each parameter: chains x size, or chains x size x columns."""

    @abstractmethod
    def contributions(self, rows: Array) -> Reals:
        """What each row adds to the released statistics: chains x size x d."""

    @abstractmethod
    def sufficient(self, rows: Array) -> Reals:
        """What each row adds to the sufficient statistics: chains x size x k."""

    @abstractmethod
    def parameter(self, totals: Reals, n: int, rng: np.random.Generator) -> Reals:
        """Parameters (chains x p) drawn given the sums of the sufficient statistics of n rows."""

    @abstractmethod
    def moments(self, theta: Reals) -> tuple[Reals, Reals]:
        """Mean (chains x k) and covariance (chains x k x k) of the sufficient statistics of one row."""

    @abstractmethod
    def possible(self, totals: Reals, n: int) -> Reals:
        """The sums that n rows can have, next to these."""

    def reported(self, theta: Reals) -> Reals:
        """The parameters that a reader wants, one column for each name."""
        return theta
