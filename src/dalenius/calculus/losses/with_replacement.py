"""A batch of draws with replacement: a record may be in it several times."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import betainc, ndtri

from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses.mixture_of_gaussians import MOST_SIGMAS, mixture_pair
from dalenius.calculus.losses.neighbours import MOST_STEPS, group
from dalenius.calculus.losses.tables import single_pair
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.crowd import LOOSE
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
"""Where a record is drawn more often than this on average, numbers of copies are counted in blocks."""
BLOCKS = (1e-18, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8, 0.98, 1 - 1e-4, 1 - 1e-8, 1 - 1e-12)
"""About the probabilities of more copies than the end of a block."""
MOST_SUMMED = 1e9
"""Up to this mean, tails come from the incomplete beta function; beyond, from Chernoff's bound, close by then."""
WIDE = 1e-5
"""Beyond 1e12 copies on average no more than this share above or below it counts."""
MOST_APART = 12
"""Of the numbers of copies; more are told before."""
NOTHING = Atoms(np.zeros(1), np.ones(1))


def sampled_with_replacement(loss: Loss, m: int, n: int) -> Loss:
    """Loss of a release run on m draws from n records, each uniform and independent: a record may be drawn often.

    The loss given is that of the release on m records, one of which is replaced. With p_k the probability that the
    record is drawn k times, eta = 1 - p_0 and delta_k the profile of the loss towards a group of k,

        delta(log(1 + eta (e^epsilon - 1))) <= sum over k >= 1 of p_k delta_k(epsilon),   epsilon >= 0

    (Balle, Barthe and Gaboardi 2018, Theorem 10). Only upper bounds are known in general; the lower end for Gaussian
    noise is attained when all the other records are alike. Where a record is drawn more than 20 times on average, the
    number of copies is counted in 15 blocks, each as its largest: next to nothing is amplified there.

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
        If m or n is not a count, or the loss is not that of one release.
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
    if m == 0 or not (loss.terms_remove or loss.terms_add):
        return Loss.zero(loss.adjacency)
    name = f"sampled_with_replacement({loss.expression}, m={m}, n={n})"
    if n == 1:
        return group(loss, m)
    drawn, least = counted(m, n) if m <= MOST_COPIES * n else blocks(m, n)
    eta = float_up(Fraction(sum(map(Fraction, drawn.values()))))
    pairs = {k: _group_pair(loss, k) for k in drawn}
    weights = tuple(min(1.0, p / eta * (1 + 4 * UNIT)) for p in drawn.values())
    inner = _mixed(weights, pairs)
    # What is next to impossible and stands for m copies is given away: it would be far from all the others.
    near = _mixed(
        weights, {k: REVEALED if k == m and p <= 4 * LEAST_TAIL else pairs[k] for k, p in drawn.items()}
    )
    above = _amplified(near, eta) if eta < 1.0 else near
    pair = single_pair(loss)
    # Either of two neighbours may be the one with the odd record, so the lower end serves both orders.
    below = mixture_pair(_attained(pair.mu, least), ()) if isinstance(pair, GaussianPair) else NOTHING
    return Loss.symmetric(Bracket(below, above, inner), REPLACE_ONE, name)


def _amplified(inner: Pair, eta: float) -> Pair:
    """The pair whose profile is that of the theorem.

    Where the number of copies is told, it is told before or after the record is sampled: the profiles add up either
    way, sum p_k delta_k(epsilon) at log(1 + eta (e^epsilon - 1)). Few laws with a form of their own are quicker.
    """
    if isinstance(inner, RevealedPair) and len(inner.pairs) <= MOST_APART:
        return RevealedPair(inner.weights, tuple(_amplified(pair, eta) for pair in inner.pairs))
    return inner.sampled(eta, added=False).mirrored()


def _mixed(weights: tuple[float, ...], pairs: dict[int, Pair]) -> Pair:
    """One of the pairs, drawn with these weights, and it is told which; the pair itself if there is but one."""
    return RevealedPair(weights, tuple(pairs.values())) if len(pairs) > 1 else next(iter(pairs.values()))


def counted(m: int, n: int) -> tuple[dict[int, float], dict[int, float]]:
    """Upper and lower bounds on the probabilities of 1, 2, ... copies."""
    above = copies(m, n)
    return above, {k: p * (1 - 1e-11 * (4 + k)) for k, p in above.items() if k < m or p >= LEAST_TAIL}


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


def blocks(m: int, n: int) -> tuple[dict[int, float], dict[int, float]]:
    """Laws of numbers of copies that are above and below the true one in stochastic order, on few numbers.

    A group of more is easier to tell, so what counts is the probability of more than k copies, for each k: from above
    it is raised to that at the start of the block of k, from below lowered to that at its end.
    """
    mean = m / n
    spread = math.sqrt(mean)
    ends = sorted(
        {min(m, max(1, math.floor(mean - ndtri(p) * spread + 0.2 * ndtri(p) ** 2))) for p in BLOCKS}
    )
    if mean > 1e12:
        ends = [math.floor(mean * (1 - WIDE)), math.ceil(mean * (1 + WIDE))]
    tails = [_more_than(k, m, n) for k in ends]
    above, below = {}, {}
    rest = 1.0
    for k, (_, high) in zip(ends, tails, strict=True):
        above[k], rest = rest - min(rest, high), min(rest, high)
    above[m] = above.get(m, 0.0) + rest
    for k, (low, _), (lower, _) in zip(ends, tails, [*tails[1:], (0.0, 0.0)], strict=True):
        below[k] = max(low - lower, 0.0)
    return {k: p for k, p in above.items() if p > 0.0}, {k: p for k, p in below.items() if p > 0.0}


def _more_than(k: int, m: int, n: int) -> tuple[float, float]:
    """Bounds on the probability of more than k copies."""
    if k >= m:
        return 0.0, 0.0
    mean = m / n
    if mean <= MOST_SUMMED:
        tail = float(betainc(k + 1, m - k, 1 / n))
        loose = LOOSE + 64 * UNIT * (abs(k - mean) + 1)
        return tail * (1 - loose) - 1e-300, tail * (1 + loose) + 1e-300
    # Chernoff: exp(-mean ((1 + x) log(1 + x) - x)) from either side, x = k/mean - 1; x^2/2 (1 - |x|) is less.
    x = k / mean - 1.0
    bound = math.exp(-mean * x * x / 2 * max(0.0, 1 - abs(x)) + 1e-6)
    return (max(0.0, 1 - bound), 1.0) if x < 0 else (0.0, min(1.0, bound))


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
        if p >= 4 * LEAST_TAIL:  # what the last one stands for is less likely
            shift = min(k * mu * (1 - 4 * UNIT), MOST_SIGMAS)
            weights[shift] = weights.get(shift, 0.0) + p * (1 - 4 * UNIT)
    return tuple(sorted(weights.items()))
