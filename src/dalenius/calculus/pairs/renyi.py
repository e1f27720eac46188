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


def remembered(log_mgf: Callable[[Reals], Reals]) -> Callable[[Reals], Reals]:
    """The same; what it says of one order is kept, since bounds at many epsilon look at the same orders first."""
    known: dict[float, Reals] = {}

    def at(s: Reals) -> Reals:
        if len(s) != 1:
            return log_mgf(s)
        order = float(s[0])
        if order not in known:
            if len(known) > 10_000:
                known.clear()
            known[order] = log_mgf(s)
        return known[order]

    return at


def best_order(log_mgf: Callable[[Reals], Reals], epsilon: float) -> tuple[float, float]:
    """The s of `profile_bound`, and the logarithm of the bound there; inf where no order says anything."""

    def height(x: float) -> float:
        s = math.exp(x)
        return _log_bound(log_mgf, s) - s * epsilon

    at, least = lowest(height, LOG_ORDERS)
    return math.exp(at), least


LOG_ORDERS = np.linspace(math.log(1e-6), math.log(1e9), 70).tolist()
"""Where a good s is looked for first."""


def epsilon_bound(log_mgf: Callable[[Reals], Reals], delta: float) -> float:
    """An epsilon for this delta by the same inequality, solved for epsilon at every s; inf where none says anything."""
    log_delta = math.log(delta) - 1e-11  # so that delta there is not above it by a rounding

    def needed(x: float) -> float:
        s = math.exp(x)
        return (_log_bound(log_mgf, s) - log_delta) / s

    return max(0.0, lowest(needed, LOG_ORDERS)[1] * (1 + 1e-14))


def _log_bound(log_mgf: Callable[[Reals], Reals], s: float) -> float:
    """A bound on log E exp(s L) s^s / (1+s)^(1+s)."""
    k = float(log_mgf(np.array([s]))[0])
    if not math.isfinite(k):
        return math.inf
    # s log s - (1 + s) log(1 + s), its large parts cancelled by hand
    return k * (1 + 1e-14) + 1e-15 - s * math.log1p(1 / s) - math.log1p(s)


def renyi_atoms(terms: Terms) -> Atoms:
    """A finite pair that dominates everything with these Renyi curves (both directions)."""
    log_mgf = remembered(partial(divergences.log_mgf, terms))
    reach = 1.0
    while profile_bound(log_mgf, reach) > 1e-60 and reach < 300:
        reach *= 1.25
    epsilon = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 120)[:-1] * reach, [reach]))
    delta = np.array([profile_bound(log_mgf, float(e)) for e in epsilon])
    return symmetric_above(epsilon, delta * (1 + 1e-12))
