"""Logistic regression with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer import inputs
from dalenius.infer.glm.model import GeneralizedLinearModel
from dalenius.infer.regression.settings import Numbers
from dalenius.infer.result import Result
from dalenius.infer.scores.score import CurveScore, Score
from dalenius.sums.curves import Logistic


@dataclass(frozen=True, kw_only=True)
class LogisticRegression(GeneralizedLinearModel):
    """The settings of `logistic_regression`, its cost, and its release; see there.

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
    classes
        The two labels, the positive one second; public.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> model = dp.infer.LogisticRegression(guarantee=dp.GDP(1.0), x_center=0.0, x_scale=1.0)
    >>> round(model.loss.epsilon(delta=1e-6), 2)
    4.89
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model.release(X, X[:, 0] > 0).names
    ('x1', 'x2', 'const')
    """

    classes: Sequence[Any] = (0, 1)
    word = "logistic regression"

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", inputs.levels("classes", self.classes, 2, 2))
        super().__post_init__()

    @property
    def score(self) -> CurveScore:
        """Slopes p - y are at most 1 as they are: nothing is clipped."""
        return CurveScore(Logistic(1.0))

    def typical_curvature(self, score: Score, center: float) -> float:
        return 0.15

    @property
    def response_levels(self) -> Sequence[Any]:
        return self.classes

    def responses(self, y: Any) -> Reals:
        return inputs.labels(y, self.classes)


def logistic_regression(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    classes: Sequence[Any] = (0, 1),
    adjacency: Adjacency = ADD_REMOVE,
    intercept: bool = True,
    x_center: Numbers | None = None,
    x_scale: Numbers | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    reach: float | None = None,
) -> Result:
    """Logistic regression with confidence intervals that hold sampling and noise.

    A few noisy Newton steps along the score sum w(x) (p - y) x, with weights w(x) = min(1, (r/|x|)^2) of standardised
    rows (Mallows): they depend on x alone, so that the coefficients are those of the logistic model, without bias.
    Since |p - y| is at most 1, nothing is clipped. The covariance is a sandwich of released matrices plus the noise of
    the steps (docs/glm-inference.md).

    Parameters
    ----------
    X
        Features: a matrix or a data frame of numbers. Rows with a missing value add nothing.
    y
        The labels, one for each row; others than `classes` add nothing.
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    classes
        The two labels, the positive one second; public.
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
    >>> y = random.random(5000) < 1 / (1 + np.exp(-X @ [1.0, -0.5]))
    >>> fit = dp.infer.logistic_regression(X, y, dp.GDP(1.0), bounds=[(-5, 5), (-5, 5)])
    >>> fit.names, bool(abs(fit.params[0] - 1) < 0.3)
    (('x1', 'x2', 'const'), True)
    """
    return LogisticRegression(
        guarantee=guarantee,
        classes=classes,
        adjacency=adjacency,
        intercept=intercept,
        x_center=x_center,
        x_scale=x_scale,
        bounds=bounds,
        reach=reach,
    ).release(X, y)
