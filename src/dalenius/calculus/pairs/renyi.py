"""The best profile that bounds on Renyi divergences imply."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dalenius.calculus.pairs import divergences
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.pair import Reals, Terms
from dalenius.calculus.pairs.tabulate import symmetric_above
from dalenius.calculus.theorems.numerics import lowest


def profile_bound(log_mgf: Callable[[Reals], Reals], epsilon: float) -> float:
    """min over s > 0 of exp(K(s) - s epsilon) s^s / (1+s)^(1+s), an upper bound on delta(epsilon).

    For every loss L, (1 - exp(epsilon - L))_+ <= exp(s (L - epsilon)) s^s / (1+s)^(1+s)
    (Canonne, Kamath and Steinke 2020, Proposition 12, with order 1 + s). Any s is valid, so the
    search needs no certificate.
    """
    least = best_order(log_mgf, epsilon)[1]
    return min(1.0, max(math.exp(min(least, 0.0)) * (1 + 1e-12), 5e-324)) if math.isfinite(least) else 1.0


def best_order(log_mgf: Callable[[Reals], Reals], epsilon: float) -> tuple[float, float]:
    """The s of `profile_bound`, and the logarithm of the bound there; inf where no order says anything."""

    def height(x: float) -> float:
        s = math.exp(x)
        k = float(log_mgf(np.array([s]))[0])
        if not math.isfinite(k):
            return math.inf
        # s log s - (1 + s) log(1 + s), its large parts cancelled by hand
        return k * (1 + 1e-14) + 1e-15 - s * math.log1p(1 / s) - math.log1p(s) - s * epsilon

    at, least = lowest(height, np.linspace(math.log(1e-6), math.log(1e9), 70).tolist())
    return math.exp(at), least


def renyi_atoms(terms: Terms) -> Atoms:
    """A finite pair that dominates everything with these Renyi curves (both directions)."""
    log_mgf = partial(divergences.log_mgf, terms)
    reach = 1.0
    while profile_bound(log_mgf, reach) > 1e-60 and reach < 300:
        reach *= 1.25
    epsilon = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 120)[:-1] * reach, [reach]))
    delta = np.array([profile_bound(log_mgf, float(e)) for e in epsilon])
    return symmetric_above(epsilon, delta * (1 + 1e-12))
