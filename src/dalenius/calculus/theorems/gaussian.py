"""The Gaussian mechanism: classical constants, exact profile, exact calibration."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import special

from dalenius.calculus.theorems.numerics import TINY, down, smallest, up
from dalenius.core import checks
from dalenius.errors import CannotMeet, InvalidParameter

__all__ = ["analytic_gaussian_sigma", "classical_gaussian_sigma", "gaussian_delta", "gaussian_epsilon"]

CLASSICAL_CONSTANTS: Final = (1.32, 1.25)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)


def classical_gaussian_sigma(
    epsilon: float, delta: float, sensitivity: float = 1.0, constant: float = 1.32
) -> float:
    """Noise scale of the classical Gaussian mechanism, for epsilon below 1.

    Theorem (Dwork and Roth 2014, Thm A.1; Awan 2025, Thm 9.3). f(X) + N(0, sigma^2 I) with
    l2 sensitivity `sensitivity` (of whichever adjacency that sensitivity was computed for) is
    (epsilon, delta)-DP when 0 < epsilon < 1 and sigma >= sensitivity/epsilon * sqrt(2 log(c/delta)).
    Awan 2025 proves c = 1.32 (for sqrt(2 log(c/delta)) >= 3/2); the usual proof of c = 1.25 has a
    false step. Neither proof is relied upon: the result is checked against the exact profile.

    At epsilon >= 1 the formula is refused because it is false there: at (10, 1e-5) its true delta is
    2.1e-5.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    delta
        The probability of failure, in [0, 1).
    sensitivity
        How far neighbours can move the query, in l2 norm.
    constant
        c in the formula.

    Returns
    -------
    float
        sigma.

    Raises
    ------
    InvalidParameter
        If epsilon is 1 or more, where the formula is false, or a parameter is outside what is allowed.

    Examples
    --------
    >>> round(classical_gaussian_sigma(0.5, 1e-5), 5)
    9.71208
    """
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.open_probability(
        "delta", delta, "Gaussian noise is never (epsilon, 0)-DP; use Laplace noise."
    )
    sensitivity = checks.positive("sensitivity", sensitivity)
    if constant not in CLASSICAL_CONSTANTS:
        raise InvalidParameter(f"constant is {constant!r}; it must be 1.32 (proved) or 1.25 (customary).")
    if epsilon >= 1:
        raise InvalidParameter(
            f"epsilon is {epsilon}; the classical formula holds only below 1. Use analytic_gaussian_sigma, which is "
            "exact for every epsilon."
        )
    sigma = up(sensitivity / epsilon * math.sqrt(2 * math.log(constant / delta)), 8)
    if gaussian_delta(up(sensitivity / sigma, 1), epsilon) > delta:
        raise CannotMeet(
            f"the classical formula with constant {constant} does not give ({epsilon}, {delta}); use "
            "analytic_gaussian_sigma."
        )
    return sigma


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact privacy profile of the Gaussian mechanism, rounded up.

    Theorem (Balle and Wang 2018, Thm 8; Awan 2025, Thm 13.1 with Prop 13.9). With
    mu = sensitivity/sigma the mechanism is (epsilon, delta)-DP if and only if
    delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    Error analysis. With a = epsilon/mu - mu/2 and b = a + mu one has e^epsilon phi(b) = phi(a), so
    delta = phi(a) (R(a) - R(b)) with the Mills ratio R(x) = (1 - Phi(x))/phi(x): no exponential of
    epsilon and no difference of exponentially unequal terms. The naive difference of two log_ndtr
    terms instead loses a factor Phi(-a)/delta ~ a/mu, everything at small mu. Three branches:

    * mu <= 1/2: R(a) - R(b) = int_a^b (1 - x R(x)) dx by a 14 point Gauss rule (its error is below
      1e-25 since R is entire with derivatives R^(n)(x) < n!! 2 on x > -1/4). The integrand is
      positive and its own cancellation costs a factor below x^2 + 2.
    * mu > 1/2 and a > -5: the difference itself, whose condition R(a)/(R(a)-R(b)) is below 2(|a|+2).
    * a <= -5: Phi(-a) - phi(a) R(b), a difference that exceeds 0.9.

    Rounding a by u(epsilon/mu + mu/2) moves log delta by at most (|a| + 8) times that. All of it is
    added to the result; the relative excess is below 2e-11 over delta >= 1e-300, epsilon <= 1e4.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.
    epsilon
        The privacy parameter of one step, 0 or more.

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
    >>> round(gaussian_delta(1.0, 1.0), 7)
    0.1269367
    >>> gaussian_delta(0.0, 1.0)
    0.0
    """
    return gaussian_delta_bounds(mu, epsilon)[1]


def gaussian_delta_bounds(mu: float, epsilon: float) -> tuple[float, float]:
    """The profile of :func:`gaussian_delta` rounded down and rounded up, by the error analysis given there.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.
    epsilon
        The privacy parameter of one step, 0 or more.

    Returns
    -------
    tuple of float
        (lower, upper).

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> low, high = gaussian_delta_bounds(1.0, 1.0)
    >>> low < 0.12693673750664397 < high
    True
    """
    mu = checks.nonnegative("mu", mu)
    epsilon = checks.nonnegative("epsilon", epsilon)
    if mu == 0:
        return 0.0, 0.0
    scale = epsilon / mu
    a = scale - mu / 2
    if a > 40:
        # exp(-a^2/2) is then below the least positive float, which is the tightest bound there is.
        return 0.0, TINY
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    slack = 64 + a * a + 2 * (abs(a) + 8) * (scale + mu / 2)
    if a <= -5:
        value = float(special.ndtr(-a)) - density * _mills(a + mu)
        slack = 64 + 2 * (scale + mu / 2)  # phi(a)(|a| + 1) < 1e-4 there: a barely matters
    elif mu <= 0.5:
        points = a + mu * (0.5 + 0.5 * _NODES)
        values = 1 - points * (math.sqrt(math.pi / 2) * special.erfcx(points / math.sqrt(2)))
        value = density * mu * 0.5 * float(_WEIGHTS @ values)
        slack += 8 * (a * a + 2)
    else:
        value = density * (_mills(a) - _mills(a + mu))
        slack += 16 * (abs(a) + 2) + 8 * min(a, 0.0) ** 2
    return max(0.0, down(value, slack)), min(1.0, up(value, slack))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon of the Gaussian mechanism at delta, rounded up; mu = sensitivity/sigma.

    Inverse of :func:`gaussian_delta` (same theorem, same conditions): the returned epsilon was seen to
    satisfy gaussian_delta(mu, epsilon) <= delta.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.
    delta
        The probability of failure, in [0, 1).

    Returns
    -------
    float
        epsilon.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 1e-5), 6)
    4.377178
    """
    mu = checks.nonnegative("mu", mu)
    delta = checks.open_probability("delta", delta, "Gaussian noise has no finite epsilon at delta 0.")
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    # Lemma 6 (tail bound): the loss is N(mu^2/2, mu^2), so this epsilon always suffices.
    enough = up(mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta)), 1024)
    if gaussian_delta(mu, enough) > delta:
        return enough
    return smallest(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, 0.0, enough)


def analytic_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least noise scale that makes the Gaussian mechanism (epsilon, delta)-DP, rounded up.

    Theorem (Balle and Wang 2018): the profile of :func:`gaussian_delta` is exact and increasing in
    mu = sensitivity/sigma. Any epsilon >= 0, including epsilon >= 1 where the classical constants fail.
    The returned sigma was seen to satisfy the profile.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    delta
        The probability of failure, in [0, 1).
    sensitivity
        How far neighbours can move the query, in l2 norm.

    Returns
    -------
    float
        sigma.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(analytic_gaussian_sigma(1.0, 1e-5), 6)
    3.730632
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    delta = checks.open_probability(
        "delta", delta, "Gaussian noise is never (epsilon, 0)-DP; use Laplace noise."
    )
    sensitivity = checks.positive("sensitivity", sensitivity)

    def private(scale: float) -> bool:
        return gaussian_delta(up(1 / scale, 1), epsilon) <= delta

    scale = 1.0
    while not private(scale):
        scale *= 2
    low = scale
    while private(low):
        scale, low = low, low / 2
    least = smallest(private, low, scale)
    # Two roundings separate sensitivity/sigma from 1/least: the quotient's and the product's.
    return up(sensitivity * least, 4)


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(special.erfcx(x / math.sqrt(2)))
