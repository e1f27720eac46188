"""Discrete Gaussian noise on vectors of whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.discrete import discrete_gaussian
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu, lattice_mu
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.known import RenyiPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.checks import float_up
from dalenius.errors import InvalidParameter

MAX_ENUMERATED_SIGMA = 1e5
"""Up to this sigma the one-dimensional law is written out."""
MAX_ENUMERATED_STEPS = 10**6


def discrete_gaussian_vector(
    sigma: float, squared_sensitivity: int, coordinates: int | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Loss:
    """Loss of a whole-numbered vector f(X) + discrete Gaussian noise of parameter sigma in every coordinate.

    P(k) proportional to exp(-k^2/(2 sigma^2)), independently in each. Neighbours move f by a vector of squared length
    at most `squared_sensitivity`, a whole number, in at most `coordinates` places. In one place: the exact law. In
    several: squared/(2 sigma^2)-zCDP (Canonne, Kamath and Steinke 2020) and mu-GDP with mu hardly above
    sqrt(squared)/sigma (Lemma 3 of docs/mechanisms-on-a-grid.md), whichever says more; for sigma below 1 the profile
    comes from zCDP alone. The lower end is that of a move in one place. `mechanisms.DiscreteGaussian` is the release.

    Parameters
    ----------
    sigma
        The parameter of the noise, above 0.
    squared_sensitivity
        How far neighbours can move f(X) in l2 norm, squared: a whole number, 1 or more.
    coordinates
        In how many places they can differ; None for as many as the norm allows, which is `squared_sensitivity`.
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
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.discrete_gaussian_vector(sigma=10.0, squared_sensitivity=2)
    >>> abs(loss.epsilon(1e-5) - dp.losses.gaussian(10.0, 2**0.5).epsilon(1e-5)) < 0.01
    True
    """
    sigma = checks.positive("sigma", sigma, "Noise of scale 0 hides nothing.")
    squared = checks.count("squared_sensitivity", squared_sensitivity, least=1)
    places = squared if coordinates is None else checks.count("coordinates", coordinates, least=1)
    if sigma > 1e150:
        raise InvalidParameter.of(
            "sigma", f"sigma is {sigma:g}; it must be at most 1e150. Use coarser units."
        )
    checks.moderate("the square root of squared_sensitivity / sigma", math.sqrt(squared) / sigma)
    places, whole = min(places, squared), math.isqrt(squared)
    if places == 1 and sigma <= MAX_ENUMERATED_SIGMA and whole <= MAX_ENUMERATED_STEPS:
        return discrete_gaussian(sigma, whole, adjacency)
    rho = float_up(squared / (2 * Fraction(sigma) ** 2))
    # A move by d whole steps is d moves by 1, and moves in several coordinates add in quadrature.
    mu = min(
        lattice_mu(sigma, squared, places),
        math.sqrt(squared) * (1 + 1e-15) * discrete_gaussian_mu(sigma, 1),
    )
    below: Pair = (
        DiscreteGaussianAtoms(sigma, whole)
        if sigma <= MAX_ENUMERATED_SIGMA and whole <= MAX_ENUMERATED_STEPS
        else GaussianPair(whole / sigma * (1 - 1e-9))
    )
    name = call(
        "discrete_gaussian_vector",
        sigma=sigma,
        squared_sensitivity=squared,
        coordinates=(places, squared),
        adjacency=adjacency,
    )
    if sigma < 1 or mu > 1e4:
        return Loss.symmetric(RenyiPair(rho, below, mu), adjacency, name)
    return Loss.symmetric(Bracket(below, GaussianPair(mu), RenyiPair(rho)), adjacency, name)
