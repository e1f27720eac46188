"""Regression with a few coefficients, drawn by the exponential mechanism: for the risk, and for its gradient."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses import bounded_range
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.models.bounded_regression import BoundedRegression
from dalenius.learn.numerics.grid_draw import AXIS_BITS, draw
from dalenius.learn.numerics.grid_scores import (
    FINE,
    LEVEL,
    PinballGradient,
    PinballRisk,
    SquaresGradient,
    SquaresRisk,
)
from dalenius.mechanisms._support.epsilon_calibration import affordable, scale_for

MOST_COEFFICIENTS = 4
"""The constant included: with every one more the draw takes several times as long."""
LEAST_BOUND = 0.25


@dataclass(eq=False, repr=False, kw_only=True)
class DrawnRegression(BoundedRegression, ABC):
    """Released: theta with probability proportional to exp(epsilon score(theta) / (factor change)), on a grid.

    The grid has 2^20 steps per axis and fills the ball R |theta| <= coef_bound, R being the largest norm of a row,
    its constant included, and targets being moved to [-1, 1].
    """

    factor = 2
    """1 where a record moves all scores the same way."""

    intercept_scale: float = 1.0
    coef_bound: float = 2.0

    @abstractmethod
    def _score(self) -> Callable[[Reals, Reals, float], Any]:
        """Rows, targets and their largest size to a score."""

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return bounded_range(self._epsilon())

    def _epsilon(self) -> float:
        return affordable(checked_guarantee(self.guarantee), bounded_range)

    def check_columns(self, columns: int) -> None:
        """Refuse what would take for ever."""
        if columns + (checks.nonnegative("intercept_scale", self.intercept_scale) > 0) > MOST_COEFFICIENTS:
            raise InvalidParameter(
                f"X has {columns} columns; with the constant, {type(self).__name__} draws at most {MOST_COEFFICIENTS} "
                "coefficients. Use fewer columns, or LinearRegression or HuberRegression."
            )

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and targets y; the cost is `loss_`, whatever the data."""
        epsilon, build = self._epsilon(), self._score()
        allowed = f"a number, {LEAST_BOUND} or more"
        ball = checks.within("coef_bound", self.coef_bound, allowed, lambda x: x >= LEAST_BOUND)
        data = self._data(X, y)
        self.check_columns(data.features.shape[1])
        longest = math.hypot(self._norm, self._constant) * (1 + 1e-12)
        score = build(
            np.rint(data.rows() * (2.0**FINE / longest)), np.rint(data.labels * (2.0**FINE / ball)), 1 / ball
        )
        whole = draw(score, data.size, scale_for(self.factor * score.change, epsilon))
        size = data.features.shape[1]
        return self._set(whole * (2.0**-AXIS_BITS * ball / longest), size, bounded_range(epsilon))


@dataclass(eq=False, repr=False, kw_only=True)
class _Quantiles(DrawnRegression):
    level: float = 0.5

    def _part(self) -> int:
        part: int = round(checks.number("level", self.level) * 2**LEVEL)
        if not 0 < part < 1 << LEVEL:
            raise InvalidParameter(f"level is {self.level}; it must be above 0 and below 1.")
        return part


class GradientLeastSquares(DrawnRegression):
    """Least squares with a few coefficients by the K-norm gradient mechanism. Add/remove neighbours.

    Score -|X^T (X theta - y)|, with rows of norm R at most, |y| <= 1, and R |theta| <= B = `coef_bound`. One record
    moves it by R (1 + B) at most, so theta is drawn with probability proportional to exp(-(epsilon / (2 R (1 + B)))
    |X^T (X theta - y)|) on a grid with 2^20 steps per axis (Reimherr and Awan 2019). The factor 2 stays: the normaliser
    depends on the data, through X^T X and through the ball. Loss `bounded_range(epsilon)`; the error falls like 1/n.

    The draw is exact (see `grid_draw`), for at most four coefficients, the constant included. Columns that are nearly
    multiples of each other make it slow. Targets and rows are treated as in `LinearRegression`.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
    coef_bound
        The largest norm of the coefficients, for rows of norm 1 and targets in [-1, 1].

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.linspace(-1, 1, 5000)[:, None]; y = 10 + 5 * X[:, 0]
    >>> model = dp.learn.GradientLeastSquares(dp.PureDP(1.0), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.loss_.epsilon(0.0)
    (True, 1.0)
    """

    def _score(self) -> Callable[[Reals, Reals, float], Any]:
        return SquaresGradient


class ExponentialLeastSquares(DrawnRegression):
    """Least squares with a few coefficients by the exponential mechanism. Add/remove neighbours.

    As `GradientLeastSquares`, but with the score -(1/2) |X theta - y|^2, which a record lowers by (1 + B)^2/2 at most
    and never raises: theta has probability proportional to exp(-(epsilon/(1 + B)^2) |X theta - y|^2) (McSherry and
    Talwar 2007), a posterior sample restricted to a ball. The error falls like n^-1/2 (Awan, Kenney, Reimherr and
    Slavkovic 2019): kept for comparison.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
    coef_bound
        The largest norm of the coefficients, for rows of norm 1 and targets in [-1, 1].

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.linspace(-1, 1, 5000)[:, None]; y = 10 + 5 * X[:, 0]
    >>> model = dp.learn.ExponentialLeastSquares(dp.PureDP(1.0), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.5), model.loss_.epsilon(0.0)
    (True, 1.0)
    """

    factor = 1

    def _score(self) -> Callable[[Reals, Reals, float], Any]:
        return SquaresRisk


class GradientQuantileRegression(_Quantiles):
    """Quantile regression with a few coefficients by the K-norm gradient mechanism. Add/remove neighbours.

    Score -|sum_i (r_i - level) x_i|, r_i being 1 where y_i is below x_i.theta and 0 where it is above, with a ramp of
    1/64 of `coef_bound` between (quantile regression smoothed by convolution, Fernandes, Guerre and Horta 2021). One
    record moves it by R m, m = max(level, 1 - level), at most, whatever theta: theta has probability proportional to
    exp(epsilon score / (2 R m)) on the grid and with the bounds of `GradientLeastSquares`. Loss
    `bounded_range(epsilon)`; the error falls like 1/n, down to what the ramp does to the quantile.

    The work of a draw grows with the number of records that differ times that of the boxes looked at.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
    coef_bound
        The largest norm of the coefficients, for rows of norm 1 and targets in [-1, 1].
    level
        Which quantile, between 0 and 1.

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.linspace(-1, 1, 2000)[:, None]; y = 10 + 5 * X[:, 0] + np.sin(1e4 * X[:, 0])
    >>> model = dp.learn.GradientQuantileRegression(dp.PureDP(1.0), target_bounds=(0, 20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def _score(self) -> Callable[[Reals, Reals, float], Any]:
        part = self._part()
        return lambda rows, targets, top: PinballGradient(rows, targets, top, part)


class ExponentialQuantileRegression(_Quantiles):
    """Quantile regression with a few coefficients by the exponential mechanism. Add/remove neighbours.

    As `GradientQuantileRegression`, but with the score -sum_i rho(y_i - x_i.theta), rho(r) = max(level r, (level - 1)
    r), which a record lowers by m (1 + B) at most and never raises, so there is no factor 2 (McSherry and Talwar
    2007). Loss `bounded_range(epsilon)`. The error falls like n^-1/2: kept for comparison, and for targets with ties.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    target_bounds
        The least and the largest target; public.
    coef_bound
        The largest norm of the coefficients, for rows of norm 1 and targets in [-1, 1].
    level
        Which quantile, between 0 and 1.

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.linspace(-1, 1, 2000)[:, None]; y = 10 + 5 * X[:, 0]
    >>> model = dp.learn.ExponentialQuantileRegression(dp.PureDP(4.0), target_bounds=(0, 20)).fit(X, y)
    >>> model.loss_.epsilon(0.0)
    4.0
    """

    factor = 1

    def _score(self) -> Callable[[Reals, Reals, float], Any]:
        part = self._part()
        return lambda rows, targets, top: PinballRisk(rows, targets, top, part)
