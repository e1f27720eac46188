"""The loss of discrete Gaussian noise on vectors of whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import DiscreteGaussianAtoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Pair, Reals
from dalenius.calculus.pairs.renyi import RenyiPair
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
        return Loss.symmetric(_Curve(_Linear(rho), below, rho, mu), adjacency, name)
    return Loss.symmetric(_NearGaussian(below, GaussianPair(mu), rho), adjacency, name)


@dataclass(frozen=True)
class _Linear:
    rho: float

    def __call__(self, order: float) -> float:
        return self.rho * order


@dataclass(frozen=True)
class _Curve(RenyiPair):
    """A Renyi curve of which a mu is known, too."""

    mu: float = math.inf

    @property
    def gdp(self) -> float:
        return self.mu


@dataclass(frozen=True)
class _NearGaussian(Bracket):
    """A bracket whose Renyi divergences are those of a Gaussian pair with mu^2/2 = rho, or less."""

    rho: float
    renyi_is_tighter: ClassVar[bool] = True

    @property
    def zcdp(self) -> float:
        return self.rho

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.rho, 0.0

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(s * (1 + s) * self.rho)
