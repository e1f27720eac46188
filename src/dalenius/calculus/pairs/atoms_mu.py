"""The mu of Gaussian differential privacy of a finite pair."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from dalenius.calculus.pairs.pair import UNIT, Reals


def atoms_mu(loss: Reals, mass: Reals, off: float) -> float:
    """A mu for which N(mu, 1) against N(0, 1) dominates the pair with these losses; none is infinite, either way.

    The trade-off curve is linear between the tests that ask whether the loss is at least l_j. A chord between two
    points above a convex curve lies above it, so those tests alone count: with power p_j = P(L >= l_j) and level q_j
    = Q(L >= l_j), the curve of N(mu, 1) lies below if Phi^-1(p_j) - Phi^-1(q_j) <= mu for all j. Masses of both laws
    are good to a relative `off`; tails are added up from their ends, and taken from the smaller side, rounded towards
    more.
    """
    order = np.argsort(loss)
    p, q = mass[order], (mass * np.exp(-loss))[order]
    more = off + (8 + len(p)) * UNIT
    high = _quantile(p, 1 + more, 1 - more)
    low = _quantile(q, 1 - more, 1 + more)
    # Phi^-1 is good to some roundings.
    return max(0.0, float(np.max(high - low, initial=0.0)) * (1 + 1e-12) + 1e-13)


def _quantile(mass: Reals, above: float, below: float) -> Reals:
    """Phi^-1 of the mass from j = 1 on, j = 2 on, ...; the upper side times `above`, the lower one times `below`."""
    upper = np.cumsum(mass[::-1])[::-1][1:]
    lower = np.cumsum(mass)[:-1]
    return np.where(
        upper < lower, ndtri(np.minimum(upper * above, 0.5)), -ndtri(np.minimum(lower * below, 0.5))
    )
