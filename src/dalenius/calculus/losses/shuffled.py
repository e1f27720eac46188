"""Reports of many people that reach the aggregator in random order, without their names."""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses.tables import single_pair
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.crowd import amplified, counted
from dalenius.calculus.pairs.known import worst_of
from dalenius.calculus.pairs.pair import Pair, Reals
from dalenius.calculus.pairs.tabulate import symmetric_above
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE
from dalenius.errors import AdjacencyMismatch, InvalidParameter

MOST_PEOPLE = 10**12
LARGEST_LOCAL_EPSILON = 300.0
"""Beyond this the crowd would have to be larger than any to help: the local loss stands."""

MOST_COUNTED = 10**7
"""In a larger crowd no lower bound is computed: it is 0."""


def shuffled(loss: Loss, n: int) -> Loss:
    """Loss of n people's reports in random order, each made by the same local randomizer of this loss.

    Everybody applies the randomizer to their own record, and a shuffler that the aggregator does not see into
    hides who sent what. Replace-one neighbours: one person's record changes, the number of reports is public.
    Let e^epsilon0 bound the ratio of the randomizer's probabilities and delta0 be its profile. Then for 1 <= a =
    e^epsilon <= e^epsilon0

        delta(epsilon) <= E[((e^epsilon0 - a) N0 - (a e^epsilon0 - 1) N1)_+] / n,

    where N0 and N1 count how many of n people fall into classes of probability delta0(epsilon)/(e^epsilon0 - a)
    and (delta0(epsilon) + a - 1)/(a e^epsilon0 - 1). For the worst delta0, that of `pure`, both are
    1/(e^epsilon0 + 1), and this is the pair of clones of Feldman, McMillan and Talwar 2023 ("Stronger privacy
    amplification by shuffling"), whose erratum keeps it for some randomizers only. For all of them it is proved in
    docs/shuffling.md, from the privacy blanket of Balle, Bell, Gascon and Nissim 2019. The upper bound is kept as a
    table of about 250 epsilons. The lower bound is that of one statistic of the reports; for more than 1e7 people it
    is 0.

    Parameters
    ----------
    loss
        The loss of one person's report, for replace-one neighbours and with a finite epsilon at delta = 0.
    n
        How many people report, the person in question among them: from 1 to 1e12.

    Returns
    -------
    Loss
        The loss of all the shuffled reports together, towards each of the n people.

    Raises
    ------
    InvalidParameter
        If n is not a count from 1 to 1e12, or the local loss has no finite epsilon at delta = 0.
    AdjacencyMismatch
        If the loss is stated for add/remove neighbours.

    Examples
    --------
    >>> import dalenius as dp
    >>> answer = dp.losses.randomized_response(1.0, adjacency=dp.REPLACE_ONE)
    >>> dp.losses.shuffled(answer, n=100_000).epsilon(1e-6) < 0.02
    True
    """
    loss = checked(loss, "shuffled")
    n = checks.count("n", n, least=1)
    if n > MOST_PEOPLE:
        raise InvalidParameter.of(
            "n", f"n is {n}; it must be at most 1e12. For more, give 1e12: it only helps."
        )
    if loss.adjacency is not REPLACE_ONE:
        raise AdjacencyMismatch(
            "shuffling is analysed for replace-one neighbours, because the number of reports is public, and this loss "
            "is stated for add/remove. Pass adjacency=dalenius.REPLACE_ONE to the local loss."
        )
    if not (loss.terms_remove or loss.terms_add):
        return loss
    local = loss.epsilon(0.0)
    if not math.isfinite(local):
        raise InvalidParameter(
            "the local loss has no finite epsilon at delta = 0; a crowd of reports hides one only if no report can "
            "give its sender away. Use a local randomizer that is epsilon-DP."
        )
    if n == 1 or local > LARGEST_LOCAL_EPSILON:
        return loss
    name = f"shuffled({loss.expression}, n={n})"
    if local == 0.0:
        return Loss.zero(REPLACE_ONE)
    grid = _epsilons(loss, local, n)
    own = np.array([loss.delta(float(epsilon)) for epsilon in grid])
    above = symmetric_above(grid, amplified(grid, own, local, n))
    known = worst_of(loss.terms_remove, loss.terms_add)
    return Loss.symmetric(Bracket(_attained(loss, n), above, known), REPLACE_ONE, name)


def _epsilons(loss: Loss, local: float, n: int) -> Reals:
    """Where the profile is tabulated: a chord adds at most about a percent to delta where that is above 1e-20."""
    unit = math.sqrt(2 * loss.delta(0.0) * math.expm1(local) / n)
    deviations = np.concatenate((np.sqrt(0.6 * np.arange(160)), np.arange(10.0, 38.0)))
    points = np.concatenate((np.log1p(deviations * unit), np.linspace(0.0, local, 60)))
    return np.append(np.unique(points[points < local]), local)


def _attained(loss: Loss, n: int) -> Pair:
    """What the number of reports with a positive loss tells when everybody else has the second record."""
    pair = single_pair(loss)
    atoms = None if pair is None else pair.lower.as_atoms
    if atoms is None or n > MOST_COUNTED:
        return Atoms(np.zeros(1), np.ones(1))
    p, q = atoms.cells(np.zeros(1))
    return counted((float(p[1]), float(p[0])), (float(q[1]), float(q[0])), n)
