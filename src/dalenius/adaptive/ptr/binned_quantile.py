"""A quantile of counted rows with noise for a proposed local sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.adaptive.ptr.parts import Stable, checked_part
from dalenius.adaptive.statistics import BinnedQuantile
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.mechanisms import Gaussian
from dalenius.mechanisms.mechanism import Neighbours


@dataclass(frozen=True, kw_only=True)
class LocalBinnedQuantile(Stable):
    """The quantile plus normal noise, for counts where no unit can move it by more than `sensitivity` half bins.

    `distance` is the least k with A_k > sensitivity, A_k being the bound of `BinnedQuantile` on the sensitivity at
    distance k. It is above 0 only where the local sensitivity is at most `sensitivity`, and A_k(X) <= A_(k+1)(X') for
    neighbours makes it differ by at most 1 between them: that is all a test needs, exact or not. Longer distances count
    as `furthest`, which keeps both true.

    Parameters
    ----------
    statistic
        The quantile, with its number of bins, the rows of a unit and the neighbouring relation.
    sensitivity
        How many half bins one unit is proposed to move it at most: chosen without looking at the data.
    sigma
        The standard deviation of the noise, in half bins.
    furthest
        The largest distance that is told: at least that of the test, which else may never pass.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.ptr import GaussianDistanceTest, LocalBinnedQuantile, ProposeTestRelease
    >>> median = dp.adaptive.statistics.BinnedQuantile(level=0.5, size=100, max_rows=2)
    >>> local = LocalBinnedQuantile(statistic=median, sensitivity=2, sigma=8.0, furthest=200)
    >>> test = GaussianDistanceTest(mechanism=local, sigma=4.0, wrong_pass=1e-6)
    >>> m = ProposeTestRelease(mechanism=local, test=test)
    >>> bool(abs(m.release([0] * 40 + [100] * 20 + [0] * 40) - 99) < 80)
    True
    >>> m.release([50] + [0] * 98 + [50])
    Refusal()
    """

    statistic: BinnedQuantile
    sensitivity: int
    sigma: float
    furthest: int

    def __post_init__(self) -> None:
        checked_part(
            "statistic", self.statistic, BinnedQuantile, "dp.adaptive.statistics.BinnedQuantile(...)"
        )
        set_ = object.__setattr__
        set_(self, "sensitivity", checks.count("sensitivity", self.sensitivity, least=1))
        set_(self, "furthest", checks.count("furthest", self.furthest, least=1))
        set_(self, "sigma", self._noise.sigma)

    @cached_property
    def _noise(self) -> Gaussian:
        return Gaussian(
            sensitivity=float(self.sensitivity), sigma=self.sigma, adjacency=self.statistic.adjacency
        )

    @property
    def budget(self) -> Loss:
        return self._noise.loss

    def distance(self, data: Any) -> int:
        widths = self.statistic.at_distances(self.statistic.prepared(data), self.furthest)
        wide = np.flatnonzero(widths > self.sensitivity)
        return int(wide[0]) if len(wide) else self.furthest

    def release(self, data: Any) -> float:
        return float(self.releases(data, 1)[0])

    def releases(self, data: Any, times: int) -> Any:
        value = int(self.statistic.exactly(self.statistic.prepared(data)))
        return self._noise.releases(value, times)

    @property
    def worst_pair(self) -> Neighbours:
        """So many rows in two bins, as far apart as was proposed, that the test passes; a unit decides where it is."""
        apart = max(self.sensitivity // (1 if self.statistic.by_halves else 2), 1)
        rows = 2 * self.furthest * self.statistic.max_rows
        return self.statistic.deciding(rows, min(apart, self.statistic.size - 1))
