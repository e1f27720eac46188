"""What a release that has come out tells about one record: the exact log-ratio of the densities with and without it.

Positive where the data as they are make the output likelier. These need the data, so they are private numbers: for
experiments, tests and the person who holds the data, not for publication (Redberg 2023, Example 2.2.4, reads a count
off one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalenius.core import checks
from dalenius.errors import InvalidParameter


def gaussian_loss(output: ArrayLike, value: ArrayLike, neighbour: ArrayLike, sigma: float) -> float:
    """log density at `output` of value + N(0, sigma^2 I), less that of neighbour + N(0, sigma^2 I).

    Parameters
    ----------
    output
        What was released.
    value
        The true value.
    neighbour
        The true value with the record added or removed.
    sigma
        The standard deviation of the noise.

    Returns
    -------
    float
        The loss that was incurred; private.

    Examples
    --------
    >>> from dalenius.adaptive import gaussian_loss
    >>> gaussian_loss(0.25, 0.0, 1.0, sigma=1.0)
    0.25
    """
    sigma = checks.positive("sigma", sigma)
    out, first, second = (_numbers(a) for a in (output, value, neighbour))
    _same_shapes(out, first, second)
    return float(np.sum((first - second) * (2 * out - first - second)) / (2 * sigma**2))


def laplace_loss(output: ArrayLike, value: ArrayLike, neighbour: ArrayLike, scale: float) -> float:
    """The same as `gaussian_loss`, for Laplace noise.

    Parameters
    ----------
    output
        What was released.
    value
        The true value.
    neighbour
        The true value with the record added or removed.
    scale
        The scale of the noise.

    Returns
    -------
    float
        The loss that was incurred; private.

    Examples
    --------
    >>> from dalenius.adaptive import laplace_loss
    >>> laplace_loss(0.25, 0.0, 1.0, scale=2.0)
    0.25
    """
    scale = checks.positive("scale", scale)
    out, first, second = (_numbers(a) for a in (output, value, neighbour))
    _same_shapes(out, first, second)
    return float(np.sum(np.abs(out - second) - np.abs(out - first)) / scale)


def objective_perturbation_loss(
    hessian: Any, gradient: Any, record_hessian: Any, record_gradient: Any, sigma: float, *, member: bool
) -> float:
    """The loss that the exact minimiser of an objective perturbed by b ~ N(0, sigma^2 I) incurred, for any convex loss.

    With H and G the Hessian and the gradient at the minimiser of the objective without b, and A and g those of one
    record, s = +1 for a record that is not in the data and -1 for one that is:

        log det H - log det(H + s A) + |g|^2/(2 sigma^2) + s G.g/sigma^2

    (Redberg 2023, Theorem 2.3.1, as determinants). For a GLM, A = f'' x x^T and g = f' x.

    Parameters
    ----------
    hessian
        The Hessian of the objective with the data as they are, ridge included.
    gradient
        Its gradient; -b.
    record_hessian
        The Hessian of the record's own loss.
    record_gradient
        The gradient of the record's own loss.
    sigma
        The standard deviation of the noise in the objective.
    member
        Whether the record is in the data.

    Returns
    -------
    float
        The loss that was incurred; private.

    Raises
    ------
    InvalidParameter
        If sigma is not above 0, or a Hessian is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.adaptive import objective_perturbation_loss
    >>> whole, own = 2 * np.eye(2), np.diag([2.0, 0.0])
    >>> loss = objective_perturbation_loss(whole, [0.0, 0.0], own, [1.0, 0.0], 1.0, member=False)
    >>> bool(abs(loss - (0.5 - np.log(2))) < 1e-12)
    True
    """
    sigma, sign = checks.positive("sigma", sigma), -1.0 if member else 1.0
    whole, own, g, slope = (_numbers(a) for a in (hessian, record_hessian, record_gradient, gradient))
    _same_shapes(whole, own, np.outer(g, slope))
    try:
        roots = np.linalg.cholesky(np.stack([whole, whole + sign * own]))
    except np.linalg.LinAlgError:
        raise InvalidParameter("the Hessian is not positive definite, with and without the record.") from None
    determinants = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    return float(determinants[0] - determinants[1] + (g @ g / 2 + sign * (slope @ g)) / sigma**2)


def glm_losses(
    rows: Any, slopes: Any, bends: Any, hessian: Any, gradient: Any, sigma: float, *, member: bool
) -> Any:
    """`objective_perturbation_loss` for many records of a GLM at once: slope f' and bend f'' of each at the minimiser.

    Parameters
    ----------
    rows
        The records' rows x.
    slopes
        f' of each record.
    bends
        f'' of each record.
    hessian
        The Hessian of the objective with the data as they are, ridge included.
    gradient
        Its gradient; -b.
    sigma
        The standard deviation of the noise in the objective.
    member
        Whether the records are in the data.

    Returns
    -------
    ndarray
        The loss that was incurred, of each record; private.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.adaptive import glm_losses
    >>> found = glm_losses([[1.0, 0.0]], [1.0], [2.0], 2 * np.eye(2), [0.0, 0.0], 1.0, member=False)
    >>> bool(abs(found[0] - (0.5 - np.log(2))) < 1e-12)
    True
    """
    x, slope, bend, whole, pull = (_numbers(a) for a in (rows, slopes, bends, hessian, gradient))
    _same_shapes(x, np.outer(slope, pull), np.outer(bend, pull))
    _same_shapes(whole, np.outer(pull, pull))
    sign = -1.0 if member else 1.0
    leverage = np.einsum("ij,ji->i", x, np.linalg.solve(whole, x.T))
    misfit = slope**2 * np.square(x).sum(axis=1) / 2 + sign * slope * (x @ pull)
    return np.asarray(-np.log1p(sign * bend * leverage) + misfit / checks.positive("sigma", sigma) ** 2)


def posterior_sample_loss(
    theta: Any, row: Any, label: float, hessian: Any, mean: Any, gamma: float, *, member: bool
) -> float:
    """The loss that one draw theta ~ N(mean, (gamma H)^-1) of a ridge regression incurred, H = X^T X + ridge.

    With F the sum of squares of a data set (ridge included), its density is exp(-gamma F(theta)/2) over a constant,
    and a record changes F by (y - x.theta)^2 and the constant by the factor (1 + m)^(-1/2) exp(-gamma r^2/(2 (1 +
    m))), where m = x.H^-1 x and r = y - x.mean are those of the data without it (Wang 2019, Per-instance differential
    privacy).

    Parameters
    ----------
    theta
        What was released.
    row
        The record's row x.
    label
        Its target y.
    hessian
        X^T X + ridge of the data as they are.
    mean
        The ridge regression of the data as they are.
    gamma
        The precision of the draw.
    member
        Whether the record is in the data.

    Returns
    -------
    float
        The loss that was incurred; private.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.adaptive import posterior_sample_loss
    >>> found = posterior_sample_loss([0.0], [1.0], 0.0, [[1.0]], [0.0], gamma=1.0, member=False)
    >>> bool(abs(found + np.log(2) / 2) < 1e-12)
    True
    """
    gamma = checks.positive("gamma", gamma)
    x, whole, centre, drawn = (_numbers(a) for a in (row, hessian, mean, theta))
    _same_shapes(whole, np.outer(x, centre), np.outer(x, drawn))
    label = checks.number("label", label)
    if member:  # the same pair of data sets, seen from the other side
        without = whole - np.outer(x, x)
        centre = np.linalg.solve(without, whole @ centre - label * x)
        return -posterior_sample_loss(theta, x, label, without, centre, gamma, member=False)
    leverage = float(x @ np.linalg.solve(whole, x))
    misfit, residual = float(label - x @ drawn), float(label - x @ centre)
    return gamma / 2 * (misfit**2 - residual**2 / (1 + leverage)) - float(np.log1p(leverage)) / 2


def _numbers(given: Any) -> Any:
    """Finite numbers; nothing is said about their values."""
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise InvalidParameter("every argument but the noise must be finite numbers.")
    return numbers


def _same_shapes(*arrays: Any) -> None:
    if len({array.shape for array in arrays}) > 1:
        raise InvalidParameter("the arguments are not of the same number of columns and records.")
