"""The discrete Gaussian pair: whole numbers with noise P(k) proportional to exp(-k^2 / (2 sigma^2))."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms, Lattice
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.discrete_mu import discrete_gaussian_mu
from dalenius.calculus.pairs.pair import UNIT, Pair, Reals
from dalenius.calculus.pairs.sampled import SampledPair

MOST_STEPS = 10**6
"""Up to this shift the law is written out."""


class DiscreteGaussianAtoms(Atoms):
    """Integer outcomes of Gaussian weight, cut far out; of every order as private as the Gaussian.

    D_order <= order mu^2/2 with mu = sensitivity / sigma (Canonne, Kamath and Steinke 2020, Theorem 4). The
    mu of Gaussian differential privacy is a little larger (`discrete_gaussian_mu`).
    """

    tail_only = True

    def __init__(self, sigma: float, steps: int) -> None:
        reach = math.ceil(38.0 * sigma) + steps
        k = np.arange(-reach, reach + 1)
        weight = np.exp(-(k.astype(float) ** 2) / (2 * sigma * sigma))
        # P is centred at 0, Q at -steps: the loss is steps (2k + steps) / (2 sigma^2).
        spacing = steps / (sigma * sigma)
        offset = spacing * (steps / 2)
        super().__init__(
            offset + spacing * k,
            weight / weight.sum(),
            5e-300,  # more than lies beyond 38 sigma
            Lattice(spacing, offset),
            k,
            slack=(1500 + len(k)) * UNIT,  # exponents up to 38^2/2, and the normalising sum
            blur=4 * UNIT * (offset + spacing * reach),  # spacing and offset are rounded
        )
        self.sigma, self.sensitivity, self.mu = sigma, steps, steps / sigma

    @cached_property
    def gdp(self) -> float:
        return discrete_gaussian_mu(self.sigma, self.sensitivity)

    @property
    def zcdp(self) -> float:
        return 0.5 * self.mu**2 * (1 + 4 * UNIT)

    @property
    def asymptote(self) -> tuple[float, float]:
        return self.zcdp, 0.0

    def renyi_log_mgf(self, s: Reals) -> Reals:
        return np.asarray(s * (1 + s) * self.zcdp * (1 + 4 * UNIT))

    def chained(self, size: int) -> Pair | None:
        """The same noise, moved `size` times as far.

        The best tests ask whether the outcome is at least j, so the power curve has its kinks at the levels P(k >= j),
        which a shift maps to each other, and is linear between them: composed, it is the curve of the sum.
        """
        steps = self.sensitivity * size
        return DiscreteGaussianAtoms(self.sigma, steps) if steps <= MOST_STEPS else None

    def dominates(self, other: Pair) -> bool:
        # No two shifts of a log-concave law are closer than two that lie between them.
        same = isinstance(other, DiscreteGaussianAtoms) and self.sigma == other.sigma
        return same and self.sensitivity >= other.sensitivity  # type: ignore[attr-defined]

    def sampled(self, rate: float, added: bool) -> Pair:
        """The far tail that the table leaves out is kept in what is known of the divergences."""
        table = super().sampled(rate, added)
        return Bracket(table, table, SampledPair(self, rate, added))
