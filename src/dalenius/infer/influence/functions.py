"""Influence functions, sensitivity curves and gross-error sensitivity of M-estimators.

Tools for choosing a score on public or made-up data. They look at the data they are given and add no noise: nothing
they return about sensitive data may be published.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import root

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

Score = Callable[[Any, Any], Any]
"""From rows and theta to the score of every row: (n,) or (n, p)."""

CLOSE = 1e-7
"""A root is one where the mean score is this small beside the mean of its absolute values."""


def influence_function(
    score: Score, points: Any, data: Any, *, start: Any = 0.0, mass: float = 0.0, theta: Any = None
) -> Reals:
    """The influence of a point on the M-estimate that solves mean score(data, theta) = 0.

    IF(z) = M^-1 score(z, theta) with M = -d/dtheta mean score(data, theta) (Hampel, 1974): the limit of
    (T((1 - mass) F + mass Delta_z) - T(F))/mass. For `mass` above 0 it is that quotient itself, at a fixed scale.
    It does not matter whether the score is a gradient of a loss or minus that.

    Not private: for public or made-up data.

    Parameters
    ----------
    score
        From rows and theta (a number for one parameter, else an array) to one score per row: n numbers, or n x p.
    points
        The rows whose influence is asked for.
    data
        The rows that stand for the distribution F.
    start
        Where the search for the root starts; an array for several parameters.
    mass
        0 for the limit, else the share of the point in the mixture.
    theta
        The root, if it is known.

    Returns
    -------
    ndarray
        One influence per point: (k,) for one parameter, (k, p) for several.

    Raises
    ------
    InvalidParameter
        If the score has no root near the start, or does not determine theta there.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> huber = lambda x, theta: np.clip(x - theta, -1.345, 1.345)
    >>> normal = np.random.default_rng(0).normal(size=10_000)
    >>> dp.infer.influence_function(huber, [0.0, 1.0, 50.0], normal).round(1)
    array([-0. ,  1.2,  1.6])
    """
    at, single = _start(start)
    mass = checks.failure_probability("mass", mass)
    rows, places = _rows("data", data), _rows("points", points)
    root_ = (
        _root(score, rows, at, single, np.full(len(rows), 1 / len(rows)))
        if theta is None
        else _start(theta)[0]
    )
    if mass == 0.0:
        slope = _slope(score, rows, root_, single)
        try:
            influence = np.linalg.solve(slope, _scores(score, places, root_, single).T).T
        except np.linalg.LinAlgError:
            raise InvalidParameter(
                "the mean score is flat where it is 0: it does not determine theta."
            ) from None
    else:
        weights = np.append(np.full(len(rows), (1 - mass) / len(rows)), mass)
        influence = np.array(
            [
                (_root(score, np.concatenate([rows, z[None]]), root_, single, weights) - root_) / mass
                for z in places
            ]
        )
    return np.asarray(influence[:, 0] if single else influence)


def gross_error_sensitivity(
    score: Score, points: Any, data: Any, *, start: Any = 0.0, mass: float = 0.0, theta: Any = None
) -> float:
    """The largest influence (in Euclidean norm) that any of these points has.

    The supremum over all rows there can be, if `points` cover them: for a bounded score, far points and those near
    the estimate. For `mass` above 0 at a fixed scale.

    Not private: for public or made-up data.

    Parameters
    ----------
    score
        From rows and theta (a number for one parameter, else an array) to one score per row: n numbers, or n x p.
    points
        The rows among which the largest influence is looked for.
    data
        The rows that stand for the distribution F.
    start
        Where the search for the root starts; an array for several parameters.
    mass
        0 for the limit, else the share of the point in the mixture.
    theta
        The root, if it is known.

    Returns
    -------
    float
        The largest norm.

    Raises
    ------
    InvalidParameter
        If the score has no root near the start, or does not determine theta there.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> huber = lambda x, theta: np.clip(x - theta, -1.345, 1.345)
    >>> normal = np.random.default_rng(0).normal(size=10_000)
    >>> round(dp.infer.gross_error_sensitivity(huber, np.linspace(-9, 9, 19), normal), 1)
    1.6
    """
    influence = influence_function(score, points, data, start=start, mass=mass, theta=theta)
    return float(np.linalg.norm(influence.reshape(len(influence), -1), axis=1).max())


def sensitivity_curve(estimator: Callable[[Any], Any], points: Any, data: Any) -> Reals:
    """n (T(z_1, ..., z_(n-1), z) - T(z_1, ..., z_(n-1))): what one more row does to any estimator (Tukey, 1970).

    Not private: for public or made-up data.

    Parameters
    ----------
    estimator
        From rows to an estimate.
    points
        The rows that are added, one at a time.
    data
        The n - 1 rows that are there.

    Returns
    -------
    ndarray
        One number, or one array, per point.

    Raises
    ------
    InvalidParameter
        If data or points are no rows of numbers, or estimates are none, or of different shapes.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> dp.infer.sensitivity_curve(np.mean, [1.0, 10.0], [0.0] * 9)
    array([ 1., 10.])
    """
    if not callable(estimator):
        raise InvalidParameter.of("estimator", "estimator must be a function of rows.")
    rows, places = _rows("data", data), _rows("points", points)
    if rows.shape[1:] != places.shape[1:]:
        raise InvalidParameter.of("points", "points and data must have the same number of columns.")
    before = _estimate(estimator, rows)
    after = [_estimate(estimator, np.concatenate([rows, z[None]])) for z in places]
    if any(one.shape != before.shape for one in after):
        raise InvalidParameter.of(
            "estimator", "estimator must return as many numbers whatever the number of rows."
        )
    return np.asarray((len(rows) + 1) * (np.array(after) - before))


def _estimate(estimator: Callable[[Any], Any], rows: Reals) -> Reals:
    found = estimator(rows)
    try:
        return np.asarray(found, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of(
            "estimator", "estimator must return a number, or an array of them."
        ) from None


def _rows(name: str, values: Any) -> Reals:
    try:
        rows = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        rows = np.array(np.nan)
    if rows.ndim not in (1, 2) or not rows.size or not np.isfinite(rows).all():
        raise InvalidParameter.of(name, f"{name} must be finite numbers: one row or more, n or n x d.")
    return rows


def _start(values: Any) -> tuple[Reals, bool]:
    try:
        at = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        at = np.array(np.nan)
    if at.ndim > 1 or not at.size or not np.isfinite(at).all():
        raise InvalidParameter.of("start", "start and theta must be a finite number, or a list of them.")
    return at.reshape(-1).astype(float), at.ndim == 0


def _scores(score: Score, rows: Reals, theta: Reals, single: bool) -> Reals:
    if not callable(score):
        raise InvalidParameter.of("score", "score must be a function of rows and theta.")
    scores = np.asarray(score(rows, float(theta[0]) if single else theta), dtype=float)
    if single and scores.ndim == 1:
        scores = scores[:, None]
    if scores.shape != (len(rows), len(theta)) or not np.isfinite(scores).all():
        raise InvalidParameter.of(
            "score", f"score must return {len(theta)} finite numbers for each of {len(rows)} rows."
        )
    return scores


def _root(score: Score, rows: Reals, start: Reals, single: bool, weights: Reals) -> Reals:
    def mean(theta: Reals) -> Reals:
        return np.asarray(weights @ _scores(score, rows, theta, single))

    solution = root(mean, start, tol=1e-13)
    scores = _scores(score, rows, solution.x, single)
    if np.abs(weights @ scores).max() > CLOSE * max(float((weights @ np.abs(scores)).max()), 1e-300):
        raise InvalidParameter.of("start", "the mean score has no root near start; give another start.")
    return np.asarray(solution.x)


def _slope(score: Score, rows: Reals, theta: Reals, single: bool) -> Reals:
    """M = -d/dtheta of the mean score, by central differences."""
    columns = []
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = 1e-4 * max(1.0, abs(float(theta[j])))
        high, low = (_scores(score, rows, theta + s * step, single).mean(axis=0) for s in (1, -1))
        columns.append((low - high) / (2 * step[j]))
    return np.column_stack(columns)
