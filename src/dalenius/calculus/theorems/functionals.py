"""Divergences and moments read off a trade-off function (Awan 2025, Prop 13.5 and the definitions of ch. 13).

For f = T(P, Q) the variable log|f'(x)|, x uniform on [0, 1], is the log likelihood ratio log(dQ/dP) under
P. These are numerical values, meant for the central limit theorem and for comparison; only
:func:`total_variation` is a certified bound. All but it are inf when f reaches 0 before 1 (any
delta > 0): part of P is then impossible under Q.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dalenius.calculus.theorems.duality import Tradeoff, profile_from_tradeoff
from dalenius.core import checks
from dalenius.errors import InvalidParameter

__all__ = ["k2", "k3", "kbar3", "kl", "renyi", "total_variation"]

Floats = npt.NDArray[np.float64]

_LEFT = [10.0**-power for power in range(1, 11)]
_RIGHT = [2.0**-power for power in range(4, 53)]


def total_variation(f: Tradeoff) -> float:
    """max over a of 1 - a - f(a), which is delta at epsilon 0, rounded up.

    Awan 2025 prints half the integral of |1 + f'|, which forgets the jump 1 - f(0) and gives delta/2 for
    f_(0, delta).

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import gaussian_tradeoff
    >>> round(total_variation(gaussian_tradeoff(1.0)), 7)
    0.3829249
    """
    return profile_from_tradeoff(f, 0.0)


def kl(f: Tradeoff) -> float:
    """-int log|f'|: the Kullback-Leibler divergence of P from Q.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    float
        An estimate; `Loss.kl` of a loss is certified.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import gaussian_tradeoff
    >>> round(kl(gaussian_tradeoff(1.0)), 6)
    0.5
    """
    return _integral(f, lambda slope: -slope)


def k2(f: Tradeoff) -> float:
    """int log^2|f'|.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    float
        An estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import gaussian_tradeoff
    >>> round(k2(gaussian_tradeoff(1.0)), 6)
    1.25
    """
    return _integral(f, lambda slope: slope * slope)


def k3(f: Tradeoff) -> float:
    """int |log|f'||^3.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    float
        An estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import f_epsilon_delta
    >>> round(k3(f_epsilon_delta(0.5)), 6)
    0.125
    """
    return _integral(f, lambda slope: np.abs(slope) ** 3)


def kbar3(f: Tradeoff) -> float:
    """int |log|f'| + kl(f)|^3, the third central moment in absolute value.

    The mean of log|f'| is -kl(f), so centring adds kl(f); Awan 2025 prints a minus sign.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    float
        An estimate.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import gaussian_tradeoff
    >>> round(kbar3(gaussian_tradeoff(1.0)), 5) == round(2 * (2 / 3.141592653589793) ** 0.5, 5)
    True
    """
    centre = kl(f)
    if centre == math.inf:
        return math.inf
    return _integral(f, lambda slope: np.abs(slope + centre) ** 3)


def renyi(f: Tradeoff, order: float) -> float:
    """log(int |f'|^(1-order))/(order-1): an f-DP release is (order, this)-RDP (Awan 2025, Prop 13.6).

    The integral lives where f' is small, next to alpha = 1, and doubles end at 1 - 2^-53. Where that hides
    part of it the function refuses instead of returning too little: use gdp_to_renyi, pure_to_renyi or the
    Renyi divergence of the pair itself.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.
    order
        The Renyi order, above 1.

    Returns
    -------
    float
        An estimate; `Loss.renyi` of a loss is certified.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.duality import gaussian_tradeoff
    >>> round(renyi(gaussian_tradeoff(1.0), 3.0), 6)
    1.5
    """
    order = checks.order("order", order)
    moment = _integral(f, lambda slope: np.exp((1 - order) * slope), f"order {order}")
    return moment if moment == math.inf else math.log(moment) / (order - 1)


def _integral(f: Tradeoff, integrand: Callable[[Floats], Floats], what: str = "this moment") -> float:
    """int_0^1 h(log|f'|), by chords: each cell takes the slope of its chord, cells that change when halved
    are halved again, and the two levels are extrapolated (the chord slope is even in the width)."""
    if f(1 - 2.0**-53) <= 0:
        return math.inf
    points = np.array(sorted({0.0, 1.0, *np.linspace(0, 1, 129).tolist(), *_LEFT, *(1 - x for x in _RIGHT)}))
    left, right = points[:-1], points[1:]
    at = {float(point): float(f(float(point))) for point in points}
    at_left = np.array([at[float(point)] for point in left])
    at_right = np.array([at[float(point)] for point in right])
    total = 0.0
    for depth in range(60):
        middle = 0.5 * (left + right)
        at_middle = np.array([float(f(float(point))) for point in middle])
        whole = _cells(integrand, right - left, at_left - at_right)
        halves = _cells(integrand, middle - left, at_left - at_middle) + _cells(
            integrand, right - middle, at_middle - at_right
        )
        change = halves - whole
        if depth == 0 and abs(float(halves[-1])) + abs(float(halves[-2])) > 1e-9 * max(
            1.0, abs(halves.sum())
        ):
            raise InvalidParameter(
                f"{what} of this trade-off function lies too close to alpha = 1 to be read from it in double "
                "precision; use a closed form or the divergence of the pair itself."
            )
        # Below 1e-13 a cell is narrower than the rounding of f allows a slope to be read from.
        done = (np.abs(change) < 1e-12 * (1 + np.abs(halves))) | (right - left < 1e-13)
        total += float(np.sum((halves + change / 3)[done]))
        if done.all():
            break
        todo = ~done
        left, right, middle = left[todo], right[todo], middle[todo]
        at_left, at_right, at_middle = at_left[todo], at_right[todo], at_middle[todo]
        left, right = np.concatenate((left, middle)), np.concatenate((middle, right))
        at_left, at_right = np.concatenate((at_left, at_middle)), np.concatenate((at_middle, at_right))
    return total if math.isfinite(total) else math.inf


def _cells(integrand: Callable[[Floats], Floats], widths: Floats, drops: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # A convex f that drops by nothing has reached rounding level there; give it the least slope.
        slopes = np.log(np.maximum(drops, 1e-320) / widths)
        return widths * integrand(slopes)
