"""Multinomial regression with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.arrays import Reals
from dalenius.infer import inputs
from dalenius.infer.glm.model import GeneralizedLinearModel
from dalenius.infer.glm.multinomial_score import Multinomial
from dalenius.infer.regression.settings import Numbers
from dalenius.infer.result import Result
from dalenius.infer.scores.score import Score


@dataclass(frozen=True, kw_only=True)
class MultinomialRegression(GeneralizedLinearModel):
    """The settings of `multinomial_regression`, its cost, and its release; see there.

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
        Three to ten labels, the one to compare with first; public.

    Examples
    --------
    >>> import dalenius as dp
    >>> model = dp.infer.MultinomialRegression(guarantee=dp.GDP(1.0), classes=("a", "b", "c"))
    >>> model.labels(["age", "const"])
    ['b: age', 'b: const', 'c: age', 'c: const']
    """

    classes: Sequence[Any]
    word = "multinomial regression"
    stands_out = 2.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", inputs.levels("classes", self.classes, 3, 10))
        super().__post_init__()

    @property
    def score(self) -> Multinomial:
        """Slopes p - e_y are at most sqrt(2) long as they are: nothing is clipped."""
        return Multinomial(len(self.classes) - 1)

    def typical_curvature(self, score: Score, center: float) -> float:
        return 0.08

    @property
    def response_levels(self) -> Sequence[Any]:
        return self.classes

    def responses(self, y: Any) -> Reals:
        return inputs.labels(y, self.classes)

    def labels(self, names: Sequence[str]) -> list[str]:
        return [f"{label}: {name}" for label in self.classes[1:] for name in names]


def multinomial_regression(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    classes: Sequence[Any],
    adjacency: Adjacency = ADD_REMOVE,
    intercept: bool = True,
    x_center: Numbers | None = None,
    x_scale: Numbers | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    reach: float | None = None,
) -> Result:
    """Multinomial logistic regression with confidence intervals that hold sampling and noise.

    The log-odds of every class against the first one, by noisy Newton steps along sum w(x) (p - e_y) x, as
    `logistic_regression`; |p - e_y| is at most sqrt(2), and nothing is clipped.

    Parameters
    ----------
    X
        Features: a matrix or a data frame of numbers. Rows with a missing value add nothing.
    y
        The labels, one for each row; others than `classes` add nothing.
    guarantee
        The promise: GDP, ZCDP, ApproxDP or RDP.
    classes
        Three to ten labels, the one to compare with first; public.
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
        Coefficients of every class but the first, in the units of the data, the constant last, with intervals.

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
    >>> X = random.normal(size=(9000, 1))
    >>> u = np.column_stack([np.zeros(9000), X[:, 0], -X[:, 0]]) + random.gumbel(size=(9000, 3))
    >>> fit = dp.infer.multinomial_regression(
    ...     X, u.argmax(axis=1), dp.GDP(1.0), classes=(0, 1, 2), x_center=0.0, x_scale=1.0)
    >>> fit.names, bool(abs(fit.params[0] - 1) < 0.5)
    (('1: x1', '1: const', '2: x1', '2: const'), True)
    """
    return MultinomialRegression(
        guarantee=guarantee,
        classes=classes,
        adjacency=adjacency,
        intercept=intercept,
        x_center=x_center,
        x_scale=x_scale,
        bounds=bounds,
        reach=reach,
    ).release(X, y)
