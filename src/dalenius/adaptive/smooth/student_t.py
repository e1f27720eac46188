"""Student's noise in proportion to the smooth sensitivity: pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from dalenius.adaptive.smooth.noise import SmoothNoise
from dalenius.adaptive.statistics import Statistic
from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter
from dalenius.mechanisms._support.epsilon_calibration import affordable
from dalenius.noise.laws import StudentTLaw


def student_epsilon(shift: float, beta: float, df: float) -> float:
    """The largest log ratio of Student's densities, one moved by `shift` and stretched by e^beta at most.

    With one degree of freedom, u = z/sqrt(df) and c = shift^2/(2 df), the densities at u are Poisson kernels of the
    upper half plane, and their log ratio is at most the hyperbolic distance d(t) = arcosh(cosh t + c e^-t) of (0, 1)
    and (shift/sqrt(df), e^t), attained (Harnack's inequality). With more, log of the density is (df+1)/2 times as
    much but for the factor e^-t in front: the ratio is at most (df+1)/2 d(t) + (df-1)/2 t. With g = cosh t + c e^-t
    one has g'' = g and g^2 - g'^2 = 1 + 2 c, so that d'' = 2 c g/(g^2 - 1)^(3/2) > 0: d is convex, and the largest
    value over 0 <= t <= beta is at an end.
    """
    c = shift * shift / (2 * df)
    still = (df + 1) / 2 * _arcosh1p(c)
    stretched = (df + 1) / 2 * _arcosh1p(2 * math.sinh(beta / 2) ** 2 + c * math.exp(-beta)) + (
        df - 1
    ) / 2 * beta
    return max(still, stretched) * (1 + 1e-12)


def _arcosh1p(x: float) -> float:
    """arcosh(1 + x)."""
    return 2 * math.asinh(math.sqrt(x / 2))


@dataclass(frozen=True, kw_only=True)
class SmoothStudentT(SmoothNoise):
    """Releases a statistic plus `scale` times its smooth sensitivity times Student's t: pure DP.

    The loss is `pure(epsilon)` for the exact epsilon of moving by 1/scale and stretching by e^beta at once, smaller
    than the sum of both that is usually charged: for df = 1, 2 asinh(1/(2 scale)) as long as beta is small, where
    Nissim, Raskhodnikova and Smith (2007) have 1/scale + beta. Three degrees of freedom are the fewest whole number
    with a finite variance (Bun and Steinke 2019).

    The answer is the ideal real number rounded to the grid of the statistic and clamped to its bounds.

    Parameters
    ----------
    statistic
        What is released, with its bounds and its neighbouring relation.
    beta
        The smoothness of the sensitivity.
    scale
        What the smooth sensitivity is multiplied by.
    df
        Degrees of freedom, 1 or more.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
    >>> m = dp.adaptive.SmoothStudentT.calibrated(dp.PureDP(1.0), statistic=median, beta=0.2)
    >>> ages = [20, 30, 30, 30, 40] * 400
    >>> abs(m.release(ages) - 30) < 1, m.loss.epsilon(delta=0.0) <= 1
    (True, True)
    """

    statistic: Statistic[Any]
    beta: float
    scale: float
    df: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "df", checked_df(self.df))
        _ = self.loss

    def _loss(self, shift: float, beta: float) -> Loss:
        return losses.pure(student_epsilon(shift, beta, self.df), self.adjacency)

    @property
    def _law(self) -> StudentTLaw:
        return StudentTLaw(Fraction(self.df))

    def _sizes(self) -> NDArray[np.float64]:
        return np.asarray(student.ppf(0.5 + (np.arange(400) + 0.5) / 800, self.df))

    @classmethod
    def _largest_shift(cls, guarantee: Guarantee, beta: float, **options: Any) -> float:
        df = checked_df(options.get("df", cls.df))
        epsilon = _affordable_epsilon(guarantee)
        return last_true(lambda shift: student_epsilon(shift, beta, df) <= epsilon, 0.0, 1e6)[0]


@dataclass(frozen=True, kw_only=True)
class SmoothCauchy(SmoothStudentT):
    """Releases a statistic plus `scale` times its smooth sensitivity times Cauchy noise: pure DP.

    Student's t with one degree of freedom, density proportional to 1/(1 + z^2): the least scale of the pure kinds, and
    the heaviest tails (Nissim, Raskhodnikova and Smith 2007, with their loss made exact).

    Parameters
    ----------
    statistic
        What is released, with its bounds and its neighbouring relation.
    beta
        The smoothness of the sensitivity.
    scale
        What the smooth sensitivity is multiplied by.

    Examples
    --------
    >>> import dalenius as dp
    >>> median = dp.adaptive.statistics.Median(bounds=(0, 100))
    >>> m = dp.adaptive.SmoothCauchy(statistic=median, beta=0.5, scale=1.0)
    >>> round(m.loss.epsilon(delta=0.0), 4)
    0.9624
    """

    df: float = field(default=1.0, init=False)


def checked_df(value: object) -> float:
    """Degrees of freedom, 1 to 1000."""
    df = checks.positive("df", value)
    if not 1 <= df <= 1000:
        raise InvalidParameter.of("df", f"df is {df:g}; it must be between 1 and 1000.")
    return df


@lru_cache(maxsize=64)
def _affordable_epsilon(guarantee: Guarantee) -> float:
    """The largest pure epsilon that keeps a guarantee."""
    return affordable(guarantee, losses.pure)
