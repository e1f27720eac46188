"""The loss of discrete Gaussian noise on vectors of whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_gaussian import DiscreteGaussianAtoms
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.known import RenyiPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.core.adjacency import Adjacency
from dalenius.core.checks import float_up
from dalenius.mechanisms._support.grid_noise import gaussian_mu

MAX_ENUMERATED_SIGMA = 1e5
"""Up to this sigma the one-dimensional law is written out."""


def lattice_gaussian(sigma: float, squared: int, coordinates: int, adjacency: Adjacency) -> Loss:
    """Loss of whole numbers with discrete Gaussian noise of parameter sigma.

    Neighbours differ by a vector of squared length at most `squared` in at most `coordinates` places. In one
    place: the exact law. In several: squared/(2 sigma^2)-zCDP (Canonne, Kamath and Steinke 2020) and
    mu-GDP (`discrete_gaussian_mu`, or Lemma 3 of docs/mechanisms-on-a-grid.md), whichever says more; for
    sigma below 1 the profile comes from zCDP alone.
    """
    coordinates, whole = min(coordinates, squared), math.isqrt(squared)
    if coordinates == 1 and sigma <= MAX_ENUMERATED_SIGMA and whole <= 10**6:
        return losses.discrete_gaussian(sigma, whole, adjacency)
    rho = float_up(squared / (2 * Fraction(sigma) ** 2))
    # A move by d whole steps is d moves by 1, and moves in several coordinates add in quadrature.
    mu = min(
        gaussian_mu(sigma, squared, coordinates),
        math.sqrt(squared) * (1 + 1e-15) * discrete_gaussian_mu(sigma, 1),
    )
    below: Pair = (
        DiscreteGaussianAtoms(sigma, whole)
        if sigma <= MAX_ENUMERATED_SIGMA and whole <= 10**6
        else GaussianPair(whole / sigma * (1 - 1e-9))
    )
    name = call("lattice_gaussian", sigma=sigma, squared=squared, coordinates=coordinates)
    if sigma < 1 or mu > 1e4:
        return Loss.symmetric(RenyiPair(rho, below, mu), adjacency, name)
    return Loss.symmetric(Bracket(below, GaussianPair(mu), RenyiPair(rho)), adjacency, name)
