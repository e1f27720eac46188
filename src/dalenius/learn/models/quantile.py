"""A median, or any other quantile, by the exponential mechanism: for its risk, and for the gradient of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.learn.models.mean import PLACES, STEPS, ScalarEstimator
from dalenius.mechanisms import Quantile
from dalenius.mechanisms._support.rank_draws import UNITS_PER_RANK
from dalenius.mechanisms.quantile import checked_level


@dataclass(eq=False, repr=False, kw_only=True)
class _Quantile(ScalarEstimator):
    level: float = 0.5


class GradientQuantile(_Quantile):
    """The `level`-quantile of numbers in public bounds by the K-norm gradient mechanism. Add/remove neighbours.

    The pinball risk sum_i rho(x_i - theta) has the gradient #{x_i <= theta} - level n (at a tie, the shortest of its
    subgradients), which one record moves by m = max(level, 1 - level) at most. Released: theta on a grid of 2^-20 of
    the width with probability proportional to exp(-(epsilon / (2 m)) |gradient|) (Reimherr and Awan 2019): the
    private quantile of Smith 2011, drawn exactly by `mechanisms.Quantile`. Loss `bounded_range(epsilon)`. The error
    falls like 1/n.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    bounds
        The least and the largest number; public.
    level
        Which quantile, between 0 and 1.

    Attributes
    ----------
    value_
        The number released.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import dalenius as dp
    >>> pay = [10.0 + k / 100 for k in range(2000)]
    >>> median = dp.learn.GradientQuantile(dp.PureDP(1.0), bounds=(0, 100)).fit(pay)
    >>> abs(median.value_ - 20) < 1
    True
    """

    def fit(self, x: Any, y: None = None) -> Any:
        """Draw the quantile of x."""
        mechanism = Quantile(level=self.level, bounds=(0, STEPS), granularity=1, epsilon=self._epsilon())
        return self._set(mechanism.release(self._units(x)), mechanism.loss)


class ExponentialQuantile(_Quantile):
    """The `level`-quantile of numbers in public bounds by the exponential mechanism. Add/remove neighbours.

    Released: one of 4097 evenly spaced theta, with probability proportional to exp(-(epsilon/(m width)) sum_i rho(x_i
    - theta)), rho(r) = max(level r, (level - 1) r), m = max(level, 1 - level) (McSherry and Talwar 2007; a record
    only ever lowers the score, so there is no factor 2). Loss `bounded_range(epsilon)`. The error falls like n^-1/2:
    for comparison.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    bounds
        The least and the largest number; public.
    level
        Which quantile, between 0 and 1.

    Attributes
    ----------
    value_
        The number released.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import dalenius as dp
    >>> pay = [10.0 + k / 100 for k in range(2000)]
    >>> median = dp.learn.ExponentialQuantile(dp.PureDP(1.0), bounds=(0, 100)).fit(pay)
    >>> abs(median.value_ - 20) < 10
    True
    """

    def fit(self, x: Any, y: None = None) -> Any:
        """Draw the quantile of x."""
        level = checked_level("level", self.level)
        risks = _risks(np.sort(self._units(x)), np.array(PLACES), round(level * UNITS_PER_RANK))
        return self._chosen(risks, UNITS_PER_RANK, max(level, 1 - level) * STEPS)


def _risks(units: Any, places: Any, part: int) -> list[int]:
    """sum_i rho(x_i - theta) at every place, in 2^-30 steps; the data are sorted."""
    sums = np.concatenate(([0], np.cumsum(units, dtype=np.int64)))
    below = np.searchsorted(units, places, side="right")
    under = places * below - sums[below]
    over = sums[-1] - sums[below] - places * (len(units) - below)
    return [
        part * o + (UNITS_PER_RANK - part) * u for o, u in zip(over.tolist(), under.tolist(), strict=True)
    ]
