"""Location, linear and logistic regression in the local model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalenius.calculus.guarantees import Guarantee
from dalenius.errors import InvalidParameter
from dalenius.infer import magnitudes
from dalenius.infer.inputs import column, matrix, same_length
from dalenius.infer.local_model.descent import LocalDescent
from dalenius.infer.result import Result
from dalenius.infer.scores.score import CurveScore
from dalenius.infer.scores.source import Standard
from dalenius.sums.curves import Huber, Logistic

KNEE = 1.345
"""95 % efficient for normal errors (Huber 1964)."""


def local_location(x: Any, guarantee: Guarantee, *, bounds: tuple[float, float], scale: float) -> Result:
    """Huber's location of numbers that never leave the people they are of, but for noisy messages.

    See `dalenius.infer.local_model.descent.LocalDescent`: each person answers several rounds with noise of their own.
    The estimand is the centre at which scores cut off at 1.345 `scale` cancel: the mean of symmetric populations.

    Parameters
    ----------
    x
        One number for each person; one that is not finite counts as a message of noise alone.
    guarantee
        What all messages of one person keep, whatever their number is replaced by: GDP, ZCDP, RDP or ApproxDP.
    bounds
        Where the centre may be: the search starts in the middle.
    scale
        The standard deviation, roughly; public.

    Returns
    -------
    Result
        The location, with an interval that holds sampling and all noise.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If Gaussian noise cannot keep the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> x = np.random.default_rng(0).normal(5.0, 1.0, 20_000)
    >>> fit = dp.infer.local_location(x, dp.GDP(1.0), bounds=(0, 10), scale=1.0)
    >>> bool(abs(fit.params[0] - 5.0) < 0.3), bool(0.02 < fit.bse[0] < 0.06)
    (True, True)
    """
    values, name = column(x)
    low, high = magnitudes.interval("bounds", bounds)
    size = magnitudes.scale("scale", scale)
    away = (high - low) / 2 / size
    standard = Standard(np.zeros(0), np.ones(0), 1.0, 1.0, (low + high) / 2, size)
    # From the farthest start the score is KNEE, and so is each step.
    design = LocalDescent(
        score=CurveScore(Huber(KNEE)),
        standard=standard,
        guarantee=guarantee,
        straight=KNEE,
        rounds=3 + math.ceil(min(away / KNEE, 100)),
    )
    return design.fit(np.zeros((len(values), 0)), values, [name], "Huber location, local model")


def local_linear_regression(
    X: Any,
    y: Any,
    guarantee: Guarantee,
    *,
    bounds: Any,
    y_bounds: tuple[float, float],
    scale: float,
) -> Result:
    """Robust linear regression of rows that never leave the people they are of, but for noisy messages.

    Huber's loss with its knee at 1.345 `scale`; rows far from the middle of the bounds have less weight, so that scores
    are bounded (Mallows). The coefficients are those of y on X for errors that are symmetric given X.

    Parameters
    ----------
    X
        One row for each person.
    y
        One number for each person.
    guarantee
        What all messages of one person keep, whatever their row is replaced by: GDP, ZCDP, RDP or ApproxDP.
    bounds
        (lowest, highest) of each column: four of its standard deviations, roughly.
    y_bounds
        Of y, likewise: the search starts in its middle.
    scale
        The standard deviation of the errors, roughly; public.

    Returns
    -------
    Result
        Coefficients, the constant last, with intervals that hold sampling and all noise.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If Gaussian noise cannot keep the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50_000, 1))
    >>> y = 1 + 0.5 * X[:, 0] + rng.normal(size=50_000)
    >>> fit = dp.infer.local_linear_regression(X, y, dp.GDP(2.0), bounds=[(-2, 2)], y_bounds=(-2, 2), scale=1.0)
    >>> fit.names, bool(abs(fit.params[0] - 0.5) < 0.3)
    (('x1', 'const'), True)
    """
    table, names = matrix(X)
    responses, _ = column(y, "y")
    same_length(table, responses, "X and y")
    size = magnitudes.scale("scale", scale)
    low, high = magnitudes.interval("y_bounds", y_bounds)
    standard = _standard(bounds, table.shape[1], (low + high) / 2, size)
    # A message moves theta by KNEE at most; the curvature of weighted rows is about 1/2.
    away = (high - low) / 2 / size / KNEE
    design = LocalDescent(
        score=CurveScore(Huber(KNEE)),
        standard=standard,
        guarantee=guarantee,
        straight=KNEE,
        rounds=3 + math.ceil(min(away, 100)),
    )
    return design.fit(table, responses, [*names, "const"], "Huber regression, local model")


def local_logistic_regression(X: Any, y: Any, guarantee: Guarantee, *, bounds: Any) -> Result:
    """Logistic regression of rows that never leave the people they are of, but for noisy messages.

    Rows far from the middle of the bounds have less weight, which leaves the coefficients what they are.

    Parameters
    ----------
    X
        One row for each person.
    y
        0 or 1 for each person; other numbers count as the nearer one.
    guarantee
        What all messages of one person keep, whatever their row is replaced by: GDP, ZCDP, RDP or ApproxDP.
    bounds
        (lowest, highest) of each column: four of its standard deviations, roughly.

    Returns
    -------
    Result
        Coefficients, the constant last, with intervals that hold sampling and all noise.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    CannotMeet
        If Gaussian noise cannot keep the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100_000, 1))
    >>> y = rng.random(100_000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> fit = dp.infer.local_logistic_regression(X, y, dp.GDP(2.0), bounds=[(-2, 2)])
    >>> fit.names, bool(abs(fit.params[0] - 1.0) < 0.5)
    (('x1', 'const'), True)
    """
    table, names = matrix(X)
    responses, _ = column(y, "y")
    same_length(table, responses, "X and y")
    labels = np.where(np.isfinite(responses), np.clip(np.rint(responses), 0.0, 1.0), np.nan)
    design = LocalDescent(
        score=CurveScore(Logistic()),
        standard=_standard(bounds, table.shape[1], 0.0, 1.0),
        guarantee=guarantee,
        straight=0.5,
        step=4.0,
        usual=0.35,
        skew=1.0,
    )
    return design.fit(table, labels, [*names, "const"], "logistic regression, local model")


def _standard(bounds: Any, columns: int, y_center: float, y_scale: float) -> Standard:
    """Columns by the middle of their bounds and a quarter of their distance; rows no longer than usual ones."""
    if isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != columns:
        raise InvalidParameter.of(
            "bounds", f"bounds must list (lowest, highest) of each of the {columns} columns of X."
        )
    ends = np.array([magnitudes.interval("bounds", pair) for pair in bounds])
    return Standard(
        ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 4, 1.0, math.sqrt(columns + 1), y_center, y_scale
    )
