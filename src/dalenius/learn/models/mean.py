"""A mean by the exponential mechanism: for empirical risk, and for the norm of its gradient.

`one_quantile` has the same for quantiles, `drawn_regression` for a few coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.refits import alone
from dalenius.learn.data.rows import listed
from dalenius.learn.data.targets import Bounds, Targets, numbers
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.reported import Reported
from dalenius.mechanisms import Exponential
from dalenius.mechanisms._support.epsilon_calibration import affordable, scale_for
from dalenius.noise import bernoulli_exp, geometric, noisy_argmax, uniform_integers

STEPS = 1 << 20
"""Data are whole numbers of 2^-20 of the width of their bounds."""
PLACES = range(0, STEPS + 1, 1 << 8)
"""The 4097 candidates that are compared one by one."""


@dataclass(eq=False, repr=False)
class ScalarEstimator(InNotebooks, Reported, BaseEstimator):  # type: ignore[misc]
    """Numbers in public bounds, on a grid, and a promise kept by an exponential mechanism."""

    guarantee: Guarantee
    _: KW_ONLY
    bounds: Bounds = (0.0, 1.0)

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return bounded_range(self._epsilon())

    def _epsilon(self) -> float:
        return affordable(checked_guarantee(self.guarantee), bounded_range)

    def _limits(self) -> tuple[float, float]:
        return Targets(self.bounds, "bounds").limits

    def _units(self, x: Any) -> Any:
        """Whole numbers from 0 to STEPS; what is not a number counts as absent."""
        alone(self)
        given = np.asarray(x) if hasattr(x, "__array__") else listed(x)
        if given.ndim != 1:
            raise InvalidParameter(f"the data have {given.ndim} dimensions; they must be a list of numbers.")
        values = numbers(given, len(given))
        low, high = self._limits()
        values = np.clip(values[np.isfinite(values)], low, high)
        return np.rint((values - low) / (high - low) * STEPS).astype(np.int64)

    def _chosen(self, risks: Sequence[int], unit: int, change: float) -> Any:
        """One of PLACES by the exponential mechanism; a record adds at most `change` to a risk, given in 1/`unit`."""
        # Exact integers, less the least of them; a double then errs by 2^-53 of a score, and the slack of the
        # sensitivity covers that for up to 2^31 records.
        best = min(risks)
        scores = np.array([float(best - risk) / unit for risk in risks])
        choose = Exponential(sensitivity=change * (1 + 2.0**-20), epsilon=self._epsilon(), monotone=True)
        return self._set(PLACES[int(choose.release(scores))], choose.loss)

    def _set(self, place: float, loss: Loss) -> Any:
        """Take over what was released, in the units of the data."""
        low, high = self._limits()
        self.value_, self.loss_ = low + place * (high - low) / STEPS, loss
        return self


class GradientMean(ScalarEstimator):
    """The mean of numbers in public bounds by the K-norm gradient mechanism. Add/remove neighbours.

    Released: theta with probability proportional to exp(-(epsilon / (2 width)) |sum_i (theta - x_i)|) on a grid of
    2^-20 of the width (Reimherr and Awan 2019): one record moves the gradient by |theta - x| <= width, so this
    is an exponential mechanism and costs `bounded_range(epsilon)`. The error falls like 1/n. The
    draw is exact: a side by Gumbel noise, a geometric number of steps away, again if that is out of bounds.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    bounds
        The least and the largest number; public.

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
    >>> mean = dp.learn.GradientMean(dp.PureDP(1.0), bounds=(0, 10)).fit([3.0] * 5000)
    >>> abs(mean.value_ - 3) < 0.1
    True
    """

    def fit(self, x: Any, y: None = None) -> Any:
        """Draw the mean of x."""
        epsilon, units = self._epsilon(), self._units(x)
        place = draw_by_gradient(len(units), int(units.sum()), 0, STEPS, scale_for(2.0 * STEPS, epsilon))
        return self._set(place, bounded_range(epsilon))


class ExponentialMean(ScalarEstimator):
    """The mean of numbers in public bounds by the exponential mechanism for squared error. Add/remove neighbours.

    Released: one of 4097 evenly spaced theta, with probability proportional to exp(-(epsilon/width^2) sum_i (theta -
    x_i)^2) (McSherry and Talwar 2007; a record only ever lowers the score, so there is no factor 2). Loss
    `bounded_range(epsilon)`. Its error falls like n^-1/2 and no faster (Awan, Kenney, Reimherr and Slavkovic 2019):
    kept for comparison, use `GradientMean`.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    bounds
        The least and the largest number; public.

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
    >>> mean = dp.learn.ExponentialMean(dp.PureDP(1.0), bounds=(0, 10)).fit([3.0] * 5000)
    >>> abs(mean.value_ - 3) < 1
    True
    """

    def fit(self, x: Any, y: None = None) -> Any:
        """Draw the mean of x."""
        units = self._units(x)
        count, total = len(units), int(units.sum())
        return self._chosen([count * k * k - 2 * k * total for k in PLACES], 1, float(STEPS) ** 2)


def draw_by_gradient(slope: int, level: int, low: int, high: int, scale: float) -> int:
    """A whole k in [low, high] with probability proportional to exp(-|slope k - level| / scale), exactly.

    Left of the root level/slope, and right of it, these are geometric. `slope` is 0 or more.
    """
    if slope == 0:
        return int(uniform_integers(low, high + 1))
    left = min(max(level // slope, low - 1), high)
    gaps = [level - slope * left, slope * (left + 1) - level]
    step = Fraction(scale) / slope
    if step > high - low:  # almost flat: any place, kept with the probability it deserves
        least = min(abs(slope * k - level) for k in (max(left, low), min(left + 1, high)))
        while True:
            place = int(uniform_integers(low, high + 1))
            if bernoulli_exp(Fraction(abs(slope * place - level) - least) / Fraction(scale)):
                return place
    while True:
        side = int(noisy_argmax(np.array([-float(g) for g in gaps]), scale, noise="gumbel"))
        away = int(geometric(step))
        place = left - away if side == 0 else left + 1 + away
        if low <= place <= high:
            return place
