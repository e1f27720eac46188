"""Poisson regression with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer import inputs
from dalenius.infer.glm.model import GeneralizedLinearModel
from dalenius.infer.glm.poisson_score import CutPoisson
from dalenius.infer.regression.settings import Numbers
from dalenius.infer.result import Result
from dalenius.infer.scores.score import Score

MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class PoissonRegression(GeneralizedLinearModel):
    """The settings of `poisson_regression`, its cost, and its release; see there.

    Parameters
    ----------
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    reach
        How far from the centre rows weigh in full, in multiples of the usual distance; the longest up to 3 that the
        number of rows and the promise can pay for, if left out.
    most
        Counts beyond this are taken for it; public.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> model = dp.infer.PoissonRegression(guarantee=dp.GDP(1.0), most=10, x_center=0.0, x_scale=1.0)
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 1))
    >>> model.release(X, random.poisson(np.exp(0.5 * X[:, 0]))).names
    ('x1', 'const')
    """

    most: int
    word = "Poisson regression"
    stands_out, nearest = 2.5, 0.3

    def __post_init__(self) -> None:
        most = checks.count("most", self.most, least=1)
        if most > MOST:
            raise InvalidParameter.of("most", f"most is {most}; it must be at most {MOST}.")
        object.__setattr__(self, "most", most)
        super().__post_init__()

    @property
    def score(self) -> CutPoisson:
        """Counts beyond `most` are taken for `most`, with the mean that goes with it."""
        return CutPoisson(self.most)

    def typical_curvature(self, score: Score, center: float) -> float:
        return 0.7 * self.score.curvature(max(self._log(center), 0.0))

    def responses(self, y: Any) -> Reals:
        counts, _ = inputs.column(y, "y")
        return np.where(counts >= 0, counts, np.nan)

    @property
    def response_unit(self) -> None:
        return None

    @property
    def response_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.most))

    def start(self, size: int, center: float) -> Reals:
        """The constant at the logarithm of the centre."""
        theta = np.zeros(size)
        if self.intercept:
            theta[-1] = self._log(center)
        return theta

    def _log(self, center: float) -> float:
        return math.log(min(max(center, 0.1), float(self.most)))

    def notes(self, reach: float) -> list[str]:
        return [
            *super().notes(reach),
            f"Counts beyond {self.most} are taken for {self.most}, and the score for what that is on average: exact "
            "for Poisson counts, an approximation for others.",
        ]


def poisson_regression(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    most: int,
    adjacency: Adjacency = ADD_REMOVE,
    intercept: bool = True,
    x_center: Numbers | None = None,
    x_scale: Numbers | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    reach: float | None = None,
) -> Result:
    """Poisson regression (log link) with confidence intervals that hold sampling and noise.

    A count has no bound, and a clipped score moves what is estimated: with the score e^u - y of a log-mean of 0
    clipped to 1/2, by -0.152 for ever. So counts are cut off at `most`, which is public, and compared with what a
    count that is cut off is on average: the score min(y, most) - E min(N, most) has mean 0 at the truth, exactly.
    Otherwise as `logistic_regression`.

    Parameters
    ----------
    X
        Features: a matrix or a data frame of numbers. Rows with a missing value add nothing.
    y
        Counts, one for each row; negative ones add nothing.
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    most
        Counts beyond this are taken for it; public. The noise is in proportion to it: a number that few counts exceed.
    adjacency
        `ADD_REMOVE`, or `REPLACE_ONE` with a public number of rows.
    intercept
        Whether to add a constant.
    x_center, x_scale
        Typical values and deviations of the columns, if public: one number for all, or one for each.
    bounds
        (lowest, highest) of each column, as guides to find its centre and scale.
    reach
        How far from the centre rows weigh in full, in multiples of the usual distance; the longest up to 3 that the
        number of rows and the promise can pay for, if left out.

    Returns
    -------
    Result
        Coefficients in the units of the data, the constant last, with intervals.

    Raises
    ------
    InvalidParameter
        If shapes, types or settings do not fit together; never for a value.
    CannotMeet
        If the promise is PureDP, which Gaussian noise cannot keep.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(5000, 2))
    >>> y = random.poisson(np.exp(X @ [0.4, -0.2] + 0.5))
    >>> fit = dp.infer.poisson_regression(X, y, dp.GDP(1.0), most=10, x_center=0.0, x_scale=1.0)
    >>> bool(abs(fit.params[0] - 0.4) < 0.2)
    True
    """
    return PoissonRegression(
        guarantee=guarantee,
        most=most,
        adjacency=adjacency,
        intercept=intercept,
        x_center=x_center,
        x_scale=x_scale,
        bounds=bounds,
        reach=reach,
    ).release(X, y)
