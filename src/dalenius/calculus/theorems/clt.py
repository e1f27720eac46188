"""The Gaussian limit of many compositions, and how far from it one can be.

A limit is an approximation: it has been below the truth by a factor of nearly two (epsilon 1.62 claimed,
2.85 true, at rate .1, sigma 1, 10 steps). So nothing here is a guarantee except
:meth:`Approximation.tradeoff_bounds`, which exists only when a Berry-Esseen bound does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy import special

from dalenius.calculus.theorems.duality import gaussian_tradeoff
from dalenius.calculus.theorems.gaussian import gaussian_delta, gaussian_epsilon
from dalenius.calculus.theorems.numerics import ULP, down, numbers, up
from dalenius.core import checks
from dalenius.errors import InvalidParameter

__all__ = [
    "Approximation",
    "Moments",
    "berry_esseen",
    "gaussian_moments",
    "gdp_limit",
    "randomized_response_moments",
    "sampled_gaussian_limit",
]


class Moments(NamedTuple):
    """The functionals of one trade-off function that the limit theorems use.

    Parameters
    ----------
    kl
        The Kullback-Leibler divergence: the mean of the loss, up to its sign.
    k2, k3
        The second and third absolute moments of the loss.
    kbar3
        The third absolute moment around the mean.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.theorems.Moments(kl=0.5, k2=1.25, k3=2.1, kbar3=1.6).kl
    0.5
    """

    kl: float
    k2: float
    k3: float
    kbar3: float


@dataclass(frozen=True)
class Approximation:
    """About G_mu: an estimate of what a composition costs, not a promise.

    Parameters
    ----------
    mu
        Of the Gaussian limit.
    gamma
        Where known, the Berry-Esseen distance within which the promise of :meth:`tradeoff_bounds` holds.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.theorems.Approximation(mu=1.0).estimated_epsilon(1e-5), 2)
    4.38
    """

    mu: float
    gamma: float | None = None

    def estimated_epsilon(self, delta: float) -> float:
        """What epsilon would be at delta if the limit were exact. Not a bound, in either direction."""
        return gaussian_epsilon(self.mu, delta)

    def estimated_delta(self, epsilon: float) -> float:
        """What delta would be at epsilon if the limit were exact. Not a bound, in either direction."""
        return gaussian_delta(self.mu, epsilon)

    def tradeoff_bounds(self, alpha: float) -> tuple[float, float]:
        """Certified (lower, upper) on the composed trade-off function at alpha in [gamma, 1 - gamma].

        Theorem (Dong, Roth and Su 2022, Thm 3.4; Awan 2025, Thm 13.5):
        G_mu(alpha + gamma) - gamma <= f_1 (x) ... (x) f_n (alpha) <= G_mu(alpha - gamma) + gamma.

        >>> one = randomized_response_moments(0.1)
        >>> limit = berry_esseen([one.kl] * 100, [one.k2] * 100, [one.kbar3] * 100)
        >>> [round(x, 4) for x in limit.tradeoff_bounds(0.3)]
        [0.2075, 0.4359]
        """
        alpha = checks.probability("alpha", alpha)
        if self.gamma is None:
            raise InvalidParameter(
                "this limit has no Berry-Esseen bound, so it bounds nothing; build it with berry_esseen."
            )
        if not self.gamma <= alpha <= 1 - self.gamma:
            raise InvalidParameter(
                f"alpha is {alpha}; the bound holds only in [{self.gamma}, {1 - self.gamma}]. Compose the losses "
                "themselves for smaller levels."
            )
        # G_mu decreases in mu and in alpha: both are moved against the bound before it is evaluated.
        lower = gaussian_tradeoff(up(self.mu, 64))(min(1.0, up(alpha + self.gamma))) - self.gamma
        upper = gaussian_tradeoff(down(self.mu, 64))(max(0.0, down(alpha - self.gamma))) + self.gamma
        return max(0.0, lower - 4 * ULP), min(1 - alpha, upper + 1e-13)


def gdp_limit(kls: Iterable[float], k2s: Iterable[float]) -> Approximation:
    """The Gaussian limit of a composition: mu = 2 sum kl / sqrt(sum k2).

    Theorem (Dong, Roth and Su 2022, Thm 3.5; Awan 2025, Thm 13.6): for a triangular array of symmetric
    trade-off functions with sum kl -> K, max kl -> 0, sum k2 -> s^2 and sum k3 -> 0 the composition
    converges uniformly to G_(2K/s). One list entry per step.

    Parameters
    ----------
    kls
        kl of every step.
    k2s
        k2 of every step.

    Returns
    -------
    Approximation
        The limit: an estimate, not a promise.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> one = randomized_response_moments(0.01)
    >>> round(gdp_limit([one.kl] * 10000, [one.k2] * 10000).mu, 5)
    0.99999
    """
    divergences, squares = _same_length(kls=kls, k2s=k2s)
    total = math.fsum(squares)
    return Approximation(2 * math.fsum(divergences) / math.sqrt(total) if total > 0 else 0.0)


def berry_esseen(kls: Iterable[float], k2s: Iterable[float], kbar3s: Iterable[float]) -> Approximation:
    """The Gaussian nearest to a finite composition, with a certified distance gamma.

    Theorem (Dong, Roth and Su 2022, Thm 3.4; Awan 2025, Thm 13.5, with the centred third moment kbar3 where
    Awan 2025 prints k3): symmetric f_i, V = sum k2 - sum kl^2, mu = 2 sum kl / sqrt(V),
    gamma = 0.56 sum kbar3 / V^(3/2) < 1/2. The three lists, one entry per step, are taken to be
    exact: use closed forms such as :func:`randomized_response_moments` for a promise, the numerical
    functionals for an estimate.

    Parameters
    ----------
    kls
        kl of every step.
    k2s
        k2 of every step.
    kbar3s
        kbar3 of every step.

    Returns
    -------
    Approximation
        The Gaussian and the distance gamma.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> one = randomized_response_moments(0.1)
    >>> limit = berry_esseen([one.kl] * 100, [one.k2] * 100, [one.kbar3] * 100)
    >>> round(limit.mu, 7), round(limit.gamma, 5)
    (1.0004167, 0.05621)
    """
    divergences, squares, cubes = _same_length(kls=kls, k2s=k2s, kbar3s=kbar3s)
    variance = math.fsum(squares + [-value * value for value in divergences])
    if not variance > 0:
        raise InvalidParameter(
            f"the summed variance k2 - kl^2 is {variance}; it must be above 0. Leave out steps that are free."
        )
    gamma = up(0.56 * math.fsum(cubes) / variance**1.5, 64)
    if gamma >= 0.5:
        raise InvalidParameter(
            f"gamma is {gamma}; the theorem needs it below 0.5. Compose more steps, or compose them exactly."
        )
    return Approximation(2 * math.fsum(divergences) / math.sqrt(variance), gamma)


def randomized_response_moments(epsilon: float) -> Moments:
    """The exact functionals of f_(epsilon, 0).

    log|f'| is epsilon with probability 1/(1+e^epsilon), else -epsilon.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.

    Returns
    -------
    Moments
        The functionals.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(randomized_response_moments(0.1).kl, 10)
    0.0049958375
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    mean = epsilon * math.tanh(epsilon / 2)
    rare = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    centred = rare * (epsilon + mean) ** 3 + (1 - rare) * (epsilon - mean) ** 3
    return Moments(mean, epsilon**2, epsilon**3, centred)


def gaussian_moments(mu: float) -> Moments:
    """The exact functionals of G_mu: log|f'| is N(-mu^2/2, mu^2).

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.

    Returns
    -------
    Moments
        The functionals.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(gaussian_moments(1.0).k2, 12)
    1.25
    """
    mu = checks.nonnegative("mu", mu)
    half = mu / 2
    # E|N(m, 1)|^3 with m = mu/2, times mu^3.
    density = math.exp(-half * half / 2) / math.sqrt(2 * math.pi)
    cube = 2 * (half * half + 2) * density + half * (half * half + 3) * math.erf(half / math.sqrt(2))
    return Moments(mu * mu / 2, mu * mu + mu**4 / 4, mu**3 * cube, mu**3 * 2 * math.sqrt(2 / math.pi))


def sampled_gaussian_limit(
    sigma: float, rate: float, steps: int, sampling: Literal["poisson", "subset"] = "poisson"
) -> Approximation:
    """The Gaussian limit of `steps` sampled Gaussian releases with noise sigma per unit sensitivity.

    "poisson" (Bu, Dong, Long and Su 2020): mu = rate sqrt(steps (e^(1/sigma^2) - 1)). "subset", REPLACE_ONE
    adjacency, f = C_rate(G_(1/sigma)) (Dong, Roth and Su 2022, Cor 5.4):
    mu = sqrt(2) rate sqrt(steps) sqrt(e^(1/sigma^2) Phi(1.5/sigma) + 3 Phi(-0.5/sigma) - 2). As
    rate sqrt(steps) converges; at finite steps it understates the cost. A diagnostic, never a
    reported guarantee.

    Parameters
    ----------
    sigma
        The noise per unit of sensitivity, above 0.
    rate
        The share of records in a sample, in [0, 1].
    steps
        How many releases.
    sampling
        'poisson' or 'subset', a fixed number.

    Returns
    -------
    Approximation
        The limit: an estimate, not a promise.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(sampled_gaussian_limit(1.0, 0.01, 1000).estimated_epsilon(1e-5), 5)
    1.61771
    """
    sigma = checks.positive("sigma", sigma)
    rate = checks.probability("rate", rate)
    steps = checks.count("steps", steps, 1)
    checks.one_of("sampling", sampling, "poisson", "subset")
    if sigma < 0.04:
        raise InvalidParameter(f"sigma is {sigma}; the limit overflows below 0.04, where it is of no use.")
    growth = math.expm1(sigma**-2)
    if sampling == "poisson":
        return Approximation(rate * math.sqrt(steps * growth))
    # e^x A + 3 B - 2 with A = Phi(1.5/sigma), B = Phi(-0.5/sigma), regrouped around A = B = 1/2 since the
    # constant parts cancel: e^x A + 3B - 2 = (e^x - 1) A + (A - 1/2) - 3 (1/2 - B).
    above = 0.5 * float(special.erf(1.5 / sigma / math.sqrt(2)))
    below = 0.5 * float(special.erf(0.5 / sigma / math.sqrt(2)))
    spread = growth * (0.5 + above) + above - 3 * below
    return Approximation(math.sqrt(2 * steps * spread) * rate)


def _same_length(**lists: Iterable[float]) -> list[list[float]]:
    listed = {name: numbers(name, values) for name, values in lists.items()}
    if len({len(values) for values in listed.values()}) > 1:
        there = " and ".join(f"{len(values)} {name}" for name, values in listed.items())
        raise InvalidParameter(f"there are {there}; give one of each per step.")
    for index, (mean, square) in enumerate(zip(listed["kls"], listed["k2s"], strict=True)):
        if square < mean * mean * (1 - 1e-12):
            raise InvalidParameter(
                f"k2s[{index}] is {square}, below the square of kls[{index}] = {mean}; that cannot be."
            )
    return list(listed.values())
