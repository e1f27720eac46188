"""Trade-off functions and privacy profiles: each from the other, inverses, symmetrisation, groups.

A trade-off function f is convex, continuous, non-increasing on [0, 1] with 0 <= f(a) <= 1 - a. A release
is f-DP when every test between neighbours (in either order) at level a has type II error at least
f(a). A smaller f is a weaker promise, so a certified f is rounded down.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from dalenius.calculus.theorems.numerics import ULP, lowest
from dalenius.core import checks
from dalenius.errors import InvalidParameter

Tradeoff = Callable[[float], float]
Profile = Callable[[float], float]

#: Trade-off values are taken to be right to this absolute error when bounds are drawn from them.
VALUE_ERROR = 16 * ULP


def f_epsilon_delta(epsilon: float, delta: float = 0.0) -> Tradeoff:
    """The trade-off function of (epsilon, delta)-DP (Wasserman and Zhou 2010; Awan 2025, ch. 13), rounded down.

    f(a) = max{0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)}: a release is (epsilon, delta)-DP if
    and only if it is f-DP.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    delta
        The probability of failure, in [0, 1).

    Returns
    -------
    callable
        The trade-off function.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(1 - f_epsilon_delta(1.0, 1e-5)(0.05), 10)
    0.1359240914
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    delta = checks.probability("delta", delta)

    def f(alpha: float) -> float:
        alpha = checks.probability("alpha", alpha)
        exponent = epsilon + math.log(alpha) if alpha > 0 else -math.inf
        steep = -1.0 if exponent > 1 else 1 - delta - math.exp(exponent) * (1 + 4 * ULP * (1 + epsilon))
        # 1 - alpha is right to half an ulp of itself; with delta the loss is half an ulp of 1, twice.
        rest = 1 - delta - alpha - (ULP if delta else 0.0)
        flat = math.exp(-epsilon) * (1 - 4 * ULP * (1 + epsilon)) * rest
        return max(0.0, steep - (ULP if alpha or delta else 0.0), flat)

    return f


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """The trade-off of N(0, 1) against N(mu, 1) (Dong, Roth and Su 2022; Awan 2025, ch. 13), rounded down.

    G_mu(a) = Phi(Phi^-1(1-a) - mu), computed as Phi(-Phi^-1(a) - mu): 1 - a would lose every small a. A
    release that adds N(0, (sensitivity/mu)^2) is G_mu-DP.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.

    Returns
    -------
    callable
        The trade-off function.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(gaussian_tradeoff(1.0)(0.05), 10)
    0.7404889772
    """
    mu = checks.nonnegative("mu", mu)

    def f(alpha: float) -> float:
        alpha = checks.probability("alpha", alpha)
        if alpha in (0.0, 1.0):
            return 1.0 - alpha
        z = -float(special.ndtri(alpha))
        value = float(special.ndtr(z - mu))
        # The quantile is good to 4 ulps; an error e of it moves log Phi(x) by at most e (|x| + 1).
        relative = 8 * ULP * (1 + (abs(z) + mu + 1) * (1 + max(0.0, mu - z)))
        return max(0.0, value * (1 - relative))

    return f


def profile_from_tradeoff(f: Tradeoff, epsilon: float, tolerance: float = 1e-13) -> float:
    """Delta at epsilon of an f-DP release: 1 + f*(-e^epsilon), rounded up.

    Theorem (Dong, Roth and Su 2022, Prop 2.12; Awan 2025, Prop 13.9 with its sign corrected):
    delta(epsilon) = 1 - min over a of (e^epsilon a + f(a)).

    A grid can only overestimate that minimum, which understates delta. Convexity gives the other side: over
    the cell between two neighbouring grid points f lies above the chord of the cell on its left, prolonged,
    and above the chord of the cell on its right, prolonged. Cells are split until both sides agree within
    `tolerance`, or nearly so where rounding forbids more; what is returned is always the upper side. Values
    of f may be off by VALUE_ERROR, so a delta below about 1e-14 is not resolved: use a closed form there.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.
    epsilon
        The privacy parameter of one step, 0 or more.
    tolerance
        How far the answer may be above the truth.

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.gaussian import gaussian_delta
    >>> abs(profile_from_tradeoff(gaussian_tradeoff(1.0), 1.0) - gaussian_delta(1.0, 1.0)) < 1e-12
    True
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    tolerance = checks.positive("tolerance", tolerance)
    if epsilon > 700:
        # Larger than the logarithm of any float: a stays at 0 and delta(epsilon) <= delta(700).
        epsilon = 700.0
    gamma = math.exp(epsilon)
    ends = [10.0**-power for power in range(1, 17)] + [10.0**-power for power in range(18, 308, 6)]
    points = np.unique(np.array([0.0, 1.0, *np.linspace(0, 1, 65), *ends, *(1 - x for x in ends[:15])]))
    values = _values(f, points)
    _refuse_bumps(points, values)
    for _ in range(200):
        best = float((gamma * points + values).min())
        floors = _cell_floors(points, values, gamma)
        least = float(floors.min())
        middles = 0.5 * (points[:-1] + points[1:])
        # Cells far from the minimum but too wide to be sure of are split too: all of them matter.
        split = (floors < best - tolerance) & (middles > points[:-1]) & (middles < points[1:])
        if best - least <= tolerance or not split.any() or points.size > 20_000:
            break
        points = np.insert(points, np.flatnonzero(split) + 1, middles[split])
        new = _values(f, middles[split])
        values = np.insert(values, np.flatnonzero(split) + 1, new)
    return min(1.0, max(0.0, math.nextafter(1 - least + 2 * ULP, math.inf)))


def tradeoff_from_profile(profile: Profile, alpha: float) -> float:
    """A lower bound at alpha on the trade-off function of a release with delta(epsilon) = profile(epsilon).

    Theorem (Dong, Roth and Su 2022, Prop 2.13; Awan 2025, Prop 13.8): f = sup over epsilon >= 0 of f_(epsilon,
    delta(epsilon)). Every epsilon gives a valid bound, so the search over epsilon needs no certificate.
    `profile` must be an upper bound for both orders of each pair.

    Parameters
    ----------
    profile
        From an epsilon to an upper bound on delta.
    alpha
        A type I error, in [0, 1].

    Returns
    -------
    float
        The least type II error that is certain.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> from dalenius.calculus.theorems.gaussian import gaussian_delta
    >>> round(tradeoff_from_profile(lambda e: gaussian_delta(1.0, e), 0.05), 9)
    0.740488977
    """
    alpha = checks.probability("alpha", alpha)

    def delta(epsilon: float) -> float:
        value = float(profile(epsilon))
        if math.isnan(value) or value < 0:
            raise InvalidParameter(f"the profile is {value} at epsilon {epsilon}; a delta is in [0, 1].")
        return min(value, 1.0)

    def steep(epsilon: float) -> float:
        exponent = epsilon + math.log(alpha) if alpha > 0 else -math.inf
        level = math.exp(min(exponent, 1.0)) * (1 + 4 * ULP * (1 + epsilon))
        return -(1 - delta(epsilon) - level)

    def flat(epsilon: float) -> float:
        return -math.exp(-epsilon) * (1 - 4 * ULP * (1 + epsilon)) * (1 - delta(epsilon) - alpha - 2 * ULP)

    widest = 40.0 if alpha == 0 else max(1.0, min(700.0, -math.log(alpha)))
    grid = [widest * (index / 64) ** 2 for index in range(65)]
    wide = [40.0 * (index / 64) ** 2 for index in range(65)]
    return min(1 - alpha, max(0.0, -lowest(steep, grid)[1] - 4 * ULP, -lowest(flat, wide)[1]))


def inverse(f: Tradeoff) -> Tradeoff:
    """f^-1(a) = inf{t in [0, 1]: f(t) <= a}, rounded down: the trade-off with the two hypotheses exchanged.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    callable
        The trade-off function.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(inverse(lambda a: max(0.0, 1 - 2 * a))(0.5), 12)
    0.25
    """

    def g(alpha: float) -> float:
        alpha = checks.probability("alpha", alpha)
        if f(0.0) <= alpha:
            return 0.0
        # Non-negative floats are ordered like their bits, so 62 halvings reach the exact neighbour.
        low, high = 0, _bits(1.0)
        while high - low > 1:
            middle = (low + high) // 2
            if f(_float(middle)) <= alpha:
                high = middle
            else:
                low = middle
        return _float(low)

    return g


def symmetrize(f: Tradeoff) -> Tradeoff:
    """max{f, f^-1}: an f-DP release is also this (Awan 2025, Prop 13.2), since neighbours come in both orders.

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.

    Returns
    -------
    callable
        The trade-off function.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> f = symmetrize(lambda a: max(0.0, 1 - 2 * a))
    >>> round(f(0.1), 12), round(f(0.6), 12)
    (0.8, 0.2)
    """
    backward = inverse(f)
    return lambda alpha: max(float(f(alpha)), backward(alpha))


def group_tradeoff(f: Tradeoff, size: int) -> Tradeoff:
    """The trade-off of an f-DP release for groups of `size` people: 1 - (1 - f)^(o size).

    Theorem (Dong, Roth and Su 2022, Thm 2.14; Awan 2025, Thm 13.3), for symmetric f: start from g = f and
    repeat g(a) <- f(1 - g(a)). G_mu becomes G_(size mu). With size 2 it also takes ADD_REMOVE to
    REPLACE_ONE (Awan 2025, Prop 4.2).

    Parameters
    ----------
    f
        A trade-off function: from a type I error to the least type II error.
    size
        How many people, 1 or more.

    Returns
    -------
    callable
        The trade-off function.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(group_tradeoff(f_epsilon_delta(1.0), 2)(0.2), 7)
    0.1678794
    """
    size = checks.count("size", size, 1)

    def g(alpha: float) -> float:
        value = float(f(checks.probability("alpha", alpha)))
        for _ in range(size - 1):
            # f decreases: a larger argument is the safe one.
            value = float(f(min(1.0, math.nextafter(1 - value, 2.0))))
        return value

    return g


def _cell_floors(
    points: npt.NDArray[np.float64], values: npt.NDArray[np.float64], gamma: float
) -> npt.NDArray[np.float64]:
    """A lower bound on gamma a + f(a) over each cell, from the prolonged chords of its neighbours."""
    widths = np.diff(points)
    slopes = np.diff(values) / widths
    steady = values[1:]
    floor = gamma * points[:-1] + steady - VALUE_ERROR  # f does not increase
    cells = widths.size
    # Each chord is off by VALUE_ERROR at its ends, more in proportion when prolonged past them.
    left_slope = np.concatenate(([-np.inf], slopes[:-1])) + gamma
    right_slope = np.concatenate((slopes[1:], [np.inf])) + gamma
    with np.errstate(invalid="ignore", over="ignore"):
        left_error = VALUE_ERROR * (1 + 2 * widths[1:] / widths[:-1])
        right_error = VALUE_ERROR * (1 + 2 * widths[:-1] / widths[1:])
    left_cost = gamma * points[:-1] + values[:-1]
    right_cost = gamma * points[1:] + values[1:]
    left_cost[1:] -= left_error
    right_cost[:-1] -= right_error
    for index in range(cells):
        floor[index] = max(
            floor[index],
            _envelope(
                float(left_cost[index]),
                float(left_slope[index]),
                float(right_cost[index]),
                float(right_slope[index]),
                float(widths[index]),
            ),
        )
    return floor - ULP * (4 + 4 * gamma * points[1:])


def _envelope(left: float, left_slope: float, right: float, right_slope: float, width: float) -> float:
    """Least value over [0, width] of the larger of two lines, given at the left and at the right end."""
    if math.isinf(left_slope):
        return right - max(0.0, right_slope) * width if math.isfinite(right_slope) else -math.inf
    if math.isinf(right_slope):
        return left + min(0.0, left_slope) * width
    if left_slope >= 0:
        return left
    if right_slope <= 0:
        return right
    # One falls, one rises: the least of the larger is at their crossing, or at an end they do not reach.
    start = right - right_slope * width
    crossing = (left - start) / (right_slope - left_slope)
    if crossing <= 0:
        return max(left, start)
    if crossing >= width:
        return max(left + left_slope * width, right)
    return left + left_slope * crossing


def _values(f: Tradeoff, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    values = np.array([float(f(float(point))) for point in points])
    if not np.all((values >= 0) & (values <= 1 - points + 1e-12)):
        raise InvalidParameter(
            "f leaves [0, 1 - alpha], so it is not a trade-off function; its argument must be the level."
        )
    return values


def _refuse_bumps(points: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> None:
    # The bound rests on convexity. A grid cannot prove it, but it catches curves that are plainly not.
    share = (points[1:-1] - points[:-2]) / (points[2:] - points[:-2])
    chord = values[:-2] + share * (values[2:] - values[:-2])
    if np.any(values[1:-1] > chord + 1e-9):
        raise InvalidParameter(
            "f is not convex, so it is not a trade-off function; take its lower convex hull first."
        )


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])
