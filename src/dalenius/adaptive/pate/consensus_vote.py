"""GNMax at the price that the agreement of the teachers allows, with a test of whether they agree so well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.adaptive.pate.gnmax import Counts, GNMax
from dalenius.adaptive.pate.levels import Levels
from dalenius.adaptive.pate.smooth_sensitivity import VoteBound
from dalenius.adaptive.ptr.bound_test import BoundTest
from dalenius.adaptive.ptr.distance_test import DistanceTest
from dalenius.adaptive.ptr.parts import Stable, checked_part
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.calculus.loss import Loss, call
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Neighbours

ORDERS = tuple((1 + np.geomspace(0.05, 1e5, 90)).tolist())


@dataclass(frozen=True, kw_only=True)
class ConsensusVote(Stable):
    """A GNMax vote of which it is claimed that, on the votes cast, it costs epsilon at delta and no more.

    Whether it does is decided by the Renyi divergences of the answers from those of any neighbour (`consensus`) at 90
    orders, which add up over queries and are converted (Canonne, Kamath and Steinke 2020) at the order that is best;
    and it costs nothing where total variations add up to delta at most, and never more than `vote.loss` says. The
    distance is a lower bound on the number of teachers who have to vote otherwise before that fails. One teacher
    changes it by one at most: the level of a query falls by 65 steps at most (`levels`), so what d teachers can do to
    the votes of a neighbour, d + 1 can do to these.

    The divergence is known in one direction, from the votes to their neighbours: the budget is the pair in which
    everything but delta has the loss epsilon, the worst of which (epsilon, delta) holds in one order.

    Parameters
    ----------
    vote
        The vote.
    epsilon
        What it is claimed to cost.
    delta
        At this delta.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> vote = dp.adaptive.GNMax(sigma=40.0, teachers=400, classes=10, queries=100)
    >>> votes = np.tile([380, 20, 0, 0, 0, 0, 0, 0, 0, 0], (100, 1))
    >>> claim = dp.adaptive.ConsensusVote(vote=vote, epsilon=0.1, delta=1e-6)
    >>> round(vote.loss.epsilon(1e-6), 2), claim.cost(votes) < 0.1, claim.distance(votes)
    (1.54, True, 17)
    """

    vote: GNMax
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checked_part("vote", self.vote, GNMax, "dp.adaptive.GNMax(...)")
        checks.positive("epsilon", self.epsilon)
        checks.positive("delta", self.delta)
        if self.delta >= 1:
            raise InvalidParameter(f"delta is {self.delta}; it must be a number above 0 and below 1.")

    @cached_property
    def budget(self) -> Loss:
        pair = Atoms(np.array([self.epsilon]), np.array([1 - self.delta]), self.delta)
        name = call("consensus_vote", epsilon=self.epsilon, delta=self.delta)
        return Loss.symmetric(pair, self.vote.adjacency, name)

    @property
    def worst_loss(self) -> Loss:
        return self.vote.loss

    @cached_property
    def _levels(self) -> Levels:
        return Levels(self.vote, ORDERS)

    def cost(self, data: Any, teachers: int = 0) -> float:
        """epsilon of these votes at delta, after so many teachers changed theirs as they please; a secret."""
        return self._cost(self._levels.of(self.vote.counts(data)), teachers)

    def distance(self, data: Any) -> int:
        """At most the number of teachers; 0 where the claim is not true."""
        levels = self._levels.of(self.vote.counts(data))
        low, high = 0, self.vote.teachers
        while low < high:
            middle = (low + high) // 2
            if self._cost(levels, middle) <= self.epsilon:
                low = middle + 1
            else:
                high = middle
        return low

    def release(self, data: Any) -> Counts:
        return self.vote.release(data)

    @property
    def worst_pair(self) -> Neighbours:
        """Two classes and the narrowest majority for which the claim is true, in all queries; and one vote less."""
        low, high = self.vote.teachers // 2, self.vote.teachers
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps_budget(self._split(middle)) else (middle + 1, high)
        return Neighbours(self._split(low), self._split(low - 1))

    def _split(self, majority: int) -> Counts:
        counts = np.zeros((self.vote.queries, self.vote.classes), dtype=np.int64)
        counts[:, 0], counts[:, 1] = majority, self.vote.teachers - majority
        return counts

    def _cost(self, levels: NDArray[np.int64], teachers: int) -> float:
        if self._levels.variation(levels, teachers) <= self.delta:
            return 0.0
        orders, divergences = np.array(ORDERS), self._levels.divergences(levels, teachers)
        found = divergences + np.log1p(-1 / orders) - (math.log(self.delta) + np.log(orders)) / (orders - 1)
        return min(self._anywhere, max(0.0, float(found.min()) * (1 + 1e-12)))

    @cached_property
    def _anywhere(self) -> float:
        """What the vote costs whatever the votes are."""
        return self.vote.loss.epsilon(self.delta)


def pate_ptr(vote: GNMax, *, epsilon: float, delta: float, test_epsilon: float) -> ProposeTestRelease:
    """The winners of a vote if the teachers agree so well that it costs little, else a refusal.

    Redberg 2023, Algorithm 6, with another test: `DistanceTest` asks whether so many teachers would have to vote
    otherwise that noise alone would hardly find as many. It needs no smooth sensitivity, any number of orders may be
    tried, and it costs `test_epsilon` and no delta. Together (epsilon + test_epsilon, delta)-DP.

    Parameters
    ----------
    vote
        The vote.
    epsilon
        What the answers are claimed to cost, if they are given.
    delta
        Of the claim, and how likely a wrong claim may be to pass.
    test_epsilon
        What the test costs.

    Returns
    -------
    ProposeTestRelease
        `release(votes)` gives the winners, or `Refusal()`; `loss` is what that costs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> vote = dp.adaptive.GNMax(sigma=40.0, teachers=400, classes=10, queries=100)
    >>> private = dp.adaptive.pate_ptr(vote, epsilon=0.1, delta=1e-6, test_epsilon=0.2)
    >>> bool(private.loss.epsilon(1e-6) <= 0.3000001)
    True
    >>> private.release(np.tile([40] * 10, (100, 1)))
    Refusal()
    """
    claim = ConsensusVote(vote=vote, epsilon=epsilon, delta=delta)
    return ProposeTestRelease(
        mechanism=claim, test=DistanceTest(mechanism=claim, epsilon=test_epsilon, wrong_pass=delta)
    )


def pate_ptr_smooth(bound: VoteBound, *, epsilon: float, delta: float) -> ProposeTestRelease:
    """The same with the test of Redberg 2023, Algorithm 6: a private bound on the Renyi divergence at one order.

    For comparison: it refuses much more often than `pate_ptr` at the same price.

    Parameters
    ----------
    bound
        States the bound.
    epsilon
        What the answers are claimed to cost, if they are given.
    delta
        Of the claim.

    Returns
    -------
    ProposeTestRelease
        `release(votes)` gives the winners, or `Refusal()`; `loss` is what that costs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> import dalenius as dp
    >>> vote = dp.adaptive.GNMax(sigma=20.0, teachers=400, classes=10, queries=200)
    >>> bound = dp.adaptive.VoteBound(vote, order=8.0, smoothness=0.02, noise=6.0, log_noise=6.0, failure=1e-6)
    >>> private = dp.adaptive.pate_ptr_smooth(bound, epsilon=3.0, delta=1e-6)
    >>> bool(private.loss.delta(3.0 + bound.loss.epsilon(1e-6)) <= 2.1e-6)
    True
    """
    checked_part("bound", bound, VoteBound, "dp.adaptive.VoteBound(...)")
    claim = ConsensusVote(vote=bound.vote, epsilon=epsilon, delta=delta)
    order = bound.order
    limit = epsilon - math.log1p(-1 / order) + (math.log(delta) + math.log(order)) / (order - 1)
    return ProposeTestRelease(mechanism=claim, test=BoundTest(bound, limit * (1 - 1e-12)))
