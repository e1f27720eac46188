"""Sampling records before a release makes it more private, if nobody learns who was sampled."""

from __future__ import annotations

import math

from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses.mixture_of_gaussians import MOST_SIGMAS, mixture_pair
from dalenius.calculus.losses.neighbours import to_replace_one
from dalenius.calculus.losses.tables import finite_pair, finite_pairs, single_pair
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.known import GroupOf, worst_of
from dalenius.calculus.pairs.laplace import LaplacePair
from dalenius.calculus.pairs.opposed import FURTHEST, opposed, opposed_laplace
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import AdjacencyMismatch, InvalidParameter


def poisson_sampled(loss: Loss, rate: float, adjacency: Adjacency = ADD_REMOVE) -> Loss:
    """Loss of a release run on a Poisson sample: every record is in it independently with probability `rate`.

    Add and remove directions get their own pairs, (W, (1-rate) W + rate R) and ((1-rate) W + rate R, W)
    with R the output with the record and W without (Zhu,
    Dong and Wang 2022, Theorem 11). Both are exact; composing them apart and taking the worse total at the end is
    what makes the answer both right and tight. They are also the pairs of a record that is emptied while its place
    stays (zero-out).

    For replace-one neighbours, what is sampled may be the one record or the other: the pair of Gaussian noise is
    (1-rate) N(0, 1) + rate N(mu, 1) against (1-rate) N(0, 1) + rate N(-mu, 1), which is attained and holds under
    composition, and Laplace noise likewise. For any other loss the two records are taken to be as far apart, test by
    test, as the loss allows: an upper bound, attained by noise added to a number (proof in docs/batches.md). The lower
    end then is that of a record replaced by one that changes nothing.

    Parameters
    ----------
    loss
        The loss of one release towards the records that it is given, for add/remove neighbours.
    rate
        The probability that a record is in the sample, in [0, 1].
    adjacency
        The neighbouring relation of the data that the sample is drawn from: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of the release on a sample that nobody learns.

    Raises
    ------
    InvalidParameter
        If `rate` is not in [0, 1].
    AdjacencyMismatch
        If the loss is stated for the other neighbouring relation.

    Examples
    --------
    >>> import dalenius as dp
    >>> step = dp.losses.poisson_sampled(dp.losses.gaussian(sigma=1.0), rate=0.01)
    >>> round((step * 10_000).epsilon(delta=1e-5), 6)
    6.187712
    """
    rate = checks.probability("rate", rate)
    loss = checked(loss, "poisson_sampled")
    if loss.adjacency is not ADD_REMOVE:
        raise AdjacencyMismatch(
            "Poisson sampling is analysed for add/remove neighbours, and this loss is stated for replace-one. State "
            "the loss for dalenius.ADD_REMOVE (a record is in the sample or not), whatever relation the data have, or "
            "sample a fixed number with losses.sampled_without_replacement."
        )
    if checked_adjacency(adjacency) is REPLACE_ONE:
        return _replaced(loss, rate)
    if rate == 0.0 or not (loss.terms_remove or loss.terms_add):
        return Loss.zero(loss.adjacency)
    if rate == 1.0:
        return loss
    remove, add = _one_pair_each(loss)
    name = f"poisson_sampled({loss.expression}, rate={rate:.12g})"
    return Loss(((remove.sampled(rate, False), 1),), ((add.sampled(rate, True), 1),), loss.adjacency, name)


def _replaced(loss: Loss, rate: float) -> Loss:
    """The Poisson-sampled loss for replace-one neighbours."""
    pair = single_pair(loss)
    if not 0.0 < rate < 1.0 or not (loss.terms_remove or loss.terms_add):
        return to_replace_one(poisson_sampled(loss, rate))
    name = f"poisson_sampled({loss.expression}, rate={rate:.12g}, adjacency=replace_one)"
    if isinstance(pair, GaussianPair) and pair.mu <= MOST_SIGMAS:
        side = ((pair.mu, rate),)
        return Loss.symmetric(mixture_pair(side, side), REPLACE_ONE, name)
    sampled = poisson_sampled(loss, rate)
    step = worst_of(sampled.terms_remove, sampled.terms_add)
    known = None if step is None else GroupOf(step, 2)
    if isinstance(pair, LaplacePair):
        if pair.shift - math.log(rate) > FURTHEST:
            return to_replace_one(sampled)
        below, above = opposed_laplace(pair.shift, rate)
        return Loss.symmetric(Bracket(below, above, known), REPLACE_ONE, name)
    above = opposed(finite_pair(loss)[1], rate)
    return Loss.symmetric(Bracket(sampled.terms_remove[0][0].lower, above, known), REPLACE_ONE, name)


def cp(loss: Loss, p: float) -> Loss:
    """The operator C_p of f-DP: p f + (1-p) Id, made symmetric and convex (Dong, Roth and Su 2022, section 4).

    It turns the loss of a mechanism on m records into that of the mechanism on a random m out of n,
    p = m/n, both for replace-one neighbours.

    Parameters
    ----------
    loss
        The loss of one release.
    p
        The share of records in the sample, in [0, 1].

    Returns
    -------
    Loss
        The loss of the release on a random subset that nobody learns.

    Raises
    ------
    InvalidParameter
        If `p` is not in [0, 1].
    AdjacencyMismatch
        If the loss is stated for the other neighbouring relation.

    Examples
    --------
    >>> import dalenius as dp
    >>> import math
    >>> loss = dp.losses.cp(dp.losses.pure(1.0, adjacency=dp.REPLACE_ONE), 0.1)
    >>> round(loss.epsilon(delta=0.0), 7)
    0.1585651
    """
    p = checks.probability("p", p)
    loss = checked(loss, "cp")
    if loss.adjacency is not REPLACE_ONE:
        raise AdjacencyMismatch(
            "sampling a fixed number of records is analysed for replace-one neighbours, and this loss is stated for "
            "add/remove. Pass adjacency=dalenius.REPLACE_ONE (with the sensitivity of a replacement), or use "
            "losses.poisson_sampled."
        )
    if p == 0.0 or not (loss.terms_remove or loss.terms_add):
        return Loss.zero(loss.adjacency)
    if p == 1.0:
        return loss
    pair = single_pair(loss)
    if pair is None or not pair.has_law:
        pair = Bracket(*finite_pair(loss), worst_of(loss.terms_remove, loss.terms_add))
    return Loss.symmetric(
        pair.sampled(p, added=False).mirrored(), loss.adjacency, f"cp({loss.expression}, p={p:.12g})"
    )


def sampled_without_replacement(loss: Loss, m: int, n: int) -> Loss:
    """Loss of a release run on m records drawn from n uniformly without replacement, replace-one adjacency.

    The loss given is that of the release on m records. It is C_{m/n} of it (Dong, Roth and Su 2022). For one release
    that is exact. A sum of several is an upper bound: the lower end of its bracket is that of the sum of these worst
    pairs, and whether one data set is the worst in every step is not known.

    Parameters
    ----------
    loss
        The loss of one release.
    m
        The size of the sample.
    n
        The number of records, which is public.

    Returns
    -------
    Loss
        The loss of the release on a random subset that nobody learns.

    Raises
    ------
    InvalidParameter
        If m or n is not a count, or m is above n.
    AdjacencyMismatch
        If the loss is stated for the other neighbouring relation.

    Examples
    --------
    >>> import dalenius as dp
    >>> base = dp.losses.gaussian(sigma=1.0, adjacency=dp.REPLACE_ONE)
    >>> dp.losses.sampled_without_replacement(base, m=10, n=1000).epsilon(1e-5) < base.epsilon(1e-5)
    True
    """
    m = checks.count("m", m)
    n = checks.count("n", n, least=1)
    if m > n:
        raise InvalidParameter(
            f"m is {m} and n is {n}; one cannot draw more records than there are. Check the order (m, n)."
        )
    result = cp(checked(loss, "sampled_without_replacement"), checks.ratio_up(m, n))
    if result is loss or not result.terms_remove:
        return result
    terms = result.terms_remove
    return Loss(terms, terms, loss.adjacency, f"sampled_without_replacement({loss.expression}, m={m}, n={n})")


def _one_pair_each(loss: Loss) -> tuple[Pair, Pair]:
    """One pair per direction; a composition is first tabulated as one."""

    def alone(terms: Terms) -> bool:
        return len(terms) == 1 and terms[0][1] == 1 and terms[0][0].has_law

    if alone(loss.terms_remove) and alone(loss.terms_add):
        return loss.terms_remove[0][0], loss.terms_add[0][0]
    remove, add = finite_pairs(loss)
    return Bracket(*remove, worst_of(loss.terms_remove)), Bracket(*add, worst_of(loss.terms_add))
