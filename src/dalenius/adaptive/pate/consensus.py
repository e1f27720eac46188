"""How sure the winner of a noisy vote is, and what that leaves to be learned about one voter.

Let a vote have counts n_1, ..., n_C and winner j*. The noisy winner differs from j* with probability at most

    q = sum over j != j* of Phi(-(n_j* - n_j) / (sqrt 2 sigma)),

and at most 1 - 1/C, as nobody is likelier to win than j*. The *margin* g is the lead over C - 1 level rivals that
would give the same q: (C - 1) Phi(-g / (sqrt 2 sigma)) = q. One vote that goes elsewhere changes every lead by 2 at
most, and the margin by 2 at most: t -> Phi(Phi^-1(t) + a) is concave, so by Jensen's inequality the sum of the new
terms is largest, q given, if all rivals are level. (If the leader changes, q of the new one is smaller than q of the
old one, and the claim for the way back is the claim for the way there.)

The Renyi divergence of the noisy winner from that of any neighbour is at most, for the order a and mu = sqrt 2 / sigma,

    log(S1(q) + S2(q)) / (a - 1),     S1(q) = (1 - q)^a / (1 - Phi(Phi^-1(q) + mu))^(a - 1),
                                      S2(q) = exp(a (a - 1) mu^2 / 2) Phi(Phi^-1(q) + (a - 1) mu).

Proof. The pair (P, P') of laws of the winner is made from the Gaussian pair N(0, 1), N(-mu, 1), so a set of P-mass q
has a P'-mass of at most Phi(Phi^-1(q) + mu): with q = P(not j*) this bounds the term of j*. The terms of the others
add up, p^a p'^(1 - a) being convex and homogeneous, to at most the integral of w (dN/dN')^(a - 1) dN, w being the
chance that another than j* wins given the noise, of N-mass q: which is largest if w is 1 where dN/dN' is largest, on a
half line. QED.

For q <= 1/2, S1 + S2 grows with q, so that any upper bound on the chance may take the place of q. With
t = -Phi^-1(q) >= 0, r = Phi(t)/Phi(t - mu), y = exp(mu t) and phi the normal density, the derivative in t divided by
phi(t) is

    a r^(a-1) - (a - 1) r^a y e^(-mu^2/2) - (y e^(mu^2/2))^(a-1),

and a r^(a-1) <= (a - 1) r^a w + w^(1-a) for every w > 0 (the inequality of the means); with w = y e^(-mu^2/2) the last
term is at most (y e^(mu^2/2))^(a-1), as y >= 1. For q > 1/2 nothing better is used than what holds for every vote.

This is below the bound of Papernot et al. 2018 (`papernot`), which follows from the same pair by two cruder
inequalities and holds under conditions only.

The divergence is that of the vote itself from its neighbour, not the other way round: q is a fact about one of them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp

from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks

ROUNDING = 1 + 1e-9
TIE = 2.0**-38
"""Of sigma: leads are taken to be smaller by this, for ties of rounded noise."""


def log_miss(counts: Reals, sigma: float) -> Reals:
    """The logarithm of q for every query, counts along the last axis, before it is cut off at 1 - 1/C."""
    ordered = -np.sort(-np.asarray(counts, dtype=float), axis=-1)
    leads = ordered[..., :1] - ordered[..., 1:] - TIE * sigma
    return np.asarray(logsumexp(log_ndtr(-leads / (math.sqrt(2) * sigma)), axis=-1))


def margin(counts: Reals, sigma: float) -> Reals:
    """The lead over level rivals that says as much as these counts, one for every query; never below `least_margin`."""
    counts = np.asarray(counts)
    rivals = counts.shape[-1] - 1
    each = np.minimum(log_miss(counts, sigma) - math.log(rivals), -math.log(rivals + 1))
    return np.asarray(-math.sqrt(2) * sigma * ndtri_exp(each))


def least_margin(classes: int, sigma: float) -> float:
    """The margin at which q is 1 - 1/C."""
    return float(-math.sqrt(2) * sigma * ndtri_exp(-math.log(classes)))


def flip(margins: Reals, sigma: float, classes: int) -> Reals:
    """A bound on the total variation between a noisy vote with this margin and each of its neighbours.

    A set without j* has probability q at most; one with j* gains what its complement loses, at most
    Phi(Phi^-1(q) + mu).
    """
    return np.asarray(ndtr(math.sqrt(2) / sigma + ndtri_exp(log_miss_at(margins, sigma, classes))) * ROUNDING)


def log_miss_at(margins: Reals, sigma: float, classes: int) -> Reals:
    """log q, cut off at 1 - 1/C."""
    each = log_ndtr(-np.asarray(margins, dtype=float) / (math.sqrt(2) * sigma))
    return np.minimum(each + math.log(classes - 1), math.log1p(-1 / classes))


def gnmax_renyi(margins: Reals, order: float, sigma: float, classes: int) -> Reals:
    """A bound on the Renyi divergence of a noisy vote with this margin from all its neighbours.

    Parameters
    ----------
    margins
        One or many (`margin`).
    order
        Above 1.
    sigma
        The standard deviation of the noise on every count.
    classes
        How many classes there are.

    Returns
    -------
    ndarray
        The bound; it falls with the margin, and is never above order/sigma^2, what any vote has.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> from dalenius.adaptive.pate.consensus import gnmax_renyi
    >>> bound = gnmax_renyi([0.0, 100.0, 300.0], order=8.0, sigma=40.0, classes=10)
    >>> [f"{b:.2g}" for b in bound]
    ['0.005', '0.005', '2.9e-07']
    """
    order, sigma = checks.positive("order - 1", order - 1) + 1, checks.positive("sigma", sigma)
    mu = math.sqrt(2) / sigma
    miss = log_miss_at(margins, sigma, classes)
    t = -ndtri_exp(miss)
    first = order * log_ndtr(t) - (order - 1) * log_ndtr(t - mu)
    second = order * (order - 1) * mu**2 / 2 + log_ndtr((order - 1) * mu - t)
    with np.errstate(over="ignore"):
        # The two terms nearly cancel: what their rounding may be is added.
        small = np.log1p(np.expm1(first) + np.exp(second) + 1e-14 * order * np.exp(miss))
    total = np.where((first < 1) & (second < 1), small, np.logaddexp(first, second))
    plain = order / sigma**2
    return np.where(t < 0, plain, np.clip(total / (order - 1), 0.0, plain)) * ROUNDING
