"""Noise that people add before a secure sum: Skellam, and discrete Gaussian noise in many parts."""

from __future__ import annotations

import math

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.known import RenyiPair
from dalenius.calculus.pairs.skellam import SkellamAtoms, SkellamVectorPair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import InvalidParameter

MOST_STEPS = 10**4
MOST_VARIANCE = 1e6


def skellam(variance: float, sensitivity: int = 1, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of an integer f(X) + Skellam noise: the difference of two Poisson numbers of mean variance/2 each.

    Sums of independent Skellam numbers are Skellam, their variances added: so n people who add noise of variance
    v/n each before a secure sum make noise of variance v (Agarwal, Kairouz and Liu 2021, "The Skellam Mechanism for
    Differentially Private Federated Learning"). Neighbours move f by at most `sensitivity`, a whole number, in one
    dimension; the law is log-concave, so the largest move is the worst. The pair is exact, P(k) = e^-v I_|k|(v), its
    Bessel functions from their ratios with certified errors; what lies beyond e^-720 of the middle counts as revealing
    all. Renyi divergences are bounded by Theorem 3.5 there.

    Parameters
    ----------
    variance
        The variance of the noise, from 1e-3 to 1e6.
    sensitivity
        How far neighbours can move f(X): a whole number from 1 to 1e4.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of one release.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.skellam(variance=100.0)
    >>> abs(loss.epsilon(1e-5) - dp.losses.gaussian(sigma=10.0).epsilon(1e-5)) < 0.01
    True
    """
    variance = checks.within(
        "variance", variance, "a number from 1e-3 to 1e6", lambda v: 1e-3 <= v <= MOST_VARIANCE
    )
    steps = checks.count("sensitivity", sensitivity, least=1)
    if steps > MOST_STEPS:
        raise InvalidParameter.of(
            "sensitivity",
            f"sensitivity is {steps}; the exact pair is kept up to {MOST_STEPS}. Use coarser units.",
        )
    pair = SkellamAtoms(variance, steps)
    return Loss.symmetric(
        pair, adjacency, call("skellam", variance=variance, sensitivity=(steps, 1), adjacency=adjacency)
    )


def skellam_vector(
    variance: float, l2_sensitivity: float, l1_sensitivity: float, adjacency: Adjacency = ADD_REMOVE
) -> Loss:
    """Loss of a whole-numbered vector f(X) + Skellam noise of this variance in every coordinate.

    The exact pair is known for a single coordinate (`skellam`); this is an upper bound for any number of them, by Renyi
    divergences of whole orders, order d2^2/(2 v) + min(((2 order - 1) d2^2 + 6 d1)/(4 v^2), 3 d1/(2 v)) (Agarwal,
    Kairouz and Liu 2021, Theorem 3.5).

    Parameters
    ----------
    variance
        The variance of the noise in each coordinate, above 0.
    l2_sensitivity
        How far neighbours can move f(X) in l2 norm, above 0.
    l1_sensitivity
        How far neighbours can move f(X) in l1 norm: at least the l2 norm, and at most its square.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        An upper bound on the loss of one release.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.skellam_vector(variance=1e4, l2_sensitivity=10.0, l1_sensitivity=60.0)
    >>> round(loss.epsilon(1e-5), 3) <= 0.45
    True
    """
    variance = _sized("variance", variance, "Noise of variance 0 hides nothing.")
    far, long = _sized("l2_sensitivity", l2_sensitivity), _sized("l1_sensitivity", l1_sensitivity)
    if long < far * (1 - 1e-12) or long > far * far * (1 + 1e-12):
        raise InvalidParameter.of(
            "l1_sensitivity",
            f"l1_sensitivity is {long}; for whole numbers it is at least the l2 norm {far} and at most its square "
            f"{far * far:g}. The bound of the square is always safe.",
        )
    checks.moderate("l2_sensitivity^2 / variance", far * far / variance, 1e8)
    text = call(
        "skellam_vector", variance=variance, l2_sensitivity=far, l1_sensitivity=long, adjacency=adjacency
    )
    return Loss.symmetric(SkellamVectorPair(variance, far, long), checked_adjacency(adjacency), text)


def discrete_gaussian_sum(
    sigma: float,
    parties: int,
    l2_sensitivity: float,
    dimension: int = 1,
    l1_sensitivity: float | None = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Loss:
    """Loss of a whole-numbered vector f(X) + the sum of independent discrete Gaussian noise of so many parties.

    Such a sum is not a discrete Gaussian, but nearly one. With sigma >= 1/2 for each party, n parties, d coordinates,
    t = 10 sum over k < n of exp(-2 pi^2 sigma^2 k/(k + 1)) and D = l2/(sqrt(n) sigma), it is rho-zCDP with rho the
    lesser of (D + t sqrt(d))^2/2 and (D^2 + 2 l1 t/(sqrt(n) sigma) + t^2 d)/2 (Kairouz, Liu and Steinke 2021, "The
    Distributed Discrete Gaussian Mechanism for Federated Learning with Secure Aggregation", Proposition 14).

    Parameters
    ----------
    sigma
        The parameter of the noise of one party, from 1/2 up.
    parties
        How many add noise; count those only who surely do.
    l2_sensitivity
        How far neighbours can move f(X) in l2 norm, above 0.
    dimension
        The number of coordinates.
    l1_sensitivity
        How far neighbours can move f(X) in l1 norm; None for what the l2 norm allows.
    adjacency
        The neighbouring relation that the loss is stated for: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        An upper bound on the loss of one release.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.losses.discrete_gaussian_sum(sigma=2.0, parties=100, l2_sensitivity=10.0).zcdp(), 6)
    0.125
    """
    sigma = checks.within("sigma", sigma, "a number from 0.5 to 1e100", lambda x: 0.5 <= x <= 1e100)
    n, d = checks.count("parties", parties, least=1), checks.count("dimension", dimension, least=1)
    if n > 10**6:
        raise InvalidParameter.of("parties", f"parties is {n}; it must be at most 1e6.")
    far = _sized("l2_sensitivity", l2_sensitivity)
    most = min(far * far, far * math.sqrt(d))
    long = most if l1_sensitivity is None else min(most, checks.positive("l1_sensitivity", l1_sensitivity))
    if long < far * (1 - 1e-12) and long < most:
        raise InvalidParameter.of(
            "l1_sensitivity",
            f"l1_sensitivity is {long}; it is at least the l2 norm, {far}, for every vector.",
        )
    gap = 10 * math.fsum(math.exp(-2 * math.pi**2 * sigma**2 * k / (k + 1)) for k in range(1, n))
    mu = far / (math.sqrt(n) * sigma)
    either = (mu + gap * math.sqrt(d)) ** 2, mu**2 + 2 * long * gap / (math.sqrt(n) * sigma) + gap**2 * d
    # A dozen roundings; the exponents are good to 1e-15 of their size, and e^-740 is 0.
    rho = checks.moderate("rho", 0.5 * min(either) * (1 + 1e-12) + 1e-300, 1e8)
    numbers = {"sigma": sigma, "parties": n, "l2_sensitivity": far}
    text = call(
        "discrete_gaussian_sum", **numbers, dimension=(d, 1), l1_sensitivity=(long, most), adjacency=adjacency
    )
    return Loss.symmetric(RenyiPair(rho), checked_adjacency(adjacency), text)


def _sized(name: str, value: object, why: str = "") -> float:
    """A number whose square is a double, too."""
    return checks.within(name, value, "a number from 1e-100 to 1e100", lambda x: 1e-100 <= x <= 1e100, why)
