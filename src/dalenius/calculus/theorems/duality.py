"""Trade-off functions and privacy profiles: each from the other, inverses, symmetrisation, groups.

A trade-off function f is convex, continuous, non-increasing on [0, 1] with 0 <= f(a) <= 1 - a. A release
is f-DP when every test between neighbours (in either order) at level a has type II error at least
f(a). A smaller f is a weaker promise, so a certified f is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from dalenius.calculus.theorems.numerics import ULP, lowest
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter

__all__ = [
    "f_epsilon_delta",
    "gaussian_tradeoff",
    "group_tradeoff",
    "inverse",
    "profile_from_tradeoff",
    "symmetrize",
    "tradeoff_from_profile",
]

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
    values = tradeoff_values(f, points)
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
        values = np.insert(values, np.flatnonzero(split) + 1, tradeoff_values(f, middles[split]))
    return min(1.0, max(0.0, math.nextafter(1 - least + 2 * ULP, math.inf)))


def tradeoff_from_profile(profile: Profile, alpha: float, largest: float = math.inf) -> float:
    """A lower bound at alpha on the trade-off function of a release with delta(epsilon) = profile(epsilon).

    Theorem (Dong, Roth and Su 2022, Prop 2.13; Awan 2025, Prop 13.8): f = sup over epsilon >= 0 of f_(epsilon,
    delta(epsilon)). Every epsilon gives a valid bound, so the search over epsilon needs no certificate.
    Both kinds of lines are concave, in e^epsilon and in e^-epsilon: each has one maximum.
    `profile` must be an upper bound for both orders of each pair.

    Parameters
    ----------
    profile
        From an epsilon to an upper bound on delta.
    alpha
        A type I error, in [0, 1].
    largest
        An epsilon from which on the profile stays as it is, where there is one.

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

    def rest(epsilon: float) -> float:
        """1 - delta, rounded down."""
        value = float(profile(epsilon))
        if math.isnan(value) or value < 0:
            raise InvalidParameter(f"the profile is {value} at epsilon {epsilon}; a delta is in [0, 1].")
        return 1 - min(value, 1.0) - ULP

    def steep(epsilon: float) -> float:
        exponent = epsilon + math.log(alpha) if alpha > 0 else -math.inf
        return rest(epsilon) - math.exp(min(exponent, 1.0)) * (1 + 4 * ULP * (1 + epsilon))

    def flat(epsilon: float) -> float:
        return math.exp(-epsilon) * (1 - 4 * ULP * (1 + epsilon)) * (rest(epsilon) - alpha - ULP)

    if alpha == 1:
        return 0.0
    last = max(0.0, min(largest, 700.0))
    if alpha == 0 or last == 0:
        return max(0.0, steep(last))
    reach = min(last, 4.0 - math.log(min(alpha, 1 - alpha)))  # steep lines are below 0 from there on
    # Where the profile is 1 at the end, it is 1 all the way, and no error is certain.
    best = max(0.0, steep(0.0))
    if rest(reach) > 0:
        best = max(best, -lowest(lambda e: -steep(e), [0.0, reach])[1])
    while True:
        place, value = lowest(lambda e: -flat(e), [0.0, reach]) if rest(reach) > 0 else (reach, 0.0)
        if place < 0.9 * reach or reach == last:
            return min(1 - alpha, max(0.0, best - 4 * ULP, -value))
        reach = min(2 * reach, last)


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
        return last_true(lambda t: f(t) > alpha, 0.0, 1.0)[0]

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
    widths, costs = np.diff(points), gamma * points + values
    slopes = np.diff(values) / widths + gamma
    floor = gamma * points[:-1] + values[1:] - VALUE_ERROR  # f does not increase
    # The chord of the cell on the left starts where this cell does, that of the cell on the right ends where it ends.
    # Each is off by VALUE_ERROR at its ends, more in proportion when prolonged past them.
    with np.errstate(over="ignore"):
        left = costs[1:-1] - VALUE_ERROR * (1 + 2 * widths[1:] / widths[:-1])
        right = costs[1:-1] - VALUE_ERROR * (1 + 2 * widths[:-1] / widths[1:])
    floor[0] = max(floor[0], right[0] - max(0.0, slopes[1]) * widths[0])
    floor[-1] = max(floor[-1], left[-1] + min(0.0, slopes[-2]) * widths[-1])
    # Other cells have both chords. Where one falls and one rises, the larger is least where they cross, or at an end.
    left, right, falling, rising, inner = left[:-1], right[1:], slopes[:-2], slopes[2:], widths[1:-1]
    start = right - rising * inner
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.clip((left - start) / (rising - falling), 0.0, inner)
    valley = np.maximum(left + falling * crossing, start + rising * crossing)
    valley = np.where(falling >= 0, left, np.where(rising <= 0, right, valley))
    floor[1:-1] = np.maximum(floor[1:-1], valley)
    return floor - ULP * (4 + 4 * gamma * points[1:])


def tradeoff_values(f: Tradeoff, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """f at increasing levels. Bounds rest on f being a trade-off function: what is plainly none is refused."""
    try:
        errors = np.array([float(f(float(a))) for a in levels])
    except (TypeError, ValueError) as problem:
        raise InvalidParameter(
            f"f failed on a level in [0, 1]: {problem}. It must accept every level."
        ) from None
    if not np.isfinite(errors).all() or (errors < -1e-15).any():
        raise InvalidParameter("f takes a negative or non-finite value; a type II error lies in [0, 1].")
    if (np.diff(errors) > 1e-12).any():
        raise InvalidParameter("f increases somewhere; a larger level cannot make a test worse.")
    if (errors > 1.0 - levels + 1e-12).any():
        worst = float(levels[np.argmax(errors - (1 - levels))])
        raise InvalidParameter(
            f"f({worst:g}) exceeds 1 - {worst:g}, so f is not a trade-off function: guessing at random does better."
        )
    slope = np.diff(errors) / np.diff(levels)
    noise = VALUE_ERROR / np.diff(levels)
    if (np.diff(slope) < -1e-9 * np.abs(slope[1:]) - 4 * (noise[1:] + noise[:-1]) - 1e-9).any():
        raise InvalidParameter("f is not convex; use its convex hull (tests may be randomised).")
    return errors
