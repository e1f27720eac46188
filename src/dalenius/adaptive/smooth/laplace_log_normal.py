"""Laplace-log-normal noise in proportion to the smooth sensitivity: zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dalenius.adaptive.smooth.noise import SmoothNoise
from dalenius.adaptive.statistics import Statistic
from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import ZCDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.noise.laws import LaplaceLogNormalLaw

SHAPES = (1e-3, 3.0)


def log_normal_mu(shift: float, beta: float, shape: float) -> float:
    """sqrt(2 rho) of X exp(shape Y) moved by `shift` and stretched by e^beta at most, X Laplace, Y normal.

    Stretching moves Y by beta/shape: rho = (beta/shape)^2/2. Moving costs no more than e^(3 shape^2/2) shift as a pure
    epsilon: the density is E[R exp(-|z| R)]/2, R = exp(-shape Y), and the derivative of its logarithm at most E[R^2
    exp(-|z| R)] / E[R exp(-|z| R)], which is largest at z = 0, E[R^2]/E[R]. The roots of rho add up over a chain
    (Bun and Steinke 2016, Proposition 27).
    """
    return (beta / shape + math.exp(1.5 * shape * shape) * shift) * (1 + 1e-12)


@dataclass(frozen=True, kw_only=True)
class SmoothLaplaceLogNormal(SmoothNoise):
    """Releases a statistic plus `scale` times its smooth sensitivity times Laplace-log-normal noise: zCDP.

    The noise is X exp(shape Y), X Laplace of scale 1 and Y standard normal; the loss is rho-zCDP with rho =
    (beta/shape + e^(3 shape^2/2) / scale)^2 / 2 (Bun and Steinke, "Average-case averages: private algorithms for
    smooth sensitivity and mean estimation", 2019). Its tails are lighter than any power, its variance 2 exp(2 shape^2).

    The answer is the ideal real number rounded to the grid of the statistic and clamped to its bounds.

    Parameters
    ----------
    statistic
        What is released, with its bounds and its neighbouring relation.
    beta
        The smoothness of the sensitivity.
    scale
        What the smooth sensitivity is multiplied by.
    shape
        The standard deviation of the logarithm of the scale of the Laplace noise.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
    >>> m = dp.adaptive.SmoothLaplaceLogNormal.calibrated(dp.ZCDP(0.5), statistic=median, beta=0.1)
    >>> m.loss.zcdp() <= 0.5, round(m.scale, 2), round(m.shape, 2)
    (True, 1.71, 0.31)
    """

    statistic: Statistic[Any]
    beta: float
    scale: float
    shape: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shape", checked_shape(self.shape))
        _ = self.loss

    def _loss(self, shift: float, beta: float) -> Loss:
        mu = log_normal_mu(shift, beta, self.shape)
        return losses.zcdp(mu * mu / 2 * (1 + 1e-15), self.adjacency)

    @property
    def _law(self) -> LaplaceLogNormalLaw:
        return LaplaceLogNormalLaw(Fraction(self.shape))

    def _sizes(self) -> NDArray[np.float64]:
        exponentials = -np.log1p(-(np.arange(50) + 0.5) / 50)
        factors = np.exp(self.shape * norm.ppf((np.arange(50) + 0.5) / 50))
        return np.outer(exponentials, factors).ravel()

    @classmethod
    def _largest_shift(cls, guarantee: Guarantee, beta: float, **options: Any) -> float:
        shape = checked_shape(options["shape"])
        return (_affordable_mu(guarantee) - beta / shape) * math.exp(-1.5 * shape * shape)

    @classmethod
    def _completed(cls, guarantee: Guarantee, beta: float, options: dict[str, Any]) -> dict[str, Any]:
        return {"shape": best_shape(_affordable_mu(guarantee), beta), **options}


def best_shape(mu: float, beta: float) -> float:
    """The shape of least variance 2 e^(5 shape^2) / (mu - beta/shape)^2: 5 mu shape^3 = (5 shape^2 + 1) beta."""
    return last_true(lambda x: 5 * mu * x**3 <= (5 * x * x + 1) * beta, SHAPES[0], SHAPES[1], relative=1e-9)[
        1
    ]


def checked_shape(value: object) -> float:
    """A shape that can be computed with."""
    shape = checks.positive("shape", value)
    if not SHAPES[0] <= shape <= SHAPES[1]:
        raise InvalidParameter.of(
            "shape", f"shape is {shape:g}; it must be between {SHAPES[0]:g} and {SHAPES[1]:g}."
        )
    return shape


@lru_cache(maxsize=64)
def _affordable_mu(guarantee: Guarantee) -> float:
    """sqrt(2 rho) for the largest rho that keeps the guarantee; 0 where none does."""
    if isinstance(guarantee, ZCDP):
        return math.sqrt(2 * guarantee.rho)
    if guarantee.as_pure() is not None:
        return 0.0
    try:
        return math.sqrt(2 * calibrate(losses.zcdp, guarantee))
    except CannotMeet:
        return 0.0
