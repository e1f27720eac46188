"""The data-dependent bound of Papernot et al. 2018, for comparison with `consensus`."""

from __future__ import annotations

import math

import numpy as np

from dalenius.adaptive.pate.consensus import log_miss_at
from dalenius.calculus.pairs.pair import Reals


def papernot_renyi(margins: Reals, order: float, sigma: float, classes: int) -> Reals:
    """Theorem 6 and Proposition 10 of "Scalable private learning with PATE", orders mu1 = mu2 + 1, mu2 = sigma
    sqrt(-log q).

    The bound is that of `order`/sigma^2 where the theorem says nothing: unless order <= mu1 and q is small enough for
    the bound to grow with it. The printed condition on q has mu1 where the growth of the first term needs the order:
    (1 - q)^a/(1 - x)^(a - 1) grows with q if q <= e^((mu2 - 1) e2) ((1 - 1/a)(1 - 1/mu2))^mu2; that is used.

    Examples
    --------
    >>> from dalenius.adaptive.pate.consensus import gnmax_renyi
    >>> from dalenius.adaptive.pate.papernot import papernot_renyi
    >>> at = [100.0, 200.0, 300.0]
    >>> bool((gnmax_renyi(at, 8.0, 40.0, 10) <= papernot_renyi(at, 8.0, 40.0, 10) * (1 + 1e-8)).all())
    True
    """
    a, plain = order, order / sigma**2
    log_q = log_miss_at(margins, sigma, classes)
    with np.errstate(all="ignore"):
        mu2 = sigma * np.sqrt(-log_q)
        mu1 = mu2 + 1
        e1, e2 = mu1 / sigma**2, mu2 / sigma**2
        holds = (mu1 >= a) & (mu2 > 1)
        holds &= log_q <= (mu2 - 1) * e2 + mu2 * (math.log1p(-1 / a) + np.log1p(-1 / mu2))
        log_a = np.log1p(-np.exp(log_q)) - np.log1p(-np.exp((log_q + e2) * (1 - 1 / mu2)))
        log_b = e1 - log_q / (mu1 - 1)
        bound = np.logaddexp(np.log1p(-np.exp(log_q)) + (a - 1) * log_a, log_q + (a - 1) * log_b) / (a - 1)
    return np.where(holds & (bound < plain), np.maximum(bound, 0.0), plain)
