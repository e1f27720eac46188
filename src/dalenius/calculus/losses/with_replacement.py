"""A batch of draws with replacement: a record may be in it several times."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses.mixture_of_gaussians import MOST_SIGMAS, mixture_pair
from dalenius.calculus.losses.neighbours import MOST_STEPS, group
from dalenius.calculus.losses.tables import single_pair
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.gaussian_mixtures import Side
from dalenius.calculus.pairs.pair import UNIT, Pair
from dalenius.calculus.pairs.revealed import RevealedPair
from dalenius.calculus.pairs.sampled_gaussian import REVEALED
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE
from dalenius.core.checks import float_up
from dalenius.errors import AdjacencyMismatch, InvalidParameter

LEAST_TAIL = 1e-18
"""Numbers of copies less likely than this, together, count as the worst case."""
MOST_COPIES = 20
NOTHING = Atoms(np.zeros(1), np.ones(1))


def sampled_with_replacement(loss: Loss, m: int, n: int) -> Loss:
    """Loss of a release run on m draws from n records, each uniform and independent: a record may be drawn often.

    The loss given is that of the release on m records, one of which is replaced. With p_k the probability that the
    record is drawn k times, eta = 1 - p_0 and delta_k the profile of the loss towards a group of k,

        delta(log(1 + eta (e^epsilon - 1))) <= sum over k >= 1 of p_k delta_k(epsilon),   epsilon >= 0

    (Balle, Barthe and Gaboardi 2018, Theorem 10). Only upper bounds are known in general; the lower end for Gaussian
    noise is attained when all the other records are alike.

    Parameters
    ----------
    loss
        The loss of the release on m records, for replace-one neighbours.
    m
        The number of draws.
    n
        The number of records, which is public.

    Returns
    -------
    Loss
        The loss of the release on draws that nobody learns.

    Raises
    ------
    InvalidParameter
        If m or n is not a count, or m is more than 20 n.
    AdjacencyMismatch
        If the loss is stated for the other neighbouring relation.

    Examples
    --------
    >>> import dalenius as dp
    >>> base = dp.losses.gaussian(sigma=2.0, adjacency=dp.REPLACE_ONE)
    >>> with_replacement = dp.losses.sampled_with_replacement(base, m=10, n=1000)
    >>> without = dp.losses.sampled_without_replacement(base, m=10, n=1000)
    >>> without.epsilon(1e-6) < with_replacement.epsilon(1e-6) < base.epsilon(1e-6)
    True
    """
    loss = checked(loss, "sampled_with_replacement")
    m = checks.count("m", m)
    n = checks.count("n", n, least=1)
    if loss.adjacency is not REPLACE_ONE:
        raise AdjacencyMismatch(
            "drawing a fixed number of records is analysed for replace-one neighbours, and this loss is stated for "
            "add/remove. Pass adjacency=dalenius.REPLACE_ONE (with the sensitivity of a replacement), or use "
            "losses.poisson_sampled."
        )
    if m > MOST_COPIES * n:
        raise InvalidParameter.of(
            "m",
            f"m is {m} and n is {n}: a record is drawn more than {MOST_COPIES} times on average. "
            "Draw less, or use every record.",
        )
    if m == 0 or not (loss.terms_remove or loss.terms_add):
        return Loss.zero(loss.adjacency)
    name = f"sampled_with_replacement({loss.expression}, m={m}, n={n})"
    if n == 1:
        return group(loss, m)
    drawn = copies(m, n)
    eta = float_up(Fraction(sum(map(Fraction, drawn.values()))))
    pairs = {k: _group_pair(loss, k) for k in drawn}
    weights = tuple(min(1.0, p / eta * (1 + 4 * UNIT)) for p in drawn.values())
    inner = RevealedPair(weights, tuple(pairs.values())) if len(drawn) > 1 else pairs[1]
    above = inner.sampled(min(eta, 1.0), added=False).mirrored() if eta < 1.0 else inner
    pair = single_pair(loss)
    # Either of two neighbours may be the one with the odd record, so the lower end serves both orders.
    below = mixture_pair(_attained(pair.mu, drawn), ()) if isinstance(pair, GaussianPair) else NOTHING
    return Loss.symmetric(Bracket(below, above, inner), REPLACE_ONE, name)


def copies(m: int, n: int) -> dict[int, float]:
    """Upper bounds on the probabilities of 1, 2, ... copies of a record in m draws; the last counts as m."""
    probability = {}
    log_p, k = m * math.log1p(-1 / n), 0
    while k < m:
        k += 1
        log_p += math.log((m - k + 1) / k) - math.log(n - 1)
        p = math.exp(log_p)
        # The terms that follow fall at least as fast as these two.
        ratio = (m - k) / ((k + 1) * (n - 1))
        if ratio < 0.5 and p / (1 - ratio) < LEAST_TAIL:
            probability[m] = 2 * p / (1 - ratio)
            break
        probability[k] = p * (1 + 1e-12 * (4 + k))
    return probability


def _group_pair(loss: Loss, size: int) -> Pair:
    """The one pair of the loss towards a group; larger groups than can be followed count as given away."""
    one = single_pair(loss)
    if size > MOST_STEPS and (one is None or one.chained(size) is None):
        return REVEALED
    pair = single_pair(group(loss, size))
    if pair is None or not pair.has_law:
        raise InvalidParameter(
            "sampled_with_replacement() takes the loss of one release, such as gaussian(1.0, 1.0, replace_one). Bound "
            "a sum of several first, by losses.gdp(loss.gdp(), replace_one)."
        )
    return pair


def _attained(mu: float, drawn: dict[int, float]) -> Side:
    """The shifts of k copies among records that are all alike, weights rounded down; far ones count as less far."""
    weights: dict[float, float] = {}
    for k, p in drawn.items():
        if p >= LEAST_TAIL:
            shift = min(k * mu * (1 - 4 * UNIT), MOST_SIGMAS)
            weights[shift] = weights.get(shift, 0.0) + p * (1 - 1e-11 * (4 + k))
    return tuple(sorted(weights.items()))
